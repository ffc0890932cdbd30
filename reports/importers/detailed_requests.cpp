#include "reports/importers/detailed_requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/request_statistics.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

constexpr double kMaxTokens = 1e9;  // per request

std::vector<double> gaps_of(const json& entry, const JsonReader& object) {
  if (!entry.is_array()) object.refuse("itls", "a list of lists of numbers");
  std::vector<double> gaps;
  gaps.reserve(entry.size());
  for (const json& value : entry) {
    const auto gap = number_in(value);
    if (!gap) object.refuse("itls", "a list of lists of numbers");
    gaps.push_back(*gap);
  }
  return gaps;
}

std::vector<std::vector<double>> read_gaps(const JsonReader& object) {
  std::vector<std::vector<double>> gaps;
  if (!object.has("itls")) return gaps;
  const json& lists = object.value().at("itls");
  if (!lists.is_array()) object.refuse("itls", "a list of lists of numbers");
  gaps.reserve(lists.size());
  for (const json& entry : lists) gaps.push_back(gaps_of(entry, object));
  return gaps;
}

std::int64_t tokens_in(double number, const char* key, const JsonReader& object) {
  if (!(number >= 0) || number > kMaxTokens || number != std::floor(number)) {
    throw Error(
        fmt::format("{}: {} holds {}, expected numbers of tokens", object.where(), key, number));
  }
  return static_cast<std::int64_t>(number);
}

struct Arrays {
  std::vector<double> inputs, outputs, ttfts, starts;
  std::vector<std::vector<double>> gaps;
};

void check_lengths(const Arrays& arrays, const JsonReader& object) {
  struct Named {
    const char* key;
    std::size_t size;
  };
  const std::array<Named, 4> others = {{{"output_lens", arrays.outputs.size()},
                                        {"ttfts", arrays.ttfts.size()},
                                        {"start_times", arrays.starts.size()},
                                        {"itls", arrays.gaps.size()}}};
  for (const Named& other : others) {
    if (!object.has(other.key) || other.size == arrays.inputs.size()) continue;
    throw Error(fmt::format("{}: {} has {} entries, expected {} as input_lens has", object.where(),
                            other.key, other.size, arrays.inputs.size()));
  }
}

/// A failed request has no output; its first-token time, if the file has one, is meaningless.
RequestRow request_row(const Arrays& arrays, std::size_t i, double first_start,
                       const JsonReader& object) {
  RequestRow row{.index = static_cast<std::int64_t>(i),
                 .input_tokens = tokens_in(arrays.inputs[i], "input_lens", object),
                 .output_tokens = tokens_in(arrays.outputs[i], "output_lens", object)};
  if (!arrays.starts.empty()) row.arrival_s = arrays.starts[i] - first_start;
  row.sent_s = row.arrival_s;
  if (row.output_tokens == 0 || !std::isfinite(arrays.ttfts[i])) return row;
  row.first_token_s = row.arrival_s + arrays.ttfts[i];
  if (arrays.gaps.empty()) return row;
  const std::vector<double>& gaps = arrays.gaps[i];
  row.finished_s = std::accumulate(gaps.begin(), gaps.end(), *row.first_token_s);
  return row;
}

}  // namespace

void add_detailed_requests(MeasuredRun& run, const JsonReader& object) {
  if (!object.has("input_lens") || !object.has("output_lens") || !object.has("ttfts")) return;
  Arrays arrays{.inputs = *object.numbers("input_lens"),
                .outputs = *object.numbers("output_lens"),
                .ttfts = *object.numbers("ttfts"),
                .starts = object.numbers("start_times").value_or(std::vector<double>{}),
                .gaps = read_gaps(object)};
  check_lengths(arrays, object);
  const auto first = std::min_element(arrays.starts.begin(), arrays.starts.end());
  const double first_start = first == arrays.starts.end() ? 0 : *first;
  for (std::size_t i = 0; i < arrays.inputs.size(); ++i) {
    run.requests.push_back(request_row(arrays, i, first_start, object));
  }
  check_requests(run);
  add_request_metrics(run);
  std::vector<double> pooled;
  for (const std::vector<double>& gaps : arrays.gaps) {
    pooled.insert(pooled.end(), gaps.begin(), gaps.end());
  }
  add_samples(run, "itl_s", std::move(pooled));
}

}  // namespace roofcast
