// Vector instructions of this machine, found at run time: one program runs everywhere and uses what
// is there. A kernel is written once over vectors of N floats (kernels/cpu/vector.hpp) and compiled
// for each set by way of the target attributes below.
#pragma once

#include <string_view>

namespace roofcast::kernels::cpu {

/// Each contains the ones before it.
enum class Isa {
  portable,     // what the compiler assumes: SSE2, NEON
  avx2,         // with FMA
  avx512,       // F, BW, DQ, VL
  avx512_bf16,  // products of bf16 pairs
};

/// Whether processor and operating system offer it.
bool has(Isa isa);

/// The fastest one here. That is the last one there is, but for avx512_bf16 on Intel's processors:
/// their VDPBF16PS multiplies no more pairs than two FMA of widened values do (on a Granite Rapids
/// half as many: 109 to 220 GFLOP/s of one core), AMD's twice as many.
Isa best_isa();

/// "portable", "avx2", "avx512", "avx512_bf16"
std::string_view name_of(Isa isa);

}  // namespace roofcast::kernels::cpu

#if defined(__x86_64__)
#define ROOFCAST_TARGET_AVX2 [[gnu::target("avx2,fma")]]
#define ROOFCAST_TARGET_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]]
#define ROOFCAST_TARGET_AVX512_BF16 \
  [[gnu::target("avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]]
#else  // never chosen there
#define ROOFCAST_TARGET_AVX2
#define ROOFCAST_TARGET_AVX512
#define ROOFCAST_TARGET_AVX512_BF16
#endif
