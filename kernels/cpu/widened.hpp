// Copies of rows as floats and back, for products of 16 bits that are computed in 32.
#pragma once

#include <cstdint>

#include "kernels/element.hpp"

namespace roofcast::kernels::cpu {

/// Writes `count` elements as floats, exactly. `element`: fp16 or bf16.
void widen(float* to, const void* from, Element element, std::int64_t count);

/// Writes `count` floats as fp16 or bf16, rounded to nearest even.
void narrow(void* to, const float* from, Element element, std::int64_t count);

}  // namespace roofcast::kernels::cpu
