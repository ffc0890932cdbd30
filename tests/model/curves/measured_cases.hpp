// Measured curves of an invented device, made from the roofline of the round GPU
// (step_time_cases.hpp), so that the time of every operator is known in closed form.
#pragma once

#include <utility>
#include <vector>

#include "model/curves/measured_curve.hpp"
#include "model/step/deployment_operators.hpp"
#include "model/step/roofline.hpp"
#include "tests/model/step/step_time_cases.hpp"

namespace roofcast::test {

/// A floor plus twice the round GPU's time for the FLOPs plus twice its time for the bytes.
inline PhysicalTerms round_terms(Seconds floor) {
  return {.floor = floor, .seconds_per_flop = 2 / 100e12, .seconds_per_byte = 2 / 1e12};
}

/// A curve with points at these sizes that follows its terms exactly.
inline MeasuredCurve made_curve(OperatorShape shape, const std::vector<double>& x,
                                const std::vector<double>& y, int multiprocessors) {
  MeasuredCurve curve{.shape = std::move(shape), .kernel = "invented 1.0"};
  curve.terms = round_terms(Seconds{5e-6});
  // Links are a tenth as fast as memory.
  if (curve.shape.family == OperatorFamily::collective) curve.terms.seconds_per_byte *= 10;
  for (const double each : x) {
    for (const double other : y) {
      curve.points.push_back({.x = each,
                              .y = other,
                              .time = base_time(curve, each, other, multiprocessors),
                              .relative_spread = 0.02,
                              .samples = 20});
    }
  }
  curve.median_error = 0.02;
  curve.p90_error = 0.05;
  return curve;
}

/// Every operator of a deployment, with points at the sizes that a calibration takes.
inline Measured measured_for(const Deployment& deployment) {
  const StepOperators operators = step_operators(deployment);
  const int units = deployment.gpu.multiprocessors;
  const std::vector<double> tokens = {1,   2,   4,   8,   16,  17,  32,  33,   64,   65,  96,
                                      128, 129, 192, 256, 257, 512, 513, 1024, 2048, 4096};
  const std::vector<double> bytes = {4096, 65536, 1048576, 16777216, 268435456};
  Measured measured;
  const auto add = [&](const OperatorShape& shape, const std::vector<double>& x,
                       const std::vector<double>& y) {
    if (find_curve(measured, shape) != nullptr) return;
    measured.curves.push_back(made_curve(shape, x, y, units));
  };
  const auto add_linear = [&](const std::vector<LinearOperator>& list) {
    for (const LinearOperator& op : list) {
      const bool by_tokens =
          op.shape.family == OperatorFamily::gemm || op.shape.family == OperatorFamily::moe;
      add(op.alone_each > 0 ? op.alone_shape : op.shape, by_tokens ? tokens : bytes, {0});
    }
  };
  add_linear(operators.per_token);
  add_linear(operators.per_row);
  for (const AttentionOperator& op : operators.attention) {
    AttentionOperator full = op;  // a calibration times no windows
    if (full.decode_shape) full.decode_shape->window = 0;
    if (full.prefill_shape) full.prefill_shape->window = 0;
    if (full.decode_shape)
      add(*full.decode_shape, {1, 4, 16, 64, 256}, {128, 512, 2048, 8192, 32768});
    const bool latent = full.decode_shape && full.decode_shape->latent;  // prompts are not timed
    if (full.prefill_shape && !latent)
      add(*full.prefill_shape, {16, 64, 256, 1024, 4096}, {0, 1024, 4096, 16384});
  }
  return measured;
}

}  // namespace roofcast::test
