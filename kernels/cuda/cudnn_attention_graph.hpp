// Attention over a paged cache as cuDNN graphs. Prefill consists of 24 operations, a pattern that
// cuDNN's attention engines recognise ("Graph API", "Fused Flash Attention"); decode is the single
// operation SDPA_FWD, which has no causal mask before cuDNN 9.21 and needs none for one query.
#pragma once

#include <compare>
#include <cstdint>

#include "kernels/cuda/cudnn_graph.hpp"
#include "kernels/element.hpp"

namespace roofcast::kernels::cuda {

/// Ids by which a graph's tensors receive their data at execution.
enum CudnnAttentionTensor : std::int64_t {
  kCudnnQuery = 1,
  kCudnnKeys,
  kCudnnValues,
  kCudnnOutput,
  kCudnnScale,          // float, by value
  kCudnnMinusInfinity,  // float, by value; prefill only
  kCudnnPageTable,      // of the keys
  kCudnnValuePageTable,
  kCudnnQueryLengths,   // int32 [sequences]
  kCudnnCacheLengths,   // int32 [sequences]
  kCudnnQueryOffsets,   // int64 [sequences + 1], elements; ragged prefill only
  kCudnnOutputOffsets,  // int64 [sequences + 1], elements; ragged prefill only
};

struct CudnnAttentionShape {
  Element element = Element::bf16;  // of all tensors; fp16 or bf16
  std::int64_t sequences = 0;
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t queries = 1;       // most in one sequence
  bool ragged = false;            // whether sequences differ in number of queries
  std::int64_t query_stride = 0;  // elements from one token's row to the next
  std::int64_t page_size = 0;
  std::int64_t pages_per_sequence = 0;
  std::int64_t key_token_stride = 0;  // elements from one cached token to the next
  std::int64_t value_token_stride = 0;

  auto operator<=>(const CudnnAttentionShape&) const = default;
};

/// Causal: query i of n of a sequence attends to the tokens up to length - n + i.
void describe_prefill(CudnnGraph& graph, const CudnnAttentionShape& shape);

/// One query per sequence, which attends to all its tokens.
void describe_decode(CudnnGraph& graph, const CudnnAttentionShape& shape);

}  // namespace roofcast::kernels::cuda
