#include "simulator/io/trace_columns.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/text.hpp"

namespace roofcast {
namespace {

using Names = std::span<const std::string_view>;

// In the form of normalised_name(). Azure's first, then BurstGPT's, Mooncake's, the agentic (weka)
// traces', then those of other tools.
constexpr std::array<std::string_view, 7> kTimeNames = {
    "timestamp", "t", "arrival", "arrival_time", "arrived_at", "arrival_timestamp", "time"};
constexpr std::array<std::string_view, 10> kInputNames = {
    "contexttokens", "request_tokens",    "input_length", "in",
    "input",         "input_tokens",      "input_len",    "input_toks",
    "prompt_tokens", "num_prefill_tokens"};
constexpr std::array<std::string_view, 11> kOutputNames = {"generatedtokens",
                                                           "response_tokens",
                                                           "output_length",
                                                           "out",
                                                           "output",
                                                           "output_tokens",
                                                           "output_len",
                                                           "output_toks",
                                                           "completion_tokens",
                                                           "num_decode_tokens",
                                                           "generated_tokens"};
constexpr std::array<std::string_view, 4> kMaxTokensNames = {
    "max_tokens", "max_new_tokens", "max_output_tokens", "max_completion_tokens"};
constexpr std::array<std::string_view, 2> kClassNames = {"class", "slo_class"};
constexpr std::array<std::string_view, 1> kPriorityNames = {"priority"};
constexpr std::array<std::string_view, 1> kSessionNames = {"session_id"};
constexpr std::array<std::string_view, 2> kDelayNames = {"delay", "delay_ms"};
constexpr std::array<std::string_view, 1> kHashNames = {"hash_ids"};

struct Known {
  TraceColumn column;
  std::string TraceColumnNames::*renamed;
  Names names;
};

// In the order of TraceColumn.
constexpr std::array<Known, kTraceColumns> kKnown = {
    {{TraceColumn::time, &TraceColumnNames::time, kTimeNames},
     {TraceColumn::input, &TraceColumnNames::input, kInputNames},
     {TraceColumn::output, &TraceColumnNames::output, kOutputNames},
     {TraceColumn::max_tokens, &TraceColumnNames::max_tokens, kMaxTokensNames},
     {TraceColumn::slo_class, &TraceColumnNames::slo_class, kClassNames},
     {TraceColumn::priority, &TraceColumnNames::priority, kPriorityNames},
     {TraceColumn::session, &TraceColumnNames::session, kSessionNames},
     {TraceColumn::delay, &TraceColumnNames::delay, kDelayNames},
     {TraceColumn::hash_ids, &TraceColumnNames::hash_ids, kHashNames}}};

constexpr std::array<std::pair<std::string_view, TraceTimeUnit>, 4> kUnitSuffixes = {
    {{"_s", TraceTimeUnit::seconds},
     {"_ms", TraceTimeUnit::milliseconds},
     {"_us", TraceTimeUnit::microseconds},
     {"_ns", TraceTimeUnit::nanoseconds}}};

bool contains(Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view without_unit(std::string_view normalised) {
  for (const auto& [suffix, unit] : kUnitSuffixes) {
    if (normalised.ends_with(suffix)) {
      return normalised.substr(0, normalised.size() - suffix.size());
    }
  }
  return normalised;
}

}  // namespace

const std::string& name_given(TraceColumn column, const TraceColumnNames& renamed) {
  return renamed.*kKnown[static_cast<std::size_t>(column)].renamed;
}

std::string normalised_name(std::string_view name) {
  std::string result = lower(name);
  std::replace(result.begin(), result.end(), ' ', '_');
  return result;
}

std::optional<TraceTimeUnit> unit_in_name(std::string_view name) {
  const std::string normalised = normalised_name(name);
  for (const auto& [suffix, unit] : kUnitSuffixes) {
    if (normalised.ends_with(suffix)) return unit;
  }
  return std::nullopt;
}

std::optional<TraceColumn> column_called(std::string_view name, const TraceColumnNames& renamed) {
  for (const Known& known : kKnown) {
    if (!(renamed.*known.renamed).empty() && renamed.*known.renamed == name) return known.column;
  }
  const std::string normalised = normalised_name(name);
  for (const Known& known : kKnown) {
    if (!(renamed.*known.renamed).empty()) continue;
    const bool is_time = known.column == TraceColumn::time;
    if (contains(known.names, is_time ? without_unit(normalised) : normalised)) {
      return known.column;
    }
  }
  return std::nullopt;
}

}  // namespace roofcast
