#include "model/engines/engine_checks.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/error.hpp"
#include "model/engines/knobs.hpp"

namespace roofcast {
namespace {

/// "1 to 1000", "more than 0 and at most 1", "at least 1".
std::string range_text(const EngineKnob& knob) {
  const KnobRange& range = knob.range;
  const bool whole = knob.kind == KnobKind::count || knob.kind == KnobKind::length;
  const auto number = [whole](double bound) {
    return whole ? fmt::format("{:.0f}", bound) : fmt::format("{:g}", bound);
  };
  const bool bounded = std::isfinite(range.max);
  if (bounded && !range.min_open && !range.max_open) {
    return fmt::format("{}{} to {}", knob.kind == KnobKind::share ? "a number from " : "",
                       number(range.min), number(range.max));
  }
  std::string text = (range.min_open ? "more than " : "at least ") + number(range.min);
  if (bounded) text += (range.max_open ? " and less than " : " and at most ") + number(range.max);
  return text;
}

const char* unit_of(KnobKind kind) {
  if (kind == KnobKind::bytes) return " bytes";
  if (kind == KnobKind::bandwidth) return " bytes/s";
  return kind == KnobKind::time ? " seconds" : "";
}

void check_range(const EngineKnob& knob, const KnobValue& value) {
  const auto number = number_in(value);
  if (!number || contains(knob.range, *number)) return;
  throw UsageError(fmt::format("{}: {}{} given, expected {}", knob_name(knob), *number,
                               unit_of(knob.kind), range_text(knob)));
}

/// SGLang's queue orders are its own: it supports no others, and no other engine supports them.
void check_order(const EngineOverrides& overrides, const PresetDefaults& preset) {
  const bool sglang = preset.scheduler == SchedulerKind::sglang;
  const QueueOrder order = overrides.scheduling_policy.value_or(QueueOrder::fcfs);
  const bool only_sglang =
      order == QueueOrder::longest_prefix || order == QueueOrder::longest_output;
  const bool only_others = order == QueueOrder::priority;
  if (sglang ? only_others : only_sglang) {
    throw UsageError(fmt::format("scheduling_policy: {} given for {}, expected {}", name_of(order),
                                 preset.preset.name,
                                 sglang ? "fcfs, lpm or lof" : "fcfs or priority"));
  }
}

/// A knob of an engine that does not have it, or without the knob that enables its feature, would
/// have no effect.
void check_use(const EngineKnob& knob, const EngineOverrides& overrides,
               const PresetDefaults& preset) {
  if (!owns(knob.owner, preset.scheduler, preset.memory_rule)) {
    throw UsageError(fmt::format("{}: given for {}, expected {}", knob_name(knob),
                                 preset.preset.name, engines_of(knob.owner)));
  }
  const EngineKnob* partner = find_knob_by_flag(knob.partner);
  if (partner != nullptr && !partner->get(overrides)) {
    throw UsageError(fmt::format("{}: given without {}", knob_name(knob), knob_name(*partner)));
  }
}

}  // namespace

void check_overrides(const EngineOverrides& overrides, const PresetDefaults& preset) {
  for (const EngineKnob& knob : engine_knobs()) {
    if (const auto value = knob.get(overrides)) check_range(knob, *value);
  }
  for (const EngineKnob& knob : engine_knobs()) {
    if (knob.get(overrides)) check_use(knob, overrides, preset);
  }
  check_order(overrides, preset);
}

}  // namespace roofcast
