// What the own attention kernels on tensor cores may be off by beside fp32 arithmetic: they round
// probabilities to the element before these are multiplied by values. Below 2^-14 fp16 steps by
// 2^-24, half of which is the error.
#pragma once

#include "tests/kernels/attention_case.hpp"

namespace roofcast::kernels::test {

inline AttentionTolerance tensor_core_tolerance(Element element) {
  return {.probability = rounding_error(element),
          .subnormal_probability = element == Element::fp16 ? 0x1p-25 : 0};
}

}  // namespace roofcast::kernels::test
