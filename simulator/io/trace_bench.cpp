// Detailed benchmark results replayed as traces: `vllm bench serve --save-result --save-detailed`
// (one JSON document, start_times since 2025) and SGLang's bench_serving --output-details (one
// document per run, each on a line, no start_times).
#include <fmt/format.h>

#include <array>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <streambuf>
#include <vector>

#include "base/error.hpp"
#include "base/io/json_buffer.hpp"
#include "base/io/shown.hpp"
#include "base/quantity.hpp"
#include "base/wording.hpp"
#include "simulator/io/timestamp.hpp"
#include "simulator/io/trace_builder.hpp"
#include "simulator/io/trace_formats.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kMaxEntries = 10'000'000;

constexpr std::array<std::string_view, 3> kArrays = {"input_lens", "output_lens", "start_times"};
enum Array : std::size_t { kInputLens, kOutputLens, kStartTimes };

/// Keeps only the three arrays, the rate and the concurrency of one document.
class ResultHandler {
 public:
  std::array<std::optional<std::vector<std::string>>, kArrays.size()> arrays;
  std::optional<std::string> request_rate;
  std::optional<std::string> max_concurrency;
  std::string problem;

  bool null() { return scalar("null"); }
  bool boolean(bool value) { return scalar(value ? "true" : "false"); }
  bool number_integer(nlohmann::json::number_integer_t value) {
    return scalar(fmt::format_int(value).c_str());
  }
  bool number_unsigned(nlohmann::json::number_unsigned_t value) {
    return scalar(fmt::format_int(value).c_str());
  }
  bool number_float(nlohmann::json::number_float_t, const std::string& text) {
    return scalar(text);
  }
  bool string(const std::string& text) { return scalar(text); }
  bool binary(const nlohmann::json::binary_t&) { return fail("is not JSON"); }

  bool start_object(std::size_t) { return start("an object"); }
  bool end_object() { return end(); }
  bool start_array(std::size_t) {
    if (depth_ == 1 && array_) {
      auto& array = arrays[*array_];
      if (array) return fail(fmt::format("{} is given twice", kArrays[*array_]));
      array.emplace();
    }
    return start("a list");
  }
  bool end_array() { return end(); }

