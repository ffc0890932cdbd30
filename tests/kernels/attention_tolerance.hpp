// Errors of our tensor-core attention kernels other than fp32 arithmetic: they round probabilities
// to the element before multiplying them by values. Below 2^-14, fp16 has steps of 2^-24, so the
// error is half of that.
#pragma once

#include "tests/kernels/attention_case.hpp"

namespace roofcast::kernels::test {

inline AttentionTolerance tensor_core_tolerance(Element element) {
  return {.probability = rounding_error(element),
          .subnormal_probability = element == Element::fp16 ? 0x1p-25 : 0};
}

}  // namespace roofcast::kernels::test
