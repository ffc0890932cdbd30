// ATOM, AMD's engine (github.com/ROCm/ATOM), as of 0.1.1 (January 2026) to 0.1.5; files are named
// below its folder atom/. By version, and what changed:
//   0.1.1:    prompts whole, first and alone; the KV cache is what the utilisation leaves.
//   0.1.2:    the KV cache leaves 2 % of the GPU and a fifth of the activation peak besides.
//   0.1.3 on: prompts are cut into chunks (pull 740 of 2026-05-29), prefixes are cached (pull 784)
//             and batches of 512 captured (pull 737) by default.
// Images named by a day before 29 May 2026 behave like 0.1.2.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "model/engines/engine_description.hpp"

namespace roofcast {
namespace {

constexpr int kMinor = 1;                    // of all releases so far, 0.1.x
constexpr std::pair kFirstWithMargin{1, 2};  // get_num_blocks, since 2026-03-10
constexpr std::pair kFirstWithChunks{1, 3};  // and prefix caching, and graphs of 512
constexpr std::int64_t kMostDrafts = 4;      // 0.1.2, config.py, Config.__post_init__
constexpr int kMostRanks = 8;                // tensor-parallel; the same function

/// 0.1.2, model_engine/model_runner.py: get_num_blocks keeps 2 % of the GPU, and
/// _estimate_cudagraph_overhead a fifth of the activation peak for graphs. The warm-up samples from
/// one or two sequences (warmup_model), so that logits take nothing. model_ops/attention_mla.py,
/// process_weights_after_loading, keeps W_K and W_V in fp8 beside kv_b_proj (in mxfp4 for some
/// checkpoints, which is neglected).
MemoryConstants memory_of_atom() {
  return {.graphs_of_peak = 0.2,
          .margin = 0.02,
          .whole_blocks = true,
          .absorbed = AbsorbedCopies::of_whole_scales,
          .residual = gib(2.0),
          .source = "ATOM 0.1.2, model_runner.py; no start-up logs"};
}

/// Up to 0.1.1 what the context and RCCL hold is subtracted instead (`used` in get_num_blocks):
/// taken as of vLLM 0.10 to 0.16 (an assumption).
void resolve_memory(Engine& engine, const EngineSetting& setting) {
  engine.window_share = 1.0;  // every layer keeps every token (_compute_block_bytes)
  if (!is_before(setting, kFirstWithMargin)) return;
  engine.memory.graphs_of_peak = 0;
  engine.memory.margin = 0;
  engine.memory.non_torch_single = kVllmNonTorchSingle;
  engine.memory.non_torch_multi = kVllmNonTorchMulti;
}

[[noreturn]] void refuse(const std::string& what, const std::string& why) {
  throw UsageError(fmt::format("`{}`: {}", what, why));
}

/// It is made of AITER's kernels, which are of AMD's GPUs alone.
void check_amd_gpu(const EngineSetting& setting) {
  if (setting.gpu.vendor == "AMD" && !is_cpu(setting.gpu)) return;
  throw UsageError(fmt::format("engine '{}': runs on AMD's GPUs only, {} given",
                               setting.preset.name, setting.gpu.name));
}

/// Features that its command line lacks (model_engine/arg_utils.py), and caches whose layout by
/// ATOM is not modelled.
void check_features(const EngineSetting& setting) {
  const EngineOverrides& given = setting.given;
  if (setting.parallel.pipeline > 1) refuse("pipeline_parallel_size", "ATOM has no stages");
  if (setting.parallel.tensor > kMostRanks) {
    refuse("tensor_parallel_size", fmt::format("{} given, ATOM starts with at most {}",
                                               setting.parallel.tensor, kMostRanks));
  }
  if (given.max_loras || given.max_lora_rank) {
    refuse(given.max_loras ? "max_loras" : "max_lora_rank", "ATOM serves no LoRA adapters");
  }
  if (!given.async_scheduling.value_or(true)) {
    refuse("async_scheduling",
           "off given, but ATOM always launches a step before it has the "
           "tokens of the last (deferred output)");
  }
  if (given.stream_interval.value_or(1) != 1) {
    refuse("stream_interval", "ATOM sends every token, expected 1");
  }
  if (state_bytes_per_sequence(setting.model).value > 0 || has_compressed_cache(setting.model)) {
    throw UsageError(fmt::format(
        "{}: its recurrent states or compressed caches are not modelled with ATOM, expected "
        "`engine` vllm or sglang",
        setting.model.name));
  }
}

/// `--method mtp`, from 0.1.3 on also eagle3 (arg_utils.py).
void check_atom_drafts(const EngineSetting& setting) {
  const std::optional<std::int64_t> drafts = setting.given.num_speculative_tokens;
  if (!drafts) return;
  if (*drafts > kMostDrafts) {
    refuse("num_speculative_tokens",
           fmt::format("{} given, ATOM takes at most {}", *drafts, kMostDrafts));
  }
  const DraftMethod method = setting.given.speculative_method.value_or(DraftMethod::ngram);
  const bool has_eagle = !is_before(setting, kFirstWithChunks);
  if (method == DraftMethod::mtp || (has_eagle && method == DraftMethod::eagle)) return;
  refuse("speculative_method",
         fmt::format("{} given, expected {}", name_of(method), has_eagle ? "mtp or eagle" : "mtp"));
}

void resolve_prompts(Engine& engine, const EngineSetting& setting) {
  const EngineOverrides& given = setting.given;
  if (!is_before(setting, kFirstWithChunks)) return;
  if (given.enable_chunked_prefill.value_or(false)) {
    refuse("enable_chunked_prefill", "ATOM has it from 0.1.3 on");
  }
  engine.chunked_prefill = false;
  if (!given.enable_prefix_caching) engine.prefix_caching = false;
}

/// The command line's default of --cudagraph-capture-sizes. Up to 0.1.2 capture_cudagraph asserts
/// that no size exceeds max_num_seqs, from 0.1.3 on it drops those that do; sizes count sequences,
/// whatever their drafts.
void resolve_graphs(Engine& engine, const EngineSetting& setting) {
  std::vector<std::int64_t> sizes{1, 2, 4, 8, 16, 32, 48, 64, 128, 256};
  if (!is_before(setting, kFirstWithChunks)) sizes.push_back(512);
  const std::optional<std::int64_t> largest = largest_graph_given(setting.given);
  if (largest && !setting.given.cuda_graph_batch_sizes && *largest > sizes.back()) {
    refuse("cuda_graph_max_bs",
           fmt::format("{} given, ATOM captures up to {}, expected `cuda_graph_batch_sizes`",
                       *largest, sizes.back()));
  }
  if (largest) std::erase_if(sizes, [&](std::int64_t size) { return size > *largest; });
  set_graph_sizes(engine, setting.given, std::move(sizes));
  std::vector<std::int64_t>& captured = engine.graph_batch_sizes;
  if (captured.empty() || captured.back() <= engine.max_num_seqs) return;
  if (!is_before(setting, kFirstWithChunks) && captured.front() <= engine.max_num_seqs) {
    std::erase_if(captured, [&](std::int64_t size) { return size > engine.max_num_seqs; });
    return;
  }
  refuse("max_num_seqs",
         fmt::format("{} given, ATOM does not start with fewer than its largest captured batch: "
                     "expected at least {}, or smaller `cuda_graph_batch_sizes`",
                     engine.max_num_seqs, engine.graph_batch_sizes.back()));
}

void resolve_atom(Engine& engine, const EngineSetting& setting) {
  check_amd_gpu(setting);
  check_features(setting);
  check_atom_drafts(setting);
  resolve_memory(engine, setting);
  resolve_prompts(engine, setting);
  resolve_graphs(engine, setting);
}

const EnginePreset* find_atom_preset(const EngineDescription& atom, const EngineName& name) {
  if (name.version.empty()) return &atom.presets.front();
  const std::optional<int> minor = minor_version(name.version);
  constexpr int kFirstYear = 1000 * 100;  // as minor_version() counts it
  if (!minor || *minor < kMinor || *minor >= kFirstYear) return nullptr;
  return &atom.presets.front();
}

/// Defaults of the command line (0.1.2, model_engine/arg_utils.py; the same in 0.1.1 and 0.1.5).
/// Host times are those of vLLM 0.14 to 0.16 (an assumption): ATOM is written after its V1 engine,
/// with a process for scheduling, one for each rank and ZMQ between them.
EnginePreset atom_preset() {
  return {.name = "atom",
          .summary = "AMD's ATOM: prompts first and alone, in chunks from 0.1.3 on",
          .first_compared = kMinor,
          .last_compared = kMinor,
          .orders = {QueueOrder::fcfs},
          .cache_dtypes = {DType::bf16, DType::fp8},
          .defaults = {.memory_rule = MemoryRule::atom,
                       .scheduler = SchedulerKind::atom,
                       .gpu_memory_utilization = 0.9,
                       .max_num_seqs = 512,
                       .max_num_batched_tokens = 16384,
                       .block_size = 16,
                       .memory = memory_of_atom(),
                       .host = host_of_vllm_over_http(),
                       .first_token_uncertainty = 0.12},  // 44 runs on one GPU
          .resolve = resolve_atom};
}

}  // namespace

const EngineDescription& atom_description() {
  static const EngineDescription atom{
      .names = {"atom"}, .presets = {atom_preset()}, .last_patch = 5, .find = find_atom_preset};
  return atom;
}

}  // namespace roofcast
