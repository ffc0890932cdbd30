// The flags of trtllm-serve (tensorrt_llm/commands/serve.py), and the keys of the YAML file that
// completes them (LlmArgs in tensorrt_llm/llmapi/llm_args.py).
#include "planner/launch/serve_flags.hpp"

namespace roofcast {
namespace {

using namespace serve_knobs;

void add_tensorrt_llm_knobs(std::vector<ServeFlag>& rows) {
  add_flag(rows, "--model", kModel, {.written = false});  // positional, comes first
  add_flag(rows, "--backend", kBackend);
  add_flag(rows, "--tp_size|--tensor_parallel_size", kTensor);
  add_flag(rows, "--pp_size|--pipeline_parallel_size", kPipeline);
  add_flag(rows, "--ep_size|--moe_expert_parallel_size", kExpertRanks);
  add_flag(rows, "--max_batch_size", kMaxSeqs);
  add_flag(rows, "--max_num_tokens", kBatchedTokens);
  add_flag(rows, "--max_seq_len", kSglangModelLen);
  add_flag(rows, "--kv_cache_free_gpu_memory_fraction|--free_gpu_memory_fraction", kMemoryShare);
  // Newer than the key of the same name, which all versions read.
  add_flag(rows, "--enable_chunked_prefill", kChunkedPrefill,
           {.takes = Takes::nothing, .says = "true", .written = false});
}

void add_tensorrt_llm_keys(std::vector<ServeFlag>& rows) {
  const ServeFlag read_only{.written = false};
  add_flag(rows, "enable_chunked_prefill", kChunkedPrefill);
  add_flag(rows, "enable_attention_dp", kDataParallelAttention);
  add_flag(rows, "disable_overlap_scheduler", kAsync, {.inverted = true});
  add_flag(rows, "cuda_graph_config", kNoGraphs);
  add_flag(rows, "cuda_graph_config.batch_sizes", kGraphSizeList);
  add_flag(rows, "cuda_graph_config.max_batch_size", kLargestGraph);
  add_flag(rows, "cuda_graph_config.enable_padding", kGraphPadding);
  add_flag(rows, "torch_compile_config.enable_piecewise_cuda_graph", kPiecewiseGraph);
  add_flag(rows, "torch_compile_config.capture_num_tokens", kCaptureTokens);
  add_flag(rows, "kv_cache_config.dtype", kTensorrtCacheDtype);
  add_flag(rows, "kv_cache_config.tokens_per_block", kBlockSize);
  add_flag(rows, "kv_cache_config.max_tokens", kKvTokens);
  add_flag(rows, "kv_cache_config.enable_block_reuse", kPrefixCaching);
  add_flag(rows, "kv_cache_config.max_attention_window", kWindows);
  add_flag(rows, "kv_cache_config.free_gpu_memory_fraction", kMemoryShare, read_only);
  add_flag(rows, "scheduler_config.capacity_scheduler_policy", kCapacityPolicy);
  add_flag(rows, "scheduler_config.context_chunking_policy", kChunkingPolicy);
  add_flag(rows, "stream_interval", kStreamInterval);
  add_flag(rows, "skip_tokenizer_init", kTokenIds);
  add_flag(rows, "batch_wait_timeout_iters", kBatchWaitIters);
  add_flag(rows, "batch_wait_max_tokens_ratio", kBatchWaitRatio);
  add_flag(rows, "attention_dp_config.enable_balance", kBalance);
  add_flag(rows, "attention_dp_config.timeout_iters", kBalanceTimeout);
  add_flag(rows, "attention_dp_config.batching_wait_iters", kBalanceWait);
  add_flag(rows, "moe_config.backend", kMoeBackend);
  add_flag(rows, "tensor_parallel_size", kTensor, read_only);
  add_flag(rows, "pipeline_parallel_size", kPipeline, read_only);
  add_flag(rows, "moe_expert_parallel_size", kExpertRanks, read_only);
  add_flag(rows, "max_batch_size", kMaxSeqs, read_only);
  add_flag(rows, "max_num_tokens", kBatchedTokens, read_only);
  add_flag(rows, "max_seq_len", kSglangModelLen, read_only);
  add_flag(rows, "dtype", kDtype, read_only);
}

}  // namespace

ServeFlags make_tensorrt_llm_flags() {
  ServeFlags table{.engine = "trtllm",
                   .prefixes = {"trt", "tensorrt"},
                   .programs = {{"trtllm-serve", "serve"}, {"trtllm-serve"}},
                   .command = "trtllm-serve",
                   .packages = {"tensorrt-llm", "tensorrt_llm"},
                   .image_part = "tensorrt-llm",
                   // https://catalog.ngc.nvidia.com (tensorrt-llm/release)
                   .nvidia_image = "nvcr.io/nvidia/tensorrt-llm/release",
                   .abbreviates = false,
                   .file_wins = true,
                   .file_flags = {"--extra_llm_api_options", "--config"}};
  add_tensorrt_llm_knobs(table.flags);
  add_flags(table.flags, Effect::none, Takes::value,
            "--host --port --tokenizer --custom_tokenizer --log_level --revision "
            "--reasoning_parser --tool_parser --chat_template --served_model_name "
            "--gpus_per_node --metadata_server_config_file --otlp_traces_endpoint "
            "--disagg_cluster_uri --custom_module_dirs");
  add_flags(table.flags, Effect::none, Takes::nothing,
            "--trust_remote_code --fail_fast_on_attention_window_too_large");
  add_flags(table.flags, Effect::possible, Takes::value,
            "--max_beam_width --context_parallel_size|--cp_size "
            "--moe_cluster_parallel_size|--cluster_size --num_postprocess_workers --server_role "
            "--media_io_kwargs");
  add_tensorrt_llm_keys(table.keys);
  add_flags(
      table.keys, Effect::none, Takes::value,
      "print_iter_log enable_iter_perf_stats enable_iter_req_stats backend trust_remote_code");
  return table;
}

}  // namespace roofcast
