// Experts of DeepSeek-V3's sizes, of which the imported tables time kernels.
#pragma once

#include <cstdint>
#include <string>

#include "model/curves/operator_shape.hpp"

namespace roofcast::test {

/// `experts` in all (256; Kimi K2 has 384), divided over `ranks`.
inline OperatorShape deepseek_experts(const std::string& format, std::int64_t experts = 256,
                                      int ranks = 1) {
  return {.family = OperatorFamily::moe,
          .format = format,
          .outputs = 2048,
          .inputs = 7168,
          .experts = experts,
          .experts_per_token = 8,
          .gated = true,
          .expert_ranks = ranks};
}

}  // namespace roofcast::test
