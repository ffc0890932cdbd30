#include "planner/launch/serve_command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "model/architecture/requantise.hpp"
#include "planner/launch/serve_parallelism.hpp"
#include "planner/launch/serve_yaml.hpp"
#include "planner/launch/shell_text.hpp"

namespace roofcast {
namespace {

constexpr const char* kYamlFile = "serve.yaml";

/// Formats to which engines convert a 16-bit checkpoint while loading; the others need their own
/// checkpoint.
bool is_made_on_loading(ServeEngine engine, const std::string& format) {
  const bool converts = engine == ServeEngine::vllm || engine == ServeEngine::sglang;
  return converts && format == "fp8";
}

/// 16-bit and 32-bit formats are --dtype, all others --quantization.
void put_weight_format(ServeEngine engine, const std::string& name, ServeWords& words,
                       std::vector<std::string>& notes) {
  const std::string format = weight_format_named(name).name;
  if (format == "bf16" || format == "fp16" || format == "fp32") {
    words.dtype = parse_dtype(format);
    return;
  }
  words.weight_format = format;
  if (!is_made_on_loading(engine, format)) {
    notes.push_back(fmt::format("weights as {}: give a checkpoint in that format", format));
  }
}

/// SGLang and TensorRT-LLM take tokens, not blocks.
void put_kv_tokens(ServeEngine engine, ServeWords& words) {
  EngineOverrides& knobs = words.overrides;
  if (engine == ServeEngine::vllm || !knobs.num_gpu_blocks_override) return;
  words.kv_tokens =
      *knobs.num_gpu_blocks_override * knobs.block_size.value_or(default_block(engine));
  knobs.num_gpu_blocks_override.reset();
}

/// The text of a row's flag; nullopt if the row is not to be written.
std::optional<std::string> row_text(const ServeFlags& table, const ServeFlag& row,
                                    const ServeWords& words) {
  if (row.knob == nullptr || !row.written) return std::nullopt;
  const auto value = row.knob->write(words);
  if (!value) return std::nullopt;
  if (row.takes == Takes::several) return " " + row.spelling + " " + *value;  // words, not one
  if (row.takes != Takes::nothing) return " " + row.spelling + " " + shell_quoted(*value);
  if (*value == row.says) return " " + row.spelling;
  if (table.has_negations) return " --no-" + row.spelling.substr(2);
  return std::nullopt;
}

std::string inverted(const std::string& value) { return value == "true" ? "false" : "true"; }

class LineWriter {
 public:
  LineWriter(ServeEngine engine, const ServeWords& words)
      : engine_(engine), words_(words), table_(serve_flags(engine)) {}

  std::string line() {
    std::string text = head();
    for (const ServeFlag& row : table_.flags) {
      if (const auto said = row_text(table_, row, words_)) {
        text += *said;
        said_.insert(row.knob->name);
      }
    }
    const std::string yaml = configuration();
    if (yaml.empty()) return text;
    return fmt::format("cat > {0} <<'EOF'\n{1}EOF\n{2} {3} {0}", kYamlFile, yaml, text,
                       table_.file_flags.front());
  }

  /// Knobs that are set and that no row wrote, except for those at the engine's default.
  std::vector<std::string> unsaid() const {
    std::vector<std::string> names;
    for (const ServeEngine other : kServeEngines) {
      add_unsaid(serve_flags(other).flags, names);
      add_unsaid(serve_flags(other).keys, names);
    }
    return names;
  }

 private:
  std::string head() const {
    const std::string command(table_.command);
    return table_.model_follows ? command + " " + shell_quoted(words_.model) : command;
  }

  std::string configuration() {
    std::vector<std::pair<std::string, std::string>> values;
    for (const ServeFlag& row : table_.keys) {
      if (row.knob == nullptr || !row.written) continue;
      const auto value = row.knob->write(words_);
      if (!value) continue;
      values.emplace_back(row.spelling, row.inverted ? inverted(*value) : *value);
      said_.insert(row.knob->name);
    }
    return write_serve_yaml(values);
  }