  bool key(const std::string& name) {
    if (depth_ != 1) return true;
    array_.reset();
    number_ = name == "request_rate"      ? &ResultHandler::request_rate
              : name == "max_concurrency" ? &ResultHandler::max_concurrency
                                          : nullptr;
    for (std::size_t i = 0; i < kArrays.size(); ++i) {
      if (kArrays[i] == name) array_ = i;
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::json::exception&) {
    return fail(fmt::format("is not JSON from character {} on: '{}'", position, shown(token)));
  }

 private:
  bool fail(std::string text) {
    problem = std::move(text);
    return false;
  }

  bool scalar(std::string_view text) {
    if (depth_ == 0) return fail("is not a JSON object");
    if (depth_ == 1 && number_ != nullptr) this->*number_ = text;
    if (!array_) return true;
    if (depth_ == 1) {
      if (text == "null") return true;
      return fail(fmt::format("{} is '{}', expected a list", kArrays[*array_], shown(text)));
    }
    auto& entries = *arrays[*array_];
    if (entries.size() == kMaxEntries) {
      return fail(fmt::format("{} has over {} entries", kArrays[*array_], kMaxEntries));
    }
    entries.emplace_back(text);
    return true;
  }

  bool start(std::string_view what) {
    if (depth_ == 0 && what != "an object") return fail("is a list, expected a JSON object");
    if (array_ && (depth_ > 1 || what != "a list")) {
      return fail(fmt::format("{} holds {}, expected numbers", kArrays[*array_], what));
    }
    if (++depth_ > kMaxTraceDepth)
      return fail(fmt::format("nests deeper than {} levels", kMaxTraceDepth));
    return true;
  }
  bool end() {
    if (--depth_ == 1) array_.reset();
    return true;
  }

  std::optional<std::size_t> array_;  // index in kArrays of the array that the last key names
  std::optional<std::string> ResultHandler::*number_ = nullptr;  // the number that the last key
                                                                 // names
  int depth_ = 0;
};

void check_lengths(const ResultHandler& result, const std::string& path) {
  const auto& inputs = result.arrays[kInputLens];
  const auto& outputs = result.arrays[kOutputLens];
  if (!inputs || !outputs) {
    throw Error(
        fmt::format("{}: has no {}: expected a detailed result (vLLM: --save-detailed, SGLang: "
                    "--output-details)",
                    path, !inputs ? "input_lens" : "output_lens"));
  }
  for (std::size_t i = 0; i < kArrays.size(); ++i) {
    const auto& array = result.arrays[i];
    if (!array || array->size() == inputs->size()) continue;
    throw Error(fmt::format("{}: {} has {} entries, expected {} as input_lens has", path,
                            kArrays[i], array->size(), inputs->size()));
  }
}

/// Seconds between requests if the file has no send times; 0: all at once, which the tools write as
/// "inf", Infinity or omit.
double spacing(const ResultHandler& result, const std::string& path) {
  const std::string rate = result.request_rate.value_or("null");
  if (rate == "null" || rate == "inf") return 0;
  const auto per_second = parse_seconds(rate);  // a plain number
  if (!per_second || *per_second == 0) {
    throw Error(
        fmt::format("{}: has no start_times, and request_rate is '{}': arrival times are unknown",
                    path, shown(rate)));
  }
  return 1 / to_seconds(*per_second).value;
}

/// Maximum requests in flight during the run; nullopt if there was no limit.
std::optional<std::int64_t> concurrency_limit(const ResultHandler& result,
                                              const std::string& path) {
  const std::string text = result.max_concurrency.value_or("null");
  if (text == "null") return std::nullopt;
  const auto limit = to_number<std::int64_t>(text);
  if (!limit || *limit < 1) {
    throw Error(fmt::format("{}: max_concurrency is '{}', expected null or a whole number above 0",
                            path, shown(text)));
  }
  return limit;
}

ResultHandler read_result(std::streambuf& text, const std::string& path) {
  ResultHandler result;
  std::istream stream(&text);
  const bool whole =
      nlohmann::json::sax_parse(stream, &result, nlohmann::json::input_format_t::json, false);
  if (!whole) throw Error(fmt::format("{}: {}", path, result.problem));
  check_lengths(result, path);
  return result;
}

}  // namespace

Workload read_trace_bench(ByteSource& bytes, const TraceWorkload& spec) {
  JsonBuffer text(bytes, NumberWords::become_null);
  const ResultHandler result = read_result(text, spec.path);
  if (spec.columns != TraceColumnNames{}) {
    throw Error(spec.path + ": is a benchmark result, which has no columns to name");
  }
  TraceBuilder trace(spec, TraceBuilder::Places::entries);
  trace.name_column(TraceColumn::time, "start_times");
  trace.name_column(TraceColumn::input, "input_lens");
  trace.name_column(TraceColumn::output, "output_lens");
  const auto& times = result.arrays[kStartTimes];
  const double gap = times ? 0 : spacing(result, spec.path);
  if (!times) {
    trace.note(gap > 0 ? fmt::format("the result does not state when requests were sent: they are "
                                     "spaced evenly at its request_rate, {}/s",
                                     *result.request_rate)
                       : "the result does not state when requests were sent: all arrive at once");
  }
  if (const auto limit = concurrency_limit(result, spec.path)) {
    // Start times already reflect the limit.
    if (times) {
      trace.note(
          fmt::format("the run had at most {} in flight; the replay sends requests at the recorded "
                      "times, however many are in flight",
                      counted(*limit, "request")));
    } else {
      trace.limit_concurrency(*limit);
    }
  }
  if (has_more(text)) trace.note("the file contains further results: only the first is replayed");
  const std::size_t count = result.arrays[kInputLens]->size();
  TraceRow row;
  for (std::size_t i = 0; i < count; ++i) {
    if (trace.is_full()) return trace.finish(true);
    row.set(TraceColumn::time,
            times ? (*times)[i] : fmt::format("{:.9f}", static_cast<double>(i) * gap));
    row.set(TraceColumn::input, (*result.arrays[kInputLens])[i]);
    row.set(TraceColumn::output, (*result.arrays[kOutputLens])[i]);
    trace.add(row, static_cast<std::int64_t>(i) + 1);
  }
  return trace.finish(false);
}

}  // namespace roofcast
