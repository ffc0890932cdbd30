// Internal to cases.cpp, model_cases.cpp and generic_cases.cpp: turns a grid of one operator into
// cases, one per kernel source.
#pragma once

#include <optional>
#include <vector>

#include "calibrate/cases.hpp"

namespace roofcast {

class CaseBuilder {
 public:
  CaseBuilder(const kernels::Backend& backend, const CaseLimits& limits)
      : backend_(backend), limits_(limits) {}

  /// Adds the case with every source of its family.
  void add(CalibrationCase c);

  void add_gemm(const OperatorShape& shape, kernels::Element activation, std::int64_t max_tokens);
  void add_experts(const OperatorShape& shape, kernels::Element activation);
  void add_decode(const OperatorShape& shape, kernels::Element activation);
  void add_prefill(const OperatorShape& shape, kernels::Element activation);
  /// Adds a memory-bound operator: `sizes` for each token count of the axis. Each token moves
  /// `bytes_each` bytes, as the model counts them.
  void add_token_operator(CaseKind kind, const std::string& name, TokenSizes sizes,
                          double bytes_each, std::int64_t max_tokens);

  const CaseLimits& limits() const { return limits_; }
  std::vector<CalibrationCase> take() { return std::move(cases_); }

 private:
  /// Of the first source whose form is known.
  kernels::RowForm row_form(kernels::KernelFamily family) const;

  const kernels::Backend& backend_;
  CaseLimits limits_;
  std::vector<CalibrationCase> cases_{};
};

/// The storage element of a number format; nullopt if kernels do not support it.
std::optional<kernels::Element> element_of(DType dtype);

/// Activation elements that a device computes with by default: bf16 on a GPU; both fp32 and bf16 on
/// a CPU, where both are common.
std::vector<kernels::Element> usual_elements(const kernels::Backend& backend);

}  // namespace roofcast
