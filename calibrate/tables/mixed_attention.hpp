// Time of decoding sequences in a kernel that computes prompts in the same call, from a grid of
// such calls (the attention table of LLMServingSim's profiler). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/curves/measured_curve.hpp"

namespace roofcast {

/// One call over a prompt's chunk and decoding sequences of equal context; either may be absent.
struct AttentionCall {
  std::int64_t chunk = 0;
  std::int64_t cached = 0;  // tokens of the chunk's prompt
  std::int64_t sequences = 0;
  std::int64_t attended = 0;  // tokens, by each sequence
  Seconds time{};
};

struct MixedAttention {
  /// By sequences and attended tokens: the call with the shortest chunk without prefix, minus that
  /// chunk alone. Empty if the grid has no such calls.
  std::vector<MeasuredPoint> beside{};
  /// Time of an empty tile, i.e. 128 query rows of one head without a query: relative least squares
  /// over all calls, of the time beyond that of the chunk alone and of the sequences beside the
  /// shortest one.
  Seconds empty_tile{};
  /// Time per token that one sequence reads alone: from the two longest contexts of a single
  /// sequence.
  Seconds tail_token{};
};

/// The caller sets spread and samples of the points. Precondition: times above 0.
MixedAttention mixed_attention(std::span<const AttentionCall> calls, std::int64_t query_heads);

}  // namespace roofcast
