#include "kernels/cpu/isa.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace roofcast::kernels::cpu {
namespace {

#if defined(__x86_64__)
/// CPUID leaf 1, ECX bit 29 (Intel SDM, CPUID); not every compiler's __builtin_cpu_supports knows
/// it. Its registers are those of AVX, whose support by the operating system "avx2" includes.
bool has_f16c() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

/// Family, CPUID leaf 1, EAX: base family in bits 8 to 11, which AMD has at 0xf, plus the extended
/// one in bits 20 to 27; Zen 5 is 0x1a.
bool is_amd_before_zen5() {
  constexpr unsigned kZen5 = 0x1a;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__builtin_cpu_is("amd") == 0 || __get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  return (a >> 8 & 0xfU) + (a >> 20 & 0xffU) < kZen5;
}
#endif

}  // namespace

bool has(Isa isa) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  switch (isa) {
    case Isa::portable:
      return true;
    case Isa::avx2:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
             has_f16c();
    case Isa::avx512:
      return has(Isa::avx2) && __builtin_cpu_supports("avx512f") != 0 &&
             __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
             __builtin_cpu_supports("avx512vl") != 0;
    case Isa::avx512_bf16:
      return has(Isa::avx512) && __builtin_cpu_supports("avx512bf16") != 0;
  }
#endif
  return isa == Isa::portable;
}

Isa best_isa() {
#if defined(__x86_64__)
  if (has(Isa::avx512_bf16) && is_amd_before_zen5()) return Isa::avx512_bf16;
#endif
  if (has(Isa::avx512)) return Isa::avx512;
  return has(Isa::avx2) ? Isa::avx2 : Isa::portable;
}

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::portable:
      return "portable";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::avx512_bf16:
      return "avx512_bf16";
  }
  return "";
}

}  // namespace roofcast::kernels::cpu
