// Members shared by several answers, as base/record.hpp writes and reads them. Internal to
// roofcast/.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/curve_errors.hpp"
#include "roofcast/answer_json.hpp"
#include "roofcast/limits.hpp"
#include "simulator/cluster/cluster.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// Names of the first `count` enumerators, which are numbered from 0.
template <class Enum>
std::vector<std::pair<Enum, std::string_view>> names_of_first(int count) {
  std::vector<std::pair<Enum, std::string_view>> names;
  for (int i = 0; i < count; ++i) {
    names.emplace_back(static_cast<Enum>(i), name_of(static_cast<Enum>(i)));
  }
  return names;
}

template <>
struct EnumNames<LimitKind> {
  static inline const auto values =
      names_of_first<LimitKind>(static_cast<int>(LimitKind::queueing) + 1);
};

template <>
struct EnumNames<PoolRole> {
  static inline const auto values =
      names_of_first<PoolRole>(static_cast<int>(PoolRole::decode) + 1);
};

template <>
struct EnumNames<OperatorFamily> {
  static inline const auto values = names_of_first<OperatorFamily>(kOperatorFamilies);
};

/// Errors of points that were answered from the others of their curve. `judged`: and how many
/// points had neighbours for it.
template <class Visitor>
void visit_family(Visitor& visit, FamilyError& family, bool judged) {
  visit("family", family.family, "of operators");
  visit("kernel", family.kernel, "source of the kernels");
  visit("curves", family.curves, "how many");
  visit("points", family.points, "on them");
  if (judged) visit("judged_points", family.judged, "with neighbours on both sides");
  visit("median_error", family.median_error, "relative; 0 without judged points");
  visit("p90_error", family.p90_error, "relative; 0 without judged points");
}

// A scenario appears in an answer as in its file (simulator/io/scenario.schema.json).

template <>
Json value_to_json<Scenario>(const Scenario& scenario);
template <>
void value_from_json<Scenario>(const Json& json, Scenario& scenario, const std::string& path);
template <>
Json value_schema<Scenario>();

template <class Visitor>
void members(Visitor& visit, LimitAnswer& limit) {
  visit("limit", limit.limit, "which");
  visit("used_share", limit.used_share,
        "KV memory: of the fullest engine's blocks, at the peak; queueing: of the mean TTFT; all "
        "others: of the time of all steps");
  visit("relaxed_s", limit.relaxed_s, "the yardstick with a tenth more of it");
  visit("relative_gain", limit.relative_gain, "share of the yardstick that is saved");
  visit.if_set("relaxed_capacity", limit.relaxed_capacity,
               "capacity with a tenth more of it; null where no load holds");
}

template <class Visitor>
void members(Visitor& visit, LimitsAnswer& limits) {
  visit("yardstick", limits.yardstick, "the latency that is compared");
  visit("as_is_s", limits.as_is_s, "its value as it is");
  visit("binding", limits.binding, "the limit that binds; null where none does by itself");
  visit("limits", limits.limits, "greatest gain first");
}

}  // namespace roofcast
