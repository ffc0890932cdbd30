#include "planner/load/scaled_load.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.hpp"

namespace roofcast {
namespace {

using Kind = LengthDistribution::Kind;

/// Rounded to whole tokens; at least 1.
double whole(double tokens) { return std::max(1.0, std::round(tokens)); }

void scale_ends(LengthDistribution& lengths, double factor) {
  const LengthDistribution unlimited;
  const auto scaled = [factor](std::int64_t tokens) {
    return static_cast<std::int64_t>(
        std::min(whole(static_cast<double>(tokens) * factor), static_cast<double>(kMaxTokens)));
  };
  if (lengths.min != unlimited.min) lengths.min = scaled(lengths.min);
  if (lengths.max != unlimited.max) lengths.max = scaled(lengths.max);
}

void scale(std::vector<RateStage>& stages, double factor) {
  for (RateStage& stage : stages) stage.rate *= factor;
}

struct ScaleRates {
  double factor;

  void operator()(SteadyRate& /*rate*/) const {}  // SyntheticWorkload::request_rate
  void operator()(RampUp& ramp) const {
    ramp.start *= factor;
    ramp.end *= factor;
  }
  void operator()(StagedLoad& load) const { scale(load.stages, factor); }
  void operator()(RateCycle& cycle) const { scale(cycle.phases, factor); }
  void operator()(DiurnalRate& diurnal) const {
    diurnal.low *= factor;
    diurnal.high *= factor;
  }
};

}  // namespace

LengthDistribution scaled_lengths(const LengthDistribution& lengths, double factor) {
  if (lengths.kind == Kind::empirical) {
    throw Error("lengths from a file (" + lengths.file + ") cannot be scaled; give another file");
  }
  LengthDistribution scaled = lengths;
  scaled.a = whole(lengths.a * factor);
  if (lengths.kind == Kind::uniform) scaled.b = whole(lengths.b * factor);
  if (lengths.kind == Kind::normal) scaled.b = lengths.b * factor;
  scale_ends(scaled, factor);
  return scaled;
}

void scale_rates(SyntheticWorkload& workload, double factor) {
  workload.request_rate *= factor;
  std::visit(ScaleRates{factor}, workload.pattern);
}

}  // namespace roofcast
