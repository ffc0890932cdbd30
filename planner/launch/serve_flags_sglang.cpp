// SGLang's flags: sglang/srt/server_args.py, and those of earlier versions that are still found in
// posted commands.
#include "planner/launch/serve_flags.hpp"

namespace roofcast {
namespace {

using namespace serve_knobs;

void add_sglang_knobs(std::vector<ServeFlag>& rows) {
  const ServeFlag on{.takes = Takes::nothing, .says = "true"};
  const ServeFlag off{.takes = Takes::nothing, .says = "false"};
  const ServeFlag read_only{.takes = Takes::nothing, .says = "true", .written = false};
  add_flag(rows, "--model-path|--model", kModel);
  add_flag(rows, "--tp-size|--tp|--tensor-parallel-size", kTensor);
  add_flag(rows, "--pp-size|--pp|--pipeline-parallel-size", kPipeline);
  add_flag(rows, "--dp-size|--dp|--data-parallel-size", kData);
  add_flag(rows, "--attn-cp-size|--attention-context-parallel-size", kPromptRanks);
  add_flag(rows,
           "--enable-prefill-cp|--enable-prefill-context-parallel|"
           "--enable-nsa-prefill-context-parallel|--enable-dsa-prefill-context-parallel",
           kPromptSplit, on);
  add_flag(rows, "--cp-strategy|--prefill-cp-mode|--nsa-prefill-cp-mode|--dsa-prefill-cp-mode",
           kPromptStrategy);
  add_flag(rows, "--ep-size|--ep|--expert-parallel-size", kExpertRanks);
  add_flag(rows, "--enable-dp-attention", kDataParallelAttention, on);
  add_flag(rows, "--enable-ep-moe", kSharedExperts, read_only);
  add_flag(rows, "--enable-deepep-moe", kSharedExperts, read_only);
  add_flag(rows, "--moe-a2a-backend", kSglangAll2All);
  add_flag(rows, "--fp8-gemm-backend|--fp8-gemm-runner-backend", kFp8GemmBackend);
  add_flag(rows, "--quantization", kWeightFormat);
  add_flag(rows, "--dtype", kDtype);
  add_flag(rows, "--kv-cache-dtype", kSglangCacheDtype);
  add_flag(rows, "--context-length", kSglangModelLen);
  add_flag(rows, "--max-running-requests", kMaxSeqs);
  add_flag(rows, "--chunked-prefill-size", kChunkSize);
  add_flag(rows, "--max-prefill-tokens", kPrefillTokens);
  add_flag(rows, "--mem-fraction-static", kMemoryShare);
  add_flag(rows, "--max-total-tokens", kKvTokens);
  add_flag(rows, "--page-size", kBlockSize);
  add_flag(rows, "--schedule-policy", kSglangOrder);
  add_flag(rows, "--schedule-conservativeness", kConservativeness);
  add_flag(rows, "--swa-full-tokens-ratio", kWindowTokens);
  add_flag(rows, "--mamba-full-memory-ratio", kStateMemory);
  add_flag(rows, "--mamba-scheduler-strategy|--mamba-radix-cache-strategy", kTrackedStates,
           {.written = false});
  add_flag(rows, "--enable-hierarchical-cache", kHierarchicalCache, on);
  add_flag(rows, "--hicache-ratio", kHicacheRatio);
  add_flag(rows, "--hicache-size", kHicacheSize);
  add_flag(rows, "--enable-mixed-chunk", kMixedChunk, on);
  add_flag(rows, "--enable-two-batch-overlap", kBatchOverlap, on);
  add_flag(rows, "--is-embedding", kPooling, on);
  add_flag(rows, "--skip-tokenizer-init", kTokenIds, on);
  add_flag(rows, "--scheduler-recv-interval", kRecvInterval);
  add_flag(rows, "--stream-interval", kStreamInterval);
  add_flag(rows, "--disable-radix-cache", kPrefixCaching, off);
  add_flag(rows, "--disable-overlap-schedule", kAsync, off);
  add_flag(rows, "--disable-cuda-graph|--disable-decode-cuda-graph", kEager, on);
  add_flag(rows, "--cuda-graph-max-bs|--cuda-graph-max-bs-decode", kLargestGraph);
  add_flag(rows, "--cuda-graph-bs|--cuda-graph-bs-decode", kGraphSizes, {.takes = Takes::several});
  add_flag(rows, "--disable-cuda-graph-padding", kGraphPadding, off);
  add_flag(rows, "--enable-eplb", kEplb, on);
  add_flag(rows, "--ep-num-redundant-experts", kRedundantExperts);
  add_flag(rows, "--max-loras-per-batch", kMaxLoras);
  add_flag(rows, "--max-lora-rank", kMaxLoraRank);
  add_flag(rows, "--speculative-algorithm|--speculative-algo", kDraftAlgorithm);
  add_flag(rows, "--speculative-draft-model-path|--speculative-draft-model", kDraftModel,
           {.written = false});
  add_flag(rows, "--speculative-num-steps", kDraftSteps);
  add_flag(rows, "--speculative-eagle-topk", kDraftBranches);
  add_flag(rows, "--speculative-num-draft-tokens", kDraftTree);
}

/// Front end, logging, loading, names and paths: no effect on performance.
void add_idle_sglang_flags(std::vector<ServeFlag>& rows) {
  add_flags(rows, Effect::none, Takes::value,
            "--host --port --fastapi-root-path --api-key --admin-api-key --served-model-name "
            "--chat-template --completion-template --tool-call-parser --reasoning-parser "
            "--tokenizer-path --tokenizer-mode --load-format --model-loader-extra-config "
            "--revision --download-dir --log-level --log-level-http --log-requests-level "
            "--crash-dump-folder --decode-log-interval --file-storage-path --random-seed "
            "--nccl-port --dist-init-addr|--nccl-init-addr --dist-timeout --node-rank "
            "--base-gpu-id --gpu-id-step --device --watchdog-timeout --grammar-backend "
            "--bucket-time-to-first-token --bucket-inter-token-latency "
            "--bucket-e2e-request-latency --collect-tokens-histogram --warmups "
            "--preferred-sampling-params --sampling-defaults --storage-path "
            "--kv-events-config --otlp-traces-endpoint "
            // Read by no scheduler since 0.3.6 (sgl-project/sglang pull 2095).
            "--num-continuous-decode-steps");
  add_flags(rows, Effect::none, Takes::nothing,
            "--trust-remote-code --skip-server-warmup --log-requests "
            "--show-time-cost --enable-metrics --enable-metrics-for-all-schedulers "
            "--enable-request-time-stats-logging --enable-cache-report --enable-trace "
            "--enable-custom-logit-processor --enable-memory-saver "
            "--constrained-json-disable-any-whitespace --allow-auto-truncate");
}

/// Kernels, communication, graphs, memory, adapters and scheduling: not modelled.
void add_telling_sglang_flags(std::vector<ServeFlag>& rows) {
  add_flags(rows, Effect::possible, Takes::value,
            "--nnodes --attention-backend --prefill-attention-backend --decode-attention-backend "
            "--sampling-backend --mm-attention-backend --moe-runner-backend "
            "--deepep-mode --deepep-config --ep-dispatch-algorithm "
            "--eplb-algorithm --moe-dense-tp-size --load-balance-method "
            "--cuda-graph-backend --torch-compile-max-bs --torchao-config "
            "--schedule-low-priority-values-first "
            "--max-queued-requests "
            "--mamba-ssm-dtype --max-mamba-cache-size --radix-eviction-policy --cpu-offload-gb "
            "--offload-group-size --hicache-write-policy "
            "--hicache-io-backend --hicache-storage-backend --hicache-mem-layout "
            "--speculative-token-map "
            "--speculative-attention-mode --disaggregation-mode "
            "--disaggregation-transfer-backend --disaggregation-bootstrap-port "
            "--disaggregation-ib-device --disaggregation-prefill-pp "
            "--disaggregation-decode-tp --tbo-token-distribution-threshold "
            "--json-model-override-args --model-impl --tokenizer-worker-num "
            "--max-loaded-loras --quantization-param-path "
            "--kt-method --nsa-prefill-backend "
            "--nsa-decode-backend --lora-backend");
  add_flags(rows, Effect::possible, Takes::nothing,
            "--enable-torch-compile --enable-single-batch-overlap "
            "--enable-dp-lm-head --enable-p2p-check --enable-nccl-nvls "
            "--enable-symm-mem --enable-mscclpp --enable-flashinfer-allreduce-fusion "
            "--enable-flashinfer-moe --enable-lmcache "
            "--enable-priority-scheduling --enable-piecewise-cuda-graph "
            "--disable-piecewise-cuda-graph "
            "--disable-custom-all-reduce --disable-chunked-prefix-cache "
            "--disable-shared-experts-fusion --disable-hybrid-swa-memory "
            "--disable-fast-image-processor --enable-multimodal --enable-flashmla "
            "--enable-flashinfer-mla --triton-attention-reduce-in-fp32 "
            "--delete-ckpt-after-loading --enable-deterministic-inference "
            "--disable-outlines-disk-cache --enable-tokenizer-batch-encode --enable-lora");
  add_flags(rows, Effect::possible, Takes::several, "--lora-paths");
}

}  // namespace

ServeFlags make_sglang_flags() {
  ServeFlags table{
      .engine = "sglang",
      .prefixes = {"sgl"},
      .programs = {{"sglang", "serve"}, {"sglang.launch_server"}, {"sglang.cli.main", "serve"}},
      .command = "python -m sglang.launch_server",
      .model_follows = false,
      .packages = {"sglang"},
      .image_part = "sglang",
      // https://hub.docker.com/r/lmsysorg/sglang; those for AMD differ by ROCm version and GPU type
      .nvidia_image = "lmsysorg/sglang",
      .file_flags = {"--config"}};
  add_sglang_knobs(table.flags);
  add_idle_sglang_flags(table.flags);
  add_telling_sglang_flags(table.flags);
  return table;
}

}  // namespace roofcast
