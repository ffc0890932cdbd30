// TensorRT-LLM: the PyTorch backend, default since 0.19, and the engines that earlier versions
// compiled.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "base/dotted_version.hpp"
#include "base/error.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"
#include "model/architecture/weights.hpp"
#include "model/cache/kv_cache.hpp"
#include "model/engines/engine_description.hpp"

namespace roofcast {
namespace {

constexpr int kFirstMinorOfPyTorch = 19;

/// The first version, 1.x counted as 100 + x, in which cached prefixes count before a request
/// starts (NVIDIA/TensorRT-LLM pulls 11490 and 11637, merged in February 2026, when main was 1.3).
constexpr int kVersion1 = 100;
constexpr int kFirstMinorThatCountsCached = kVersion1 + 3;

/// Share of NVLink bandwidth that TensorRT-LLM's one-shot all-reduce reaches, and the largest
/// message it is used for. Fitted: a decode step of Qwen3-32B on eight H100 takes 33 us more per
/// sequence than its kernels, on four a sixth of that (closed loop of TensorRT-LLM 1.0.0rc3,
/// aiconfigurator 095f58a): 10 KiB per sequence in each of 128 calls, read from seven ranks or
/// three. The limit: the largest batch seen there is 1.3 MB, and prompts of 10 MB and more show no
/// such effect.
constexpr OneShotAllReduce kOneShot{.link_share = 0.45, .limit = Bytes{2.0e6}};

/// TensorRT-LLM: context, cuBLAS, runtime and decoder buffers; NCCL and all-reduce workspaces grow
/// with the number of ranks. Fitted to the sequences admitted by 12 starts on H100 (aiconfigurator
/// 095f58a, test_trtllm_kv_cache_capacity.py: 8B and 32B, TP 1, 2 and 4): each start bounds the
/// memory used to within one sequence, and these three numbers satisfy all bounds but one (off by
/// 0.07 GiB). Extrapolated to more than four ranks and to data-parallel ranks of experts.
MemoryConstants memory_of_tensorrt_llm() {
  return {.non_torch_single = gib(3.1),
          .non_torch_multi = gib(3.9),
          .non_torch_doubling = gib(0.8),
          .whole_blocks = true,
          .residual = gib(1.0),
          .source = "max concurrency of 12 starts on H100, aiconfigurator 095f58a"};
}

/// TensorRT-LLM's PyTorch loop. Where nothing else is said, fitted to 176 closed-loop runs of
/// Qwen3-32B on one to eight H100 (TensorRT-LLM 1.0.0rc3, aiconfigurator 095f58a):
///  kernel_launch, eager_launch, prompt_launch: PyTorch runs a step that no graph holds operator by
///    operator. A prompt of 1024 tokens on eight GPUs takes 34 ms however small the kernels are:
///    842 operators, and 256 kernels that quantise the products' inputs.
///  graph_launch: decode steps of 8 to 32 sequences take 0.5 ms longer than their kernels on any
///    number of GPUs.
///  per_sequence: preparing the inputs of a step, its cache blocks and its tokens, in Python
///    (pulls 5550, 11704 and 16564 time parts of it). With seven launches for the lookups of
///    experts (expert_launches) fitted to 16 saturated runs of Qwen3-30B and Llama-4-Scout on one
///    B200.
///  per_other_request: in a pipeline scheduling (_schedule) and answers (_handle_responses) of a
///    step look at all requests that the executor holds. Fitted to ten saturated runs of
///    Llama-3.3-70B on eight RTX PRO 6000, a stage each.
///  per_request: frontend and client, between a request's last token and its successor's admission,
///    beside what tokenising takes.
///  handover: the context server's answer goes through the front end to the generation server,
///    which asks for K and V. 48 ms is the median over four settings of DeepSeek-R1 with prefill
///    and decode apart, at most four in flight (19 InferenceX runs; GB200 -22, 42 and 54 ms, B200
///    160).
HostOverhead host_of_tensorrt_llm() {
  return {.per_sequence = Seconds{14e-6},
          .graph_launch = Seconds{0.5e-3},
          .per_other_request = Seconds{4e-6},
          .kernel_launch = Seconds{31e-6},
          .eager_launch = Seconds{31e-6},
          .prompt_launch = Seconds{31e-6},
          .per_request = Seconds{3e-3},
          .handover = Seconds{48e-3},
          .source =
              "closed loop of TensorRT-LLM 1.0.0rc3 on H100; per sequence: saturated runs of 1.0 "
              "on B200; per other request: on RTX PRO 6000; handover: DeepSeek-R1 apart on B200 "
              "and GB200"};
}

/// Batches that are captured unless cuda_graph_config says otherwise, and how: 1.2,
/// llmapi/llm_args.py, BaseCudaGraphConfig (max_batch_size 128, enable_padding False,
/// _generate_cuda_graph_batch_sizes), and pyexecutor/model_engine.py,
/// _filter_cuda_graph_batch_sizes.
constexpr std::int64_t kLargestTensorrtGraph = 128;

void resolve_pytorch_graphs(Engine& engine, const EngineSetting& setting) {
  const std::int64_t largest = largest_graph_given(setting.given).value_or(kLargestTensorrtGraph);
  std::vector<std::int64_t> sizes;
  if (engine.graph_padding) {
    const GraphSizes padded[] = {{1, 1, 1}, {2, 4, 2}, {8, 128, 8}, {192, largest, 64}};
    sizes = graph_sizes(padded, largest);
  } else {
    const GraphSizes exact[] = {{1, 32, 1}, {64, 128, 64}};
    sizes = graph_sizes(exact, largest);
    for (std::int64_t size = 256; size < largest; size *= 2) sizes.push_back(size);
  }
  if (sizes.back() != largest) sizes.push_back(largest);
  set_graph_sizes(engine, setting.given, std::move(sizes));
  // Those that no batch reaches; what pads to one of them pads to the largest batch.
  const std::int64_t most = std::min(engine.max_num_seqs, engine.max_num_batched_tokens);
  std::vector<std::int64_t>& captured = engine.graph_batch_sizes;
  if (std::erase_if(captured, [&](std::int64_t size) { return size > most; }) > 0 &&
      engine.graph_padding && (captured.empty() || captured.back() != most)) {
    captured.push_back(most);
  }
}

/// Steps with prompts are captured in pieces of up to max_num_tokens (1.2, llmapi/llm_args.py,
/// TorchCompileConfig; pyexecutor/model_engine.py, _piecewise_cuda_graph_num_tokens).
void resolve_piecewise_graphs(Engine& engine, const EngineSetting& setting) {
  const bool given = setting.given.piecewise_cuda_graph || setting.given.capture_num_tokens;
  if (engine.exact_graphs && given) {
    throw UsageError(
        "`piecewise_cuda_graph`: is of TensorRT-LLM's PyTorch backend, expected an engine from "
        "trtllm-0.19 on");
  }
  if (!setting.given.piecewise_cuda_graph.value_or(false)) {
    if (setting.given.capture_num_tokens) {
      throw UsageError("`capture_num_tokens`: requires `piecewise_cuda_graph`");
    }
    return;
  }
  if (!engine.cuda_graphs) {
    throw UsageError("`piecewise_cuda_graph`: has no effect without CUDA graphs");
  }
  std::vector<std::int64_t> sizes =
      setting.given.capture_num_tokens.value_or(engine.graph_batch_sizes);
  std::ranges::sort(sizes);
  std::erase_if(sizes, [&](std::int64_t size) { return size > engine.max_num_batched_tokens; });
  if (sizes.empty()) {
    throw UsageError(fmt::format(
        "`capture_num_tokens`: none of the sizes is within `max_num_batched_tokens` ({})",
        engine.max_num_batched_tokens));
  }
  engine.prompt_graph_sizes = std::move(sizes);
}

/// Compute capability that quantised weights need (support matrix of TensorRT-LLM 0.18.2,
/// "Precision": FP8 from Ada on; FP4 on Blackwell).
constexpr LeastCapability kTensorrtCapabilities[] = {
    {"fp8", 89}, {"fp8_block", 89}, {"nvfp4", 100}};

/// Whether data-parallel ranks gather all tokens and scatter their experts' sums, as versions up to
/// 1.1 do unless there are more ranks than experts that a token picks, on a Grace host (1.1.0rc2,
/// fused_moe_cutlass.py, select_alltoall_method_type, and _mnnvl_utils.py, supports_mnnvl, which
/// asks for aarch64; DeepEP only with TRTLLM_CAN_USE_DEEP_EP=1).
bool gathers_tokens(const EngineSetting& setting) {
  if (setting.version.empty() || !is_older(setting.version, "1.2")) return false;
  std::int64_t picked = 0;
  for (const Layer& layer : setting.model.layers) {
    if (const auto* moe = std::get_if<MoeFfn>(&layer.ffn)) picked = moe->experts_per_token;
  }
  return !has_grace_host(setting.gpu) || setting.parallel.expert_ranks() <= picked;
}

/// The shortest list that gives every layer its tokens, as max_attention_window is read: in turn
/// from the first layer of each pipeline stage. Nullopt if there is none.
std::optional<std::vector<std::int64_t>> windows_in_turn(
    const std::vector<std::vector<std::int64_t>>& stages) {
  const std::size_t longest = std::ranges::max(stages, {}, &std::vector<std::int64_t>::size).size();
  for (std::size_t period = 1; period <= longest; ++period) {
    std::vector<std::int64_t> list(period, 0);
    bool fits = true;
    for (const std::vector<std::int64_t>& tokens : stages) {
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        std::int64_t& one = list[i % period];
        if (one == 0) one = tokens[i];
        fits = fits && one == tokens[i];
      }
    }
    if (fits) return list;
  }
  return {};
}

/// Whether max_attention_window leaves all tokens to layers with windows. Throws UsageError if it
/// is neither that nor the model's own windows, with which it would compute something else (1.2,
/// pyexecutor/resource_manager.py, _get_window_size_to_layers).
bool lists_no_windows(const Engine& engine, const EngineSetting& setting) {
  const Transformer& model = setting.model;
  const std::vector<std::int64_t>& listed = engine.max_attention_window;
  const std::int64_t whole = engine.max_model_len;
  if (std::ranges::all_of(listed, [&](std::int64_t one) { return one >= whole; })) return true;
  std::vector<std::vector<std::int64_t>> stages;
  bool fits = true;
  for (int stage = 0; stage < setting.parallel.pipeline; ++stage) {
    const LayerRange range =
        pipeline_stage(std::ssize(model.layers), setting.parallel.pipeline, stage);
    std::vector<std::int64_t>& tokens = stages.emplace_back();
    for (std::int64_t i = range.first; i < range.last; ++i) {
      const Layer& layer = model.layers[static_cast<std::size_t>(i)];
      const AttentionSpan span = cache_need(layer, model, model.activation, 1).span;
      const std::int64_t given = listed[tokens.size() % listed.size()];
      tokens.push_back(keeps_window(span) ? std::min(span.tokens, whole) : whole);
      fits = fits && std::min(given, whole) == tokens.back();
    }
  }
  if (fits) return false;
  const auto windows = windows_in_turn(stages);
  throw UsageError(fmt::format(
      "`max_attention_window`: {} given, expected {} for all tokens in every layer{}",
      fmt::join(listed, ","), whole,
      windows
          ? fmt::format(", or {}, the windows of {} in turn", fmt::join(*windows, ","), model.name)
          : fmt::format(": no list gives the layers of {} their windows in {} stages", model.name,
                        setting.parallel.pipeline)));
}

/// Whether layers with windows keep all tokens, in one pool with the others: unless
/// max_attention_window lists their windows (1.2, pyexecutor/resource_manager.py, KVCacheManager:
/// else one window of max_seq_len; pull 5722, which was to read them from the model, was not
/// merged, 18767 was in September 2026, after 1.3.0rc20).
bool keeps_all_tokens(const Engine& engine, const EngineSetting& setting) {
  if (!has_listable_windows(setting.model)) return false;
  return engine.max_attention_window.empty() || lists_no_windows(engine, setting);
}

/// What PyTorch's sampler does for each request in Python once its tokens are there, while the GPU
/// waits: from 1.1 on it is the default (1.0 had the C++ one, pull 6216). Most of a gap of 8.8 ms
/// between steps of 256 requests on GB200 (pull 16564), so 34 us there and kGraceSlowdown less on
/// x86.
constexpr Seconds kTorchSampler{21e-6};

/// It is made of CUDA kernels and NVIDIA's libraries.
void check_nvidia_gpu(const EngineSetting& setting) {
  if (setting.gpu.vendor != "AMD" || is_cpu(setting.gpu)) return;
  throw UsageError(fmt::format("engine '{}': runs on NVIDIA's GPUs only, {} given",
                               setting.preset.name, setting.gpu.name));
}

void resolve_tensorrt_llm(Engine& engine, const EngineSetting& setting) {
  check_nvidia_gpu(setting);
  check_weight_formats(setting, kTensorrtCapabilities);
  if (engine.moe_backend == MoeBackend::marlin || engine.moe_backend == MoeBackend::triton) {
    throw UsageError(
        fmt::format("`moe_backend`: {} is not modelled with TensorRT-LLM, expected "
                    "CUTLASS, TRTLLM, DEEPGEMM or AUTO",
                    name_of(engine.moe_backend)));
  }
  engine.max_attention_window =
      setting.given.max_attention_window.value_or(std::vector<std::int64_t>());
  if (keeps_all_tokens(engine, setting)) engine.window_share = 1.0;
  if (!setting.given.all2all_backend && gathers_tokens(setting)) {
    engine.all2all = All2All::allgather_reducescatter;
  }
  if (setting.parallel.pipeline == 1) engine.stage_hosts = StageHosts::one;
  if (engine.attention_dp_enable_balance && setting.parallel.pipeline > 1) {
    throw UsageError(
        "`attention_dp_enable_balance`: is not modelled with pipeline stages, expected one stage");
  }
  if (!engine.exact_graphs) {
    resolve_pytorch_graphs(engine, setting);
    const bool torch_samples = setting.version.empty() || !is_older(setting.version, "1.1");
    if (torch_samples) engine.host.serial_per_sequence = kTorchSampler;
  }
  resolve_piecewise_graphs(engine, setting);
  if (engine.chunked_prefill && engine.max_num_batched_tokens < engine.block_size) {
    throw UsageError(fmt::format(
        "`max_num_batched_tokens`: {} given, expected at least `tokens_per_block` ({}): "
        "prompts are split in multiples of it",
        engine.max_num_batched_tokens, engine.block_size));
  }
}

/// Sequences and tokens of a step are trtllm-serve's max_batch_size and max_num_tokens; policies
/// are those of SchedulerConfig (tensorrt_llm/llmapi/llm_args.py), and what the PyTorch backend
/// uses when no chunking policy is given (pyexecutor/py_executor_creator.py).
Engine tensorrt_llm_defaults() {
  return {.memory_rule = MemoryRule::tensorrt_llm,
          .scheduler = SchedulerKind::tensorrt_llm,
          .max_num_seqs = 2048,
          .max_num_batched_tokens = 8192,
          .block_size = 32,
          .chunked_prefill = false,
          .capacity_scheduler_policy = CapacityPolicy::guaranteed_no_evict,
          .context_chunking_policy = ChunkingPolicy::first_come_first_served,
          // Attention on data-parallel ranks: NVLinkOneSided, NVLinkTwoSided, then DeepEP (1.2,
          // fused_moe/communication/communication_factory.py, CommunicationFactory); before,
          // gathers_tokens.
          .all2all = All2All::deepep,
          .gathering = {.block_scales = false},  // 1.0, fused_moe_cutlass.py, forward_chunk
          .memory = memory_of_tensorrt_llm(),
          .first_token_uncertainty = 0.45};  // 342 runs on four GPUs
}

/// Each stage is a process that schedules every step itself (1.0, pyexecutor/py_executor.py,
/// _executor_loop_pp). In all but the last the host waits for its GPU after a step
/// (_forward_step_inter_pp: sampler_event.synchronize()). That 1.3 is the first that does not is an
/// assumption: pull 10349 of January 2026 made the loop one that does not block.
Engine pytorch_defaults() {
  Engine engine = tensorrt_llm_defaults();
  engine.graph_padding = false;
  engine.eager_prefill = true;
  engine.stage_hosts = StageHosts::waiting;
  engine.kernel_library = "tensorrt_llm";
  engine.one_shot = kOneShot;
  engine.host = host_of_tensorrt_llm();
  return engine;
}

Engine pytorch_1_3_defaults() {
  Engine engine = pytorch_defaults();
  engine.counts_cached = true;
  engine.stage_hosts = StageHosts::ahead;
  return engine;
}

Engine compiled_defaults() {
  Engine engine = tensorrt_llm_defaults();
  engine.exact_graphs = true;  // launched by C++, a batch like another
  engine.kernel_library = "tensorrt_llm";
  engine.rereads_cache = true;
  engine.host = plain_host();
  return engine;
}

const EnginePreset* find_tensorrt_llm_preset(const EngineDescription& tensorrt_llm,
                                             const EngineName& name) {
  if (name.version.empty()) return &tensorrt_llm.presets.front();
  const std::optional<int> minor = minor_version(name.version);
  return minor ? preset_of_minor(tensorrt_llm, *minor) : nullptr;
}

}  // namespace

