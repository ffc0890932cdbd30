#include "simulator/io/trace_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/ceil_divide.hpp"
#include "base/error.hpp"
#include "base/io/csv.hpp"
#include "base/io/shown.hpp"
#include "base/numbers.hpp"
#include "base/quantity.hpp"
#include "base/wording.hpp"
#include "simulator/io/timestamp.hpp"
#include "simulator/io/trace_order.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kLargestPriority = 1'000'000'000;
constexpr std::size_t kMaxClasses = 1000;
constexpr std::int32_t kNoClass = -1;  // until all rows have been read
constexpr std::size_t kMaxSpans = std::numeric_limits<std::uint32_t>::max();

// Tokens per hash id: 512 in Mooncake's traces (its FAST 2025 release, README), 64 in the agentic
// traces with columns t, in, out.
constexpr std::int64_t kMooncakeBlock = 512;
constexpr std::int64_t kWekaBlock = 64;

std::optional<std::int64_t> parse_integer(std::string_view text) {
  // Tables that went through floating point contain "374.0".
  const std::size_t point = std::min(text.find('.'), text.size());
  const bool is_zero = text.find_first_not_of('0', point + 1) == std::string_view::npos;
  return to_number<std::int64_t>(is_zero ? text.substr(0, point) : text);
}

/// "NAME is 'TEXT', expected EXPECTED", or that it is missing.
std::string complaint(const TraceRow& row, TraceColumn column, const std::string& name,
                      std::string_view expected) {
  if (!row.has(column)) return fmt::format("{} is missing, expected {}", name, expected);
  return fmt::format("{} is '{}', expected {}", shown(name), shown(row.text(column)), expected);
}

}  // namespace

TraceBuilder::TraceBuilder(const TraceWorkload& spec, Places places)
    : spec_(spec),
      places_(places),
      unit_(spec.time_unit.value_or(TraceTimeUnit::seconds)),
      unit_stated_(spec.time_unit.has_value()) {
  names_[index(TraceColumn::max_tokens)] = "max_tokens";
  names_[index(TraceColumn::priority)] = "priority";
  names_[index(TraceColumn::delay)] = "delay";
}

void TraceBuilder::name_column(TraceColumn column, std::string_view name,
                               TraceTimeUnit usual_unit) {
  names_[index(column)] = name;
  if (column != TraceColumn::time || spec_.time_unit) return;
  const auto stated = unit_in_name(name);
  unit_stated_ = stated.has_value();
  unit_ = stated.value_or(usual_unit);
}

bool TraceBuilder::is_full() const {
  return spec_.max_requests > 0 && std::ssize(workload_.requests) >= spec_.max_requests;
}

std::string TraceBuilder::place_text(std::int64_t place) const {
  return fmt::format("{} {}", places_ == Places::lines ? "line" : "entry", place);
}

void TraceBuilder::fail(std::int64_t place, const std::string& problem) const {
  if (places_ == Places::entries) {
    throw Error(fmt::format("{}: {}: {}", spec_.path, place_text(place), problem));
  }
  throw Error(fmt::format("{}:{}: {}", spec_.path, place, problem));
}

void TraceBuilder::reject(std::int64_t place, const std::string& problem) {
  if (!spec_.skip_bad_rows) fail(place, problem);
  if (workload_.rows_skipped++ == 0) first_skipped_ = place_text(place) + ": " + problem;
}

void TraceBuilder::add(const TraceRow& row, std::int64_t place) {
  Request request;
  Nanoseconds delay = 0;
  auto problem = read(row, request);
  if (!problem) problem = read_delay(row, delay);
  if (!problem) problem = read_class(row, request.slo_class);
  if (!problem) problem = read_contents(row, request);
  if (problem) return reject(place, *problem);

  const bool failed = request.output_tokens == 0 && spec_.drop_failed;
  bool timed = true;
  if (row.has(TraceColumn::session)) {
    Session& session = sessions_[row.text(TraceColumn::session)];
    if (delay > kLongestSpan - session.paused) {
      return reject(place, fmt::format("with this {} the pauses of the session exceed ten years",
                                       name(TraceColumn::delay)));
    }
    session.paused += delay;
    timed = place_in_session(row, delay, session, request);
    if (!failed) session.last = static_cast<RequestId>(workload_.requests.size());
  }
  if (failed) {
    workload_.contents.resize(request.contents_begin);
    ++dropped_;
    return;
  }
  if (!timed) untimed_.push_back(static_cast<RequestId>(workload_.requests.size()));
  if (timed && request.follows == kNoRequest) note_extremes(request.arrival, place);
  if (request.input_tokens == 0) ++zero_inputs_;
  if (request.output_tokens == 0) ++zero_outputs_;
  request.input_tokens = std::max<std::int64_t>(1, request.input_tokens);
  request.output_tokens = std::max<std::int64_t>(1, request.output_tokens);
  if (request.max_tokens > 0 && request.max_tokens < request.output_tokens) {
    request.max_tokens = request.output_tokens;
    ++beyond_max_tokens_;
  }
  workload_.requests.push_back(request);
}

