// The power of a GPU while it serves: a floor, more while a step is in progress, and the energy of
// the step's arithmetic, memory traffic and messages; never more than the board's power limit.
//
// Power = idle + active + (joules per FLOP) FLOP/s + (joules per byte) bytes/s + links: the form of
// energy rooflines (Choi, Bedard, Fowler, Vuduc, "A Roofline Model of Energy", IPDPS 2013, eq. 1
// and 2). Leaves out fans, the host and the network, what temperature and voltage change, and
// that a GPU at its limit clocks down.
#pragma once

#include <optional>

#include "model/step/step_estimate.hpp"

namespace roofcast {

/// A GPU's terms, every one set.
struct PowerModel {
  Watts idle{};                // with a model loaded, no step in progress
  Watts active{};              // additional during a step
  double joules_per_byte = 0;  // of memory
  Watts arithmetic{};          // additional at the dense peak of any number format
  Watts limit{};               // of the board
};

/// The profile's terms, and defaults for those that it does not state. Returns nullopt without a
/// board power: its limit is what defaults are shares of.
std::optional<PowerModel> power_model_of(const Gpu& gpu);

/// Standard deviation of the logarithm of measured over predicted power, errors of times apart:
/// 0.12 where the terms are fitted to measured boards (a mean absolute error of 9.8 % with a group
/// of runs left out, which is 0.8 of a normal error's deviation; docs/accuracy.md, "Power"), else
/// 0.65, since MI355X drew twice, e^0.65, what datasheets and the literature make of it.
double power_uncertainty_of(const Gpu& gpu);

/// Energy of an operator beyond idling and being active. `work` as in OperatorEstimate.
Joules energy_of(const Work& work, const Gpu& gpu, const PowerModel& model);

/// Energy of a step beyond idling, on one GPU of each stage: at most what its time at the board's
/// limit allows.
Joules energy_of(const StepEstimate& step, const Gpu& gpu, const PowerModel& model);

}  // namespace roofcast
