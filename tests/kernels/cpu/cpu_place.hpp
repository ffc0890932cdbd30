// Instruction sets for tests of CPU kernels.
#pragma once

#include <vector>

#include "kernels/cpu/isa.hpp"

namespace roofcast::kernels::test {

/// All instruction sets of this machine, so that one machine tests them all.
inline std::vector<cpu::Isa> instruction_sets() {
  std::vector<cpu::Isa> sets;
  for (const cpu::Isa isa :
       {cpu::Isa::portable, cpu::Isa::avx2, cpu::Isa::avx512, cpu::Isa::avx512_bf16}) {
    if (has(isa)) sets.push_back(isa);
  }
  return sets;
}

}  // namespace roofcast::kernels::test
