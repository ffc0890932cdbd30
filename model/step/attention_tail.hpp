// Decode attention over sequences of unequal length: the extra time for the longest one once too
// few others remain to keep the memory busy.
#pragma once

#include <array>
#include <cstdint>

#include "base/units.hpp"
#include "model/curves/operator_shape.hpp"

namespace roofcast {

/// How many of the longest sequences are tracked individually.
inline constexpr std::size_t kLongestKept = 8;

/// A decode batch as its kernel's thread blocks see it.
struct UnevenBatch {
  double sequences = 0;
  double mean = 0;  // tokens attended
  std::array<double, kLongestKept>
      longest{};  // the most attended tokens, longest first; 0: no more
};

/// The same kernel over an equally long batch in which all sequences attend to the mean, and its
/// time per token when one sequence is read alone.
struct EvenKernel {
  Seconds time{};
  Seconds token{};
};

/// What the batch takes beyond the even one.
///
/// One thread block reads one sequence for one KV head. All that run share the bandwidth evenly,
/// and none reads faster than a token in `token`: while m = token * heads * tokens / time blocks
/// are left, the memory is busy. From then on the longest reads what it has beyond them, less what
/// they still read meanwhile: (longest - mean of the m longest) * token.
///
/// Two blocks are counted a multiprocessor, as the kernel's launcher does. They are handed out head
/// by head, and within a head sequence by sequence (run_flash_splitkv_fwd in csrc/flash_attn/src/
/// flash_fwd_launch_template.h: a grid of batch times heads), so that the last to run are those of
/// the last heads: of each sequence as many as run at once / sequences, and m counts in them. The
/// longest one's last block starts when as many blocks as run at once, and up to one more of each
/// sequence, are left. By the end of the even batch it has read v tokens, between the mean and
/// mean * (1 + sequences / blocks that run at once), but never more than blocks / (those that run
/// at once) times the mean; only what the longest has beyond v remains (its mean over v).
///
/// Beside prompts each query head is a block, and the last head's start together near the end: v is
/// the mean. Below 0.8 of the blocks that run at once a sequence is split over several blocks and
/// all end together (FlashAttention-2, csrc/flash_attn/flash_api.cpp, num_splits_heuristic).
/// Neglected: that a captured graph splits by the size it was captured for. Precondition:
/// sequences, mean and even.time above 0.
Seconds tail_time(const OperatorShape& shape, const UnevenBatch& batch, const EvenKernel& even,
                  int multiprocessors);

}  // namespace roofcast