  void add_unsaid(const std::vector<ServeFlag>& rows, std::vector<std::string>& names) const {
    for (const ServeFlag& row : rows) {
      if (row.knob == nullptr || !row.knob->write(words_) || said_.contains(row.knob->name)) {
        continue;
      }
      const std::string name(row.knob->name);
      const bool known = std::find(names.begin(), names.end(), name) != names.end();
      // The model starts the line, and without a flag its format is the checkpoint's.
      if (!known && name != "model" && name != "quantization" && name != "dtype") {
        names.push_back(name);
      }
    }
  }

  ServeEngine engine_;
  const ServeWords& words_;
  const ServeFlags& table_;
  std::set<std::string_view> said_{};
};

/// A draft that is a separate model has a name, which a deployment does not hold.
void note_draft(ServeEngine engine, const EngineOverrides& knobs, std::vector<std::string>& notes) {
  const bool drafts = knobs.num_speculative_tokens.value_or(0) > 0;
  const DraftMethod method = knobs.speculative_method.value_or(DraftMethod::ngram);
  if (!drafts || (method != DraftMethod::eagle && method != DraftMethod::draft_model)) return;
  notes.emplace_back(
      engine == ServeEngine::atom ? "--draft-model: add the checkpoint of the draft model"
      : engine == ServeEngine::sglang
          ? "--speculative-draft-model-path: add the checkpoint of the draft model"
          : "--speculative-config: add \"model\", the checkpoint of the draft model");
}

/// Versions of SGLang whose default is off need a switch of their own to overlap.
void note_overlap(ServeEngine engine, const EngineOverrides& knobs,
                  std::vector<std::string>& notes) {
  if (engine != ServeEngine::sglang || !knobs.async_scheduling.value_or(false)) return;
  notes.emplace_back(
      "the overlap schedule is the default; drafts before 0.5.11 need SGLANG_ENABLE_SPEC_V2=1 for "
      "it, models with recurrent layers before 0.5.14 --mamba-scheduler-strategy extra_buffer");
}

/// "--disable-radix-cache" turns it off; on is the engine's default and needs no flag.
bool is_default(const std::string& knob, const ServeWords& words, ServeEngine engine) {
  const EngineOverrides& knobs = words.overrides;
  if (engine == ServeEngine::vllm) return false;
  if (knob == "enable_prefix_caching") return knobs.enable_prefix_caching.value_or(true);
  if (knob == "async_scheduling") return knobs.async_scheduling.value_or(true);
  if (knob == "enforce_eager") return !knobs.enforce_eager.value_or(false);
  if (knob == "enable_chunked_prefill" && engine == ServeEngine::sglang) return true;
  if (knob == "enable_mixed_chunk") return !knobs.enable_mixed_chunk.value_or(false);
  if (knob == "enable_dbo") return !knobs.enable_dbo.value_or(false);
  if (knob == "pooling") return !knobs.pooling.value_or(false);
  if (knob == "enable_hierarchical_cache") return !knobs.enable_hierarchical_cache.value_or(false);
  return false;
}

}  // namespace

std::optional<ServeEngine> serve_engine_of(std::string_view preset) {
  for (const ServeEngine engine : kServeEngines) {
    for (const std::string_view prefix : serve_flags(engine).prefixes) {
      if (preset.starts_with(prefix)) return engine;
    }
  }
  return std::nullopt;
}

ServeLine serve_command_line(const DeploymentOptions& options, bool has_experts) {
  const auto engine = serve_engine_of(engine_name(options));
  if (!engine) {
    throw UsageError(fmt::format(
        "engine '{}' has no start command, expected vllm, sglang, trtllm or atom", options.engine));
  }
  ServeLine line;
  ServeWords words{.model = options.model, .overrides = options.overrides};
  if (options.engine == "trtllm-0.18") words.preset = options.engine;
  if (options.weight_format) {
    put_weight_format(*engine, *options.weight_format, words, line.notes);
  }
  put_parallelism(*engine, options.parallel, has_experts, words, line.notes);
  put_of_all_ranks(*engine, words);
  put_kv_tokens(*engine, words);
  LineWriter writer(*engine, words);
  line.text = writer.line();
  note_draft(*engine, options.overrides, line.notes);
  note_overlap(*engine, options.overrides, line.notes);
  for (const std::string& knob : writer.unsaid()) {
    if (is_default(knob, words, *engine)) continue;
    line.notes.push_back(fmt::format("{}: the engine has no flag for it", knob));
  }
  return line;
}

}  // namespace roofcast
