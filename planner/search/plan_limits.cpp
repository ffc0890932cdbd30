#include "planner/search/plan_limits.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/wording.hpp"

namespace roofcast {
namespace {

// So that a budget of three times a price allows three.
constexpr double kRounding = 1e-9;

std::int64_t times_within(double limit, double each) {
  if (each <= 0) return std::numeric_limits<std::int64_t>::max();
  constexpr double kBeyondAnySearch = 1e15;
  return static_cast<std::int64_t>(std::min(limit / each * (1 + kRounding), kBeyondAnySearch));
}

}  // namespace

std::optional<PlanObjective> parse_plan_objective(std::string_view text) {
  constexpr std::array kAll = {PlanObjective::cost, PlanObjective::gpus, PlanObjective::power};
  if (text == "energy") return PlanObjective::power;
  for (const PlanObjective objective : kAll) {
    if (name_of(objective) == text) return objective;
  }
  return std::nullopt;
}

std::string_view name_of(PlanObjective objective) {
  switch (objective) {
    case PlanObjective::cost:
      return "cost";
    case PlanObjective::gpus:
      return "gpus";
    case PlanObjective::power:
      break;
  }
  return "power";
}

UnitNeeds needs_of(const Shape& shape, const Gpu& gpu, const PlanLimits& limits) {
  UnitNeeds needs{.gpus = gpus_per_unit(shape)};
  const auto count = static_cast<double>(needs.gpus);
  const auto stated = limits.prices.find(shape.gpu);
  if (stated != limits.prices.end()) {
    needs.cost_per_hour = stated->second * count;
  } else if (gpu.price) {
    needs.cost_per_hour = gpu.price->value * count;
  }
  if (gpu.board_power) needs.power_w = gpu.board_power->value * count;
  return needs;
}

double objective_of(const UnitNeeds& needs, const Shape& shape, PlanObjective objective,
                    const PlanLimits& limits) {
  if (!needs.cost_per_hour && (objective == PlanObjective::cost || limits.budget_per_hour)) {
    throw UsageError(
        fmt::format("{}: no price is known; give one per GPU and hour with `price` {}=2.5, or "
                    "choose another `objective` ({})",
                    shape.gpu_title, shape.gpu, kPlanObjectives));
  }
  if (!needs.power_w && (objective == PlanObjective::power || limits.power_w)) {
    throw UsageError(fmt::format("{}: the profile has no board_power_w, which {} needs",
                                 shape.gpu_title,
                                 limits.power_w ? "`power`" : "`objective` power"));
  }
  switch (objective) {
    case PlanObjective::cost:
      return *needs.cost_per_hour;
    case PlanObjective::power:
      return *needs.power_w;
    case PlanObjective::gpus:
      break;
  }
  return static_cast<double>(needs.gpus);
}

void tighten(UnitLimit& limit, std::int64_t units, std::string by) {
  if (units >= limit.units) return;
  limit.units = units;
  limit.by = std::move(by);
}

UnitLimit max_units(const UnitNeeds& needs, const std::string& gpu, const PlanLimits& limits,
                    std::int64_t max) {
  UnitLimit limit{.units = max};
  const auto available = limits.available.find(gpu);
  if (available != limits.available.end()) {
    tighten(limit, available->second / needs.gpus,
            fmt::format("a stock of {}", counted(available->second, "GPU")));
  }
  if (limits.budget_per_hour && needs.cost_per_hour) {
    tighten(limit, times_within(*limits.budget_per_hour, *needs.cost_per_hour),
            fmt::format("the budget of ${:.2f} per hour", *limits.budget_per_hour));
  }
  if (limits.power_w && needs.power_w) {
    tighten(limit, times_within(*limits.power_w, *needs.power_w),
            fmt::format("the power of {:.0f} W", *limits.power_w));
  }
  return limit;
}

}  // namespace roofcast
