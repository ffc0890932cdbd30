// The sizes to be timed: the axes of each family, coarse first, then finer. Each pass is useful
// without later ones, so a calibration can end after any of them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/gemm.hpp"

namespace roofcast {

/// A size and the pass in which it is timed.
struct AxisPoint {
  std::int64_t value = 0;
  int pass = 0;
};

/// One size on two axes.
struct GridPoint {
  std::int64_t x = 0;
  std::int64_t y = 0;
  int pass = 0;
};

/// Passes 0 to kPasses - 1.
inline constexpr int kPasses = 4;

/// Token counts of a GEMM, 1 to `largest`: powers of two; from 17 on also each power of two plus
/// one, because libraries change kernels there (the step of fp8 GEMMs on an H200 is 1.2 to 1.6);
/// and from 24 on the middle of each octave. Pass 0: powers of 8; 1: of two; 2: plus one; 3:
/// middles.
std::vector<AxisPoint> gemm_axis(std::int64_t largest);

/// Token counts of a GEMM whose kernels divide their rows like `form`, 1 to `largest`: multiples of
/// its tile by powers of two and their middles, so that no size leaves a tile half empty and its
/// neighbours full; the size after the last that is streamed; blocks by powers of two; `largest`.
/// Pass 0: 1, 2, 8, 32 ... tiles, 4, 32 ... blocks, the ends; 1: other powers of two; 2: the rest.
/// gemm_axis(largest) if the form is unknown.
std::vector<AxisPoint> gemm_axis(std::int64_t largest, const kernels::RowForm& form);

/// Powers of two, 1 to `largest`. Pass 0: powers of 8; 1: of two.
std::vector<AxisPoint> token_axis(std::int64_t largest);

/// Sequences by tokens of context: powers of two to `max_sequences`, and 128 times powers of four
/// to `longest`, which is on the axis itself. At most `max_tokens` in total.
std::vector<GridPoint> decode_grid(std::int64_t max_sequences, std::int64_t longest,
                                   double max_tokens);

/// New tokens by tokens cached before: powers of two from 16 to `max_new`; and 0, 256, 1k, 4k and
/// so on. Their sum is at most `longest`.
std::vector<GridPoint> prefill_grid(std::int64_t max_new, std::int64_t longest);

/// Message sizes in bytes: 4 KiB (a token of the smallest models that are split) times powers of
/// two, up to `largest`, `octaves` apart. Pass 0: every third, and the largest; 1: the others. If
/// sizes are more than an octave apart, all are in pass 0.
std::vector<AxisPoint> message_axis(std::int64_t largest, int octaves);

}  // namespace roofcast
