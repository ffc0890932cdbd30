#include "kernels/cpu/isa.hpp"

namespace roofcast::kernels::cpu {

bool has(Isa isa) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  switch (isa) {
    case Isa::portable:
      return true;
    case Isa::avx2:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
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
  if (has(Isa::avx512_bf16) && __builtin_cpu_is("amd") != 0) return Isa::avx512_bf16;
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
