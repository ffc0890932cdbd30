// Knobs that an engine has and that yet change nothing: because of the model, of the parallelism or
// of what is asked. A flag without effect is refused with the reason rather than accepted in
// silence; all such rules are rows of one table in idle_knobs.cpp. Knobs that an engine does not
// have are refused by check_overrides (model/engines/knobs.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/parallelism.hpp"
#include "model/architecture/transformer.hpp"
#include "model/engines/engine.hpp"
#include "model/hardware/gpu.hpp"

namespace roofcast {

/// The question for which knobs are given.
enum class KnobUse {
  memory,  // what fits
  steps,   // what one step takes if all sequences are at the same point
  /// What requests see if all are alike, without priorities, shared prefixes or adapters: means and
  /// percentiles, except of the gaps between chunks.
  even_load,
  load,  // what requests see if they arrive over time
};

/// Where knobs are given.
struct KnobSetting {
  KnobUse use = KnobUse::load;
  const Engine& engine;  // with the knobs
  const Transformer& model;
  const Gpu& gpu;
  /// Unset: not known yet, so that knobs that depend on it count as acting.
  std::optional<Parallelism> parallel{};
};

/// Names the first given knob that changes no answer in this setting, whatever its value, and the
/// reason, as an error would; nullopt if all may act.
std::optional<std::string> idle_knob(const EngineOverrides& given, const KnobSetting& setting);

/// Keys of the knobs that idle_knob() has rules for, some of them several times.
std::vector<std::string_view> keys_with_idle_rules();

}  // namespace roofcast