bool has_listable_windows(const Transformer& model) {
  if (has_compressed_cache(model) || state_bytes_per_sequence(model).value > 0) return false;
  return std::ranges::any_of(model.layers, [&](const Layer& layer) {
    return keeps_window(cache_need(layer, model, model.activation, 1).span);
  });
}

const EngineDescription& tensorrt_llm_description() {
  static const EngineDescription tensorrt_llm{
      .names = {"trtllm", "tensorrtllm"},
      .presets =
          {{.name = "trtllm-1.3",
            .summary = "TensorRT-LLM 1.3 and later: cached prefixes count before a request starts",
            .first_minor = kFirstMinorThatCountsCached,
            .first_compared = kVersion1 + 3,
            .last_compared = kVersion1 + 3,
            .cache_dtypes = {DType::fp8, DType::fp4},
            .defaults = pytorch_1_3_defaults(),
            .resolve = resolve_tensorrt_llm},
           {.name = "trtllm-1.2",
            .summary =
                "TensorRT-LLM 0.19 to 1.2, PyTorch: no-evict scheduler, share of free memory",
            .first_minor = kFirstMinorOfPyTorch,
            .first_compared = 20,
            .last_compared = kVersion1 + 2,
            // 1.0 to 1.2, _torch/pyexecutor/model_loader.py, _VALID_KV_CACHE_DTYPES (0.20: fp8).
            .cache_dtypes = {DType::fp8, DType::fp4},
            .defaults = pytorch_defaults(),
            .resolve = resolve_tensorrt_llm},
           {.name = "trtllm-0.18",
            .summary = "TensorRT-LLM up to 0.18: built engines with the C++ loop",
            .first_compared = 13,
            .last_compared = 18,
            // quantization/mode.py, KV_CACHE_QUANT_ALGO_LIST.
            .cache_dtypes = {DType::fp8, DType::int8},
            .defaults = compiled_defaults(),
            .resolve = resolve_tensorrt_llm}},
      .find = find_tensorrt_llm_preset};
  return tensorrt_llm;
}

}  // namespace roofcast
