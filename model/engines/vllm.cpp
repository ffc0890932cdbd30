// vLLM, V1 engine. By version, and what changed:
//   0.8 - 0.13: sampler sorts the logits (38 bytes per element); scheduling is synchronous; a
//               request is admitted when its first chunk fits.
//   0.14 - 0.16: asynchronous scheduling by default (0.14.0, vllm-project/vllm pull 27614). Layers
//               with chunked attention share a cache group with the others, as before (default of
//               VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE; the 8,253 blocks that 0.15.1
//               printed for Llama-4-Scout on two H100 are a quarter of what groups would give).
//   0.17 - 0.18: sampler without the sort (15 bytes); asynchronous scheduling.
//   0.19:       a request is admitted when its whole sequence so far fits
//               (scheduler_reserve_full_isl, vllm-project/vllm pull 37307 of 2026-03-24, after the
//               0.18 branch). Knobs as printed at start-up by vLLM 0.19.0 (configuration dump of a
//               run on an RTX 4090).
//   0.20:       as before, but models with recurrent layers do not start with more max_num_seqs
//               than blocks (vllm-project/vllm pull 38270, merged on 2026-03-31; a start of 0.17.1
//               and 0.20.0 side by side: NVIDIA-NeMo/RL issue 2620).
//   0.21 - 0.26: an estimate of CUDA-graph memory is subtracted from the KV budget (default since
//               0.21.0 by the engine's own log message); utilisation 0.92; the log's KV tokens are
//               its maximum concurrency times max_model_len.
//   0.27 on:    as before; graphs take less (0.23 GiB for 32 layers in 0.29, where 0.19 and 0.22
//               take 0.9).
// The scheduling changes are dated only to within a few versions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "model/engines/engine_description.hpp"

