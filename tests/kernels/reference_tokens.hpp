// The contracts of kernels/token_operators.hpp in double precision. The contract's pointers are on
// the host; its outputs are not written. Values are not rounded unless stated.
#pragma once

#include "kernels/token_operators.hpp"
#include "tests/kernels/reference.hpp"

namespace roofcast::kernels {

/// [tokens, hidden]
std::vector<double> embedding_reference(const Embedding& embedding);

struct RopeAnswer {
  Sums query;  // [tokens, query_heads, head_dim]
  Sums key;    // [tokens, kv_heads, head_dim]
};
RopeAnswer rope_reference(const Rope& rope);

/// The expected contents of the tokens' slots, rounded to the cache's element.
struct KvWriteAnswer {
  std::vector<double> keys;  // [tokens, kv_heads, head_dim]
  std::vector<double> values;
};
KvWriteAnswer kv_write_reference(const KvWrite& write);

/// [rows, width]
std::vector<double> activation_reference(const Activation& activation);

/// A row's tokens by descending logit; equal logits in ascending order of index.
std::vector<std::int32_t> sampling_order(const Sampling& sampling, std::int64_t row);

/// Position in `order` of the sampled token, for other `uniform` and `top_p` than the contract's,
/// so that a test can determine what a rounding error may change.
std::int64_t drawn_place(const Sampling& sampling, std::int64_t row,
                         const std::vector<std::int32_t>& order, double uniform, double top_p);

/// [rows]
std::vector<std::int32_t> sampling_reference(const Sampling& sampling);

/// [rows, hidden]
std::vector<double> gather_reference(const GatherRows& gather);

/// Shapes as in the contract.
struct RoutingAnswer {
  std::vector<std::int32_t> first_row;
  std::vector<std::int32_t> source;
  std::vector<std::int32_t> place;
  std::vector<double> weight;
};
RoutingAnswer routing_reference(const Routing& routing);

/// [tokens, hidden]
Sums combine_reference(const Combine& combine);

}  // namespace roofcast::kernels