TraceBuilder::Problem TraceBuilder::read(const TraceRow& row, Request& request) {
  Problem problem;
  if (row.has(TraceColumn::time) || !row.has(TraceColumn::session)) {
    problem = read_time(row, request.arrival);
  }
  if (!problem) problem = read_tokens(row, TraceColumn::input, request.input_tokens);
  if (!problem) problem = read_tokens(row, TraceColumn::output, request.output_tokens);
  if (!problem) problem = read_max_tokens(row, request.max_tokens);
  if (!problem) problem = read_priority(row, request.priority);
  return problem;
}

TraceBuilder::Problem TraceBuilder::read_time(const TraceRow& row, Nanoseconds& time) {
  const std::string& text = row.text(TraceColumn::time);
  std::optional<Nanoseconds> parsed;
  if (row.has(TraceColumn::time) && !numbers_ && (parsed = parse_date_time(text))) {
    dates_ = true;
  } else if (row.has(TraceColumn::time) && !dates_ && (parsed = parse_duration(text, unit_))) {
    numbers_ = true;
    fractions_ = fractions_ || *parsed % kMillisecond != 0;
  }
  if (parsed) {
    time = *parsed;
    return std::nullopt;
  }
  const std::string number =
      unit_ == TraceTimeUnit::seconds
          ? "seconds from 0 to 7e9"
          : fmt::format("a time from 0 to 7e9 s, counted in {}", name_of(unit_));
  const std::string expected = dates_     ? "a date and time, as in the rows before"
                               : numbers_ ? number + ", as in the rows before"
                                          : number + " or a date and time";
  return complaint(row, TraceColumn::time, name(TraceColumn::time), expected);
}

TraceBuilder::Problem TraceBuilder::read_delay(const TraceRow& row, Nanoseconds& delay) const {
  if (!row.has(TraceColumn::delay)) return std::nullopt;
  if (!row.has(TraceColumn::session)) {
    return fmt::format("{} requires a session_id", name(TraceColumn::delay));
  }
  const auto parsed = parse_duration(row.text(TraceColumn::delay), TraceTimeUnit::milliseconds);
  if (!parsed || *parsed > kLongestSpan) {
    return complaint(row, TraceColumn::delay, name(TraceColumn::delay),
                     "milliseconds from 0 to ten years");
  }
  delay = *parsed;
  return std::nullopt;
}

TraceBuilder::Problem TraceBuilder::read_tokens(const TraceRow& row, TraceColumn column,
                                                std::int64_t& tokens) const {
  const auto parsed = row.has(column) ? parse_integer(row.text(column)) : std::nullopt;
  if (!parsed || *parsed < 0 || *parsed > kMaxTokens) {
    return complaint(row, column, name(column),
                     fmt::format("a whole number from 0 to {}", kMaxTokens));
  }
  tokens = *parsed;
  return std::nullopt;
}

TraceBuilder::Problem TraceBuilder::read_max_tokens(const TraceRow& row,
                                                    std::int64_t& max_tokens) const {
  if (!row.has(TraceColumn::max_tokens)) return std::nullopt;
  if (row.text(TraceColumn::max_tokens) == "none") {
    max_tokens = kNoMaxTokens;
    return std::nullopt;
  }
  return read_tokens(row, TraceColumn::max_tokens, max_tokens);
}

TraceBuilder::Problem TraceBuilder::read_priority(const TraceRow& row,
                                                  std::int64_t& priority) const {
  if (!row.has(TraceColumn::priority)) return std::nullopt;
  const auto parsed = parse_integer(row.text(TraceColumn::priority));
  if (!parsed || *parsed < -kLargestPriority || *parsed > kLargestPriority) {
    return complaint(row, TraceColumn::priority, name(TraceColumn::priority),
                     fmt::format("a whole number within +-{}", kLargestPriority));
  }
  priority = *parsed;
  return std::nullopt;
}

