// How each engine's server is started, one file per engine: its commands and images, and its flags
// as a table used for reading and writing. Flags not listed are unknown.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "planner/launch/serve_knobs.hpp"

namespace roofcast {

enum class ServeEngine { vllm, sglang, tensorrt_llm, atom };
inline constexpr std::array kServeEngines{ServeEngine::vllm, ServeEngine::sglang,
                                          ServeEngine::tensorrt_llm, ServeEngine::atom};

/// How many values follow a flag.
enum class Takes { value, nothing, several, optional };

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
  bool written = true;              // false: only read, since another row writes the knob
  Effect effect = Effect::none;     // without a knob
};

/// Whether `name`, with dashes, is one of a flag's spellings.
bool is_called(const ServeFlag& row, std::string_view name);

struct ServeFlags {
  std::string_view engine{};                 // its name in model/engines
  std::vector<std::string_view> prefixes{};  // with which names of its presets begin
  /// Commands that start a server, one word or two; if one begins another, the longer comes first.
  std::vector<std::array<std::string_view, 2>> programs{};
  std::string_view command{};                // as we write it
  bool model_follows = true;                 // the command, without a flag
  std::vector<std::string_view> packages{};  // of Python, with the engine's version
  std::string_view image_part{};             // of the names of its container images
  bool image_serves = false;                 // without a command
  std::string_view nvidia_image{};           // official; empty: none
  std::string_view amd_image{};
  std::string_view port = "--port";  // the flag of the port that clients use
  bool tags_releases = false;        // nvidia_image has the tag v0.19.0 for preset ...-0.19
  bool abbreviates = true;           // takes an unambiguous beginning of a flag
  std::vector<ServeFlag> flags{};
  std::vector<ServeFlag> keys{};          // of a configuration file, without a flag
  bool has_negations = false;             // --no-x for a flag --x without a value
  bool file_wins = false;                 // over flags, if both set a key
  std::vector<std::string> file_flags{};  // flags that name such a file
};

const ServeFlags& serve_flags(ServeEngine engine);

/// Default number of tokens per KV block.
std::int64_t default_block(ServeEngine engine);

/// Rows for unmodelled flags: `names` are separated by blanks, aliases of one flag by '|'.
void add_flags(std::vector<ServeFlag>& rows, Effect effect, Takes takes, std::string_view names);

/// A row for a knob; `names` as above.
void add_flag(std::vector<ServeFlag>& rows, std::string_view names, const ServeKnob& knob,
              ServeFlag form = {});

// One per engine; internal to serve_flags().
ServeFlags make_vllm_flags();
ServeFlags make_sglang_flags();
ServeFlags make_tensorrt_llm_flags();
ServeFlags make_atom_flags();

}  // namespace roofcast
