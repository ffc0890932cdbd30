// The parts of generate(), a source each. Internal to simulator/workload and its tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/workload/arrivals.hpp"
#include "simulator/workload/length_table.hpp"
#include "simulator/workload/synthetic.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Names the workload's stages and assigns every request the stage in which it, or its session,
/// arrived. Stages are those of a StagedLoad, after a "warm-up" stage of the first num_warmups
/// arrivals. A workload with a single stage has none. Precondition: requests that follow no other
/// are in order of arrival. Throws Error if no request is left to report.
void add_stages(Workload& workload, const SyntheticWorkload& spec, const Arrivals& arrivals);

/// Fills the workload with sessions, one per arrival, in order of arrival, each with its turns in
/// order. Draws from streams "session_turns", "think_times", "first_input_lengths", "input_lengths"
/// (later questions) and "output_lengths". The prompts' contents are the span of the system prompt,
/// if `spec` has a shared prefix, and the span of the session. Throws Error naming the parameter
/// that is out of range. `spec.sessions` must be set.
void draw_sessions(Workload& workload, const SyntheticWorkload& spec, const Arrivals& arrivals,
                   std::uint64_t seed, const std::vector<LengthTable>& tables);

/// The two meanings of --random-range-ratio: applies `ratio` to a fixed length; returns `lengths`
/// itself if there is no ratio. `knob` is "input" or "output". Throws Error naming it if the ratio
/// is out of range or the length is not fixed.
LengthDistribution with_range(const LengthDistribution& lengths, const std::optional<double>& ratio,
                              RangeRatio::Style style, const char* knob);

/// Draws an adapter for every request from stream "adapters"; all turns of a session use the same
/// one. Throws Error naming the parameter that is out of range.
void assign_adapters(Workload& workload, const LoraAdapters& lora, std::uint64_t seed);

/// Inserts the images into every prompt. Throws Error naming the parameter that is out of range,
/// and for sessions and repeated questions, whose images would be shared.
void add_images(Workload& workload, const SyntheticWorkload& spec);

/// "synthetic: 300 requests at 10 requests/s (burstiness 1), input 512, output 128". With sessions,
/// there are more requests than arrivals.
std::string describe(const SyntheticWorkload& spec, std::int64_t arrivals, std::int64_t requests);

}  // namespace roofcast
