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
  double mean = 0;                             // tokens attended
  std::array<double, kLongestKept> longest{};  // most attended tokens first; 0: no more
};

/// The same kernel over an equally long batch in which all sequences attend to the mean, and its
/// time per token when one sequence is read alone.
struct EvenKernel {
  Seconds time{};
  Seconds token{};
};

/// Time that the batch takes beyond the even one.
///
/// One thread block reads one sequence for one KV head. Running blocks share the bandwidth evenly,
/// and none reads a token faster than `token`: the memory stays busy while m = token * heads *
/// tokens / time blocks are left. After that the longest block still has to read what it has beyond
/// the others, less what they read meanwhile: (longest - mean of the m longest) * token.
///
/// Two blocks per multiprocessor are counted, as in the kernel's launcher. They are issued head by
/// head, and within a head sequence by sequence (run_flash_splitkv_fwd in
/// csrc/flash_attn/src/flash_fwd_launch_template.h: a grid of batch times heads), so the last to
/// run are those of the last heads: (concurrent blocks / sequences) of each sequence, which is also
/// how m counts them. The longest sequence's last block starts when between one round of concurrent
/// blocks and one more block per sequence are left. By the end of the even batch it has read v
/// tokens, between the mean and mean * (1 + sequences / concurrent blocks), but at most blocks /
/// (concurrent blocks) times the mean; only what the longest has beyond v remains (averaged over
/// v).
///
/// In a batch with prompts each query head is a block, and the last head's blocks start together
/// near the end: v is the mean. With fewer than 0.8 of the concurrent blocks a sequence is split
/// over several blocks, which all end together (FlashAttention-2, csrc/flash_attn/flash_api.cpp,
/// num_splits_heuristic). Neglects that a captured graph splits by the size it was captured for.
/// Precondition: sequences, mean and even.time above 0.
Seconds tail_time(const OperatorShape& shape, const UnevenBatch& batch, const EvenKernel& even,
                  int multiprocessors);

}  // namespace roofcast