namespace roofcast {
namespace {

/// Before 0.8 the V0 engine ran by default, which has another scheduler and memory profile.
constexpr int kFirstV1Minor = 8;

// ---- memory

/// One block serves as "no block"; it holds no tokens.
constexpr std::int64_t kNullBlocks = 1;

/// Tokens that the fused experts take at once (vllm/envs.py, VLLM_FUSED_MOE_CHUNK_SIZE): 32,768 up
/// to 0.11; 16,384 from 0.12 on, of which the profile run then holds exactly that many with experts
/// on data-parallel ranks (vllm-project/vllm pull 27426 of 2025-11-21, modular_kernel.py,
/// _allocate_buffers); gone with 0.18 (pull 34086 of 2026-03-12).
constexpr std::int64_t kFirstExpertChunk = 32768;
constexpr std::int64_t kExpertChunk = 16384;

/// Tokens of each rank that a low-latency dispatch takes at once (vllm/envs.py,
/// VLLM_MOE_DP_CHUNK_SIZE), up to 0.19; from 0.20 on these are the default of
/// max_num_batched_tokens with such a dispatch, all of which it takes (pull 39107 of 2026-04-14:
/// config/scheduler.py, DEFAULT_MAX_NUM_BATCHED_TOKENS_FOR_BATCHED_DP; config/parallel.py,
/// use_batched_dp_moe).
constexpr std::int64_t kLowLatencyTokens = 256;

/// NCCL and custom all-reduce buffers: the constants are from Hopper with NVLink; start-up logs of
/// other cards print 0.2 to 1.8 GiB (0.10 to 0.29). Assumption: about half of that range.
constexpr Bytes kOtherLinksResidual = gib(1.0);

constexpr std::string_view kStartUpLogs = "start-up logs of the engine against the memory rule";

/// Reasons for the constants. All but those marked as stated are fitted to start-up logs by
/// tests/model/memory/memory_fit, which tests/model/memory/memory_constants_test.cpp repeats if the
/// logs are present.
///  logits_bytes: the dummy sampler pass holds the logits of every sequence in bf16 and fp32, their
///    softmax and the exponential noise (2 + 4 + 4 + 4 and masks: about 15 bytes per element). Up
///    to 0.16 it also sorted the whole vocabulary (fp32 values, 64-bit indices and their copies:
///    about 38).
///  forward_intermediate, forward_hidden: counts of live tensors
///  (model/memory/activation_peak.hpp), confirmed. compile_peak: scratch of torch.compile at a cold
///  start, a lower bound of every profiled peak
///    (vllm-project/vllm issues 54122 and 54383).
///  non_torch: growth of the CUDA context, cuBLAS workspaces; with several GPUs also NCCL and
///    custom all-reduce buffers, which depend on the interconnect more than on the model.
///  graphs: of decode batches up to 512; experts take up to twice as much.
/// Stated for want of logs: several GPUs in 0.11 (logs print 0.21 on 8 L40S, 0.55 on 2 H100, 1.4 to
/// 1.8 on other starts of 0.10) and its graphs (taken from 0.19); several GPUs in 0.29 (logs print
/// 0.95, 1.70 and 1.74) and its residual.
MemoryConstants memory_of_vllm_0_11() {
  return {.logits_bytes = 38.4,
          .non_torch_single = kVllmNonTorchSingle,
          .non_torch_multi = kVllmNonTorchMulti,
          .graphs_base = gib(0.43),
          .graphs_per_layer = gib(0.0155),
          .whole_blocks = true,
          .null_blocks = kNullBlocks,
          .absorbed = AbsorbedCopies::dequantised,
          .residual = gib(1.07),
          .residual_other_links = kOtherLinksResidual,
          .residual_source = kStartUpLogs,
          .source = "vLLM 0.10 to 0.16 start-up logs"};
}

MemoryConstants memory_of_vllm_0_19() {
  return {.logits_bytes = 14.9,
          .keeps_expert_workspace = true,
          .compile_peak = gib(0.770),
          .non_torch_single = gib(0.254),
          .non_torch_multi = gib(2.114),
          .graphs_base = gib(0.43),
          .graphs_per_layer = gib(0.0155),
          .whole_blocks = true,
          .null_blocks = kNullBlocks,
          .absorbed = AbsorbedCopies::dequantised,
          .residual = gib(0.08),
          .residual_other_links = kOtherLinksResidual,
          .residual_source = kStartUpLogs,
          .source = "vLLM 0.17 to 0.19 start-up logs"};
}

MemoryConstants memory_of_vllm_0_29() {
  return {.logits_bytes = 9.4,
          .keeps_expert_workspace = true,
          .compile_peak = gib(0.770),
          .non_torch_single = gib(0.260),
          .non_torch_multi = gib(1.5),
          .graphs_per_layer = gib(0.0072),
          .subtracts_graphs = true,
          .whole_blocks = true,
          .null_blocks = kNullBlocks,
          .prints_by_length = true,
          .absorbed = AbsorbedCopies::dequantised,
          .residual = gib(0.5),
          .residual_other_links = kOtherLinksResidual,
          .residual_source = kStartUpLogs,
          .source = "vLLM 0.26 to 0.29 start-up logs"};
}

/// 0.21 to 0.26: as 0.29, but its graphs are those of 0.19: 1.0 GiB for gpt-oss-120b (36 layers) on
/// one to eight H200 in 0.22 (0.9 less the "equivalent" utilisation that the log prints).
MemoryConstants memory_of_vllm_0_22() {
  MemoryConstants constants = memory_of_vllm_0_29();
  constants.graphs_base = memory_of_vllm_0_19().graphs_base;
  constants.graphs_per_layer = memory_of_vllm_0_19().graphs_per_layer;
  constants.source = "vLLM 0.19 to 0.29 start-up logs";
  return constants;
}

// ---- host time

/// Up to 0.13. Fitted to closed loops of vLLM on one to eight H100 (138 runs of aiconfigurator
/// 095f58a: 93 of 0.12 with Qwen3-32B, 45 of 0.10 with Llama-3.3-70B): 9.8 ms with a standard error
/// of 0.13, the same with any run left out; beside tokenising 9.7 with one of 0.4 from the 93
/// alone.
HostOverhead host_of_vllm_v1_over_http() {
  HostOverhead host = host_of_vllm();
  host.per_request = Seconds{9.8e-3};
  return host;
}

/// With several ranks the scheduler process sends each step's schedule to the ranks and gathers
/// their results, sequence by sequence, while the GPUs wait. Fitted to a closed loop of Qwen3-32B
/// on two, four and eight H100 (vLLM 0.12, 90 runs of aiconfigurator 095f58a, 8 to 128 sequences):
/// the TPOT error falls from 7.6 to 2.8 %, and is the same (with the same fitted values) when the
/// runs of any one number of GPUs are left out. On one GPU vLLM 0.11 with 128 sequences shows no
/// such effect.
constexpr Seconds kRanksStep{0.6e-3};
constexpr Seconds kRanksPerSequence{16e-6};

// ---- batches

/// Decode graphs are captured for at most this many sequences (EngineArgs, compilation config).
constexpr std::int64_t kLargestVllmGraph = 512;

/// Whether the default batch is EnginePreset::on_large_gpu (EngineArgs.get_batch_defaults): at
/// least 70 GiB and not an A100, on which a large budget was slower (vllm-project/vllm pull 17885).
bool is_large(const Gpu& gpu) {
  const bool is_a100 = lower(gpu.name + " " + gpu.display_name).find("a100") != std::string::npos;
  return gpu.memory_visible >= gib(70.0) && !is_a100;
}

/// config/cache.py, CacheDType. bfloat16 and fp8 up to 0.16, float16 by 0.20 (which, being as wide,
/// is let pass before); by 0.25.1 also nvfp4, int8_per_token_head and int4_per_token_head, of whose
/// exact versions between 0.20 and 0.25 only the later preset knows. turboquant_* is not modelled.
std::vector<DType> cache_dtypes() { return {DType::bf16, DType::fp16, DType::fp8}; }
std::vector<DType> later_cache_dtypes() {
  return {DType::bf16, DType::fp16, DType::fp8, DType::int8, DType::fp4, DType::int4};
}

/// Models with recurrent layers ("hybrid" and "attention_free") cache no prefixes unless asked to,
/// up to 0.26 (0.19 config/model.py, is_prefix_caching_supported; vllm-project/vllm pulls 23716 and
/// 50991).
bool is_recurrent(const Transformer& model) { return state_bytes_per_sequence(model).value > 0; }

/// Decode context parallelism divides a sequence's tokens among ranks that would hold the same
/// heads (0.19, config/model.py, verify_with_parallel_config), in models whose layers all keep
/// whole sequences.
void check_context_ranks(const Engine& engine, const EngineSetting& setting) {
  if (engine.context_ranks == 1) return;
  const std::int64_t tensor = setting.parallel.tensor;
  std::int64_t copies = tensor;  // of each head, on as many ranks
  for (const Layer& layer : setting.model.layers) {
    if (const auto* attention = std::get_if<Attention>(&layer.mixer)) {
      copies = std::min(copies, tensor / std::max<std::int64_t>(1, attention->kv_heads));
    }
    const CacheNeed need = cache_need(layer, setting.model, engine.kv_cache_dtype, 1);
    if (need.per_sequence.value > 0 || keeps_window(need.span)) {
      throw UsageError(
          "`decode_context_parallel_size`: not modelled for layers with windows or states");
    }
  }
  if (copies % engine.context_ranks != 0 || copies < engine.context_ranks) {
    throw UsageError(
        fmt::format("`decode_context_parallel_size`: {} given, expected a divisor of the {} ranks "
                    "that hold the "
                    "same heads of K and V",
                    engine.context_ranks, std::max<std::int64_t>(copies, 1)));
  }
}

/// Prefill context parallelism is model runner V2's alone, which had it first at vllm-project/vllm
/// pull 46570 of 2026-07-19, after 0.25, here from 0.27 (v1/worker/gpu/pcp_manager.py,
/// validate_config); with data-parallel ranks it does not start (pull 57075, open).
void check_prompt_ranks(const Engine& engine, const EngineSetting& setting) {
  const Parallelism& parallel = setting.parallel;
  if (parallel.context == 1) return;
  const auto refuse = [](const std::string& why) {
    throw UsageError("`prefill_context_parallel_size`: " + why);
  };
  constexpr int kFirst = 27;
  if (setting.minor < kFirst) {
    refuse("vLLM does not start with it before 0.27, expected `engine` vllm-0.27 or later");
  }
  bool sparse = false;
  for (const Layer& layer : setting.model.layers) {
    const auto* latent = std::get_if<LatentAttention>(&layer.mixer);
    if (latent == nullptr) {
      refuse(
          fmt::format("vLLM has it for latent attention only, which {} lacks", setting.model.name));
    }
    sparse = sparse || latent->span.kind == AttentionSpan::Kind::sparse;
  }
  if (parallel.pipeline > 1) refuse("vLLM refuses it with pipeline stages");
  if (parallel.data > 1) refuse("vLLM does not start with it and data-parallel ranks");
  if (setting.given.num_speculative_tokens) refuse("vLLM refuses it with drafts");
  if (setting.given.max_lora_rank) refuse("vLLM refuses it with LoRA adapters");
  if (setting.model.has_vision && engine.images_per_prompt > 0) {
    refuse("vLLM refuses it with images, expected `limit_mm_per_prompt` 0");
  }
  if (sparse && engine.cuda_graphs) {
    refuse("vLLM has no CUDA graphs of sparse attention with it, expected `enforce_eager`");
  }
  if (engine.context_ranks > 1) refuse("not modelled with `decode_context_parallel_size`");
  if (setting.given.enable_dbo.value_or(false)) refuse("not modelled with `enable_dbo`");
  if (setting.given.kv_offloading_size) refuse("not modelled with `kv_offloading_size`");
}

/// Tokens in a block of latent attention, which the chosen backend decides where the user does not.
/// Up to 0.17 (platforms/cuda.py, check_and_update_config): on Hopper FlashMLA, 64, whatever the
/// cache's format; on Blackwell CUTLASS, 128, from 0.15 on FlashInfer, 64 (vllm-project/vllm pull
/// 32615 of 2026-01-19). From 0.18 on (pull 35122 of 2026-03-09; platforms/interface.py,
/// update_block_size_for_backend) 16 or else the least that the backend supports: Hopper's
/// FlashAttention 3, which takes a 16-bit cache only, 16, else FlashMLA, 64; FlashInfer 32 (GB300
/// start-ups of 0.21 print 3,098,848 tokens, a multiple of 32 and not of 64). FlashInfer's kernels
/// are of keys with 128 elements beside the rotary ones; others stay with CUTLASS. Sparse
/// attention: 64, of FlashMLA's sparse kernels and of the indexer's cache.
std::int64_t latent_block(const LatentAttention& latent, const Engine& engine,
                          const EngineSetting& setting) {
  constexpr std::int64_t kFlashMla = 64, kCutlass = 128;
  const std::string_view capability = setting.gpu.compute_capability;
  const bool hopper = capability.starts_with("9.");
  const bool blackwell = capability.starts_with("10.");
  const bool refactored = setting.minor >= 18;
  if (latent.span.kind == AttentionSpan::Kind::sparse) return kFlashMla;
  if (hopper && (!refactored || bits_of(engine.kv_cache_dtype) == 8)) return kFlashMla;
  if (!blackwell) return engine.block_size;
  if (setting.minor < 15 || latent.nope_dim != 128) return kCutlass;
  return refactored ? 32 : 64;
}

/// DeepSeek-V4's compressed caches come in blocks of 256 tokens ("Setting kv cache block size to
/// 256 for DEEPSEEK_SPARSE_SWA backend", printed by 0.26).
void resolve_latent_blocks(Engine& engine, const EngineSetting& setting) {
  if (setting.given.block_size || setting.model.layers.empty()) return;
  if (has_compressed_cache(setting.model)) engine.block_size = 256;
  const auto* latent = std::get_if<LatentAttention>(&setting.model.layers.front().mixer);
  if (latent != nullptr) engine.block_size = latent_block(*latent, engine, setting);
}

/// Sets what the profile run holds and how blocks are counted, by version. DeepSeek-V4's blocks
/// changed with vllm-project/vllm pulls 44454 (2026-06-07) and 48993 (2026-07-22), their weights in
/// the printed concurrency went with 48317 (2026-07-21), and windows reserve for the step ahead
/// since 47728 (2026-07-08), here from 0.26 (whether 0.25 has it is not known). Sparse latent
/// attention rebuilds a context in it since its pass belongs to the layer and not to the backend
/// (vllm-project/vllm pull 33284 of 2026-01-30; the branch of 0.16 was cut on 2026-02-08). Experts
/// and sparse attention share a buffer since pull 27532 (2025-12-12, here from 0.14); an indexer's
/// scores have been limited and profiled since 36178 (2026-04-01, after the branch of 0.19:
/// vllm/envs.py, VLLM_SPARSE_INDEXER_MAX_LOGITS_MB). FlashMLA's sparse kernels read 8-bit caches
/// until FlashInfer's became Blackwell's choice with 37252 (2026-03-17, here from 0.19).
void resolve_profile_run(MemoryConstants& constants, const Gpu& gpu, int minor) {
  constants.shares_workspace = minor >= 14;
  constants.widens_latents =
      minor >= 14 && (minor < 19 || !gpu.compute_capability.starts_with("10."));
  constants.index_scores = minor >= 20 ? Bytes{512.0 * kMiB} : Bytes{};
  constants.expert_chunk = minor <= 11 ? kFirstExpertChunk : minor <= 17 ? kExpertChunk : 0;
  constants.profiles_whole_chunk = minor >= 12 && minor <= 17;
  constants.low_latency_tokens = minor < 20 ? kLowLatencyTokens : 0;
  constants.sparse_rebuilds_context = minor >= 16;
  constants.compressed = minor < 23   ? CompressedBlocks::tuples
                         : minor < 27 ? CompressedBlocks::slots
                                      : CompressedBlocks::overlaid;
  constants.prints_page_shares = minor < 27;
  constants.counts_steps_ahead = minor >= 26;
  constants.fp4_width_step = minor < 27 ? 256 : 128;
}

/// Whether experts of data-parallel ranks take their tokens in batches of equal length (0.20,
/// config/parallel.py, use_batched_dp_moe).
bool batches_experts(const Engine& engine, const Parallelism& parallel) {
  return engine.all2all == All2All::deepep_low_latency && parallel.expert_parallel &&
         parallel.data > 1;
}

/// "not composible with speculative decoding as of vllm<=0.15.0" (0.22, the documents' page on
/// speculative decoding).
void check_vllm_drafts(const EngineSetting& setting) {
  constexpr int kFirstMinor = 16;
  if (setting.given.num_speculative_tokens && setting.parallel.pipeline > 1 &&
      setting.minor < kFirstMinor) {
    throw UsageError(
        fmt::format("`num_speculative_tokens`: vLLM has no drafts with pipeline stages before 0.{}",
                    kFirstMinor));
  }
}

/// Quantised weights run on GPUs from some compute capability on (0.22, get_min_capability of the
/// classes in model_executor/layers/quantization, which config/vllm.py compares). Marlin's kernels,
/// which widen 8-bit and 4-bit floats where the GPU has no such units, run on Turing since
/// vllm-project/vllm pull 29901 (2025-12-17), those of packed integers since 29732 (2025-11-30),
/// here both from 0.14.
void check_weights(const EngineSetting& setting) {
  constexpr int kFirstOnTuring = 14;
  const int marlin = setting.minor >= kFirstOnTuring ? 75 : 80;
  const LeastCapability least[] = {{"fp8", marlin},  {"fp8_block", marlin}, {"nvfp4", marlin},
                                   {"int4", marlin}, {"mxfp4", 80},         {"awq", 75},
                                   {"int8", 75}};
  check_weight_formats(setting, least);
}

/// On Hopper gpt-oss's experts run in Triton's kernels where they are installed, else in Marlin's
/// (0.11, quantization/mxfp4.py, get_mxfp4_backend; since 0.18 fused_moe/oracle/mxfp4.py), as other
/// models' in mxfp4 with 16-bit activations do on any GPU (aiconfigurator 095f58a, collect_moe.py:
/// Kimi-K3's). vLLM brings Triton's along (third_party/triton_kernels) since builds of December
/// 2025, which vllm-project/vllm issue 27672 of 2025-10-28 asks for: here from 0.12.
void resolve_experts(Engine& engine, const EngineSetting& setting) {
  constexpr int kFirstWithTriton = 12;
  MoeBackend& backend = engine.moe_backend;
  if (backend != MoeBackend::automatic && backend != MoeBackend::marlin &&
      backend != MoeBackend::triton) {
    throw UsageError(
        fmt::format("`moe_backend`: {} is not modelled with vLLM, expected MARLIN, TRITON or AUTO",
                    name_of(backend)));
  }
  if (!has_two_expert_kernels(setting.model, setting.gpu)) {
    backend = MoeBackend::automatic;
    return;
  }
  const bool gpt_oss = setting.model.architecture == "GptOssForCausalLM";
  if (backend == MoeBackend::triton && !gpt_oss) {
    throw UsageError(
        fmt::format("`moe_backend`: vLLM runs TRITON for gpt-oss's experts alone, expected MARLIN "
                    "or AUTO for {}",
                    setting.model.name));
  }
  if (backend != MoeBackend::automatic) return;
  const bool triton = gpt_oss && setting.minor >= kFirstWithTriton;
  backend = triton ? MoeBackend::triton : MoeBackend::marlin;
}

/// Features between data-parallel ranks. Prompts in every N-th step: vllm-project/vllm pull
/// 44558 of 2026-06, with 46532 (0.24). Two-batch overlap: pull 23693 of 2025-09, with the
/// thresholds of config/parallel.py; the backends that config/vllm.py admits (0.22,
/// VllmConfig.__post_init__).
void resolve_rank_steps(Engine& engine, const EngineSetting& setting) {
  const EngineOverrides& given = setting.given;
  constexpr int kFirstWithInterval = 24;
  if (given.prefill_schedule_interval && setting.minor < kFirstWithInterval) {
    throw UsageError(fmt::format(
        "`prefill_schedule_interval`: vLLM has it from 0.{} on, expected `engine` vllm-0.{} or "
        "later",
        kFirstWithInterval, kFirstWithInterval));
  }
  if (given.prefill_schedule_interval && setting.parallel.pipeline > 1) {
    throw UsageError("`prefill_schedule_interval`: not modelled with pipeline stages");
  }
  if (!given.enable_dbo.value_or(false)) return;
  constexpr int kFirstWithOverlap = 11;  // vllm-project/vllm pull 23693
  if (setting.minor < kFirstWithOverlap) {
    throw UsageError(
        fmt::format("`enable_dbo`: vLLM has it from 0.{} on, expected `engine` vllm-0.{} or later",
                    kFirstWithOverlap, kFirstWithOverlap));
  }
  constexpr std::int64_t kDecodeTokens = 32, kPrefillTokens = 512;
  engine.overlap =
      batch_overlap(engine, setting.gpu, given.dbo_decode_token_threshold.value_or(kDecodeTokens),
                    given.dbo_prefill_token_threshold.value_or(kPrefillTokens));
}

/// Most bytes that FlashInfer's fused all-reduce takes at once (0.22, compilation/passes/fusion/
/// allreduce_rms_fusion.py, FI_ALLREDUCE_FUSION_MAX_SIZE_MB); 0: not fused for that many ranks.
double largest_fused_all_reduce(const Gpu& gpu, int ranks) {
  const bool ultra = gpu.compute_capability == "10.3";
  if (ranks == 2) return 64 * kMiB;
  if (ranks == 4) return (ultra ? 64 : 32) * kMiB;
  if (ranks == 8) return (ultra ? 2 : 1) * kMiB;
  return 0;
}

/// Its workspace, outside PyTorch's allocator: a buffer for what all ranks send and three for small
/// messages, each as large (flashinfer/comm/trtllm_ar.py,
/// trtllm_create_ipc_workspace_for_all_reduce_fusion). In compiled models by default since
/// vllm-project/vllm pull 34299 of 2026-02-11 (0.17), with data-parallel ranks since pull 41458 of
/// 2026-05-01 (0.21), with pipeline stages not (pulls 35424 and 43616). On Hopper it takes as much
/// for two ranks alone, which the logs behind non_torch_multi have.
void add_all_reduce_workspace(Engine& engine, const EngineSetting& setting) {
  constexpr int kFirstFused = 17, kFirstFusedBesideRanks = 21;
  if (setting.parallel.pipeline > 1) return;
  if (setting.parallel.data > 1 && setting.minor < kFirstFusedBesideRanks) return;
  constexpr double kBuffers = 4;
  const int ranks = setting.parallel.tensor;
  if (setting.minor < kFirstFused || !engine.cuda_graphs ||
      !setting.gpu.compute_capability.starts_with("10.")) {
    return;
  }
  const double token = static_cast<double>(setting.model.hidden) * 2;
  const double tokens = std::min(std::floor(largest_fused_all_reduce(setting.gpu, ranks) / token),
                                 static_cast<double>(engine.max_num_batched_tokens));
  engine.memory.non_torch_multi += Bytes{kBuffers * ranks * tokens * token};
}

/// Encoders pool (0.19, config/model.py: `--runner auto` of BertModel is pooling), and neither cut
/// prompts into chunks nor find prefixes, since a token attends to later ones
/// (is_chunked_prefill_supported, is_prefix_caching_supported: attn_type "encoder_only").
void resolve_encoder(Engine& engine, const EngineSetting& setting) {
  if (!is_encoder(setting.model)) return;
  const EngineOverrides& given = setting.given;
  const auto refuse = [&](const char* knob, bool value) {
    throw UsageError(fmt::format("`{}`: {} given, but {} is an encoder, expected {}", knob,
                                 value ? "on" : "off", setting.model.name, value ? "off" : "on"));
  };
  if (!given.pooling.value_or(true)) refuse("pooling", false);
  if (given.enable_chunked_prefill.value_or(false)) refuse("enable_chunked_prefill", true);
  if (given.enable_prefix_caching.value_or(false)) refuse("enable_prefix_caching", true);
  engine.pooling = true;
  engine.chunked_prefill = false;
  engine.prefix_caching = false;
}

void resolve_vllm_0_29(Engine& engine, const EngineSetting& setting) {
  engine.first_token_uncertainty = 0.04;  // 105 runs on four GPUs
  resolve_encoder(engine, setting);
  check_vllm_drafts(setting);
  resolve_experts(engine, setting);
  resolve_rank_steps(engine, setting);
  check_weights(setting);
  check_context_ranks(engine, setting);
  check_prompt_ranks(engine, setting);
  resolve_latent_blocks(engine, setting);
  resolve_profile_run(engine.memory, setting.gpu, setting.minor);
  resolve_vllm_batch(engine, setting);
  resolve_vllm_graphs(engine, setting, 16);  // 0.19: 51 sizes to 512 (start-up dump)
  add_all_reduce_workspace(engine, setting);
  if (!setting.given.sampling) engine.sampling = setting.model.sampling;
}

void resolve_vllm(Engine& engine, const EngineSetting& setting) {
  if (!setting.given.enable_prefix_caching && is_recurrent(setting.model)) {
    engine.prefix_caching = false;
  }
  resolve_vllm_0_29(engine, setting);
}

void resolve_vllm_to_0_13(Engine& engine, const EngineSetting& setting) {
  resolve_vllm(engine, setting);
  // Switched off with a log line even if asked for (model_executor/models/config.py,
  // MambaModelConfig: "without support for prefix caching: disabling"; printed by 0.13.0 for
  // Qwen3-Next).
  if (is_recurrent(setting.model)) engine.prefix_caching = false;
  resolve_vllm_graphs(engine, setting, 8);  // 67 sizes to 512
  if (setting.parallel.tensor * setting.parallel.pipeline == 1) return;
  engine.host.step_base = engine.host.step_base + kRanksStep;
  engine.host.per_sequence = engine.host.per_sequence + kRanksPerSequence;
}

std::vector<EnginePreset> vllm_presets() {
  return {
      {.name = "vllm-0.29",
       .summary = "vLLM 0.27 and later (2026): CUDA graphs counted in memory, utilisation 0.92",
       .first_minor = 27,
       .first_compared = 27,
       .last_compared = 29,
       .cache_dtypes = later_cache_dtypes(),
       .defaults = {.gpu_memory_utilization = 0.92,
                    .needs_state_blocks = true,
                    .memory = memory_of_vllm_0_29(),
                    .host = host_of_vllm()},
       .on_large_gpu = kVllmLargeBatch,
       .resolve = resolve_vllm_0_29},
      {.name = "vllm-0.22",
       .summary = "vLLM 0.21 to 0.26: CUDA graphs counted in memory, utilisation 0.92",
       .first_minor = 21,
       .first_compared = 21,
       .last_compared = 26,
       .cache_dtypes = later_cache_dtypes(),
       .defaults = {.gpu_memory_utilization = 0.92,
                    .needs_state_blocks = true,
                    .memory = memory_of_vllm_0_22(),
                    .host = host_of_vllm()},
       .on_large_gpu = kVllmLargeBatch,
       .resolve = resolve_vllm},
      {.name = "vllm-0.20",
       .summary = "vLLM 0.20: as 0.19; recurrent states limit max_num_seqs at start-up",
       .first_minor = 20,
       .first_compared = 20,
       .last_compared = 20,
       .cache_dtypes = cache_dtypes(),
       .defaults = {.needs_state_blocks = true,
                    .memory = memory_of_vllm_0_19(),
                    .host = host_of_vllm()},
       .on_large_gpu = kVllmLargeBatch,
       .resolve = resolve_vllm},
      {.name = "vllm-0.19",
       .summary = "vLLM 0.19: asynchronous scheduling, whole-sequence admission",
       .first_minor = 19,
       .first_compared = 19,
       .last_compared = 19,
       .cache_dtypes = cache_dtypes(),
       .defaults = {.memory = memory_of_vllm_0_19(), .host = host_of_vllm()},
       .on_large_gpu = kVllmLargeBatch,
       .resolve = resolve_vllm},
      {.name = "vllm-0.17",
       .summary = "vLLM 0.17 and 0.18: asynchronous scheduling, first-chunk admission",
       .first_minor = 17,
       .first_compared = 17,
       .last_compared = 18,
       .cache_dtypes = cache_dtypes(),
       .defaults = {.reserve_full_sequence = false,
                    .memory = memory_of_vllm_0_19(),
                    .host = host_of_vllm()},
       .on_large_gpu = kVllmLargeBatch,
       .resolve = resolve_vllm},
      {.name = "vllm-0.15",
       .summary = "vLLM 0.14 to 0.16: asynchronous scheduling, first-chunk admission",
       .first_minor = 14,
       .first_compared = 14,
       .last_compared = 16,
       .cache_dtypes = cache_dtypes(),
       .defaults = {.reserve_full_sequence = false,
                    .chunked_layers = ChunkedLayers::as_full,
                    .sorts_logits = true,
                    .memory = memory_of_vllm_0_11(),
                    .host = host_of_vllm_over_http()},
       .on_large_gpu = kVllmLargeBatch,
       .resolve = resolve_vllm},
      {.name = "vllm-0.11",
       .summary = "vLLM V1 up to 0.13 (2025): synchronous, first-chunk admission",
       .first_minor = 0,
       .first_compared = 10,
       .last_compared = 13,
       .cache_dtypes = cache_dtypes(),
       .defaults = {.async_scheduling = false,
                    .reserve_full_sequence = false,
                    .chunked_layers = ChunkedLayers::as_full,
                    .sorts_logits = true,
                    .memory = memory_of_vllm_0_11(),
                    .host = host_of_vllm_v1_over_http()},
       .on_large_gpu = kVllmLargeBatch,
       .resolve = resolve_vllm_to_0_13},
  };
}

const EnginePreset* find_vllm_preset(const EngineDescription& vllm, const EngineName& name) {
  if (name.version.empty()) return preset_named(vllm, kDefaultEngine);
  const std::optional<int> minor = minor_version(name.version);
  constexpr int kFirstYear = 1000 * 100;  // as minor_version() counts it
  if (!minor || *minor >= kFirstYear) return nullptr;
  if (*minor < kFirstV1Minor) {
    throw Error(fmt::format(
        "engine 'vllm-{}': versions before 0.{} ran the V0 engine, which is not modelled; the "
        "oldest is vllm-0.11",
        name.version, kFirstV1Minor));
  }
  return preset_of_minor(vllm, *minor);
}

}  // namespace

/// For vLLM and loops compared with it. Skew: what decode steps of Llama-3.1-70B, Yi-34B and
/// Mistral-Nemo on two and four H100 take beyond their operators, per all-reduce (81 to 161 per
/// step; inference-sim/sim-to-real-accuracy-validation dcec3fd, vLLM 0.15.1).
HostOverhead host_of_vllm() {
  HostOverhead host = plain_host();
  host.rank_skew = Seconds{1.6e-6};
  return host;
}

/// 0.14 to 0.16 as clients see it over HTTP: TTFT in the same runs exceeds admission, the steps
/// until then and the first step by 5 to 9 ms for every model, of which 5.5 +- 1.2 are left beside
/// tokenising (11 runs of the open loop on H100). Later versions were measured inside the engine
/// only, so that beside tokenising only IPC is counted for a request.
HostOverhead host_of_vllm_over_http() {
  HostOverhead host = host_of_vllm();
  host.per_request = Seconds{5.5e-3};
  return host;
}

/// Defaults are adjusted to fit what the user set; two user settings
/// that contradict each other are refused, as the engine does.
void resolve_vllm_batch(Engine& engine, const EngineSetting& setting) {
  const EngineOverrides& given = setting.given;
  if (const auto& large = setting.preset.on_large_gpu; large && is_large(setting.gpu)) {
    if (!given.max_num_seqs) engine.max_num_seqs = large->max_num_seqs;
    if (!given.max_num_batched_tokens) {
      engine.max_num_batched_tokens = large->max_num_batched_tokens;
    }
  }
  if (!given.max_num_batched_tokens && setting.minor >= 20 &&
      batches_experts(engine, setting.parallel)) {
    engine.max_num_batched_tokens = kLowLatencyTokens;
  }
  if (!given.max_num_batched_tokens) {
    if (!engine.chunked_prefill) {
      engine.max_num_batched_tokens = std::max(engine.max_num_batched_tokens, engine.max_model_len);
    }
    engine.max_num_batched_tokens =
        std::min(engine.max_num_batched_tokens, engine.max_num_seqs * engine.max_model_len);
  }
  if (!given.max_num_seqs) {
    engine.max_num_seqs = std::min(engine.max_num_seqs, engine.max_num_batched_tokens);
  }
  if (engine.max_num_batched_tokens < engine.max_num_seqs) {
    throw UsageError(fmt::format(
        "`max_num_batched_tokens`: {} {}, expected at least `max_num_seqs` ({}), so that "
        "every running sequence gets a token per step",
        engine.max_num_batched_tokens, given.max_num_batched_tokens ? "given" : "by default",
        engine.max_num_seqs));
  }
  if (!engine.chunked_prefill && engine.max_num_batched_tokens < engine.max_model_len) {
    throw UsageError(fmt::format(
        "`max_num_batched_tokens`: {} given, expected at least `max_model_len` ({}) when chunked "
        "prefill is off",
        engine.max_num_batched_tokens, engine.max_model_len));
  }
}

/// 0.19 config/vllm.py, _set_cudagraph_sizes: cudagraph_capture_sizes, or sizes up to
/// max_cudagraph_capture_size; those beyond the token budget are dropped. Sizes are tokens, of
/// which each sequence has one and its drafts.
void resolve_vllm_graphs(Engine& engine, const EngineSetting& setting, std::int64_t step) {
  const std::int64_t tokens = 1 + setting.given.num_speculative_tokens.value_or(0);
  const std::int64_t largest =
      std::min(largest_graph_given(setting.given)
                   .value_or(std::min(2 * engine.max_num_seqs * tokens, kLargestVllmGraph)),
               engine.max_num_batched_tokens);
  const GraphSizes sizes[] = {{1, 1, 1}, {2, 4, 2}, {8, 248, 8}, {256, largest, step}};
  set_graph_sizes(engine, setting.given, graph_sizes(sizes, largest));
  std::erase_if(engine.graph_batch_sizes,
                [&](std::int64_t size) { return size > engine.max_num_batched_tokens; });
}

const EngineDescription& vllm_description() {
  static const EngineDescription vllm{.names = {"vllm"},
                                      .presets = vllm_presets(),
                                      .years = {{"2025", "vllm-0.11"}, {"2026", "vllm-0.29"}},
                                      .find = find_vllm_preset};
  return vllm;
}

}  // namespace roofcast
