// SGLang 0.5: sglang/srt/server_args.py unless another source is stated.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "model/architecture/experts.hpp"
#include "model/engines/captured_prompts.hpp"
#include "model/engines/engine_description.hpp"

namespace roofcast {
namespace {

/// SGLang reserves room for activations and graphs through its memory fraction. Before it measures,
/// memory is used by the CUDA context and, with several GPUs, NCCL (free memory at start of an H100
/// in vLLM 0.19 logs: 78.68 of 79.19 GiB with one GPU, 77.66 with two). The residual is an
/// assumption.
MemoryConstants memory_of_sglang() {
  return {.non_torch_single = gib(0.51),
          .non_torch_multi = gib(1.53),
          .absorbed = AbsorbedCopies::of_whole_scales,
          .residual = gib(2.0),
          .source = "free memory at start in vLLM 0.19 logs; the rule itself is SGLang's"};
}

/// Measured:
///  step_base, with output_base 0.66 ms: what a decode step takes longer without the overlap
///    schedule is 0.74 ms with one sequence of a small model on an RTX 5090 (364.3 tokens/s instead
///    of 498.5, sgl-project/sglang pull 38131) and 0.61 ms with 16 of Llama-3.1-8B on four H100
///    (3,054 instead of 3,458, pull 5608). These are the mean of both less the terms per sequence.
/// Fitted:
///  serial_per_sequence: SGLang handles every request of a batch separately while the GPU waits for
///    the result. Decode steps of Llama-3.1-8B on one to eight H200 (SGLang 0.5.6, closed loop of
///    aiconfigurator 095f58a, 46 runs) take 17 us to 24 us per sequence longer than their kernels.
///    One model on one kind of GPU; the error of a fit to these runs is as large as the term.
///  prompt_launch: 55 us is the median over four GPUs of what DeepSeek-R1's first tokens say (96
///    InferenceX runs, 1,024 tokens, at most 16 in flight; MI355X 43 us, B200 55, H200 56, MI300X
///    78; 55 or 56 with any left out, docs/accuracy-causes.md). Python does more for these kernels
///    than for a dense model's (eager_launch): Triton's launcher alone takes 49 us
///    (triton-lang/triton pull 3638). Neglects that the launches of a prompt begin while the step
///    before it runs.
///  handover: the decode server takes room and tells the prefill server where (bootstrap and
///    metadata), and both poll. 105 ms is the median of what first tokens of DeepSeek-R1 lack with
///    prefill and decode apart and at most 16 in flight (22 InferenceX runs, 0.5.5 to 0.5.12; with
///    B200, GB200 or H200 left out 106, 112 and 92 ms, docs/accuracy-causes.md).
/// Assumed:
///  per_request: the front end and the detokeniser take about what vLLM's do over HTTP (9.8 ms up
///  to
///    0.13); prompt_launch and handover were fitted beside it.
HostOverhead host_of_sglang() {
  return {.step_base = Seconds{0.61e-3},
          .serial_per_sequence = Seconds{18e-6},
          .prompt_launch = Seconds{55e-6},
          .per_request = Seconds{10e-3},
          .handover = Seconds{105e-3},
          .source =
              "closed loops of SGLang on H200, B200, MI300X and MI355X; handover: servers apart "
              "on B200, GB200 and H200"};
}

/// SGLang's defaults by GPU memory (server_args; MiB as the driver reports them).
struct SglangTier {
  double below_mib = 0;
  std::int64_t chunked_prefill = 0;
  std::int64_t largest_graph = 0;      // TP < 4
  std::int64_t largest_graph_tp4 = 0;  // TP >= 4
};

constexpr SglangTier kSglangTiers[] = {
    {20.0 * 1024, 2048, 8, 8},      {35.0 * 1024, 2048, 24, 80}, {60.0 * 1024, 4096, 32, 160},
    {160.0 * 1024, 8192, 256, 512}, {HUGE_VAL, 16384, 512, 512},
};

const SglangTier& tier_of(const Gpu& gpu) {
  const double mib = gpu.memory_visible.value / kMiB;
  return *std::find_if(std::begin(kSglangTiers), std::end(kSglangTiers),
                       [&](const SglangTier& tier) { return mib < tier.below_mib; });
}

/// DP ranks within one SGLang server (--enable-dp-attention), which its tp_size then includes; 1
/// where the ranks are separate servers, as for models without experts to share.
int attention_ranks(const Transformer& model, const Parallelism& parallel) {
  return has_experts(model) ? parallel.data : 1;
}

/// Sizes for which prefills are captured, up to `largest` tokens
/// (_generate_prefill_cuda_graph_batch_sizes).
std::int64_t prefill_graph_count(std::int64_t largest) {
  const GraphSizes sizes[] = {{4, 32, 4},      {48, 256, 16},     {288, 512, 32},
                              {576, 1024, 64}, {1280, 4096, 256}, {4608, largest, 512}};
  return std::ssize(graph_sizes(sizes, largest));
}

/// MiB reserved for captured prefills: 8 for each size up to a chunk, or 1.5 GiB with latent
/// attention; 1 GiB more with DeepEP (0.5.15, reserve_for_graph_mb).
double prefill_graphs_mib(const EngineSetting& setting, const Engine& engine) {
  constexpr std::pair<int, int> kFirst{5, 10};  // kFirstCapturedPrompts
  const Transformer& model = setting.model;
  if (is_before(setting, kFirst) ||
      !captures_prompts(engine, model, setting.gpu, setting.parallel)) {
    return 0.0;
  }
  const bool latent = std::ranges::any_of(model.layers, [](const Layer& layer) {
    return std::holds_alternative<LatentAttention>(layer.mixer);
  });
  const double graphs =
      latent ? 1.5 * 1024
             : 8.0 * static_cast<double>(prefill_graph_count(engine.max_num_batched_tokens));
  return engine.all2all == All2All::allgather_reducescatter ? graphs : graphs + 1024;
}

/// Compute capability that quantised weights need (0.5.15, get_min_capability of the classes in
/// layers/quantization; int8 and int4 as compressed-tensors has them).
constexpr LeastCapability kSglangCapabilities[] = {{"fp8", 80},   {"fp8_block", 80}, {"nvfp4", 80},
                                                   {"mxfp4", 80}, {"awq", 75},       {"int8", 80},
                                                   {"int4", 80}};

/// SGLang's default mem_fraction_static: (memory - reserved) / memory, to three digits, where
/// reserved MiB = 512 + 1.5 * max(chunked prefill, 2048) + 2 * largest graph + 1024 * tp * pp / 8 +
/// captured prefills, and at least 10 GiB on GPUs of more than 60 GiB. Data-parallel attention
/// counts the chunks of all its ranks and adds 3 * largest graph * dp, 1.5 times that for graphs
/// above 300. DeepEP's buffers take 2 GiB more where decodes are captured (0.5.15,
/// reserve_for_deepep_a2a_mb).
double memory_fraction(const EngineSetting& setting, const Engine& engine,
                       std::int64_t largest_graph, int ranks) {
  const Gpu& gpu = setting.gpu;
  const Parallelism& parallel = setting.parallel;
  const double mib = gpu.memory_visible.value / kMiB;
  const double graph = static_cast<double>(largest_graph);
  double reserved = 512.0 +
                    1.5 * static_cast<double>(
                              std::max<std::int64_t>(engine.max_num_batched_tokens * ranks, 2048)) +
                    1024.0 * parallel.tensor * parallel.context * ranks * parallel.pipeline / 8.0;
  if (engine.cuda_graphs) reserved += 2.0 * graph;
  reserved += prefill_graphs_mib(setting, engine);
  if (ranks > 1) reserved += (largest_graph > 300 ? 4.5 : 3.0) * graph * ranks;
  if (mib > 60.0 * 1024) reserved = std::max(reserved, 10.0 * 1024);
  if (engine.all2all != All2All::allgather_reducescatter && engine.cuda_graphs) reserved += 2048;
  return std::round((mib - reserved) / mib * 1000.0) / 1000.0;
}

/// Models whose layers with windows have a pool of their own (0.5.15 configs/model_config.py,
/// is_hybrid_swa_model). Others, Gemma 2 and 3 and Mistral among them, keep every token in every
/// layer.
bool has_window_pool(const Transformer& model) {
  if (has_compressed_cache(model)) return true;
  constexpr std::string_view kModels[] = {"Llama4ForConditionalGeneration",
                                          "GptOssForCausalLM",
                                          "MiMoV2FlashForCausalLM",
                                          "MiMoV2ForCausalLM",
                                          "Step3p5ForCausalLM",
                                          "Step3p7ForConditionalGeneration",
                                          "Gemma4ForCausalLM",
                                          "Gemma4ForConditionalGeneration",
                                          "Gemma4UnifiedForConditionalGeneration"};
  return std::ranges::find(kModels, model.architecture) != std::end(kModels);
}

/// Whether SGLang can track states of requests that decode for the radix cache while the overlap
/// schedule runs ahead ("extra_buffer"; 0.5.15, arg_groups/overrides.py,
/// _mamba_radix_cache_resolution). On AMD's GPUs it cannot (sgl-project/sglang pull 29965).
bool can_track_states(const EngineSetting& setting) {
  constexpr std::string_view kModels[] = {
      "KimiLinearForCausalLM",         "Qwen3_5ForConditionalGeneration",
      "Qwen3NextForCausalLM",          "Qwen3_5MoeForConditionalGeneration",
      "FalconH1ForCausalLM",           "GraniteMoeHybridForCausalLM",
      "NemotronHForCausalLM",          "NemotronHPuzzleForCausalLM",
      "KimiK3ForConditionalGeneration"};
  return setting.gpu.vendor != "AMD" &&
         std::ranges::find(kModels, setting.model.architecture) != std::end(kModels);
}

/// The first that tracks them by default: "auto" meant "no_buffer", which has no overlap schedule,
/// until sgl-project/sglang pull 28151 of 2026-06-19, when 0.5.13 was out (radixark/miles pull 1352
/// of 2026-06-17).
constexpr std::pair kFirstTracked{5, 14};

/// Slots of the state pool for each running request: 1, for the radix cache 3, and 2 more for
/// states that are tracked (0.5.15, kv_cache_configurator.py, _calculate_mamba_ratio). With the
/// radix cache only tracked states allow the overlap schedule.
void resolve_states(Engine& engine, const EngineSetting& setting) {
  if (state_bytes_per_sequence(setting.model).value <= 0) return;
  engine.state_slots = engine.prefix_caching ? 3 : 1;
  if (!engine.prefix_caching) return;
  const std::optional<bool> asked = setting.given.async_scheduling;
  const bool tracks = can_track_states(setting);
  if (asked.value_or(false) && !tracks) {
    throw UsageError(fmt::format(
        "`async_scheduling`: must be off for {} on {} with `enable_prefix_caching`, where SGLang "
        "does not track recurrent states",
        setting.model.name, setting.gpu.name));
  }
  const bool by_default = !is_before(setting, kFirstTracked);
  engine.async_scheduling = engine.async_scheduling && tracks && asked.value_or(by_default);
  if (engine.async_scheduling) engine.state_slots += 2;
}

void resolve_pools(Engine& engine, const EngineSetting& setting) {
  resolve_states(engine, setting);
  if (has_compressed_cache(setting.model) && !setting.given.swa_full_tokens_ratio) {
    engine.swa_full_tokens_ratio = 0.1;  // 0.5.15, arg_groups/overrides.py
  }
  engine.window_share = has_window_pool(setting.model) ? engine.swa_full_tokens_ratio : 1.0;
  engine.memory.whole_blocks = true;
}

/// Factor on the default memory fraction that leaves room for the encoder's work: 0.95, less a
/// tenth for every further 100 % of the layers times squared width of a ViT-L/14 (24 and 1024, also
/// where the config does not name them), from 0.8 to 1.05 (adjust_mem_fraction_for_vlm).
double vision_factor(const Transformer& model) {
  if (!model.has_vision) return 1.0;
  const double layers = static_cast<double>(model.vision_layers > 0 ? model.vision_layers : 24);
  const double width = static_cast<double>(model.vision_hidden > 0 ? model.vision_hidden : 1024);
  const double ratio = layers * width * width / (24.0 * 1024.0 * 1024.0);
  return 0.95 * std::clamp(1.0 - 0.1 * (ratio - 1.0), 0.8, 1.05);
}

/// --enable-prefill-cp with attn_cp_size: of mixtures of experts with plain attention since 0.5.10
/// (sgl-project/sglang pull 18233 of 2026-03-22), as sparse latent attention; of dense latent
/// attention since pull 23292 of 2026-05-23, here from 0.5.13. DeepSeek-V4's compressed caches
/// have it, too, but are not modelled with it.
void check_prompt_ranks(const EngineSetting& setting) {
  if (setting.parallel.context == 1) return;
  const auto refuse = [](const std::string& why) {
    throw UsageError("`prefill_context_parallel_size`: " + why);
  };
  constexpr std::string_view kModels[] = {"Qwen2MoeForCausalLM", "Qwen3MoeForCausalLM",
                                          "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM",
                                          "GlmMoeDsaForCausalLM"};
  if (std::ranges::find(kModels, setting.model.architecture) == std::end(kModels)) {
    refuse(fmt::format("not modelled for {}; SGLang has it for: {}", setting.model.name,
                       fmt::join(kModels, ", ")));
  }
  const int first = setting.model.architecture == "DeepseekV3ForCausalLM" ? 13 : 10;
  if (is_before(setting, {5, first})) {
    refuse(fmt::format("SGLang has it for {} from 0.5.{} on", setting.model.name, first));
  }
  if (setting.parallel.pipeline > 1) refuse("not modelled with pipeline stages of SGLang");
  if (setting.given.num_speculative_tokens) refuse("not modelled with drafts of SGLang");
  if (setting.given.enable_dbo.value_or(false)) refuse("not modelled with `enable_dbo`");
}

/// Whether latent layers choose what they attend to by an indexer's scores over every cached token.
bool has_sparse_latents(const Transformer& model) {
  return std::ranges::any_of(model.layers, [](const Layer& layer) {
    const auto* latent = std::get_if<LatentAttention>(&layer.mixer);
    return latent != nullptr && latent->index_heads > 0;
  });
}

/// The cache of sparse latent attention: whole pages of 64 tokens except on AMD GPUs, in 8 bits by
/// default from compute capability 10.0 on (0.5.8, _set_default_nsa_kv_cache_dtype, and 0.5.5).
void resolve_sparse_latents(Engine& engine, const EngineSetting& setting) {
  constexpr std::int64_t kPage = 64;
  if (setting.gpu.vendor == "AMD") return;
  if (setting.given.block_size.value_or(kPage) != kPage) {
    throw UsageError(
        fmt::format("`block_size`: {} given, but SGLang's sparse latent attention has "
                    "pages of {} tokens",
                    *setting.given.block_size, kPage));
  }
  engine.block_size = kPage;
  const bool blackwell = cuda_capability(setting.gpu).value_or(0) >= 100;
  if (!setting.given.kv_cache_dtype && blackwell) engine.kv_cache_dtype = DType::fp8;
}

/// max_running_requests with speculative decoding.
constexpr std::int64_t kSglangSequencesWithDrafts = 48;

/// The first whose drafts run with the overlap schedule unless told otherwise (spec v2). Before,
/// SGLANG_ENABLE_SPEC_V2=1 asks for it (sgl-project/sglang pull 11398). Users' scripts date the
/// default to 0.5.11; 0.5.13 has no other way (pulls 25464 and 27964).
constexpr std::pair kFirstOverlappedDrafts{5, 11};

/// The step's token budget is chunked_prefill_size. `ranks` of data-parallel attention divide the
/// default chunk among them and admit requests more freely; values set by the user are per rank
/// already.
void resolve_sglang(Engine& engine, const EngineSetting& setting) {
  check_weight_formats(setting, kSglangCapabilities);
  check_prompt_ranks(setting);
  const EngineOverrides& given = setting.given;
  const int ranks = attention_ranks(setting.model, setting.parallel);
  const SglangTier& tier = tier_of(setting.gpu);
  const bool compressed = has_compressed_cache(setting.model);
  if (compressed && !given.block_size) engine.block_size = 256;  // 0.5.15, arg_groups/overrides.py
  if (!compressed && has_sparse_latents(setting.model)) resolve_sparse_latents(engine, setting);
  if (setting.parallel.pipeline > 1) {  // 0.5.15, event_loop_pp does not overlap
    if (given.async_scheduling.value_or(false)) {
      throw UsageError(
          "`async_scheduling`: must be off with pipeline stages, where SGLang has none");
    }
    if (given.num_speculative_tokens) {  // 0.5.15, server_args.py, check_server_args
      throw UsageError("`num_speculative_tokens`: SGLang has no drafts with pipeline stages");
    }
    engine.async_scheduling = false;
  }
  if (!given.max_num_batched_tokens) engine.max_num_batched_tokens = tier.chunked_prefill / ranks;
  if (engine.chunked_prefill && engine.max_num_batched_tokens % engine.block_size != 0) {
    throw UsageError(fmt::format(
        "`max_num_batched_tokens`: {}, expected a multiple of `block_size` ({}): SGLang "
        "splits prompts at chunked_prefill_size, in whole pages",
        engine.max_num_batched_tokens, engine.block_size));
  }
  if (given.num_speculative_tokens) {
    // 0.5.15, arg_groups/speculative_hook.py: unless max_running_requests is given.
    if (!given.max_num_seqs) engine.max_num_seqs = kSglangSequencesWithDrafts;
    if (!given.async_scheduling && is_before(setting, kFirstOverlappedDrafts)) {
      engine.async_scheduling = false;
    }
    if (engine.enable_mixed_chunk) {
      throw UsageError("`enable_mixed_chunk`: SGLang switches it off with drafts");
    }
  }
  // 0.5.15, batch_overlap/two_batch_overlap.py, compute_split_seq_index: any two tokens. Its path
  // without an exchange of whole experts (moe_a2a_backend none) is not modelled.
  if (given.enable_dbo.value_or(false)) engine.overlap = batch_overlap(engine, setting.gpu, 2, 2);
  if (ranks > 1 && !given.schedule_conservativeness) engine.schedule_conservativeness = 0.3;
  const std::int64_t largest_graph = largest_graph_given(given).value_or(
      setting.parallel.tensor * setting.parallel.context * ranks < 4 ? tier.largest_graph
                                                                     : tier.largest_graph_tp4);
  if (!given.gpu_memory_utilization) {
    engine.gpu_memory_utilization =
        memory_fraction(setting, engine, largest_graph, ranks) * vision_factor(setting.model);
  }
  resolve_pools(engine, setting);
  // 0.5.15, _generate_decode_cuda_graph_batch_sizes.
  const GraphSizes padded[] = {{1, 1, 1},    {2, 4, 2},      {8, 12, 4},
                               {16, 256, 8}, {272, 496, 16}, {512, largest_graph, 32}};
  const GraphSizes exact[] = {{1, largest_graph, 1}};
  std::vector<std::int64_t> sizes =
      engine.graph_padding ? graph_sizes(padded, largest_graph) : graph_sizes(exact, largest_graph);
  if (sizes.empty() || sizes.back() != largest_graph) sizes.push_back(largest_graph);
  set_graph_sizes(engine, given, std::move(sizes));
}

/// The first with the overlap scheduler by default (sgl-project/sglang pull 2067, November 2024).
constexpr int kFirstOverlapMinor = 4;

const EnginePreset* find_sglang_preset(const EngineDescription& sglang, const EngineName& name) {
  if (name.version.empty()) return &sglang.presets.front();
  const std::optional<int> minor = minor_version(name.version);
  if (!minor) return nullptr;
  if (*minor < kFirstOverlapMinor) {
    throw Error(fmt::format(
        "engine 'sglang-{}': versions before 0.{} had no overlap scheduler by default, which is "
        "not modelled; expected sglang",
        name.version, kFirstOverlapMinor));
  }
  return &sglang.presets.front();
}

}  // namespace

bool captures_prompts(const Engine& engine, const Transformer& model, const Gpu& gpu,
                      const Parallelism& parallel) {
  constexpr std::string_view kWithEncoders[] = {
      "Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration",
      "KimiK25ForConditionalGeneration", "KimiK3ForConditionalGeneration"};
  if (!engine.cuda_graphs || gpu.vendor == "AMD" || parallel.pipeline > 1) return false;
  if (has_compressed_cache(model)) return false;
  if (model.architecture == "DeepseekV3ForCausalLM" && gpu.compute_capability.starts_with("10.")) {
    return false;
  }
  return !model.has_vision ||
         std::ranges::find(kWithEncoders, model.architecture) != std::end(kWithEncoders);
}

const EngineDescription& sglang_description() {
  static const EngineDescription sglang{
      .names = {"sglang", "sgl"},
      .presets = {{.name = "sglang",
                   .summary = "SGLang: one-token pages, prefill first, static memory fraction",
                   .first_compared = 5,
                   .last_compared = 5,
                   .orders = {QueueOrder::fcfs, QueueOrder::longest_prefix,
                              QueueOrder::longest_output},
                   // 0.5.15, kv_cache_dtype: fp8_e5m2, fp8_e4m3, mxfp8, bf16, nvfp4 and other fp4.
                   .cache_dtypes = {DType::bf16, DType::fp8, DType::fp4},
                   .defaults = {.memory_rule = MemoryRule::sglang,
                                .scheduler = SchedulerKind::sglang,
                                // SGLang derives max_running_requests from the KV pool at start-up,
                                // between 2048 and 4096; we take the lower end.
                                .max_num_seqs = 2048,
                                .block_size = 1,
                                .max_prefill_tokens = 16384,
                                .schedule_conservativeness = 1.0,
                                // 0.5.15, layers/dp_attention.py, DpPaddingMode.SUM_LEN.
                                .gathering = {.quantised = false, .sums_prompts = true},
                                .eager_prefill = true,
                                .memory = memory_of_sglang(),
                                .host = host_of_sglang(),
                                // 516 runs on six GPUs.
                                .first_token_uncertainty = 0.34},
                   .resolve = resolve_sglang}},
      .last_patch = 16,
      .find = find_sglang_preset};
  return sglang;
}

}  // namespace roofcast
