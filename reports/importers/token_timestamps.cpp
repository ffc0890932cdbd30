// One object per request with the time of each token, as a client that streams notes them:
//
//   {"start_time": 0.0, "first_token_time": 0.21, "token_timestamps": [0.21, 0.24], "end_time":
//   0.24}
//
// all in seconds on one clock, or as dates with times (ISO 8601). A list of such objects, one per
// line, or a list within an object under "requests", "results", "records" or "data". TTFT is
// first_token_time - start_time, E2E is end_time - start_time, ITL the gaps of token_timestamps.
// Either of first_token_time and token_timestamps may be missing; a request without an end_time has
// failed. Lengths are input_tokens and output_tokens, or as other clients call them; outputs are
// also counted from token_timestamps. What is not known of a length is said.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dates.hpp"
#include "base/error.hpp"
#include "reports/importers/formats.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/request_statistics.hpp"

namespace roofcast {
namespace {

using nlohmann::json;

/// The first count found under any of the keys.
std::optional<std::int64_t> count_of(const JsonReader& record,
                                     std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (const auto count = record.count(key)) return count;
  }
  return std::nullopt;
}

constexpr std::initializer_list<const char*> kWrappers = {"requests", "results", "records", "data"};

/// In seconds: a number, or a text such as "2026-01-02T10:00:00.25Z".
std::optional<double> seconds_of(const json& value) {
  constexpr double kNanosecond = 1e-9;
  if (value.is_string()) {
    if (const auto instant = parse_instant(value.get_ref<const std::string&>())) {
      return static_cast<double>(*instant) * kNanosecond;
    }
  }
  return number_in(value);
}

constexpr const char* kTime = "a time: seconds, or 2026-01-02T10:00:00.25Z";

/// Nullopt when absent. Throws Error unless it is a time.
std::optional<double> time_of(const JsonReader& record, const char* key) {
  const json* value = record.find(key);
  if (value == nullptr) return std::nullopt;
  const auto time = seconds_of(*value);
  if (!time) record.refuse(key, kTime);
  return time;
}

/// Empty when absent. Throws Error unless each is a time.
std::vector<double> times_of(const JsonReader& record, const char* key) {
  std::vector<double> times;
  const json* list = record.list(key);
  if (list == nullptr) return times;
  times.reserve(list->size());
  for (const json& value : *list) {
    const auto time = seconds_of(value);
    if (!time) record.refuse(key, value, kTime);
    times.push_back(*time);
  }
  return times;
}

bool is_record(const json& value) {
  return value.is_object() && value.contains("start_time") && !value.contains("info") &&
         (value.contains("token_timestamps") ||
          (value.contains("first_token_time") && value.contains("end_time")));
}

/// The key under which an object lists records; null if it lists none.
const char* wrapper_of(const json& value) {
  for (const char* key : kWrappers) {
    const auto list = value.find(key);
    if (list != value.end() && list->is_array() && !list->empty() && is_record(list->front())) {
      return key;
    }
  }
  return nullptr;
}

/// Throws Error unless `time`, found at `key`, is finite and not before `earliest`.
void check_order(const JsonReader& record, const char* key, double time, double earliest) {
  if (std::isfinite(time) && time >= earliest) return;
  record.fail(key,
              "expected times in seconds that do not run backwards: start_time, "
              "first_token_time, token_timestamps, end_time");
}

constexpr std::initializer_list<const char*> kInputKeys = {"input_tokens", "prompt_tokens",
                                                           "num_input_tokens"};
constexpr std::initializer_list<const char*> kOutputKeys = {"output_tokens", "completion_tokens",
                                                            "num_output_tokens"};

/// Says of how many requests a length is not known, and drops sums of lengths of which none is.
void tell_unknown_lengths(MeasuredRun& run) {
  const auto tell = [&](std::int64_t RequestRow::*tokens, std::string_view metric,
                        std::string_view expected) {
    const auto unknown = std::ranges::count_if(run.requests, [&](const RequestRow& request) {
      return request.finished_s && request.*tokens == 0;
    });
    if (unknown == 0) return false;
    const auto finished = std::ranges::count_if(
        run.requests, [](const RequestRow& request) { return request.finished_s.has_value(); });
    run.warnings.push_back(fmt::format("{} of {} completed requests state no {}: expected {}",
                                       unknown, finished, metric, expected));
    if (unknown < finished) return false;
    std::erase_if(run.metrics, [&](const MetricRow& row) { return row.name.starts_with(metric); });
    return true;
  };
  if (tell(&RequestRow::input_tokens, "input_tokens", "`input_tokens` or `prompt_tokens`")) {
    run.setting.mean_input_tokens.reset();
  }
  if (tell(&RequestRow::output_tokens, "output_tokens", "`output_tokens` or `token_timestamps`")) {
    run.setting.mean_output_tokens.reset();
  }
}

/// Collected from the records of all requests.
struct Found {
  std::vector<double> gaps{};      // between the tokens of a request
  std::int64_t fewer_counted = 0;  // completed requests with fewer timestamps than stated tokens
};

RequestRow request_of(const JsonReader& record, Found& found) {
  const auto start = time_of(record, "start_time");
  if (!start || !std::isfinite(*start)) record.refuse("start_time", kTime);
  const std::vector<double> tokens = times_of(record, "token_timestamps");
  std::optional<double> first = time_of(record, "first_token_time");
  if (!first && !tokens.empty()) first = tokens.front();
  if (first) check_order(record, "first_token_time", *first, *start);
  double last = first.value_or(*start);
  for (const double token : tokens) {
    check_order(record, "token_timestamps", token, last);
    last = token;
  }
  const auto end = time_of(record, "end_time");
  if (end) check_order(record, "end_time", *end, last);

  const auto stated = count_of(record, kOutputKeys);
  const auto counted = static_cast<std::int64_t>(tokens.size());
  if (stated && counted > *stated) {
    record.refuse("output_tokens", "at least as many tokens as token_timestamps lists");
  }
  if (end && stated && counted > 0 && counted < *stated) ++found.fewer_counted;
  for (std::size_t i = 1; end && i < tokens.size(); ++i)
    found.gaps.push_back(tokens[i] - tokens[i - 1]);
  return {.arrival_s = *start,
          .sent_s = *start,
          .first_token_s = first,
          .finished_s = end,
          .input_tokens = count_of(record, kInputKeys).value_or(0),
          .output_tokens = stated.value_or(counted)};
}

}  // namespace

bool is_token_timestamps(const json& first) {
  return is_record(first) || wrapper_of(first) != nullptr;
}

MeasuredRuns read_token_timestamps(ResultObjects& objects) {
  MeasuredRun run{.origin = objects.path(), .format = "token-timestamps"};
  Found found;
  while (const auto record = objects.next()) {
    const char* wrapper = wrapper_of(record->value());
    if (wrapper == nullptr) {
      run.requests.push_back(request_of(*record, found));
      continue;
    }
    for (const JsonReader& inner : record->objects(wrapper)) {
      run.requests.push_back(request_of(inner, found));
    }
  }
  finish_request_run(run);
  add_samples(run, "itl_s", std::move(found.gaps));
  tell_unknown_lengths(run);
  if (found.fewer_counted > 0) {
    run.warnings.push_back(
        fmt::format("{} of {} requests state more `output_tokens` than `token_timestamps` lists: "
                    "TPOT and throughput count those stated, ITL the gaps listed",
                    found.fewer_counted, run.requests.size()));
  }
  return {std::move(run)};
}

}  // namespace roofcast
