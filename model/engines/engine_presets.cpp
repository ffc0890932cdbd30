#include "model/engines/engine_presets.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace roofcast {
namespace {

constexpr Bytes gib(double value) { return Bytes{value * kGiB}; }

/// Possible error of the SGLang and TensorRT-LLM rules, for which no logs state every term. An
/// assumption.
constexpr Bytes kUnfittedResidual = gib(2.0);

/// Textbook rule, per GPU: the widely read example takes 3 GB for two GPUs. An assumption.
constexpr Bytes kTextbookOverhead{1.5e9};

/// Share of NVLink bandwidth that TensorRT-LLM's one-shot all-reduce reaches, and the largest
/// message it is used for. Fitted: a decode step of Qwen3-32B on eight H100 takes 33 us more per
/// sequence than its kernels, on four a sixth of that (closed loop of TensorRT-LLM 1.0.0rc3,
/// aiconfigurator 095f58a): 10 KiB per sequence in each of 128 calls, read from seven ranks or
/// three. The limit: the largest batch seen there is 1.3 MB, and prompts of 10 MB and more show no
/// such effect.
constexpr OneShotAllReduce kOneShot{.link_share = 0.45, .limit = Bytes{2.0e6}};

/// What the project's own engine takes besides weights and KV cache: the CUDA context, as for
/// SGLang below, and the same again for its buffers (an assumption).
constexpr Bytes kOwnOverhead = gib(1.02);

/// Reasons for the constants. All but those marked as stated are fitted to start-up logs by
/// calibrate/memory_fit, which tests/model/memory/memory_constants_test.cpp repeats if the logs are
/// present.
///  logits_bytes: the dummy sampler pass holds the logits of every sequence in bf16 and fp32, their
///    softmax and the exponential noise (2 + 4 + 4 + 4 and masks: about 15 bytes per element). Up
///    to
///    0.16 it also sorted the whole vocabulary (fp32 values, 64-bit indices and their copies: about
///    38).
///  forward_intermediate, forward_hidden: counts of live tensors (activation_peak.hpp), confirmed.
///  compile_peak: scratch of torch.compile at a cold start, a lower bound of every profiled peak
///    (vllm-project/vllm issues 54122 and 54383).
///  non_torch: growth of the CUDA context, cuBLAS workspaces; with several GPUs also NCCL and
///    custom all-reduce buffers, which depend on the interconnect more than on the model.
///  graphs: of decode batches up to 512; experts take up to twice as much.
/// Stated for want of logs: several GPUs in 0.11 (logs print 0.21 on 8 L40S, 0.55 on 2 H100, 1.4 to
/// 1.8 on other starts of 0.10) and its graphs (taken from 0.19); several GPUs in 0.29 (logs print
/// 0.95, 1.70 and 1.74) and its residual.
MemoryConstants memory_of_vllm_0_11() {
  return {.logits_bytes = 38.4,
          .non_torch_single = gib(0.109),
          .non_torch_multi = gib(0.55),
          .graphs_base = gib(0.43),
          .graphs_per_layer = gib(0.0155),
          .residual = gib(1.07),
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
          .residual = gib(0.08),
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
          .residual = gib(0.5),
          .source = "vLLM 0.26 to 0.29 start-up logs"};
}

/// SGLang reserves room for activations and graphs through its memory fraction. Before it measures,
/// memory is used by the CUDA context and, with several GPUs, NCCL (free memory at start of an H100
/// in vLLM 0.19 logs: 78.68 of 79.19 GiB with one GPU, 77.66 with two).
MemoryConstants memory_of_sglang() {
  return {.non_torch_single = gib(0.51),
          .non_torch_multi = gib(1.53),
          .residual = kUnfittedResidual,
          .source = "free memory at start in vLLM 0.19 logs; the rule itself is SGLang's"};
}

/// TensorRT-LLM: context, cuBLAS, runtime and decoder buffers; NCCL and all-reduce workspaces grow
/// with the number of ranks. Fitted to the sequences admitted by 12 starts on H100 (aiconfigurator
/// 095f58a, test_trtllm_kv_cache_capacity.py: 8B and 32B, TP 1, 2 and 4): each start bounds the
/// memory used to within one sequence, and these three numbers satisfy all bounds but one (off by
/// 0.07 GiB). Extrapolated to more than four ranks and to data-parallel ranks of experts.
MemoryConstants memory_of_tensorrt_llm() {
  return {.non_torch_single = gib(3.1),
          .non_torch_multi = gib(3.9),
          .non_torch_doubling = gib(0.8),
          .residual = gib(1.0),
          .source = "concurrency of 12 starts on H100, aiconfigurator 095f58a"};
}

/// For engines about which nothing else is known.
HostOverhead plain_host() {
  return {.source = "vllm-project/vllm issues 42131 and 46112 (schedule, update per request)"};
}

/// For vLLM and loops compared with it. Skew: what decode steps of Llama-3.1-70B, Yi-34B and
/// Mistral-Nemo on two and four H100 take beyond their operators, per all-reduce (81 to 161 per
/// step; inference-sim/sim-to-real-accuracy-validation dcec3fd, vLLM 0.15.1).
HostOverhead host_of_vllm() {
  HostOverhead host = plain_host();
  host.rank_skew = Seconds{1.6e-6};
  return host;
}

/// 0.14 to 0.16 as clients see it over HTTP: TTFT in the same runs exceeds admission, the steps
/// until then and the first step by 5 to 9 ms for every model. Later versions were measured inside
/// the engine only, so only IPC and tokenising are counted.
HostOverhead host_of_vllm_over_http() {
  HostOverhead host = host_of_vllm();
  host.per_request = Seconds{7.8e-3};
  return host;
}

/// Up to 0.13. Fitted to closed loops of vLLM 0.11 and 0.12 on one to eight H100 (138 runs of
/// aiconfigurator 095f58a): 9.8 ms with a standard error of 0.13, the same with any run left out.
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

/// SGLang handles every request of a batch separately while the GPU waits for the result. Fitted:
/// decode steps of Llama-3.1-8B on one to eight H200 (SGLang 0.5.6, closed loop of aiconfigurator
/// 095f58a, 46 runs) take 17 us to 24 us per sequence longer than their kernels.
HostOverhead host_of_sglang() {
  return {.serial_per_sequence = Seconds{18e-6},
          .per_request = Seconds{10e-3},
          .source = "closed loop of SGLang 0.5.6 on H200"};
}

/// TensorRT-LLM's PyTorch loop. Fitted to 176 closed-loop runs of Qwen3-32B on one to eight H100
/// (TensorRT-LLM 1.0.0rc3, aiconfigurator 095f58a):
///  kernel_launch: a step with a prompt runs operator by operator through PyTorch. A prompt of 1024
///    tokens on eight GPUs takes 34 ms however small the kernels are, some 1,100 kernels.
///  graph_launch: decode steps of 8 to 32 sequences take 0.5 ms longer than their kernels on any
///    number of GPUs.
///  per_request: frontend and client, between a request's last token and its successor's admission.
HostOverhead host_of_tensorrt_llm() {
  return {.graph_launch = Seconds{0.5e-3},
          .kernel_launch = Seconds{31e-6},
          .per_request = Seconds{12e-3},
          .source = "closed loop of TensorRT-LLM 1.0.0rc3 on H100"};
}

/// vLLM presets by version, and what changed:
///  0.8 - 0.13: sampler sorts the logits (38 bytes per element); scheduling is synchronous; a
///              request is admitted when its first chunk fits.
///  0.14 - 0.16: asynchronous scheduling by default (0.14.0, vllm-project/vllm pull 27614). Layers
///              with chunked attention share a cache group with the others, as before (default of
///              VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE; the 8,253 blocks that 0.15.1
///              printed for Llama-4-Scout on two H100 are a quarter of what groups would give).
///  0.17 - 0.20: sampler without the sort (15 bytes); asynchronous scheduling; a request is
///              admitted when its whole sequence fits. Knobs as printed at start-up by vLLM 0.19.0
///              (configuration dump of a run on an RTX 4090).
///  0.21 on:    an estimate of CUDA-graph memory is subtracted from the KV budget (default since
///              0.21.0 by the engine's own log message); utilisation 0.92.
/// The scheduling changes are dated only to within a few versions.
std::vector<PresetDefaults> vllm_eras() {
  return {
      {.preset = {"vllm-0.29", "vLLM 0.21 and later (2026): CUDA graphs counted, utilisation 0.92"},
       .utilization = 0.92,
       .first_minor = 21,
       .memory = memory_of_vllm_0_29(),
       .host = host_of_vllm()},
      {.preset = {"vllm-0.19",
                  "vLLM 0.17 to 0.20: asynchronous scheduling, whole-prompt admission"},
       .first_minor = 17,
       .memory = memory_of_vllm_0_19(),
       .host = host_of_vllm()},
      {.preset = {"vllm-0.15", "vLLM 0.14 to 0.16: asynchronous scheduling, first-chunk admission"},
       .reserve_full_sequence = false,
       .chunked_layers = ChunkedLayers::as_full,
       .first_minor = 14,
       .memory = memory_of_vllm_0_11(),
       .sorts_logits = true,
       .host = host_of_vllm_over_http()},
      {.preset = {"vllm-0.11", "vLLM V1 up to 0.13 (2025): synchronous, first-chunk admission"},
       .async_scheduling = false,
       .reserve_full_sequence = false,
       .chunked_layers = ChunkedLayers::as_full,
       .first_minor = 0,
       .memory = memory_of_vllm_0_11(),
       .sorts_logits = true,
       .host = host_of_vllm_v1_over_http(),
       .ranks_step = kRanksStep,
       .ranks_per_sequence = kRanksPerSequence},
  };
}

std::vector<PresetDefaults> eras_of_other_engines() {
  return {
      {.preset = {"sglang", "SGLang: token pages, prefill first, static memory fraction"},
       .memory_rule = MemoryRule::sglang,
       .scheduler = SchedulerKind::sglang,
       .block_size = 1,
       .eager_prefill = true,
       .memory = memory_of_sglang(),
       .host = host_of_sglang()},
      {.preset = {"trtllm",
                  "TensorRT-LLM 0.19 on, PyTorch: no-evict scheduler, share of free memory"},
       .memory_rule = MemoryRule::tensorrt_llm,
       .scheduler = SchedulerKind::tensorrt_llm,
       .block_size = 32,
       .chunked_prefill = false,
       .exact_graphs = true,
       .eager_prefill = true,
       .kernel_library = "tensorrt_llm",
       .one_shot = kOneShot,
       .memory = memory_of_tensorrt_llm(),
       .host = host_of_tensorrt_llm()},
      {.preset = {"trtllm-0.18", "TensorRT-LLM up to 0.18: built engines, their C++ loop"},
       .memory_rule = MemoryRule::tensorrt_llm,
       .scheduler = SchedulerKind::tensorrt_llm,
       .block_size = 32,
       .chunked_prefill = false,
       .exact_graphs = true,
       .kernel_library = std::string(kTensorrtEngines),
       .memory = memory_of_tensorrt_llm(),
       .host = plain_host()},
  };
}

/// Engines that are not third-party servers. The static and naive loops capture decode graphs like
/// synchronous vLLM, so that a comparison with it isolates the scheduling.
std::vector<PresetDefaults> plain_eras() {
  return {
      {.preset = {"roofcast",
                  "the small engine of roofcast measure: vLLM's scheduler, exact batches"},
       .memory_rule = MemoryRule::textbook,
       .async_scheduling = false,
       .overhead = kOwnOverhead,
       .prefix_caching = false,
       .own_engine = true},
      {.preset = {"textbook", "no engine: memory - weights - a fixed overhead, all left to KV"},
       .memory_rule = MemoryRule::textbook,
       .utilization = 1.0,
       .block_size = 1,
       .overhead = kTextbookOverhead,
       .host = host_of_vllm()},
      {.preset = {"static",
                  "static batching: a batch starts together, the next when all of it is done"},
       .memory_rule = MemoryRule::textbook,
       .scheduler = SchedulerKind::static_batch,
       .utilization = 1.0,
       .block_size = 1,
       .chunked_prefill = false,
       .async_scheduling = false,
       .overhead = kTextbookOverhead,
       .host = host_of_vllm()},
      {.preset = {"naive",
                  "no KV cache: one request at a time, its whole sequence for every token"},
       .memory_rule = MemoryRule::textbook,
       .scheduler = SchedulerKind::naive,
       .utilization = 1.0,
       .block_size = 1,
       .chunked_prefill = false,
       .async_scheduling = false,
       .overhead = kTextbookOverhead,
       .host = host_of_vllm()},
  };
}

std::vector<PresetDefaults> make_table() {
  std::vector<PresetDefaults> table = vllm_eras();
  for (PresetDefaults& preset : eras_of_other_engines()) table.push_back(std::move(preset));
  for (PresetDefaults& preset : plain_eras()) table.push_back(std::move(preset));
  return table;
}

}  // namespace

