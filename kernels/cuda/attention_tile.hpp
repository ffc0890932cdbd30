// The index arithmetic of the attention kernels: where an element of a tile is in shared memory,
// which lane holds it, a token's cached row, the tokens visible to a query, and how the work of a
// decode batch is divided among CTAs. Plain integer functions, tested on the host.
#pragma once

#include <cstdint>

#include "kernels/cuda/warp.hpp"

namespace roofcast::kernels::cuda {

// ---- fragments of mma.m16n8k16 (PTX ISA, "Matrix Fragments for mma.m16n8k16", 16-bit types)

inline constexpr int kFragmentRows = 16;   // m
inline constexpr int kFragmentDepth = 16;  // k
inline constexpr int kFragmentWidth = 8;   // n

struct Place {
  int row;
  int column;
};

/// Element `i` of 8 (two per word, lower half first) of operand A that a lane holds.
ROOFCAST_HOST_AND_DEVICE constexpr Place place_in_a(int lane, int i) {
  return {lane / 4 + (i / 2 % 2) * 8, lane % 4 * 2 + i % 2 + (i / 4) * 8};
}
/// Element `i` of 4 of operand B: the row is k, the column n.
ROOFCAST_HOST_AND_DEVICE constexpr Place place_in_b(int lane, int i) {
  return {lane % 4 * 2 + i % 2 + (i / 2) * 8, lane / 4};
}
/// Element `i` of 4 of the sum C.
ROOFCAST_HOST_AND_DEVICE constexpr Place place_in_c(int lane, int i) {
  return {lane / 4 + (i / 2) * 8, lane % 4 * 2 + i % 2};
}

// ---- tiles in shared memory

/// Byte offset of a chunk of 16 bytes in a tile whose rows have kRowBytes. Eight consecutive rows,
/// read at one chunk index as load_matrices does, are in different banks: the chunk index is XORed
/// with the number of the 128-byte line (the width of all banks) in which the row starts.
template <int kRowBytes>
ROOFCAST_HOST_AND_DEVICE constexpr std::uint32_t swizzled(int row, int chunk) {
  constexpr int kLineBytes = 128;
  constexpr int kRowsPerLine = kRowBytes < kLineBytes ? kLineBytes / kRowBytes : 1;
  constexpr int kChunks = kRowBytes < kLineBytes ? kRowBytes / kChunkBytes : 8;
  static_assert(kRowBytes % kLineBytes == 0 || kLineBytes % kRowBytes == 0);
  const int turned = chunk ^ (row / kRowsPerLine % kChunks);
  return static_cast<std::uint32_t>(row * kRowBytes + turned * kChunkBytes);
}

/// Given the address of a row's chunk c in a swizzled tile (aligned to 128 bytes), the address of
/// chunk c + `further`, for c below 2 and an even `further`, or c below 4 and a multiple of 4, on
/// any line. One XOR with a constant and a constant offset, where swizzled() would make a lane keep
/// an address for each chunk of its row.
ROOFCAST_HOST_AND_DEVICE constexpr std::uint32_t further_chunk(std::uint32_t address, int further) {
  const int within_line = further % 8;
  return (address ^ static_cast<std::uint32_t>(within_line * kChunkBytes)) +
         static_cast<std::uint32_t>((further - within_line) * kChunkBytes);
}

// ---- the paged cache

/// Row of a cache [pages * page_size, ...]; fits in 32 bits, since 2^32 tokens exceed any memory.
ROOFCAST_HOST_AND_DEVICE constexpr std::uint32_t cache_row(std::int32_t page, int token,
                                                           int page_shift) {
  const std::uint32_t within = static_cast<std::uint32_t>(token) & ((1U << page_shift) - 1U);
  return (static_cast<std::uint32_t>(page) << page_shift) + within;
}
/// Marks a token that is not to be read.
inline constexpr std::uint32_t kNoRow = 0xffffffffU;

// ---- masks

/// Tokens [first, end).
struct TokenRange {
  int first;
  int end;
};

ROOFCAST_HOST_AND_DEVICE constexpr bool contains(const TokenRange& range, int token) {
  return token >= range.first && token < range.end;
}

/// Tokens visible to the query at `position`: itself and earlier ones, at most `window` tokens (0:
/// all).
ROOFCAST_HOST_AND_DEVICE constexpr TokenRange visible_from(int position, int window) {
  const bool cut = window > 0 && position + 1 > window;
  return {cut ? position + 1 - window : 0, position + 1};
}

// ---- decode: the tokens of all sequences and KV heads, divided into units and distributed evenly

inline constexpr int kUnitTokens = 64;

/// The first token of the first unit: tiles start at multiples of 16, which are whole pages or
/// whole parts of a page if a page has 16 tokens or more.
ROOFCAST_HOST_AND_DEVICE constexpr int first_unit_token(const TokenRange& visible) {
  return visible.first / kFragmentDepth * kFragmentDepth;
}

/// At least one, so that a sequence without tokens still gets its output (zero) written.
ROOFCAST_HOST_AND_DEVICE constexpr int units_of(const TokenRange& visible) {
  const int tokens = visible.end - first_unit_token(visible);
  return tokens > kUnitTokens ? (tokens + kUnitTokens - 1) / kUnitTokens : 1;
}

/// An item shares a softmax: one sequence, one KV head (and one m16 tile of its query heads). The
/// units of all items are numbered consecutively; CTA c does [c share, (c + 1) share).
ROOFCAST_HOST_AND_DEVICE constexpr int units_per_cta(int total, int ctas) {
  return total > ctas ? (total + ctas - 1) / ctas : 1;
}

/// The part of an item that a CTA does.
struct PartOfItem {
  int number = 0;
  int count = 1;
};

/// Number of parts into which an item with units [first, first + units) is divided.
ROOFCAST_HOST_AND_DEVICE constexpr int parts_of(int first, int units, int share) {
  return (first + units - 1) / share - first / share + 1;
}

}  // namespace roofcast::kernels::cuda
