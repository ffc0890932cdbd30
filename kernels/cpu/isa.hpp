// Vector instructions of this machine, detected at run time: one program runs everywhere and uses
// what is available. A kernel is written once over vectors of N floats (kernels/cpu/vector.hpp) and
// compiled for each set with the target attributes below.
#pragma once

#include <string_view>

namespace roofcast::kernels::cpu {

/// Each set includes the previous ones.
enum class Isa {
  portable,     // the compiler's baseline: SSE2, NEON
  avx2,         // with FMA and F16C
  avx512,       // F, BW, DQ, VL
  avx512_bf16,  // products of bf16 pairs
};

/// Whether processor and operating system support it.
bool has(Isa isa);

/// The fastest one for our kernels on this machine: the last one supported, except avx512_bf16
/// where our tiles multiply no more pairs by VDPBF16PS than by FMA of widened values: on Intel
/// (half as many on a Granite Rapids: 109 to 220 GFLOP/s of one core) and on AMD from Zen 5 (283 to
/// 340 of two cores, and in decode 27 to 44 GB/s; oneDNN's get more out of the instruction there).
/// On Zen 4 they multiply twice as many.
Isa best_isa();

/// "portable", "avx2", "avx512", "avx512_bf16"
std::string_view name_of(Isa isa);

}  // namespace roofcast::kernels::cpu

#if defined(__x86_64__)
#define ROOFCAST_TARGET_AVX2 [[gnu::target("avx2,fma,f16c")]]
#define ROOFCAST_TARGET_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]]
#define ROOFCAST_TARGET_AVX512_BF16 \
  [[gnu::target("avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]]
#else  // never chosen on such machines
#define ROOFCAST_TARGET_AVX2
#define ROOFCAST_TARGET_AVX512
#define ROOFCAST_TARGET_AVX512_BF16
#endif