const std::vector<PresetDefaults>& preset_table() {
  static const std::vector<PresetDefaults> table = make_table();
  return table;
}

std::vector<std::int64_t> capture_sizes(const PresetDefaults& preset, std::int64_t largest) {
  // TensorRT-LLM runs an uncaptured batch size without padding (padding is an option).
  if (preset.scheduler == SchedulerKind::tensorrt_llm) return {};
  std::vector<std::int64_t> sizes;
  const auto add = [&](std::int64_t first, std::int64_t last, std::int64_t step) {
    for (std::int64_t size = first; size <= std::min(last, largest); size += step) {
      sizes.push_back(size);
    }
  };
  add(1, 1, 1);
  add(2, 4, 2);
  if (preset.scheduler == SchedulerKind::sglang) {
    // 1, 2, 4, 8, 12, 16..256 by 8, 272..496 by 16, 512.. by 32 (SGLang server_args)
    add(8, 12, 4);
    add(16, 256, 8);
    add(272, 496, 16);
    add(512, largest, 32);
  } else if (!preset.async_scheduling) {
    add(8, largest, 8);  // vLLM up to 0.13: 67 sizes to 512
  } else {
    add(8, 248, 8);  // vLLM 0.19: 51 sizes to 512 (start-up dump)
    add(256, largest, 16);
  }
  return sizes;
}

}  // namespace roofcast