TraceBuilder::Problem TraceBuilder::read_class(const TraceRow& row, std::int32_t& slo_class) {
  slo_class = kNoClass;
  if (!row.has(TraceColumn::slo_class)) return std::nullopt;
  auto& names = workload_.class_names;
  const std::string& text = row.text(TraceColumn::slo_class);
  if (!fits_in_row(text)) {
    return fmt::format("class is '{}', expected a text without control characters", shown(text));
  }
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end() && names.size() == kMaxClasses) {
    return fmt::format("class '{}' exceeds the limit of {} classes", shown(text), kMaxClasses);
  }
  slo_class = static_cast<std::int32_t>(found - names.begin());
  if (found == names.end()) names.push_back(text);
  return std::nullopt;
}

/// Makes one span per id: whole blocks except for the last, which ends with the prompt (Mooncake's
/// partial last block has its own id). With fewer ids than blocks, the rest of the prompt is
/// unshared.
TraceBuilder::Problem TraceBuilder::read_contents(const TraceRow& row, Request& request) {
  const bool weka = name(TraceColumn::input) == "in";
  const std::int64_t block = spec_.block_size.value_or(weka ? kWekaBlock : kMooncakeBlock);
  auto& contents = workload_.contents;
  request.contents_begin = static_cast<std::uint32_t>(contents.size());
  const std::int64_t blocks = ceil_divide(request.input_tokens, block);
  if (std::cmp_greater(row.hash_ids.size(), blocks)) {
    return fmt::format(
        "hash_ids has {} entries, expected at most {}: {} input tokens in blocks of {}",
        row.hash_ids.size(), blocks, request.input_tokens, block);
  }
  if (contents.size() + row.hash_ids.size() > kMaxSpans) return "too many hash ids";
  std::int64_t left = request.input_tokens;
  for (std::uint64_t id : row.hash_ids) {
    contents.push_back({.content = id, .tokens = std::min(block, left)});
    left -= contents.back().tokens;
  }
  request.contents_count = static_cast<std::uint32_t>(row.hash_ids.size());
  return std::nullopt;
}

/// A turn with a delay, or without its own time, follows the previous turn; other turns arrive at
/// their own times. If the first turn was left out, its time replaces that of its answer. Returns
/// false if nothing determines when the turn arrives.
bool TraceBuilder::place_in_session(const TraceRow& row, Nanoseconds delay, Session& session,
                                    Request& request) {
  const bool timed = row.has(TraceColumn::time);
  if (session.last != kNoRequest && (!timed || row.has(TraceColumn::delay))) {
    request.follows = session.last;
    request.arrival = delay;
    return true;
  }
  if (!timed && !session.start) return false;
  if (!timed) request.arrival = *session.start + delay;
  session.start = request.arrival;
  return true;
}

void TraceBuilder::note_extremes(Nanoseconds time, std::int64_t place) {
  if (!timed_ || time < earliest_) {
    earliest_ = time;
    earliest_place_ = place;
  }
  if (!timed_ || time > latest_) {
    latest_ = time;
    latest_place_ = place;
  }
  timed_ = true;
}

Workload TraceBuilder::finish(bool stopped_early) {
  auto& requests = workload_.requests;
  if (requests.empty()) {
    throw Error(fmt::format("{}: no row could be read; {}", spec_.path,
                            !first_skipped_.empty() ? "the first: " + first_skipped_
                            : dropped_ > 0          ? "all " + counted(dropped_, "row") + " failed"
                                                    : std::string("the file has no rows")));
  }
  for (RequestId id : untimed_) requests[static_cast<std::size_t>(id)].arrival = earliest_;
  out_of_order_ = sort_by_arrival(requests);
  settle_classes();
  set_times();
  add_notes(stopped_early);
  const std::string file = std::filesystem::path(spec_.path).filename().string();
  constexpr double kLong = 120;  // from here on minutes, hours or days say more
  const Seconds lasts = to_seconds(last_arrival(workload_));
  workload_.description =
      fmt::format("{}: {} over {}", file, counted(std::ssize(requests), "request"),
                  lasts.value < kLong ? fixed(lasts.value, 1) + " s" : as_time(lasts));
  return std::move(workload_);
}

