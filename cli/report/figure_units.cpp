#include "cli/report/figure_units.hpp"

#include <array>

namespace roofcast {
namespace {

// From a few hundred of one unit the next reads better.
struct Step {
  double up_to_s;
  TimeUnit unit;
};
constexpr std::array kSteps = {Step{1e-3, {"µs", 1e-6}}, Step{1.5, {"ms", 1e-3}},
                               Step{600, {"s", 1}}, Step{4 * 3600, {"min", 60}}};

}  // namespace

TimeUnit unit_for(double longest_s) {
  for (const Step& step : kSteps) {
    if (longest_s < step.up_to_s) return step.unit;
  }
  return {"h", 3600};
}

std::string with_unit(const std::string& name, const TimeUnit& unit) {
  return name + " (" + unit.name + ")";
}

}  // namespace roofcast
