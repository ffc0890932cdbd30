// The knobs of a serving engine, one row each: how a knob is called in a flag and in a scenario
// file, what its values are, which engines have it and what it does. Flags, scenario files and
// their schema, checks, the web's questions, what-if, completion and the manual are loops over this
// table. A new knob is a member of EngineOverrides with its row in knobs.cpp, and the place where
// it acts.
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

/// What a knob's values are. Units are SI everywhere but after a flag, which takes prefixes.
enum class KnobKind {
  count,      // a whole number; after a flag also 16k (16,000) and 16Ki (16,384)
  length,     // a count of tokens, or "auto": as many as fit
  share,      // of a whole; after a flag 0.9 or 90%
  number,     // a plain number
  bytes,      // after a flag 40GB or 40GiB
  bandwidth,  // bytes per second
  time,       // seconds; after a flag also 500us
  on_off,     // true or false
  choice,     // one of a few names
  shares,     // a list of shares; after a flag 0.8,0.6
};

/// The value of a knob of any kind: count int64; share, number, bytes, bandwidth and time double;
/// on_off bool; choice its name; shares a list; length int64 or "auto".
using KnobValue = std::variant<bool, std::int64_t, double, std::string, std::vector<double>>;

/// Finite values from `min` to `max`, either end left out where it is open.
struct KnobRange {
  double min = 0;
  double max = std::numeric_limits<double>::infinity();
  bool min_open = false;
  bool max_open = false;
};

bool contains(const KnobRange& range, double value);

/// Where help lists a knob.
enum class KnobGroup {
  memory_and_batch,  // what fits, and how much of it runs at once
  scheduler,         // what runs when
  features,          // sampling, drafts, adapters, K and V in host memory
};

/// Engines that have a knob; for others it is refused, as it would change nothing.
enum class KnobOwner { every, vllm_scheduler, vllm_memory, sglang, tensorrt_llm, textbook_memory };

bool owns(KnobOwner owner, SchedulerKind scheduler, MemoryRule memory);

/// What to choose instead, for messages: "one of the vLLM engines", "engine sglang".
const char* engines_of(KnobOwner owner);

/// The names that a knob of kind choice takes.
struct KnobChoice {
  const char* placeholder = "";    // in help: "POLICY"
  const char* noun = "";           // in messages: "policy"
  const char* names = "";          // "fcfs, priority, lpm or lof"
  bool takes_other_names = false;  // spellings beside these are read, too
  bool auto_unsets = false;        // after a flag, "auto" leaves the choice to the model
};

struct EngineKnob {
  std::string_view flag{};  // as vLLM calls it where it has it: "kv-offloading-size"
  const char* key = "";     // in a scenario, its unit at its end: "kv_offloading_size_bytes"
  KnobGroup group = KnobGroup::memory_and_batch;
  KnobKind kind = KnobKind::count;
  KnobRange range{};  // of numbers, and of each share of a list
  KnobOwner owner = KnobOwner::every;
  const char* partner = "";  // flag of the knob without which this one means nothing
  KnobChoice choice{};
  std::vector<std::string_view> aliases{};  // flags of other engines: "--mem-fraction-static"
  const char* help = "";                    // its effect in a few words, with the default
  const char* effect = "";                  // its effect in a sentence
  std::vector<KnobValue> examples{};        // one at least
  /// Its value as set; nothing where it is not.
  std::optional<KnobValue> (*get)(const EngineOverrides&) = nullptr;
  /// Sets it; whether it could: false for a name that it does not have, or a value of another kind.
  bool (*set)(EngineOverrides&, const KnobValue&) = nullptr;
  /// As an engine starts with it; null where no engine states one value.
  KnobValue (*resolved)(const Engine&) = nullptr;
};

/// All knobs, in the order in which scenarios are written.
std::span<const EngineKnob> engine_knobs();

/// Null when no knob has this flag ("max-num-seqs") or key ("max_num_seqs").
const EngineKnob* find_knob_by_flag(std::string_view flag);
const EngineKnob* find_knob_by_key(std::string_view key);

/// What messages call it: its flag with underscores, as scenarios and engines' logs spell it.
std::string knob_name(const EngineKnob& knob);

/// The names of its choice, one by one; empty for other kinds.
std::vector<std::string> choice_names(const EngineKnob& knob);

/// The number of a value that is one.
std::optional<double> number_in(const KnobValue& value);

/// Puts the knobs that are set in `given` over those of `knobs`.
void take_overrides(EngineOverrides& knobs, const EngineOverrides& given);

}  // namespace roofcast
