// The flags of each engine as a table, used for reading and writing. Flags not listed are unknown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/launch/serve_knobs.hpp"

namespace roofcast {

enum class ServeEngine { vllm, sglang, tensorrt_llm };

/// How many values follow a flag.
enum class Takes { value, nothing, several };

/// The effect of a flag that maps to no knob.
enum class Effect {
  none,      // no effect on performance or memory
  possible,  // may affect them, and is not modelled
};

struct ServeFlag {
  /// "--tensor-parallel-size", or a key of the engine's configuration file:
  /// "kv_cache_config.dtype".
  std::string spelling{};
  std::vector<std::string> others{};  // short and older forms
  Takes takes = Takes::value;
  const ServeKnob* knob = nullptr;  // null: not modelled
  std::string says{};               // the knob's text for a flag without a value
  bool inverted = false;            // true means false
  bool written = true;              // false: read only, as another row writes the knob
  Effect effect = Effect::none;     // without a knob
};

struct ServeFlags {
  std::vector<ServeFlag> flags{};
  std::vector<ServeFlag> keys{};          // of a configuration file, without a flag
  bool has_negations = false;             // --no-x for a flag --x without a value
  bool file_wins = false;                 // over flags, if both set a key
  std::vector<std::string> file_flags{};  // flags that name such a file
};

const ServeFlags& serve_flags(ServeEngine engine);

/// Default number of tokens per KV block: page_size of sglang/srt/server_args.py, tokens_per_block
/// of KvCacheConfig in tensorrt_llm/llmapi/llm_args.py, block_size of vLLM's CacheConfig.
std::int64_t default_block(ServeEngine engine);

/// Rows for what is not modelled: `names` apart by blanks, other forms of one joined by '|'.
void add_flags(std::vector<ServeFlag>& rows, Effect effect, Takes takes, std::string_view names);

/// A row for a knob; `names` as above.
void add_flag(std::vector<ServeFlag>& rows, std::string_view names, const ServeKnob& knob,
              ServeFlag form = {});

// One per engine; internal to serve_flags().
ServeFlags make_vllm_flags();
ServeFlags make_sglang_flags();
ServeFlags make_tensorrt_llm_flags();

}  // namespace roofcast
