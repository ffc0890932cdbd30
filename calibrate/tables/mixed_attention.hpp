// What decoding sequences take of a kernel that computes prompts in the same call, from a grid of
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
  std::int64_t cached = 0;  // of the chunk's prompt
  std::int64_t sequences = 0;
  std::int64_t attended = 0;  // by each
  Seconds time{};
};

struct MixedAttention {
  /// By sequences and what they attend to: the call beside the shortest chunk without prefix, less
  /// that chunk alone. Empty when the grid has no such calls.
  std::vector<MeasuredPoint> beside{};
  /// Of a tile of 128 queries of one head that no query is in: least relative squares over all
  /// calls, of what is beyond the chunk alone and the sequences beside the shortest.
  Seconds empty_tile{};
  /// Of a token that one sequence reads alone: between the two longest contexts of one sequence.
  Seconds tail_token{};
};

/// Spread and samples of the points are left to the caller. Precondition: times above 0.
MixedAttention mixed_attention(std::span<const AttentionCall> calls, std::int64_t query_heads);

}  // namespace roofcast
