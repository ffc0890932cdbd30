// ATOM's flags: atom/model_engine/arg_utils.py and atom/entrypoints/openai_server.py, 0.1.1 to
// 0.1.5.
#include "planner/launch/serve_flags.hpp"

namespace roofcast {
namespace {

using namespace serve_knobs;

void add_atom_knobs(std::vector<ServeFlag>& rows) {
  const ServeFlag on{.takes = Takes::nothing, .says = "true"};
  const ServeFlag off{.takes = Takes::nothing, .says = "false"};
  add_flag(rows, "--model", kModel);
  add_flag(rows, "--tensor-parallel-size|-tp", kTensor);
  add_flag(rows, "--data-parallel-size|-dp", kData);
  add_flag(rows, "--enable-expert-parallel", kExpertParallel, on);
  add_flag(rows, "--enable-dp-attention", kDataParallelAttention, on);
  add_flag(rows, "--kv_cache_dtype", kAtomCacheDtype);
  add_flag(rows, "--max-model-len", kSglangModelLen);
  add_flag(rows, "--max-num-seqs", kMaxSeqs);
  add_flag(rows, "--max-num-batched-tokens", kBatchedTokens);
  add_flag(rows, "--gpu-memory-utilization", kMemoryShare);
  add_flag(rows, "--block-size", kBlockSize);
  add_flag(rows, "--enforce-eager", kEager, on);
  add_flag(rows, "--cudagraph-capture-sizes", kGraphSizeList);
  // The opposites: from 0.1.3 on, where both are on by default.
  add_flag(rows, "--enable_prefix_caching", kPrefixCaching, on);
  add_flag(rows, "--no-enable_prefix_caching", kPrefixCaching, off);
  add_flag(rows, "--enable_chunked_prefill", kChunkedPrefill, on);
  add_flag(rows, "--no-enable_chunked_prefill", kChunkedPrefill, off);
  add_flag(rows, "--method", kAtomDrafts);
  add_flag(rows, "--num-speculative-tokens", kAtomDraftCount);
}

}  // namespace

ServeFlags make_atom_flags() {
  ServeFlags table{
      .engine = "atom",
      .prefixes = {"atom"},
      .programs = {{"atom.entrypoints.openai_server"}, {"atom.entrypoints.openai.api_server"}},
      .command = "python -m atom.entrypoints.openai_server",
      .model_follows = false,
      .packages = {"atom"},
      .image_part = "rocm/atom",
      .amd_image = "rocm/atom",  // https://hub.docker.com/r/rocm/atom
      .port = "--server-port"};  // --port is the engine's own
  add_atom_knobs(table.flags);
  add_flags(table.flags, Effect::none, Takes::value,
            "--host --server-port --port --torch-profiler-dir --default-chat-template-kwargs");
  add_flags(table.flags, Effect::none, Takes::nothing,
            "--trust-remote-code --load_dummy --mark-trace --request-log");
  add_flags(table.flags, Effect::possible, Takes::value,
            "--level --scheduler-delay-factor --draft-model --attn-prefill-chunk-size "
            "--kv-transfer-config --online_quant_config --hf-overrides");
  add_flags(table.flags, Effect::possible, Takes::optional, "--all2all-backend --enable-tbo");
  return table;
}

}  // namespace roofcast
