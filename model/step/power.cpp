#include "model/step/power.hpp"

#include <algorithm>

namespace roofcast {
namespace {

// Shares of the board's limit at idle, with a model loaded where that is known
// (hardware_profiles/): GH200 0.11, V100 0.14, B200 0.14, H100, H800, H200, A100 SXM and MI355X
// 0.17, A100 PCIe 0.24, MI300X 0.25, L40S 0.27, T4 0.36: the middle one.
constexpr double kIdleShare = 0.17;

// 7.5 pJ a bit: GDDR6 (Micron's comparison of GDDR6 and GDDR6X, 2020). Profiles of cards with HBM
// state theirs, which is half of it.
constexpr double kJoulesPerByte = 60e-12;

// Assumption: 10 pJ a bit for the transceivers of both ends.
constexpr double kJoulesPerSentByte = 80e-12;

/// The format whose FLOPs `joules_per_flop` counts.
FlopsPerSecond stated_peak(const Gpu& gpu) {
  return gpu.dense_peak.contains(DType::bf16) ? gpu.peak_for(DType::bf16)
                                              : gpu.peak_for(DType::fp16);
}

}  // namespace

std::optional<PowerModel> power_model_of(const Gpu& gpu) {
  if (!gpu.board_power) return std::nullopt;
  const PowerTerms& stated = gpu.power;
  PowerModel model{.idle = stated.idle.value_or(*gpu.board_power * kIdleShare),
                   .active = stated.active.value_or(Watts{}),
                   .joules_per_byte = stated.joules_per_byte.value_or(kJoulesPerByte),
                   .arithmetic = {},
                   .limit = *gpu.board_power};
  // Vendors set the clock of the dense peak so that products reach the board's limit there.
  model.arithmetic = stated.joules_per_flop
                         ? Watts{*stated.joules_per_flop * stated_peak(gpu).value}
                         : std::max(Watts{}, model.limit - model.idle - model.active);
  return model;
}

double power_uncertainty_of(const Gpu& gpu) {
  constexpr double kFitted = 0.12, kOfOthers = 0.65;
  return gpu.power.active && gpu.power.joules_per_flop ? kFitted : kOfOthers;
}

Joules energy_of(const Work& work, const Gpu& gpu, const PowerModel& model) {
  if (work.family == OperatorFamily::collective) {
    return Joules{work.bytes.value * kJoulesPerSentByte};
  }
  // A format that runs at twice the rate takes half the energy a FLOP.
  const Joules arithmetic = model.arithmetic * (work.flops / gpu.peak_for(work.compute));
  return arithmetic + Joules{work.bytes.value * model.joules_per_byte};
}

Joules energy_of(const StepEstimate& step, const Gpu& gpu, const PowerModel& model) {
  Joules energy = model.active * step.total;
  for (const OperatorEstimate& op : step.operators) energy += energy_of(op.work, gpu, model);
  return std::min(energy, std::max(Watts{}, model.limit - model.idle) * step.total);
}

}  // namespace roofcast
