#include "calibrate/curve_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/statistics.hpp"
#include "calibrate/curve_fit.hpp"

namespace roofcast {

namespace {

std::string place_of(const MeasuredCurve& curve, const MeasuredPoint& point) {
  const OperatorShape& s = curve.shape;
  std::string text(name_of(s.family));
  if (!s.format.empty()) text += fmt::format(" {} {}x{}", s.format, s.outputs, s.inputs);
  if (!s.name.empty()) text += " " + s.name;
  text += fmt::format(", {:.0f}", point.x);
  if (has_second_axis(s.family)) text += fmt::format(" x {:.0f}", point.y);
  return text + " [" + curve.kernel + "]";
}

}  // namespace

CurveErrors curve_errors(const Gpu& gpu, std::size_t worst) {
  CurveErrors result;
  std::map<std::pair<OperatorFamily, std::string>, std::vector<double>> errors;
  std::map<std::pair<OperatorFamily, std::string>, FamilyError> families;
  for (const MeasuredCurve& curve : gpu.measured->curves) {
    const std::pair key{curve.shape.family, curve.kernel};
    FamilyError& family = families[key];
    ++family.curves;
    family.points += curve.points.size();
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
      const auto error = leave_one_out_error(curve, i, gpu.multiprocessors);
      if (!error) continue;
      errors[key].push_back(*error);
      result.worst.push_back({place_of(curve, curve.points[i]), *error});
    }
  }
  for (auto& [key, family] : families) {
    std::vector<double>& own = errors[key];
    std::sort(own.begin(), own.end());
    family.family = key.first;
    family.kernel = key.second;
    family.judged = own.size();
    if (!own.empty()) {
      family.median_error = quantile(own, 0.5);
      family.p90_error = quantile(own, 0.9);
    }
    result.families.push_back(std::move(family));
  }
  std::stable_sort(result.worst.begin(), result.worst.end(),
                   [](const PointError& a, const PointError& b) { return a.error > b.error; });
  if (result.worst.size() > worst) result.worst.resize(worst);
  return result;
}

}  // namespace roofcast
