// Applies the knobs of --vary to a scenario: keys are flags of `roofcast simulate` (request_rate,
// tp, gpu) or paths in a scenario file (workload.request_rate, cluster.pools.0.replicas).
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "planner/vary/vary.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// One knob for all of speculative decoding: "off", or "METHOD:DRAFTS:RATE" such as "eagle:3:0.7",
/// where RATE, the acceptance of a draft token, may be left out if the baseline has one.
inline constexpr const char* kSpeculationKey = "speculative";

/// One knob for how replicas share prefill and decode, as `plan --search` has it: "together", or
/// "PREFILL:DECODE" such as "1:3". Together are as many as there were.
inline constexpr const char* kPoolsKey = "pools";

/// Knobs that set several flags, and have none of their own.
inline constexpr std::array<const char*, 2> kJointKeys{kSpeculationKey, kPoolsKey};

/// Whether it is one of them, or "pd", as kPoolsKey is called too.
bool is_joint_key(std::string_view key);

/// Throws UsageError naming the key, with the nearest ones, unless it is one of simulate's flags, a
/// joint one, or has the form of a place in a scenario file. Of the nearest it names those that
/// `offers`, if given, is true of: the flag with dashes, or the joint key.
void check_vary_key(const std::string& key,
                    const std::function<bool(std::string_view)>& offers = {});

/// `baseline` with these settings applied in order. Values are as after the flag, or as in the
/// file; a relative one starts from the baseline's number or, for an engine knob that is not set
/// there, from the engine's default. "*2" scales lengths (planner/load/scaled_load.hpp), rates
/// of every pattern, and the rate of a trace. Throws UsageError naming the setting: an unknown key
/// (suggesting the nearest one), a value that the flag rejects, a relative change of something that
/// is not a number.
Scenario with_settings(const Scenario& baseline, const Settings& settings);

}  // namespace roofcast
