// The knobs of a serving engine, one row each: its name as a flag and in a scenario file, its type
// and range, which engines have it and what it does. Flags, scenario files and their schema,
// checks, the web API, what-if, completion and the manual are all generated from this table. To add
// a knob, add a member to EngineOverrides and one to Engine, its row in knobs.cpp and the code that
// uses it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/engines/engine.hpp"

namespace roofcast {

/// The type of a knob's value. SI units everywhere except in flags, which accept prefixes.
enum class KnobKind {
  count,      // a whole number; as a flag also 16k (16,000) and 16Ki (16,384)
  length,     // a number of tokens, or "auto": as many as fit
  share,      // between 0 and 1; as a flag 0.9 or 90%
  number,     // a plain number
  bytes,      // as a flag 40GB or 40GiB
  bandwidth,  // bytes per second
  time,       // seconds; as a flag also 500us
  on_off,     // true or false
  choice,     // one of a few names
  shares,     // a list of shares; as a flag 0.8,0.6
  counts,     // a list of whole numbers; as a flag 1,2,4
};

/// A knob's value by kind. count: int64; share, number, bytes, bandwidth and time: double; on_off:
/// bool; choice: its name; shares: doubles; counts: a list of int64; length: int64 or "auto".
using KnobValue = std::variant<bool, std::int64_t, double, std::string, std::vector<double>,
                               std::vector<std::int64_t>>;

/// Finite values from `min` to `max`; either limit may be exclusive.
struct KnobRange {
  double min = 0;
  double max = std::numeric_limits<double>::infinity();
  bool min_open = false;
  bool max_open = false;
};

bool contains(const KnobRange& range, double value);

struct EngineKnob;

/// "1 to 1000", "more than 0 and at most 1", "at least 1".
std::string range_text(const EngineKnob& knob);

/// Where help lists a knob.
enum class KnobGroup {
  memory_and_batch,  // what fits, and how much of it runs at once
  scheduler,         // what runs when and how; rarely set ones of the first group
  features,          // sampling, drafts, adapters, K and V in host memory
};

/// Engines that have a knob. Others refuse it, because it would have no effect.
enum class KnobOwner {
  every,
  prefix_cache,  // all that have one
  token_ids,     // all that can be sent prompts as token ids
  vllm_scheduler,
  vllm_memory,
  sglang,
  tensorrt_llm,
  sglang_or_tensorrt_llm,
  vllm_or_sglang,
  vllm_or_tensorrt_llm,
  textbook_memory,
  own_scheduler,  // vLLM's schedule in an engine of ours, which no server has
};

bool owns(KnobOwner owner, SchedulerKind scheduler, MemoryRule memory);

/// The engines to choose instead, for messages: "one of the vLLM engines", "engine sglang".
const char* engines_of(KnobOwner owner);

/// The effect of a knob in the small engine that `measure` runs, which has this machine's memory
/// and launches kernels one by one.
enum class InMeasure {
  if_it_schedules,  // acts exactly if it only schedules
  acts,
  nothing,           // although it only schedules
  between_requests,  // acts, but not on a single request
};

/// The names that a knob of kind `choice` accepts.
struct KnobChoice {
  const char* placeholder = "";  // in help: "POLICY"
  const char* noun = "";         // in messages: "policy"
  std::vector<std::string_view> names{};
  bool takes_other_names = false;  // also parses spellings not listed here
  bool auto_unsets = false;        // as a flag, "auto" leaves the choice to the model
};

struct EngineKnob {
  std::string_view flag{};  // vLLM's name where it has the knob: "kv-offloading-size"
  const char* key = "";     // in a scenario; ends in its unit: "kv_offloading_size_bytes"
  KnobGroup group = KnobGroup::memory_and_batch;
  KnobKind kind = KnobKind::count;
  KnobRange range{};  // of numbers and of each one in a list
  KnobOwner owner = KnobOwner::every;
  bool only_schedules = false;  // changes which requests run when, no step's time and not what fits
  InMeasure in_measure = InMeasure::if_it_schedules;
  const char* partner = "";  // flag of the knob that this one requires
  KnobChoice choice{};
  std::vector<std::string_view> aliases{};  // other engines' flags: "--mem-fraction-static"
  const char* help = "";                    // short text with the default, for help
  const char* effect = "";                  // one sentence
  std::vector<KnobValue> examples{};        // at least one
  /// Its value; nullopt if it is not set.
  std::optional<KnobValue> (*get)(const EngineOverrides&) = nullptr;
  /// Sets it. Returns false for an unknown name or a value of another kind.
  bool (*set)(EngineOverrides&, const KnobValue&) = nullptr;
  /// Sets the member of a resolved engine if the knob is given; null for those that need the model
  /// or the GPU.
  void (*apply)(const EngineOverrides&, Engine&) = nullptr;
  /// The value in a resolved engine; null where engines have no single value.
  KnobValue (*resolved)(const Engine&) = nullptr;
};

/// All knobs, in the order in which scenarios are written.
std::span<const EngineKnob> engine_knobs();

/// Null when no knob has this flag ("max-num-seqs") or key ("max_num_seqs").
const EngineKnob* find_knob_by_flag(std::string_view flag);
const EngineKnob* find_knob_by_key(std::string_view key);

/// Its name in messages: its flag with underscores, as scenarios and engines' logs spell it.
std::string knob_name(const EngineKnob& knob);

/// The value as a number; nullopt if it is not one.
std::optional<double> number_in(const KnobValue& value);

/// Throws UsageError naming the first knob that is out of range, or that this engine does not have.
void check_overrides(const EngineOverrides& overrides, const EnginePreset& preset);

/// Overwrites knobs in `knobs` with those that are set in `given`.
void take_overrides(EngineOverrides& knobs, const EngineOverrides& given);

/// The first knob that is set; null if none is.
const EngineKnob* first_given(const EngineOverrides& overrides);

}  // namespace roofcast
