// Serving engines as data: what a given version of an engine reserves, budgets and schedules by
// default. Each engine is described in one file (vllm.cpp, sglang.cpp, tensorrt_llm.cpp, atom.cpp,
// own.cpp), with the source of every value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/parallelism.hpp"
#include "model/architecture/sampling.hpp"
#include "model/architecture/transformer.hpp"
#include "model/cache/kv_cache.hpp"
#include "model/engines/engine_features.hpp"
#include "model/engines/policies.hpp"
#include "model/engines/scheduler.hpp"
#include "model/hardware/gpu.hpp"

namespace roofcast {

/// The preset if no engine is named, and if vLLM is named without a version.
inline constexpr const char* kDefaultEngine = "vllm-0.19";

/// Which rule divides the GPU's memory.
enum class MemoryRule { textbook, vllm, sglang, tensorrt_llm, atom };

/// Settings that a user may give, with the engines' own names. Unset values come from the preset,
/// the model and the GPU.
struct EngineOverrides {
  /// Share of the GPU's memory that the server may take, 0 to 1 (SGLang's mem_fraction_static,
  /// which has its own meaning; TensorRT-LLM's free_gpu_memory_fraction, of what weights leave).
  std::optional<double> gpu_memory_utilization{};
  std::optional<std::int64_t> max_model_len{};  // tokens, prompt and output; unset: the model's
  bool fit_model_len = false;                   // max_model_len "auto": the longest that fits
  std::optional<std::int64_t> max_num_seqs{};  // sequences that run at once, per data-parallel rank
  std::optional<std::int64_t> max_num_batched_tokens{};  // per step; SGLang: chunked_prefill_size
  std::optional<std::int64_t> block_size{};              // tokens per KV block or page
  std::optional<KvReservation> kv_reservation{};  // engines of ours: what a sequence reserves
  std::optional<std::int64_t> num_gpu_blocks_override{};  // blocks, instead of the memory rule's
  std::optional<Bytes> kv_cache_memory{};                 // per GPU, instead of the memory rule's
  std::optional<DType> kv_cache_dtype{};                  // unset: the model's
  std::optional<bool> enable_chunked_prefill{};           // prompts are split over steps
  std::optional<bool> enable_prefix_caching{};            // K and V of equal beginnings are kept
  std::optional<bool> enforce_eager{};  // no CUDA graphs: kernels are launched one by one
  std::optional<std::vector<std::int64_t>> cuda_graph_batch_sizes{};  // sequences, ascending
  std::optional<std::int64_t> cuda_graph_max_bs{};  // the largest that is captured
  std::optional<bool> cuda_graph_padding{};    // SGLang, TensorRT-LLM: other batches are padded up
  std::optional<bool> piecewise_cuda_graph{};  // TensorRT-LLM: steps with prompts, too, in pieces
  std::optional<std::vector<std::int64_t>> capture_num_tokens{};  // of such steps, ascending
  std::optional<bool> async_scheduling{};       // the host prepares a step while the GPU runs one
  std::optional<bool> reserve_full_sequence{};  // vLLM's scheduler_reserve_full_isl
  std::optional<std::int64_t>
      long_prefill_token_threshold{};  // maximum tokens of one prompt per step
  std::optional<double> watermark{};   // share of blocks kept free when a request is admitted
  std::optional<QueueOrder> scheduling_policy{};
  std::optional<SamplingKind> sampling{};             // unset: the model's default
  std::optional<std::int64_t> max_prefill_tokens{};   // SGLang: per step of prefill
  std::optional<double> schedule_conservativeness{};  // SGLang: factor on what is reserved
  std::optional<bool> enable_mixed_chunk{};           // SGLang: prefill and decode together
  std::optional<double> swa_full_tokens_ratio{};      // SGLang: window pool to full pool
  std::optional<double> mamba_full_memory_ratio{};    // SGLang: states to K and V, in bytes
  std::optional<std::vector<std::int64_t>> max_attention_window{};  // TensorRT-LLM: by layer
  std::optional<bool> enable_hierarchical_cache{};        // SGLang: prefixes in host memory, too
  std::optional<double> hicache_ratio{};                  // SGLang: its tokens, of the KV cache's
  std::optional<Bytes> hicache_size{};                    // SGLang: or its bytes on each rank
  std::optional<std::int64_t> scheduler_recv_interval{};  // SGLang: steps between two polls
  std::optional<std::int64_t> stream_interval{};          // tokens between two messages
  std::optional<std::int64_t> num_speculative_tokens{};   // drafts per step and sequence
  std::optional<DraftMethod> speculative_method{};
  std::optional<double> acceptance_rate{};  // per draft, if those before it were accepted
  std::optional<std::vector<double>> acceptance_by_position{};  // Speculation::acceptance
  std::optional<double> acceptance_deviation{};                 // Speculation::acceptance_deviation
  std::optional<Seconds> draft_pass_time{};                     // of one draft, whatever the batch
  std::optional<std::int64_t> max_loras{};                      // adapters in one batch
  std::optional<Seconds> lora_step_time{};     // that a step with adapters takes longer
  std::optional<Seconds> lora_adapter_time{};  // and for each adapter in it
  std::optional<Bytes> kv_offloading_size{};   // host memory of all ranks together
  std::optional<OffloadingBackend> kv_offloading_backend{};   // unset: native
  std::optional<std::int64_t> limit_mm_per_prompt{};          // vLLM: maximum images; 0: no encoder
  std::optional<BytesPerSecond> kv_offloading_bandwidth{};    // per GPU, each way
  std::optional<Seconds> kv_offloading_latency{};             // per transfer
  std::optional<CapacityPolicy> capacity_scheduler_policy{};  // TensorRT-LLM
  std::optional<ChunkingPolicy> context_chunking_policy{};    // TensorRT-LLM
  std::optional<std::int64_t> batch_wait_timeout_iters{};     // TensorRT-LLM: steps a prompt waits
  std::optional<double>
      batch_wait_max_tokens_ratio{};                  // TensorRT-LLM: of the budget, ends the wait
  std::optional<bool> attention_dp_enable_balance{};  // TensorRT-LLM: prompts wait for all ranks'
  std::optional<std::int64_t> attention_dp_timeout_iters{};        // for at most this many steps
  std::optional<std::int64_t> attention_dp_batching_wait_iters{};  // and then for further prompts
  std::optional<MoeBackend> moe_backend{};                         // whose kernels run the experts
  std::optional<Fp8GemmBackend> fp8_gemm_backend{};                // SGLang
  std::optional<All2All> all2all_backend{};                        // unset: the engine's
  std::optional<double> expert_power_law{};  // of experts' popularity; unset: the model's
  std::optional<bool> enable_eplb{};         // popular experts are moved and copied
  std::optional<std::int64_t> num_redundant_experts{};         // copies over all ranks
  std::optional<std::int64_t> decode_context_parallel_size{};  // vLLM: ranks that share a cache
  std::optional<std::int64_t> prefill_schedule_interval{};     // vLLM: steps, between DP ranks
  std::optional<bool> enable_dbo{};  // halves of a batch hide each other's exchange of experts
  std::optional<std::int64_t> dbo_decode_token_threshold{};   // vLLM: of a decode step,
  std::optional<std::int64_t> dbo_prefill_token_threshold{};  // and of one with prompts
  std::optional<bool> pooling{};  // a prompt's states become a vector; nothing is generated
  std::optional<bool> skip_tokenizer_init{};    // prompts come as token ids
  std::optional<Bytes> host_memory{};           // of a node, in which K and V kept there must fit
  std::optional<std::int64_t> max_lora_rank{};  // unset: no adapters in memory
  std::optional<std::int64_t> speculative_eagle_topk{};        // SGLang: branches of a tree
  std::optional<std::int64_t> speculative_num_draft_tokens{};  // SGLang: tokens of a tree
  std::optional<Bytes> draft_weight_bytes{};                   // of a draft model, whole
  std::optional<Bytes> draft_kv_bytes{};                       // and K and V of one token, whole
  std::optional<Bytes> overhead{};                             // textbook rule: fixed, per GPU
  std::optional<Bytes> weight_bytes{};  // whole checkpoint; only in the memory plan
};

/// Host-side time of one step, by physical term; not part of any kernel curve. A step takes max(GPU
/// + launch, host) when scheduling is asynchronous, otherwise their sum, plus the serial terms.
struct HostOverhead {
  Seconds step_base{0.25e-3};    // schedule, prepare inputs
  Seconds per_sequence{1.0e-6};  // per running sequence
  Seconds output_base{0.05e-3};  // sample, copy tokens back, update
  Seconds output_per_sequence{1.1e-6};
  Seconds graph_launch{10e-6};
  Seconds serial_per_sequence{};  // per sequence, while the GPU waits; never hidden
  Seconds per_other_request{};    // per request in other micro-batches or without room (StageHosts)
  /// Per kernel of compiled code outside a CUDA graph; hidden unless kernels are shorter (4 to 6 us
  /// measured on an RTX 5070 Ti, susun-blog.com; the kernels of a step queue up behind it).
  Seconds kernel_launch{5e-6};
  /// Per kernel that PyTorch launches one by one from Python (--enforce-eager;
  /// model/step/eager_launches.hpp). A decode step of Llama-3-8B, 325 of them, takes 8.2 ms
  /// (sgl-project/sglang pull 1401, FlashInfer without graphs, 7.35 ms with) to 8.4 ms on an H100
  /// (5.1 ms with; cloudai.pt on CUDA graphs): 25 us. On slower hosts more: 28 layers take 22 ms
  /// (vllm-project/vllm-omni issue 7960, 2x A800).
  Seconds eager_launch{25e-6};
  /// The same in steps with prompts.
  Seconds prompt_launch{25e-6};
  /// Per collective: ranks arrive at different times, and the first waits for the last.
  Seconds rank_skew{};
  Seconds per_request{0.5e-3};  // HTTP, IPC: added to TTFT, not to the step
  /// Tokenising a prompt, per token, before the engine sees it; prompts of a replica at once, or
  /// one after the other (SchedulerTraits::tokenises_in_turn). The mean of three tokenizers of
  /// Hugging Face's tokenizers 0.23.2, timed on random tokens (docs/engines.md, "Host time").
  Seconds per_prompt_token{4.4e-6};
  Seconds handover{};  // prefill and decode apart: both sides agree on where K and V go
  std::string source{};
};

/// Who prepares and launches what the stages of a pipeline compute.
enum class StageHosts {
  one,      // one host all of a step
  ahead,    // each stage's own its part, while the GPU computes the steps before
  waiting,  // each stage's own its part; all but the last stage's wait for their GPU after it
};

/// Copies of the two halves of latent attention's kv_b_proj, which decodes absorb into queries and
/// outputs (arXiv 2405.04434, section 2.1.2).
enum class AbsorbedCopies {
  none,
  dequantised,      // in the activations' format, if kv_b_proj is narrower (a view of it otherwise)
  of_whole_scales,  // fp8 with per-tensor or per-channel scales stays; all else in the activations'
                    // format
};

/// Constants of the memory rule, most of them from start-up logs; the engine's file has the reason
/// for each. Formulas: model/memory/activation_peak.hpp, model/memory/memory_terms.cpp.
struct MemoryConstants {
  double logits_bytes = 0;              // sampler pass: per (sequence * vocabulary) element
  double forward_intermediate = 3.0;    // forward pass: live elements per token and FFN width
  double forward_hidden = 4.0;          // and per token and hidden width
  bool keeps_expert_workspace = false;  // the fused-experts workspace outlives the forward pass
  std::int64_t expert_chunk = 0;        // most tokens that fused experts take at once; 0: any
  /// The profile run holds a whole expert_chunk if experts are on data-parallel ranks.
  bool profiles_whole_chunk = false;
  std::int64_t low_latency_tokens = 0;  // that a rank dispatches at once; 0: max_num_batched_tokens
  bool sparse_rebuilds_context = false;  // sparse latent attention profiles a context, too
  bool shares_workspace = false;  // experts and sparse attention have one buffer, which is kept
  bool widens_latents = false;    // sparse attention gathers an 8-bit cache in 16 bits (FlashMLA)
  Bytes index_scores{};           // an indexer's scores of a chunk of prompts
  std::int64_t fp4_width_step = 256;  // that widths of mxfp4 experts are padded to on Blackwell
  Bytes compile_peak{};               // scratch of a cold torch.compile, when graphs are on
  Bytes non_torch_single{};           // CUDA context growth, cuBLAS workspace: one GPU
  Bytes non_torch_multi{};            // plus NCCL buffers: several GPUs
  Bytes non_torch_doubling{};         // and for each doubling of GPUs beyond two
  Bytes graphs_base{};                // CUDA graphs: fixed part,
  Bytes graphs_per_layer{};           // and per layer of the stage
  bool subtracts_graphs = false;      // whether the KV budget excludes a CUDA-graph estimate
  double graphs_of_peak = 0;          // ATOM: that estimate, as a share of the activation peak
  double margin = 0;                  // ATOM: share of the GPU that the KV budget leaves besides
  bool whole_blocks = false;     // sequences hold whole blocks of every cache group, not tokens
  std::int64_t null_blocks = 0;  // among the blocks counted; hold no tokens
  CompressedBlocks compressed = CompressedBlocks::tuples;  // DeepSeek-V4's caches
  bool prints_page_shares = false;  // the log weighs groups' blocks by CacheGroup::page_share
  bool counts_steps_ahead = false;  // windows reserve for a step that is scheduled ahead, too
  bool prints_by_length = false;    // the log's KV tokens are its concurrency x max_model_len
  /// Which copies of latent attention's W_UK and W_UV are kept in addition to kv_b_proj.
  AbsorbedCopies absorbed = AbsorbedCopies::none;
  Bytes residual{};              // root mean square of logged minus planned KV bytes, if fitted
  double relative_residual = 0;  // instead of it: a share of the KV budget
  Bytes residual_other_links{};  // in addition, with TP on GPUs other than Hopper
  std::string_view residual_source =  // a string literal, like `source`
      "an assumption: there were no start-up logs with every term to compare with";
  std::string_view source{};
};

/// How tokens of data-parallel ranks travel to all ranks (All2All::allgather_reducescatter).
struct TokenGathering {
  /// To whole experts in the format of their inputs (vLLM 0.19, prepare_finalize/naive_dp_ep.py),
  /// else in 16 bits;
  bool quantised = true;
  bool block_scales = true;  // also where that is fp8 with scales of blocks: not in TensorRT-LLM
  /// SGLang: prompts are written into a buffer for all ranks' tokens that is added up, as are the
  /// experts' sums: two all-reduces instead of an all-gather and a reduce-scatter.
  bool sums_prompts = false;
};

/// An engine with every knob resolved: the input of memory planning, step time and the simulator.
struct Engine {
  std::string name{};     // preset: "vllm-0.19"
  std::string version{};  // as asked for: "vllm-0.24", or the preset; measured curves are of it
  MemoryRule memory_rule = MemoryRule::vllm;
  SchedulerKind scheduler = SchedulerKind::vllm_v1;
  double gpu_memory_utilization = 0.90;
  std::int64_t max_model_len = 0;
  std::int64_t max_num_seqs = 256;
  std::int64_t max_num_batched_tokens = 2048;
  std::int64_t block_size = 16;
  KvReservation kv_reservation = KvReservation::paged;
  std::optional<std::int64_t> num_gpu_blocks_override{};
  std::optional<Bytes> kv_cache_memory{};
  DType kv_cache_dtype = DType::bf16;
  bool chunked_prefill = true;
  bool prefix_caching = true;
  bool cuda_graphs = true;
  bool async_scheduling = true;
  bool reserve_full_sequence = true;  // admit what fits as a whole, not by its first chunk
  ChunkedLayers chunked_layers = ChunkedLayers::apart;
  /// Does not start with more max_num_seqs than blocks if the model has recurrent layers and decode
  /// graphs are captured.
  bool needs_state_blocks = false;
  std::int64_t long_prefill_token_threshold = 0;  // 0: off
  double watermark = 0.0;
  QueueOrder order = QueueOrder::fcfs;
  SamplingKind sampling = SamplingKind::plain;
  bool sorts_logits = false;                 // for top-p; if false its time is not counted
  std::int64_t max_prefill_tokens = 16384;   // SGLang
  double schedule_conservativeness = 1.0;    // SGLang
  bool enable_mixed_chunk = false;           // SGLang
  std::int64_t scheduler_recv_interval = 1;  // SGLang: decode steps between polls for new requests
  std::int64_t stream_interval = 1;          // tokens in one chunk of the stream, except the first
  double swa_full_tokens_ratio = 0.8;    // SGLang: tokens of layers with windows, of the others'
  double mamba_full_memory_ratio = 0.9;  // SGLang: memory of recurrent states, of the KV cache's
  /// SGLang, TensorRT-LLM: share of the tokens for which layers with windows have room; unset:
  /// those layers are in groups of their own, as vLLM lays them out.
  std::optional<double> window_share{};
  std::vector<std::int64_t> max_attention_window{};  // TensorRT-LLM: by layer in turn; empty: unset
  /// SGLang: slots that a running request may take in the pool of recurrent states; 0: no pool.
  std::int64_t state_slots = 0;
  Speculation speculation{};
  LoraServing lora{};
  KvOffloading kv_offloading{};
  HierarchicalCache hierarchical_cache{};
  /// Maximum images of a prompt; at 0 a vision encoder is neither loaded nor profiled.
  std::int64_t images_per_prompt = std::numeric_limits<std::int64_t>::max();
  CapacityPolicy capacity_scheduler_policy = CapacityPolicy::guaranteed_no_evict;    // TRT-LLM
  ChunkingPolicy context_chunking_policy = ChunkingPolicy::first_come_first_served;  // TRT-LLM
  /// TRT-LLM: most iterations that a prompt is held back for more, and the share of the token
  /// budget that ends the wait.
  std::int64_t batch_wait_timeout_iters = 0;
  double batch_wait_max_tokens_ratio = 0;
  /// TRT-LLM: prompts start when every data-parallel rank has one, the most steps for which they
  /// wait for that, and the steps for which they then wait for further ones.
  bool attention_dp_enable_balance = false;
  std::int64_t attention_dp_timeout_iters = 50;
  std::int64_t attention_dp_batching_wait_iters = 10;
  /// TRT-LLM; vLLM: resolved for mxfp4 experts on Hopper, else automatic.
  MoeBackend moe_backend = MoeBackend::automatic;
  Fp8GemmBackend fp8_gemm_backend = Fp8GemmBackend::automatic;  // SGLang
  bool counts_cached = false;  // TRT-LLM: cached prefixes count before a request starts
  All2All all2all = All2All::allgather_reducescatter;  // of experts on data-parallel ranks
  TokenGathering gathering{};                          // with All2All::allgather_reducescatter
  /// Exponent of a power law of the experts' picks, for times measured with one; 0: even; unset: as
  /// published for the model (published_popularity).
  std::optional<double> expert_power_law{};
  bool enable_eplb = false;        // EPLB: moves and copies experts by how often they are picked
  std::int64_t context_ranks = 1;  // vLLM: TP ranks that share a sequence's tokens (DCP)
  /// vLLM: while a rank decodes, it computes prompts only in every N-th step of all ranks.
  std::int64_t prefill_schedule_interval = 1;
  BatchOverlap overlap{};  // of the exchange of experts with computing
  bool pooling = false;    // no LM head, no sampling: a request ends when its prompt is computed
  Bytes host_memory{};     // of a node; 0: not stated
  Bytes overhead{};        // textbook rule
  std::optional<Bytes> weight_bytes{};  // memory plan only: whole checkpoint
  bool eager = false;                   // PyTorch runs every step operator by operator, uncompiled
  std::vector<std::int64_t> graph_batch_sizes{};  // captured decode batch sizes, ascending
  bool graph_padding = true;   // decode batches are padded to the next captured size
  bool exact_graphs = false;   // decode batches run as fast as in graphs of exactly their size
  bool eager_prefill = false;  // steps with a prompt are launched kernel by kernel
  /// Of these, sizes in tokens, ascending, that are captured between the attention of their layers:
  /// a step is padded to the next one.
  std::vector<std::int64_t> prompt_graph_sizes{};
  StageHosts stage_hosts = StageHosts::one;  // so where there is one stage
  std::string kernel_library{};  // of matrix products, where a profile distinguishes them
  /// Decode attention on Hopper reads a 16-bit cache once per query head of a group.
  bool rereads_cache = false;
  OneShotAllReduce one_shot{};
  MemoryConstants memory{};
  HostOverhead host{};
  /// By how much times to first tokens err beside the errors of step times and host work: one
  /// standard deviation of their logarithm; 0 where it is not known. So that 80 of 100 means (or
  /// medians, where runs are judged by them) of the engine's blind sets lie within their 80 %
  /// intervals (docs/accuracy.md, "How wide the intervals are").
  double first_token_uncertainty = 0;
};

/// Maximum of anything an engine counts: engines use 32 bits, and a product of two still fits in
/// 64.
inline constexpr std::int64_t kMaxEngineCount = std::numeric_limits<std::int32_t>::max();

/// Maximum tokens in a KV block, beyond any engine's.
inline constexpr std::int64_t kLargestBlock = 1 << 20;

/// Sizes of a step's batch.
struct BatchSizes {
  std::int64_t max_num_seqs = 0;
  std::int64_t max_num_batched_tokens = 0;
};

struct EnginePreset;

/// The inputs of an engine's defaults, besides its version.
struct EngineSetting {
  const EnginePreset& preset;
  const EngineOverrides& given;
  const Transformer& model;
  const Gpu& gpu;
  const Parallelism& parallel;
  /// The x of the version 0.x that was asked for, 100 + x of 1.x, or of the preset's name.
  int minor = 0;
  std::optional<int> patch{};  // the y of the version 0.x.y that was asked for; unset: the newest
  std::string version{};       // that was asked for: "0.19", "1.1.0rc2"; empty: none, or nightly
};

/// One engine in one range of versions.
struct EnginePreset {
  std::string name{};
  std::string summary{};   // one line for --help and errors
  int first_minor = 0;     // for versions 0.x the first x in the range; for 1.x 100 + x
  int first_compared = 0;  // the versions, counted so, whose source or runs its
  int last_compared = 0;   // values are from; 0: any
  bool refuses_longer_than_model = true;  // a max_model_len beyond what the config states
  bool host_was_measured = false;         // on the GPU's own host, by its profile
  std::vector<QueueOrder> orders{QueueOrder::fcfs, QueueOrder::priority};  // that it supports
  /// Number formats of the KV cache that it takes besides the model's own; empty: any.
  std::vector<DType> cache_dtypes{};
  Engine defaults{};
  /// Default batch on a GPU that the engine counts as large, instead of that in `defaults`.
  std::optional<BatchSizes> on_large_gpu{};
  /// Sets what depends on model, GPU and parallelism, in an engine that has the defaults and every
  /// knob that was given. Throws UsageError if they contradict each other.
  void (*resolve)(Engine&, const EngineSetting&) = nullptr;
};

/// All presets, newest of each engine first.
const std::vector<EnginePreset>& engine_presets();

/// The preset for `name` ("vllm", "vLLM-0.16.0", "trt-llm", ...). A version between presets maps to
/// the one whose behaviour it shares. Throws Error with the nearest names if there is none.
const EnginePreset& find_preset(std::string_view name);

/// The engine as it would start for this model on these GPUs. Throws Error naming the nearest
/// preset if `preset` is unknown, and if overrides contradict each other (max_num_batched_tokens <
/// max_num_seqs) or are out of range (utilisation outside (0, 1], ...).
Engine resolve_engine(std::string_view preset, const EngineOverrides& overrides,
                      const Transformer& model, const Gpu& gpu, const Parallelism& parallel);

/// The same for a preset that need not be one of engine_presets().
Engine resolve_engine(const EnginePreset& preset, const EngineOverrides& overrides,
                      const Transformer& model, const Gpu& gpu, const Parallelism& parallel);

/// Whether the next step's requests are chosen while the current one runs, with drafts before it is
/// known how many are accepted (vLLM 0.19, v1/core/sched/async_scheduler.py; SGLang 0.5.15,
/// scheduler.py, event_loop_overlap; TensorRT-LLM 1.0, py_executor.py, _executor_loop_overlap; ATOM
/// 0.1.2, model_runner.py, is_deferred_out). The simulator's schedulers know it all the same, so
/// they neglect the step that a sequence takes after its last token.
inline bool decides_ahead(const Engine& engine) { return engine.async_scheduling; }

/// How the engine lays out its cache. vLLM keeps a state row per sequence for each group of
/// recurrent layers and one for each draft token; with prefix caching ("align" mode) also the last
/// state at the end of a block, from which a hit restarts (0.19, MambaSpec.max_memory_usage_bytes).
CacheRules cache_rules(const Engine& engine);

/// Slots of the cache that a decode of SGLang or TensorRT-LLM must have beyond what is computed:
/// its token and the drafts, of a tree as many as its paths have tokens if that is more (SGLang
/// 0.5.15, mem_cache/allocation_sizing.py, get_alloc_reserve_per_decode).
inline std::int64_t decode_slots(const Engine& engine) {
  const Speculation& drafts = engine.speculation;
  const std::int64_t slots = std::max(drafts.verified(), drafts.draft_tokens * drafts.topk);
  return drafts.on() ? traits_of(engine.scheduler).copies_of_draft_slots * slots : slots;
}

/// The size of a decode batch as captured sizes count: sequences, each with all of its drafts
/// (SGLang, cuda_graph_runner.py, num_tokens_per_bs; TensorRT-LLM, whose graphs are keyed by batch
/// and draft length), or tokens (vLLM, cudagraph_capture_sizes).
std::int64_t graph_size(const Engine& engine, std::int64_t sequences, std::int64_t tokens_each);

/// Whether a CUDA graph of a listed size holds a batch of `size` (graph_size()).
bool graph_holds(const Engine& engine, std::int64_t size);

/// The tokens that run when `sequences` decode, each with a number of tokens: those of the next
/// captured size, or their own if graphs are off, are not padded to, or they exceed the largest.
std::int64_t padded_batch(const Engine& engine, std::int64_t sequences,
                          std::int64_t tokens_each = 1);

}  // namespace roofcast
