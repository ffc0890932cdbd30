#include "planner/launch/serve_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/dotted_version.hpp"
#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/text.hpp"
#include "model/architecture/weights.hpp"
#include "model/cache/kv_cache.hpp"
#include "model/io/model_reader.hpp"
#include "planner/launch/launcher.hpp"
#include "planner/launch/serve_parallelism.hpp"
#include "planner/launch/serve_yaml.hpp"

namespace roofcast {
namespace {

bool is_flag(const std::string& word) {
  // "-1" is a value, not a flag.
  return word.size() > 1 && word[0] == '-' &&
         (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])));
}

bool is_switch_word(const std::string& word) {
  constexpr std::array<std::string_view, 4> kWords = {"true", "false", "True", "False"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

/// YAML's null.
bool is_null(const std::string& value) {
  return value == "null" || value == "~" || value == "Null" || value == "NULL";
}

/// Adds `text` unless it is there already.
void add_once(std::vector<std::string>& names, const std::string& text) {
  constexpr std::size_t kLongest = 100;
  const std::string name = shown(text, kLongest);
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// Reads the words of one launch.
class ServeReader {
 public:
  ServeReader(Launch launch, const ReadTextFile& read_file)
      : launch_(std::move(launch)), read_file_(read_file), table_(serve_flags(launch_.engine)) {}

  ServeCommand read() {
    command_.engine = launch_.engine;
    read_files();
    if (!table_.file_wins) apply_files();
    read_arguments();
    apply_dotted();
    if (table_.file_wins) apply_files();
    sort_environment();
    finish();
    return std::move(command_);
  }

 private:
  // ---- finding rows

  struct Found {
    const ServeFlag* row = nullptr;
    bool negated = false;
  };

  /// By exact name, as --no-x, or by a unique prefix, as Python's argparse does.
  Found find(const std::string& name) const {
    const std::string wanted = with_dashes(name);
    const ServeFlag* started = nullptr;
    int candidates = 0;
    for (const ServeFlag& row : table_.flags) {
      if (is_called(row, wanted)) return {&row, false};
      if (table_.has_negations && row.takes == Takes::nothing && wanted.starts_with("--no-") &&
          is_called(row, "--" + wanted.substr(5))) {
        return {&row, true};
      }
      if (wanted.size() > 4 && with_dashes(row.spelling).starts_with(wanted)) {
        started = &row;
        ++candidates;
      }
    }
    if (candidates == 1 && table_.abbreviates) return {started, false};
    return {};
  }

  bool is_file_flag(const std::string& name) const {
    const auto& flags = table_.file_flags;
    return std::any_of(flags.begin(), flags.end(), [&](const std::string& flag) {
      return with_dashes(flag) == with_dashes(name);
    });
  }

  // ---- applying a row

  void apply(const ServeFlag& row, const std::string& name, const std::string& value) {
    if (row.knob == nullptr) {
      add_once(row.effect == Effect::none ? command_.ignored : command_.not_modelled, name);
      return;
    }
    if (value.find('$') != std::string::npos || value.find('`') != std::string::npos) {
      throw UsageError(fmt::format("{}: '{}' is not set in the command; write the value out", name,
                                   shown(value)));
    }
    row.knob->read(words_, value, name);
  }

  void apply_switch(const ServeFlag& row, const std::string& name, bool on) {
    const bool says = row.says != "false";
    apply(row, name, says == on ? "true" : "false");
  }

  // ---- arguments

  void read_arguments() {
    const std::vector<std::string>& arguments = launch_.arguments;
    for (std::size_t i = 0; i < arguments.size();) {
      if (!is_flag(arguments[i])) {
        take_model(arguments[i++]);
      } else {
        i = read_flag(i);
      }
    }
  }

  void take_model(const std::string& word) {
    if (word.find('$') != std::string::npos) {
      throw UsageError(
          fmt::format("'{}' is not set in the command; write the value out", shown(word)));
    }
    serve_knobs::kModel.read(words_, word, "its arguments");
  }

  /// Returns the index of the next argument.
  std::size_t read_flag(std::size_t at) {
    const std::vector<std::string>& arguments = launch_.arguments;
    const std::size_t equals = arguments[at].find('=');
    std::string name = arguments[at].substr(0, equals);
    std::optional<std::string> value;
    if (equals != std::string::npos) value = arguments[at].substr(equals + 1);
    if (is_file_flag(name)) return value ? at + 1 : at + 2;  // handled by read_files()
    if (take_level(name, value)) return at + 1;
    const Found found = find(name);
    if (found.row == nullptr) return read_unlisted(at, name, value);
    if (found.row->takes == Takes::nothing) return read_switch(at, found, name, value);
    std::size_t next = at + 1;
    if (!value) {
      if (next >= arguments.size() || is_flag(arguments[next])) {
        if (found.row->takes == Takes::optional) {
          apply(*found.row, name, "");
          return next;
        }
        throw UsageError(fmt::format("{}: its value is missing in the command", name));
      }
      value = arguments[next++];
    }
    const bool several = found.row->takes == Takes::several;
    while (several && next < arguments.size() && !is_flag(arguments[next])) {
      *value += "," + arguments[next++];
    }
    apply(*found.row, name, *value);
    return next;
  }

  /// vLLM's -O3 and -O.mode=3, which are --compilation-config.
  bool take_level(const std::string& name, const std::optional<std::string>& value) {
    if (!name.starts_with("-O") || (name == "-O" && !value)) return false;
    const Found found = find("-O");
    if (found.row == nullptr) return false;
    apply(*found.row, "-O", "");
    return true;
  }

  std::size_t read_switch(std::size_t at, const Found& found, const std::string& name,
                          const std::optional<std::string>& value) {
    const std::vector<std::string>& arguments = launch_.arguments;
    // Earlier versions of vLLM took a value here.
    const bool follows = !value && at + 1 < arguments.size() && is_switch_word(arguments[at + 1]);
    bool on = !found.negated;
    if (value || follows) on = read_serve_switch(value ? *value : arguments[at + 1], name) == on;
    apply_switch(*found.row, name, on);
    return follows ? at + 2 : at + 1;
  }

  /// --speculative-config.method eagle sets one key of --speculative-config; otherwise unknown.
  std::size_t read_unlisted(std::size_t at, const std::string& name,
                            const std::optional<std::string>& value) {
    const std::vector<std::string>& arguments = launch_.arguments;
    const bool follows = !value && at + 1 < arguments.size() && !is_flag(arguments[at + 1]);
    const std::string said = value ? *value : (follows ? arguments[at + 1] : "true");
    const std::size_t dot = name.find('.');
    if (dot != std::string::npos && find(name.substr(0, dot)).row != nullptr) {
      put_dotted(name.substr(0, dot), name.substr(dot + 1), said);
    } else {
      add_once(command_.unknown, name);
    }
    return follows ? at + 2 : at + 1;
  }

  void put_dotted(const std::string& flag, const std::string& key, const std::string& text) {
    nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
    if (value.is_discarded()) value = text;
    dotted_[flag][key] = std::move(value);
  }

  void apply_dotted() {
    for (const auto& [flag, keys] : dotted_) {
      apply(*find(flag).row, flag,
            keys.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
  }

  // ---- configuration files

  using Values = std::vector<std::pair<std::string, std::string>>;

  void read_files() {
    const std::vector<std::string>& arguments = launch_.arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::size_t equals = arguments[i].find('=');
      const std::string name = arguments[i].substr(0, equals);
      if (!is_flag(arguments[i]) || !is_file_flag(name)) continue;
      if (equals == std::string::npos && i + 1 >= arguments.size()) {
        throw UsageError(fmt::format("{}: its value is missing in the command", name));
      }
      const std::string path =
          equals == std::string::npos ? arguments[i + 1] : arguments[i].substr(equals + 1);
      const auto text = file_text(path);
      if (!text) {
        command_.notes.push_back(fmt::format(
            "{} {}: the file is not available, so its settings are ignored", name, shown(path)));
        continue;
      }
      for (auto& value : read_serve_yaml(*text, shown(path)))
        file_values_.push_back(std::move(value));
    }
  }

  std::optional<std::string> file_text(const std::string& path) const {
    const auto written = launch_.files.find(path);
    if (written != launch_.files.end()) return written->second;
    return read_file_ ? read_file_(path) : std::nullopt;
  }

  void apply_files() {
    for (const auto& [key, value] : file_values_) {
      if (launch_.engine == ServeEngine::tensorrt_llm) {
        apply_key(key, value);
      } else {
        apply_file_flag(key, value);
      }
    }
  }

  /// vLLM and SGLang: keys are the names of flags.
  void apply_file_flag(const std::string& key, const std::string& value) {
    const std::string name = "--" + key;
    const Found found = find(name);
    if (found.row == nullptr) {
      add_once(command_.unknown, key);
    } else if (found.row->takes == Takes::nothing) {
      apply_switch(*found.row, key, read_serve_switch(value, key) != found.negated);
    } else {
      apply(*found.row, key, value);
    }
  }

  /// A map in braces is read as the keys below it; null means the engine's default, except for
  /// graphs, which it turns off.
  void apply_key(const std::string& key, const std::string& value) {
    constexpr std::ptrdiff_t kDeepest = 8;  // no key of LlmArgs is nested as deep
    const auto map = inline_map(value);
    if (map && !map->empty() && std::count(key.begin(), key.end(), '.') < kDeepest) {
      for (const auto& [name, said] : *map) apply_key(fmt::format("{}.{}", key, name), said);
      return;
    }
    const auto row = std::find_if(table_.keys.begin(), table_.keys.end(),
                                  [&](const ServeFlag& known) { return known.spelling == key; });
    if (row == table_.keys.end()) {
      // Every key of LlmArgs may change performance, unless the table says otherwise.
      add_once(command_.not_modelled, key);
    } else if (is_null(value) && row->knob != &serve_knobs::kNoGraphs) {
      return;
    } else if (row->inverted) {
      apply(*row, key, read_serve_switch(value, key) ? "false" : "true");
    } else {
      apply(*row, key, value);
    }
  }

  // ---- environment

  /// Classifies variables by prefix: engines read these for performance, except for a few.
  void sort_environment() {
    constexpr std::array<std::string_view, 10> kTelling = {
        "VLLM_", "SGLANG_",     "SGL_",  "TRTLLM_",  "TLLM_",
        "NCCL_", "FLASHINFER_", "TORCH", "PYTORCH_", "CUDA_LAUNCH_BLOCKING"};
    constexpr std::array<std::string_view, 9> kIdle = {
        "VLLM_API_KEY",     "VLLM_LOGGING_", "VLLM_CACHE_ROOT",
        "VLLM_HOST_IP",     "VLLM_PORT",     "VLLM_USE_MODELSCOPE",
        "VLLM_CONFIG_ROOT", "NCCL_DEBUG",    "SGLANG_USE_MODELSCOPE"};
    const auto begins = [](const std::string& name, const auto& beginnings) {
      return std::any_of(beginnings.begin(), beginnings.end(),
                         [&](std::string_view beginning) { return name.starts_with(beginning); });
    };
    std::optional<bool> marlin;  // as the last assignment says
    std::optional<bool> flashinfer;
    const auto switched = [&](const std::string& name) -> std::optional<bool>* {
      if (launch_.engine == ServeEngine::vllm && name == kMarlinVariable) return &marlin;
      if (launch_.engine != ServeEngine::sglang) return nullptr;
      if (name == kFlashinferVariable) return &flashinfer;
      return name == kDraftVariable ? &words_.overlaps_drafts : nullptr;
    };
    for (const std::string& assignment : launch_.environment) {
      const std::string name = assignment.substr(0, assignment.find('='));
      if (std::optional<bool>* const known = switched(name)) {
        const std::string value = assignment.substr(name.size());
        const auto on = value.starts_with('=') ? switch_named(value.substr(1)) : std::nullopt;
        if (on) {
          *known = on;
          continue;
        }
      }
      const bool telling = begins(name, kTelling) && !begins(name, kIdle);
      add_once(telling ? command_.not_modelled : command_.ignored, name);
    }
    EngineOverrides& given = words_.overrides;
    if (marlin.value_or(false) &&
        given.moe_backend.value_or(MoeBackend::automatic) == MoeBackend::automatic) {
      given.moe_backend = MoeBackend::marlin;
    }
    const Fp8GemmBackend products = given.fp8_gemm_backend.value_or(Fp8GemmBackend::automatic);
    const bool others = std::ranges::any_of(words_.not_modelled, [](const std::string& flag) {
      return flag.starts_with("--fp8-gemm-");
    });
    if (flashinfer.value_or(false) && !others && products == Fp8GemmBackend::automatic) {
      given.fp8_gemm_backend = Fp8GemmBackend::flashinfer_trtllm;
    }
  }

  /// vLLM's switch of before --moe-backend, which overrules it; off, vLLM chooses (0.22,
  /// fused_moe/oracle/mxfp4.py).
  static constexpr std::string_view kMarlinVariable = "VLLM_MXFP4_USE_MARLIN";
  /// SGLang's of before --fp8-gemm-backend, the same way (sgl-project/sglang pull 8588).
  static constexpr std::string_view kFlashinferVariable = "SGLANG_ENABLE_FLASHINFER_GEMM";
  /// The overlap schedule with drafts, until 0.5.13 (sgl-project/sglang pulls 11398 and 27964).
  static constexpr std::string_view kDraftVariable = "SGLANG_ENABLE_SPEC_V2";

  static std::optional<Transformer> known_model(const std::string& name) {
    try {
      return load_model(name);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  /// SGLang's own choice of drafts where none is given: three steps in a chain, or of Llama and
  /// Grok five of a tree four wide, of which eight tokens are verified, except with a draft model
  /// of its own (0.5.15, arg_groups/speculative_hook.py, _auto_choose_speculative_params).
  void choose_drafts() {
    EngineOverrides& knobs = words_.overrides;
    knobs.num_speculative_tokens = 3;
    knobs.speculative_eagle_topk = 1;
    const std::optional<Transformer> model = known_model(words_.model);
    if (!model || knobs.speculative_method == DraftMethod::draft_model) return;
    if (model->architecture != "LlamaForCausalLM" && !model->architecture.starts_with("Grok1")) {
      return;
    }
    knobs.num_speculative_tokens = 5;
    knobs.speculative_eagle_topk = 4;
    knobs.speculative_num_draft_tokens = 8;
  }

  /// SGLang's drafts: a chain has as many tokens as steps and one more (0.5.15,
  /// arg_groups/speculative_hook.py).
  void finish_drafts() {
    EngineOverrides& knobs = words_.overrides;
    if (launch_.engine == ServeEngine::sglang) {
      if (!words_.draft_algorithm.empty() && !knobs.num_speculative_tokens) choose_drafts();
      if (words_.draft_algorithm.empty()) {
        knobs.num_speculative_tokens.reset();
        knobs.speculative_method.reset();
        knobs.speculative_eagle_topk.reset();
      }
      if (knobs.speculative_eagle_topk.value_or(1) == 1) {
        knobs.speculative_eagle_topk.reset();
        knobs.speculative_num_draft_tokens.reset();
      }
    }
    // ATOM drafts with --method alone, one token unless told otherwise (0.1.2, arg_utils.py).
    if (launch_.engine == ServeEngine::atom) {
      const std::int64_t drafts = knobs.num_speculative_tokens.value_or(1);
      if (drafts == 0) knobs.speculative_method.reset();
      knobs.num_speculative_tokens.reset();
      if (knobs.speculative_method) knobs.num_speculative_tokens = drafts;
    }
    if (knobs.speculative_method == DraftMethod::draft_model && !words_.draft_model.empty()) {
      count_draft_model();
    }
  }

  /// Weights and cache of a draft model that is known by its name. SGLang takes each of its layers
  /// to need as much cache as one of the target's (0.5.15, model_executor/pool_configurator.py).
  void count_draft_model() {
    const std::optional<Transformer> draft = known_model(words_.draft_model);
    if (!draft) {
      command_.notes.push_back(fmt::format(
          "the draft model {} is not known: without draft_weight_bytes and draft_kv_bytes its "
          "memory is not counted",
          shown(words_.draft_model)));
      return;
    }
    std::optional<Transformer> cached;  // whose layers say how much
    if (launch_.engine == ServeEngine::sglang) cached = known_model(words_.model);
    if (!cached || cached->layers.empty()) cached = draft;
    const double share = static_cast<double>(draft->layers.size()) /
                         static_cast<double>(std::max<std::size_t>(1, cached->layers.size()));
    words_.overrides.draft_weight_bytes = weight_bytes(*draft, {});
    words_.overrides.draft_kv_bytes =
        share *
        kv_bytes_per_token(*cached, words_.overrides.kv_cache_dtype.value_or(cached->activation));
  }

  /// SGLang's overlap schedule where a switch for something else decides it: that of drafts, which
  /// newer versions no longer read, and how states of recurrent layers are kept in the radix cache,
  /// without which no overlap is possible.
  void finish_overlap() {
    EngineOverrides& knobs = words_.overrides;
    if (knobs.async_scheduling) return;
    constexpr std::string_view kFirstWithoutVariable = "0.5.13";
    const DraftMethod method = knobs.speculative_method.value_or(DraftMethod::ngram);
    const bool drafts = method == DraftMethod::eagle || method == DraftMethod::mtp;
    const bool reads_variable =
        !launch_.version.empty() && is_older(launch_.version, kFirstWithoutVariable);
    if (drafts && (words_.overlaps_drafts.value_or(false) || reads_variable)) {
      knobs.async_scheduling = words_.overlaps_drafts;
    }
    if (!words_.tracks_states || !knobs.enable_prefix_caching.value_or(true)) return;
    const std::optional<Transformer> model = known_model(words_.model);
    if (!model || state_bytes_per_sequence(*model).value <= 0) return;
    if (!*words_.tracks_states) {
      knobs.async_scheduling = false;
    } else if (!drafts && words_.degrees.pipeline.value_or(1) <= 1) {
      knobs.async_scheduling = true;
    }
  }

  void finish() {
    finish_drafts();
    finish_overlap();
    if (words_.model.empty()) throw UsageError("the command names no model");
    DeploymentOptions& deployment = command_.deployment;
    deployment.model = words_.model;
    deployment.engine = words_.preset.empty() ? std::string(table_.engine) : words_.preset;
    if (words_.preset.empty() && !launch_.version.empty())
      deployment.engine += "-" + launch_.version;
    deployment.weight_format = words_.weight_format;
    // Checkpoints are 16-bit by default, and for a quantised one the dtype is that of activations.
    if (words_.dtype == DType::fp32 && !words_.weight_format) deployment.weight_format = "fp32";
    deployment.parallel = understood(launch_.engine, words_, command_.notes);
    deployment.overrides = of_one_rank(launch_.engine, words_);
    if (words_.kv_tokens) {
      const std::int64_t block =
          words_.overrides.block_size.value_or(default_block(launch_.engine));
      deployment.overrides.num_gpu_blocks_override =
          *words_.kv_tokens / std::max<std::int64_t>(1, block);
    }
    for (const std::string& value : words_.not_modelled) add_once(command_.not_modelled, value);
  }

  Launch launch_;
  const ReadTextFile& read_file_;
  const ServeFlags& table_;
  ServeWords words_{};
  Values file_values_{};
  std::map<std::string, nlohmann::json> dotted_{};
  ServeCommand command_{};
};

}  // namespace

ServeCommand read_serve_command(const std::string& text, const ReadTextFile& read_file) {
  return ServeReader(find_launch(text), read_file).read();
}

}  // namespace roofcast
