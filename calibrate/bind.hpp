// From a case to launches: operands in place, shapes filled in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/calibration_case.hpp"
#include "calibrate/operands.hpp"
#include "calibrate/timer.hpp"
#include "kernels/backend.hpp"

namespace roofcast {

/// Lives as long as its case is timed; the next one may take over its pools.
struct BoundCase {
  TimedWork work{};
  std::vector<kernels::Memory> owned{};
  double cold_bytes = 0;  // that a call must fetch from memory
};

/// Whether the backend can run the case with its source: the family has it, and the sizes suit.
bool can_run(const kernels::Backend& backend, const CalibrationCase& c);

/// Precondition: can_run. Throws Error when memory is short; what the device throws passes through.
BoundCase bind(Operands& operands, const CalibrationCase& c);

// ---- the parts of bind(), by kind of kernel

BoundCase bind_gemm(Operands& operands, const CalibrationCase& c);
BoundCase bind_experts(Operands& operands, const CalibrationCase& c);
BoundCase bind_attention(Operands& operands, const CalibrationCase& c);
BoundCase bind_token_operator(Operands& operands, const CalibrationCase& c);
BoundCase bind_ceiling(Operands& operands, const CalibrationCase& c);

/// The storage of a format that is not quantised.
std::optional<kernels::Element> plain_element(const std::string& format);

/// Shapes without operands, as Backend::supports() takes them.
kernels::Gemm gemm_of(const CalibrationCase& c);
kernels::Int4Gemm int4_gemm_of(const CalibrationCase& c);
kernels::PrefillAttention prefill_of(const CalibrationCase& c);
kernels::DecodeAttention decode_of(const CalibrationCase& c);
kernels::LatentDecode latent_decode_of(const CalibrationCase& c);
/// Into the experts (gate and up) and out of them.
kernels::GroupedGemm experts_in_of(const CalibrationCase& c);
kernels::GroupedGemm experts_out_of(const CalibrationCase& c);

/// Which experts each token picks: distinct ones, at random (`skewed`: expert number i with a
/// weight of (i + 1)^-1.2, as aiconfigurator's power-law workload), the same for equal seeds.
/// Token-expert pairs sorted by expert.
struct ExpertPairs {
  std::vector<std::int32_t> first_row{};  // [experts + 1]
  std::vector<std::int32_t> source{};     // [pairs]: the token
  std::vector<std::int32_t> place{};      // [tokens, experts_per_token]: the sorted pair
  int experts_used = 0;
};
ExpertPairs pick_experts(std::int64_t tokens, int experts, int experts_per_token, bool skewed,
                         std::uint64_t seed);

/// Tokens attended by each sequence of a decode batch whose mean is `mean`: all alike, or (skewed)
/// one sequence with half of all tokens and the others alike. The sum is the same.
std::vector<std::int32_t> decode_lengths(std::int64_t sequences, std::int64_t mean, bool skewed);

}  // namespace roofcast
