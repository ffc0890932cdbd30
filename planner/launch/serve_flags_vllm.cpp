// vLLM's flags: docs.vllm.ai, "vllm serve" (0.11 to 0.19), and those of earlier versions that are
// still found in posted commands.
#include "planner/launch/serve_flags.hpp"

namespace roofcast {
namespace {

using namespace serve_knobs;

void add_vllm_knobs(std::vector<ServeFlag>& rows) {
  const ServeFlag on{.takes = Takes::nothing, .says = "true"};
  const ServeFlag read_only{.takes = Takes::nothing, .says = "true", .written = false};
  add_flag(rows, "--model", kModel, {.written = false});  // positional, comes first
  add_flag(rows, "--tensor-parallel-size|-tp|--tp", kTensor);
  add_flag(rows, "--pipeline-parallel-size|-pp|--pp", kPipeline);
  add_flag(rows, "--data-parallel-size|-dp|--dp", kData);
  add_flag(rows, "--prefill-context-parallel-size|-pcp", kPromptRanks);
  add_flag(rows, "--enable-expert-parallel|-ep", kExpertParallel, on);
  add_flag(rows, "--all2all-backend", kVllmAll2All);
  add_flag(rows, "--moe-backend", kVllmMoeBackend);
  add_flag(rows, "--quantization|-q", kWeightFormat);
  add_flag(rows, "--dtype", kDtype);
  add_flag(rows, "--kv-cache-dtype", kVllmCacheDtype);
  add_flag(rows, "--max-model-len", kModelLen);
  add_flag(rows, "--max-num-seqs", kMaxSeqs);
  add_flag(rows, "--max-num-batched-tokens", kBatchedTokens);
  add_flag(rows, "--gpu-memory-utilization", kMemoryShare);
  add_flag(rows, "--kv-cache-memory-bytes|--kv-cache-memory", kKvMemory);
  add_flag(rows, "--num-gpu-blocks-override", kBlocks);
  add_flag(rows, "--block-size", kBlockSize);
  add_flag(rows, "--enable-chunked-prefill", kChunkedPrefill, on);
  add_flag(rows, "--enable-prefix-caching", kPrefixCaching, on);
  add_flag(rows, "--enforce-eager", kEager, on);
  add_flag(rows, "--cudagraph-capture-sizes", kGraphSizes, {.takes = Takes::several});
  add_flag(rows, "--cuda-graph-sizes", kOldGraphSizes, {.takes = Takes::several, .written = false});
  add_flag(rows, "--max-cudagraph-capture-size", kLargestGraph);
  add_flag(rows, "--compilation-config|-cc|-O", kCompilation, {.written = false});
  add_flag(rows, "--async-scheduling", kAsync, on);
  for (const VllmKnob& one : vllm_scheduler_knobs()) {
    add_flag(rows, one.flag, one.knob, one.is_switch ? on : ServeFlag{});
  }
  add_flag(rows, "--scheduling-policy", kVllmOrder);
  add_flag(rows, "--generation-config", kGenerationConfig);
  add_flag(rows, "--speculative-config|-sc", kDrafts);
  add_flag(rows, "--enable-lora", kLora, on);
  add_flag(rows, "--max-loras", kMaxLoras);
  add_flag(rows, "--max-lora-rank", kMaxLoraRank);
  add_flag(rows, "--decode-context-parallel-size|-dcp", kContextRanks);
  add_flag(rows, "--enable-eplb", kEplb, on);
  add_flag(rows, "--num-redundant-experts", kRedundantExperts, {.written = false});
  add_flag(rows, "--eplb-config", kEplbConfig);
  add_flag(rows, "--kv-offloading-size", kOffloadingSize);
  add_flag(rows, "--kv-offloading-backend", kOffloadingBackend);
  add_flag(rows, "--kv-transfer-config", kTransferConfig, {.written = false});
  add_flag(rows, "--runner", kRunner);
  add_flag(rows, "--prefill-schedule-interval", kPromptInterval);
  add_flag(rows, "--enable-dbo", kBatchOverlap, on);
  add_flag(rows, "--dbo-decode-token-threshold", kOverlapDecodes);
  add_flag(rows, "--dbo-prefill-token-threshold", kOverlapPrompts);
  add_flag(rows, "--limit-mm-per-prompt", kImageLimit);
  add_flag(rows, "--language-model-only", kLanguageOnly, read_only);
  add_flag(rows, "--stream-interval", kStreamInterval);
  add_flag(rows, "--skip-tokenizer-init", kTokenIds, on);
}

/// Front end, logging, loading, names and paths: no effect on performance.
void add_idle_vllm_flags(std::vector<ServeFlag>& rows) {
  add_flags(rows, Effect::none, Takes::value,
            "--host --port --uds --uvicorn-log-level --disable-access-log-for-endpoints "
            "--allowed-origins --allowed-methods --allowed-headers --api-key --ssl-keyfile "
            "--ssl-certfile --ssl-ca-certs --ssl-cert-reqs --ssl-ciphers --root-path --middleware "
            "--h11-max-incomplete-event-size --h11-max-header-count --chat-template "
            "--chat-template-content-format --default-chat-template-kwargs --response-role "
            "--tool-call-parser --tool-parser-plugin --tool-server --reasoning-parser "
            "--reasoning-parser-plugin --log-config-file --max-log-len --tokenizer "
            "--tokenizer-mode --tokenizer-revision --revision --code-revision "
            "--hf-token --config-format --allowed-local-media-path --max-logprobs --logprobs-mode "
            "--load-format --download-dir --safetensors-load-strategy --model-loader-extra-config "
            "--ignore-patterns --pt-load-map-location --seed --swap-space "
            "--max-parallel-loading-workers --master-addr --master-port --node-rank|-r "
            "--data-parallel-address|-dpa --data-parallel-rpc-port|-dpp --data-parallel-rank|-dpn "
            "--data-parallel-start-rank|-dpr --data-parallel-size-local|-dpl "
            "--distributed-timeout-seconds --otlp-traces-endpoint --collect-detailed-traces "
            "--show-hidden-metrics-for-version --kv-events-config --shutdown-timeout "
            "--kv-cache-metrics-sample --guided-decoding-backend "
            "--structured-outputs-config --prefix-caching-hash-algo --profiler-config "
            "--expert-placement-strategy --num-lookahead-slots --tokenizer-pool-size");
  add_flags(rows, Effect::none, Takes::nothing,
            "--headless --disable-log-stats --disable-log-requests --enable-log-requests "
            "--aggregate-engine-logging --trust-request-chat-template "
            "--return-tokens-as-token-ids --enable-auto-tool-choice --enable-reasoning "
            "--exclude-tools-when-tool-choice-none --enable-prompt-tokens-details "
            "--enable-server-load-tracking --enable-force-include-usage "
            "--enable-tokenizer-info-endpoint --enable-log-outputs --enable-log-deltas "
            "--log-error-stack --disable-uvicorn-access-log --allow-credentials "
            "--enable-ssl-refresh --enable-request-id-headers --disable-fastapi-docs "
            "--trust-remote-code --use-tqdm-on-load --enable-sleep-mode "
            "--kv-cache-metrics --cudagraph-metrics --enable-mfu-metrics --calculate-kv-scales "
            "--use-v2-block-manager --disable-mm-preprocessor-cache");
  add_flags(rows, Effect::none, Takes::several, "--served-model-name");
}

/// Kernels, communication, graphs, memory, adapters and scheduling: not modelled.
void add_telling_vllm_flags(std::vector<ServeFlag>& rows) {
  add_flags(rows, Effect::possible, Takes::value,
            "--api-server-count|-asc --attention-backend --attention-config|-ac "
            "--optimization-level --performance-mode --kernel-config "
            "--gdn-prefill-backend --distributed-executor-backend "
            "--nnodes|-n "
            "--data-parallel-backend|-dpb --ubatch-size "
            "--cpu-offload-gb "
            "--offload-backend --offload-group-size --offload-num-in-group "
            "--offload-prefetch-step --ec-transfer-config --hf-overrides "
            "--rope-scaling --rope-theta --override-generation-config --model-impl "
            "--max-num-partial-prefills --max-long-partial-prefills --scheduler-cls "
            "--scheduler-delay-factor --num-scheduler-steps "
            "--max-seq-len-to-capture --mamba-cache-dtype "
            "--mamba-ssm-cache-dtype --mamba-block-size --mamba-cache-mode "
            "--mm-processor-kwargs --mm-processor-cache-gb --mm-encoder-tp-mode "
            "--media-io-kwargs --video-pruning-rate --logits-processors --additional-config "
            "--speculative-model --num-speculative-tokens --worker-cls --tokenizer-pool-type "
            "--max-cpu-loras --lora-dtype --lora-extra-vocab-size --hf-config-path "
            "--task --convert");
  add_flags(rows, Effect::possible, Takes::nothing,
            "--enable-elastic-ep --disable-custom-all-reduce "
            "--disable-sliding-window --disable-cascade-attn --disable-hybrid-kv-cache-manager "
            "--disable-chunked-mm-input --disable-frontend-multiprocessing "
            "--data-parallel-hybrid-lb|-dph --data-parallel-external-lb|-dpe "
            "--kv-sharing-fast-prefill --fully-sharded-loras --enable-prompt-embeds "
            "--skip-mm-profiling --mm-encoder-only "
            "--enable-flashinfer-autotune --disable-async-output-proc --enable-lora-bias");
  add_flags(rows, Effect::possible, Takes::several,
            "--kv-cache-dtype-skip-layers "
            "--lora-modules");
}

}  // namespace

ServeFlags make_vllm_flags() {
  ServeFlags table{.engine = "vllm",
                   .prefixes = {"vllm"},
                   .programs = {{"vllm", "serve"},
                                {"vllm.entrypoints.cli.main", "serve"},
                                {"vllm.entrypoints.openai.api_server"},
                                {"vllm.entrypoints.api_server"}},
                   .command = "vllm serve",
                   .packages = {"vllm"},
                   .image_part = "vllm",
                   .image_serves = true,
                   // https://docs.vllm.ai/en/stable/deployment/docker.html
                   .nvidia_image = "vllm/vllm-openai",
                   .amd_image = "rocm/vllm",  // https://hub.docker.com/r/rocm/vllm
                   .tags_releases = true,
                   .has_negations = true,
                   .file_flags = {"--config"}};
  add_vllm_knobs(table.flags);
  add_idle_vllm_flags(table.flags);
  add_telling_vllm_flags(table.flags);
  return table;
}

}  // namespace roofcast
