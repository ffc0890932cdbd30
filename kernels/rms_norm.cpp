#include "kernels/rms_norm.hpp"

#include <string>

#include "kernels/check.hpp"

namespace roofcast::kernels {
namespace {

void require(bool holds, const std::string& expected) {
  kernels::require(holds, "RMSNorm", expected);
}

}  // namespace

double bytes_moved(const RmsNorm& norm) {
  const double row = static_cast<double>(norm.hidden) * static_cast<double>(size_of(norm.element));
  const double copies = norm.residual == nullptr ? 2 : 4;
  return row * (1 + copies * static_cast<double>(norm.rows));
}

double flops(const RmsNorm& norm) {
  const double per_element = norm.residual == nullptr ? 4 : 5;
  return per_element * static_cast<double>(norm.hidden) * static_cast<double>(norm.rows);
}

void check(const RmsNorm& norm) {
  const std::size_t row_bytes = static_cast<std::size_t>(norm.hidden) * size_of(norm.element);
  require(is_plain(norm.element), "the element must be fp32, fp16 or bf16");
  require(norm.rows >= 0 && norm.rows <= kMaxRows, "rows must be 0 to 2^31 - 1");
  require(norm.hidden > 0 && norm.hidden <= kMaxHidden,
          "hidden must be 1 to " + std::to_string(kMaxHidden));
  require(row_bytes % kVectorBytes == 0, "a row must be a multiple of 16 bytes");
  require(norm.epsilon >= 0, "epsilon must not be negative");
  require(norm.input != nullptr && norm.weight != nullptr && norm.output != nullptr,
          "input, weight and output must be given");
  require((norm.residual == nullptr) == (norm.residual_out == nullptr),
          "residual and residual_out must be given together");
  require(aligned(norm.input) && aligned(norm.residual) && aligned(norm.weight) &&
              aligned(norm.residual_out) && aligned(norm.output),
          "pointers must be aligned to 16 bytes");
}

}  // namespace roofcast::kernels
