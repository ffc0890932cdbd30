#include "simulator/io/trace_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "model/error.hpp"
#include "simulator/io/csv.hpp"
#include "simulator/io/line_reader.hpp"
#include "simulator/io/timestamp.hpp"
#include "simulator/io/trace_columns.hpp"
#include "simulator/wording.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kLargestPriority = 1'000'000'000;
constexpr std::size_t kMostClasses = 1000;

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  std::string_view left(rest, static_cast<std::size_t>(end - rest));
  // Tables written by way of floating point have "374.0".
  if (left.starts_with('.') && left.find_first_not_of('0', 1) == std::string_view::npos) left = {};
  if (error != std::errc{} || !left.empty()) return std::nullopt;
  return number;
}

std::string clipped(const std::string& text) {
  constexpr std::size_t kShown = 40;
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

/// Whether times are written as dates or as seconds: one way in all of a file.
enum class TimeForm { unknown, date_time, seconds };

/// Reads a trace row by row, collecting what has to be said about it.
class TraceBuilder {
 public:
  TraceBuilder(const TraceWorkload& spec, TraceColumns columns)
      : spec_(spec), columns_(std::move(columns)) {}

  /// Adds the row, or says what is wrong with it.
  std::optional<std::string> add(const std::vector<std::string>& fields, std::int64_t line) {
    if (fields.size() != columns_.count) {
      return fmt::format("{} fields, expected {}", fields.size(), columns_.count);
    }
    Request request;
    auto problem = read_time(fields[columns_.time], request.arrival);
    if (!problem)
      problem = read_tokens(fields[columns_.input], columns_.input_name, request.input_tokens);
    if (!problem)
      problem = read_tokens(fields[columns_.output], columns_.output_name, request.output_tokens);
    if (!problem) problem = read_optional(fields, request);
    if (problem) return problem;
    note_extremes(request.arrival, line);
    raise_zero(request.input_tokens, zero_inputs_);
    raise_zero(request.output_tokens, zero_outputs_);
    workload_.requests.push_back(request);
    return std::nullopt;
  }

  std::size_t rows() const { return workload_.requests.size(); }

  void skip(std::int64_t line, const std::string& problem) {
    if (workload_.rows_skipped++ == 0) first_skipped_ = fmt::format("line {}: {}", line, problem);
  }

  Workload finish(bool stopped_early) {
    if (workload_.requests.empty()) {
      throw Error(
          fmt::format("{}: no row could be read, the first: {}", spec_.path,
                      first_skipped_.empty() ? "the file has only a header" : first_skipped_));
    }
    order_by_time();
    set_times();
    add_notes(stopped_early);
    const auto span = to_seconds(workload_.requests.back().arrival).value;
    const std::string file = std::filesystem::path(spec_.path).filename().string();
    workload_.description = fmt::format("{}: {} over {:.1f} s", file,
                                        counted(std::ssize(workload_.requests), "request"), span);
    return std::move(workload_);
  }

 private:
  using Problem = std::optional<std::string>;

  Problem read_time(const std::string& text, Nanoseconds& time) {
    std::optional<Nanoseconds> parsed;
    if (form_ != TimeForm::seconds && (parsed = parse_date_time(text))) {
      form_ = TimeForm::date_time;
    } else if (form_ != TimeForm::date_time && (parsed = parse_seconds(text))) {
      form_ = TimeForm::seconds;
    } else {
      const std::string_view expected =
          form_ == TimeForm::unknown   ? "seconds from 0 to 7e9 or a date and time"
          : form_ == TimeForm::seconds ? "seconds from 0 to 7e9, as in the rows before"
                                       : "a date and time, as in the rows before";
      return fmt::format("{} is '{}', expected {}", columns_.time_name, clipped(text), expected);
    }
    time = *parsed;
    return std::nullopt;
  }

  static Problem read_tokens(const std::string& text, const std::string& name,
                             std::int64_t& tokens) {
    const auto parsed = parse_integer(text);
    if (!parsed || *parsed < 0 || *parsed > kMostTokens) {
      return fmt::format("{} is '{}', expected a whole number from 0 to {}", name, clipped(text),
                         kMostTokens);
    }
    tokens = *parsed;
    return std::nullopt;
  }

  Problem read_optional(const std::vector<std::string>& fields, Request& request) {
    if (columns_.priority) {
      const std::string& text = fields[*columns_.priority];
      const auto parsed = parse_integer(text);
      if (!parsed || std::abs(*parsed) > kLargestPriority) {
        return fmt::format("priority is '{}', expected a whole number within +-{}", clipped(text),
                           kLargestPriority);
      }
      request.priority = *parsed;
    }
    if (!columns_.slo_class) return std::nullopt;
    auto& names = workload_.class_names;
    const std::string& name = fields[*columns_.slo_class];
    const auto found = std::find(names.begin(), names.end(), name);
    request.slo_class = static_cast<std::int32_t>(found - names.begin());
    if (found != names.end()) return std::nullopt;
    if (names.size() == kMostClasses) {
      return fmt::format("class '{}' is one too many, expected at most {} classes", clipped(name),
                         kMostClasses);
    }
    names.push_back(name);
    return std::nullopt;
  }

  void note_extremes(Nanoseconds time, std::int64_t line) {
    if (rows() == 0 || time < earliest_) {
      earliest_ = time;
      earliest_line_ = line;
    }
    if (rows() == 0 || time > latest_) {
      latest_ = time;
      latest_line_ = line;
    }
  }

  static void raise_zero(std::int64_t& tokens, std::int64_t& count) {
    if (tokens > 0) return;
    tokens = 1;
    ++count;
  }

  void order_by_time() {
    auto& requests = workload_.requests;
    const auto earlier = [](const Request& a, const Request& b) { return a.arrival < b.arrival; };
    for (std::size_t i = 1; i < requests.size(); ++i) {
      if (earlier(requests[i], requests[i - 1])) ++out_of_order_;
    }
    if (out_of_order_ > 0) std::stable_sort(requests.begin(), requests.end(), earlier);
  }

  /// Counts time from the first arrival and scales it.
  void set_times() {
    const double span = to_seconds(latest_ - earliest_).value * spec_.time_scale;
    if (span > to_seconds(kLongestSpan).value) {
      throw Error(fmt::format(
          "{}:{}: arrives {:.3g} years after the first (line {}, time scale "
          "{}), expected at most 10",
          spec_.path, latest_line_, span / (365.0 * 86'400), earliest_line_, spec_.time_scale));
    }
    for (Request& request : workload_.requests) {
      const Nanoseconds since_first = request.arrival - earliest_;
      request.arrival = spec_.time_scale == 1.0
                            ? since_first
                            : std::llround(static_cast<double>(since_first) * spec_.time_scale);
    }
  }

  void add_notes(bool stopped_early) {
    auto& notes = workload_.notes;
    if (workload_.rows_skipped > 0) {
      notes.push_back(fmt::format("skipped {} that could not be read, the first at {}",
                                  counted(workload_.rows_skipped, "row"), first_skipped_));
    }
    if (zero_outputs_ > 0) {
      notes.push_back(
          fmt::format("{} with 0 output tokens taken as 1: an engine generates at least one",
                      counted(zero_outputs_, "row")));
    }
    if (zero_inputs_ > 0) {
      notes.push_back(fmt::format("{} with 0 input tokens taken as 1: a prompt is not empty",
                                  counted(zero_inputs_, "row")));
    }
    if (out_of_order_ > 0) {
      notes.push_back(fmt::format("rows were not in order of time ({} steps back) and were sorted",
                                  out_of_order_));
    }
    if (stopped_early) {
      notes.push_back(fmt::format("read only the first {} (max_requests)",
                                  counted(std::ssize(workload_.requests), "row")));
    }
  }

  const TraceWorkload& spec_;
  TraceColumns columns_;
  Workload workload_;
  TimeForm form_ = TimeForm::unknown;
  Nanoseconds earliest_ = 0, latest_ = 0;
  std::int64_t earliest_line_ = 0, latest_line_ = 0;
  std::int64_t zero_inputs_ = 0, zero_outputs_ = 0, out_of_order_ = 0;
  std::string first_skipped_;
};

void check(const TraceWorkload& spec) {
  if (!(spec.time_scale > 0) || !std::isfinite(spec.time_scale)) {
    throw Error(fmt::format("{}: time_scale is {}, expected a positive number", spec.path,
                            spec.time_scale));
  }
  if (spec.max_requests < 0) {
    throw Error(fmt::format("{}: max_requests is {}, expected 0 (all) or more", spec.path,
                            spec.max_requests));
  }
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos;
}

}  // namespace

Workload read_trace(const TraceWorkload& spec) {
  check(spec);
  LineReader lines(spec.path);
  TraceBuilder trace(spec, read_trace_columns(lines, spec.path));
  std::vector<std::string> fields;
  std::string_view line;
  while (lines.next(line)) {
    if (is_blank(line)) continue;
    if (spec.max_requests > 0 && std::cmp_equal(trace.rows(), spec.max_requests)) {
      return trace.finish(true);
    }
    const auto problem = split_csv(line, fields)
                             ? trace.add(fields, lines.line_number())
                             : std::optional<std::string>("a quote is left open");
    if (!problem) continue;
    if (!spec.skip_bad_rows) {
      throw Error(fmt::format("{}:{}: {}", spec.path, lines.line_number(), *problem));
    }
    trace.skip(lines.line_number(), *problem);
  }
  return trace.finish(false);
}

}  // namespace roofcast
