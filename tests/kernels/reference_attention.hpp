// The contracts of kernels/attention.hpp in double precision: all scores, then softmax, then the
// sum. The contract's pointers are on the host; its output is not written.
#pragma once

#include "kernels/attention.hpp"
#include "tests/kernels/reference.hpp"

namespace roofcast::kernels {

struct AttentionAnswer {
  Sums output;  // [tokens, query_heads, value_dim], the layout of the contract's output
  /// [tokens, query_heads]: the largest scale * sum |query * key| over the tokens attended, to
  /// which the error of the scores is relative.
  std::vector<double> score_magnitude;
};

AttentionAnswer attention_reference(const PrefillAttention& attention);
AttentionAnswer attention_reference(const DecodeAttention& attention);
AttentionAnswer attention_reference(const LatentDecode& attention);

}  // namespace roofcast::kernels
