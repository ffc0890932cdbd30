#include "tests/kernels/reference.hpp"

#include <cassert>
#include <cmath>

namespace roofcast::kernels {

double round_to(Element element, double value) {
  const float single = static_cast<float>(value);
  switch (element) {
    case Element::fp32:
      return single;
    case Element::fp16:
      return to_float(from_float<Fp16>(single));
    case Element::bf16:
      return to_float(from_float<Bf16>(single));
    case Element::fp8_e4m3:
      return to_float(from_float<Fp8E4M3>(single));
    case Element::int8:
      return to_float(from_float<std::int8_t>(single));
  }
  assert(false);
  return value;
}

double value_at(Element element, const void* data, std::int64_t i) {
  switch (element) {
    case Element::fp32:
      return static_cast<const float*>(data)[i];
    case Element::fp16:
      return to_float(static_cast<const Fp16*>(data)[i]);
    case Element::bf16:
      return to_float(static_cast<const Bf16*>(data)[i]);
    case Element::fp8_e4m3:
      return to_float(static_cast<const Fp8E4M3*>(data)[i]);
    case Element::int8:
      return static_cast<const std::int8_t*>(data)[i];
  }
  assert(false);
  return 0;
}

std::vector<double> values_of(Element element, const void* data, std::int64_t first,
                              std::int64_t count) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = first; i < first + count; ++i) values.push_back(value_at(element, data, i));
  return values;
}

RmsNormResult rms_norm_reference(const RmsNormReference& norm) {
  const bool with_residual = !norm.residual.empty();
  RmsNormResult result{.residual_out = {}, .output = norm.input};
  for (std::size_t i = 0; with_residual && i < result.output.size(); ++i) {
    result.output[i] = round_to(norm.element, norm.input[i] + norm.residual[i]);
  }
  if (with_residual) result.residual_out = result.output;
  const auto hidden = static_cast<std::size_t>(norm.hidden);
  for (std::size_t row = 0; row < static_cast<std::size_t>(norm.rows); ++row) {
    double* sums = result.output.data() + row * hidden;
    double squares = 0;
    for (std::size_t i = 0; i < hidden; ++i) squares += sums[i] * sums[i];
    const double rms = std::sqrt(squares / static_cast<double>(hidden) + norm.epsilon);
    for (std::size_t i = 0; i < hidden; ++i) sums[i] = sums[i] / rms * norm.weight[i];
  }
  return result;
}

}  // namespace roofcast::kernels