/// If other requests have a class, requests without one get class "".
void TraceBuilder::settle_classes() {
  auto& names = workload_.class_names;
  const bool some_named = !names.empty();
  for (Request& request : workload_.requests) {
    if (request.slo_class != kNoClass) continue;
    if (some_named && !names.back().empty()) names.emplace_back();
    request.slo_class = some_named ? static_cast<std::int32_t>(names.size() - 1) : 0;
  }
}

/// The factor applied to times since the first arrival.
double TraceBuilder::time_factor() const {
  if (spec_.rate_scale) return 1 / *spec_.rate_scale;
  if (!spec_.request_rate) return spec_.time_scale;
  const auto& requests = workload_.requests;
  const auto first_turns = std::count_if(requests.begin(), requests.end(),
                                         [](const Request& r) { return r.follows == kNoRequest; });
  if (latest_ == earliest_) {
    throw Error(fmt::format(
        "{}: all requests arrive at the same time: there is no rate to scale to {} requests/s",
        spec_.path, *spec_.request_rate));
  }
  const double mean_gap =
      to_seconds(latest_ - earliest_).value / static_cast<double>(first_turns - 1);
  return 1 / (*spec_.request_rate * mean_gap);
}

/// Makes times relative to the first arrival and scales them.
void TraceBuilder::set_times() {
  const double factor = time_factor();
  const double span = to_seconds(latest_ - earliest_).value * factor;
  if (!(span <= to_seconds(kLongestSpan).value)) {
    fail(latest_place_,
         fmt::format("arrives {:.3g} years after the first ({}, times multiplied by {:.6g}), "
                     "expected at most 10",
                     span / (365.0 * 86'400), place_text(earliest_place_), factor));
  }
  for (Request& request : workload_.requests) {
    if (request.follows != kNoRequest) continue;
    request.arrival -= earliest_;
    if (factor == 1.0) continue;
    request.arrival = std::llround(static_cast<double>(request.arrival) * factor);
  }
}

/// Mooncake's "timestamp" is in whole milliseconds, other tools' (Alibaba's Bailian traces, vLLM's
/// timed_trace) in seconds: notes values that look like seconds instead of guessing.
void TraceBuilder::note_unit() {
  // Read as milliseconds these would be days 12 to 47 of a recording; as Unix seconds 2001 to 2096.
  constexpr Nanoseconds kFirstUnix = 1'000'000'000 * kMillisecond;
  constexpr Nanoseconds kLastUnix = 4'000'000'000 * kMillisecond;
  if (unit_stated_ || unit_ != TraceTimeUnit::milliseconds || !numbers_) return;
  const bool unix_time = earliest_ >= kFirstUnix && earliest_ <= kLastUnix;
  if (!unix_time && !fractions_) return;
  note(fmt::format(
      "{} is read as milliseconds, but {}: if it is in seconds, set `trace_time_unit` s",
      shown(name(TraceColumn::time)), unix_time ? "looks like a Unix time" : "has fractions"));
}

void TraceBuilder::add_notes(bool stopped_early) {
  auto note_count = [&](std::int64_t count, std::string_view noun, std::string_view text) {
    if (count > 0) note(fmt::format("{} {}", counted(count, noun), text));
  };
  if (workload_.rows_skipped > 0) {
    note(fmt::format("skipped {} that could not be read, the first at {}",
                     counted(workload_.rows_skipped, "row"), first_skipped_));
  }
  note_count(dropped_, "row", "with 0 output tokens left out as failed");
  note_count(zero_outputs_, "row",
             "with 0 output tokens changed to 1: an engine generates at least one");
  note_count(zero_inputs_, "row", "with 0 input tokens changed to 1: a prompt is not empty");
  note_count(beyond_max_tokens_, "row",
             "with more output than max_tokens: their max_tokens raised to the output");
  if (out_of_order_ > 0) {
    note(fmt::format("rows were not in time order ({} back) and were sorted",
                     counted(out_of_order_, "step")));
  }
  note_unit();
  note_count(std::ssize(untimed_), "session", "without a time start with the trace");
  if (stopped_early) {
    note(fmt::format("read only the first {} (max_requests)",
                     counted(std::ssize(workload_.requests), "row")));
  }
}

}  // namespace roofcast
