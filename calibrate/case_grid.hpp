// Which sizes are timed: the axes of each family, coarse first and then finer. A pass is worth
// having without those after it, so that a calibration can end after any of them.
#pragma once

#include <cstdint>
#include <vector>

namespace roofcast {

/// A size, and the pass in which it is timed.
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

/// Tokens of a GEMM, 1 to `largest`: powers of two, each with the size just behind it from 17 on,
/// because libraries change kernels there (the step of fp8 GEMMs on an H200 is 1.2 to 1.6), and the
/// middle of each octave from 24 on. Pass 0: powers of 8; 1: of two; 2: behind them; 3: middles.
std::vector<AxisPoint> gemm_axis(std::int64_t largest);

/// Powers of two, 1 to `largest`. Pass 0: powers of 8; 1: of two.
std::vector<AxisPoint> token_axis(std::int64_t largest);

/// Sequences by tokens of context: powers of two to `max_sequences`, powers of four times 128 to
/// `longest`, which is itself on the axis. At most `max_tokens` in all.
std::vector<GridPoint> decode_grid(std::int64_t max_sequences, std::int64_t longest,
                                   double max_tokens);

/// New tokens by tokens cached before: powers of two from 16 to `max_new`, and none, 256, 1k, 4k
/// and so on, together at most `longest`.
std::vector<GridPoint> prefill_grid(std::int64_t max_new, std::int64_t longest);

/// Bytes of a message: 4 KiB (a token of the smallest models that are split) times powers of two,
/// to `largest`, `octaves` apart. Pass 0: every third, and the largest; 1: the others; all of pass
/// 0 where the sizes are further than an octave apart.
std::vector<AxisPoint> message_axis(std::int64_t largest, int octaves);

}  // namespace roofcast
