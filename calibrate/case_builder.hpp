// Internal to cases.cpp, model_cases.cpp and generic_cases.cpp: a grid of one operator becomes
// cases, one for each source of its kernels.
#pragma once

#include <optional>
#include <vector>

#include "calibrate/cases.hpp"

namespace roofcast {

class CaseBuilder {
 public:
  CaseBuilder(const kernels::Backend& backend, const CaseLimits& limits)
      : backend_(backend), limits_(limits) {}

  /// `case` with every source of its family.
  void add(CalibrationCase c);

  void add_gemm(const OperatorShape& shape, kernels::Element activation, std::int64_t max_tokens);
  void add_experts(const OperatorShape& shape, kernels::Element activation);
  void add_decode(const OperatorShape& shape, kernels::Element activation);
  void add_prefill(const OperatorShape& shape, kernels::Element activation);
  /// An operator bound by memory: `sizes` for each number of tokens of the axis, each of which
  /// moves `bytes_each` by the model's count.
  void add_token_operator(CaseKind kind, const std::string& name, TokenSizes sizes,
                          double bytes_each, std::int64_t max_tokens);

  const CaseLimits& limits() const { return limits_; }
  std::vector<CalibrationCase> take() { return std::move(cases_); }

 private:
  const kernels::Backend& backend_;
  CaseLimits limits_;
  std::vector<CalibrationCase> cases_{};
};

/// The storage format of a number format; nothing where kernels know none.
std::optional<kernels::Element> element_of(DType dtype);

/// Elements of activations that a device computes with by default: bf16 on a GPU, both fp32 and
/// bf16 on a CPU, where neither is the rule.
std::vector<kernels::Element> usual_elements(const kernels::Backend& backend);

}  // namespace roofcast
