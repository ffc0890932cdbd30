#include "reports/pages/figures/figure_units.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/numbers.hpp"

namespace roofcast {
namespace {

// From a few hundred of one unit on, the next unit reads better.
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

SizeUnit size_unit_for(const std::vector<double>& sizes) {
  double low = 0, high = 0;
  for (const double size : sizes) {
    if (!std::isfinite(size) || size <= 0) continue;
    low = low > 0 ? std::min(low, size) : size;
    high = std::max(high, size);
  }
  constexpr double kKilo = 1e3, kMega = 1e6, kGiga = 1e9;
  // Geometric middle between two units.
  const double middle = std::sqrt(low * high), half = std::sqrt(kKilo);
  if (middle < kKilo * half) return {"kB", kKilo};
  return middle < kMega * half ? SizeUnit{"MB", kMega} : SizeUnit{"GB", kGiga};
}

std::string limit_words(Seconds limit) {
  std::string text = as_time(limit);
  const std::size_t point = text.find('.');
  const std::size_t unit = text.find(' ');
  if (point == std::string::npos || unit == std::string::npos || point > unit) return text;
  const std::size_t last = text.find_last_not_of('0', unit - 1);  // a digit, or the point
  const std::size_t end = last == point ? point : last + 1;
  return text.erase(end, unit - end);
}

std::string with_unit(const std::string& name, const TimeUnit& unit) {
  return name + " (" + unit.name + ")";
}

}  // namespace roofcast
