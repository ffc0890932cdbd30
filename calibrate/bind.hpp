// Turns a case into launches: places operands and fills in shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/calibration_case.hpp"
#include "calibrate/operands.hpp"
#include "calibrate/timer.hpp"
#include "kernels/backend.hpp"
#include "kernels/element.hpp"

namespace roofcast {

inline double bytes_of(kernels::Element element, double count = 1) {
  return count * static_cast<double>(kernels::size_of(element));
}

/// Valid while its case is timed; the next case may reuse its pools.
struct BoundCase {
  TimedWork work{};
  std::vector<kernels::Memory> owned{};
  double cold_bytes = 0;  // fetched from memory by each call
};

/// Whether the backend can run the case with its source: the family exists and the sizes are
/// supported.
bool can_run(const kernels::Backend& backend, const CalibrationCase& c);

/// Precondition: can_run. Throws Error if memory is insufficient; device exceptions pass through.
BoundCase bind(Operands& operands, const CalibrationCase& c);

// ---- the parts of bind(), by kind of kernel

BoundCase bind_gemm(Operands& operands, const CalibrationCase& c);
BoundCase bind_experts(Operands& operands, const CalibrationCase& c);
BoundCase bind_attention(Operands& operands, const CalibrationCase& c);
BoundCase bind_token_operator(Operands& operands, const CalibrationCase& c);
BoundCase bind_ceiling(Operands& operands, const CalibrationCase& c);

/// Storage element of a format; nullopt if it is quantised.
std::optional<kernels::Element> plain_element(const std::string& format);

/// Shapes without operands, as Backend::supports() takes them.
kernels::Gemm gemm_of(const CalibrationCase& c);
kernels::Int4Gemm int4_gemm_of(const CalibrationCase& c);
kernels::PrefillAttention prefill_of(const CalibrationCase& c);
kernels::DecodeAttention decode_of(const CalibrationCase& c);
kernels::LatentDecode latent_decode_of(const CalibrationCase& c);
/// The products into the experts (gate and up) and out of them.
kernels::GroupedGemm experts_in_of(const CalibrationCase& c);
kernels::GroupedGemm experts_out_of(const CalibrationCase& c);

/// The experts that each token picks: distinct, at random (`skewed`: expert number i with weight (i
/// + 1)^-1.2, as in aiconfigurator's power-law workload); equal seeds give equal choices.
/// Token-expert pairs are sorted by expert.
struct ExpertPairs {
  std::vector<std::int32_t> first_row{};  // [experts + 1]
  std::vector<std::int32_t> source{};     // [pairs]: the token
  std::vector<std::int32_t> place{};      // [tokens, experts_per_token]: the sorted pair
  int experts_used = 0;
};
ExpertPairs pick_experts(std::int64_t tokens, int experts, int experts_per_token, bool skewed,
                         std::uint64_t seed);

/// Tokens attended by each sequence of a decode batch with average `mean`: all equal, or (skewed)
/// one sequence with half of all tokens and the others equal. The sum is the same.
std::vector<std::int32_t> decode_lengths(std::int64_t sequences, std::int64_t mean, bool skewed);

}  // namespace roofcast
