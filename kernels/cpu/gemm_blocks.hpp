// Blocks of products by format and instruction set; kernels/cpu/gemm_block.hpp explains how they
// work.
#pragma once

#include <cstdint>

#include "kernels/cpu/gemm_format.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/thread_pool.hpp"
#include "kernels/element.hpp"

namespace roofcast::kernels::cpu {

inline constexpr int kTileRows = 4;
/// Up to this many rows of input, the weight is read in rows as long as the panel allows, one tile
/// of columns at a time: in memory order, because memory dominates, and then because widening is
/// not paid back (17 rows of bf16 on a Cascade Lake: 0.66 to 0.87 of the time of the other way, 32
/// rows 0.85 to 0.96, 48 as long).
inline constexpr std::int64_t kStreamedRows = 32;
inline constexpr std::int64_t kMaxBlockRows = 48;
inline constexpr std::int64_t kMaxBlockOutputs = 48 * 48;  // their lanes: 144 KiB in L2

/// Computes rows m and columns n of a product: at most kMaxBlockRows and kMaxBlockOutputs.
using BlockFunction = void (*)(const Product& product, Range m, Range n);

/// For weights of `element`, and for 4-bit weights with inputs of `element`.
BlockFunction block_function(Element element, Isa isa);
BlockFunction int4_block_function(Element element, Isa isa);

// Parts of block_function, separate so that they compile in parallel.
BlockFunction wide_block_function(Element element, Isa isa);    // fp32, bf16
BlockFunction narrow_block_function(Element element, Isa isa);  // fp16, fp8, int8

}  // namespace roofcast::kernels::cpu
