#include "simulator/results/slo_classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/uniform_real_distribution.hpp>

#include "base/error.hpp"
#include "base/joined.hpp"
#include "simulator/random.hpp"

namespace roofcast {
namespace {

std::int32_t class_by_share(const Slo& slo, double draw) {
  double below = 0;
  for (std::size_t i = 0; i + 1 < slo.classes.size(); ++i) {
    below += slo.classes[i].share;
    if (draw < below) return static_cast<std::int32_t>(i);
  }
  return static_cast<std::int32_t>(slo.classes.size() - 1);
}

/// Maps every class of the trace to its index in `slo`.
std::vector<std::int32_t> map_classes(const std::vector<std::string>& names, const Slo& slo) {
  std::vector<std::int32_t> indexes;
  for (const std::string& name : names) {
    const auto found = std::find_if(slo.classes.begin(), slo.classes.end(),
                                    [&](const SloClass& c) { return c.name == name; });
    if (found == slo.classes.end()) {
      throw Error(
          fmt::format("the trace has requests of class '{}', which slo.classes does not "
                      "list: expected one of {}",
                      name, joined(slo.classes, &SloClass::name)));
    }
    indexes.push_back(static_cast<std::int32_t>(found - slo.classes.begin()));
  }
  return indexes;
}

}  // namespace

void assign_slo_classes(Workload& workload, const Slo& slo, std::uint64_t seed) {
  if (slo.classes.empty()) {
    if (workload.class_names.empty()) {
      for (Request& request : workload.requests) request.slo_class = 0;
      return;
    }
    workload.notes.emplace_back(
        "the trace names classes but the scenario has no slo.classes: requests keep their class "
        "but are treated equally");
    return;
  }
  if (!workload.class_names.empty()) {
    const auto indexes = map_classes(workload.class_names, slo);
    for (Request& request : workload.requests) {
      request.slo_class = indexes[static_cast<std::size_t>(request.slo_class)];
    }
  } else {
    RandomStream random = random_stream(seed, "slo_class");
    boost::random::uniform_real_distribution<double> uniform(0.0, 1.0);
    for (Request& request : workload.requests) {
      const bool first_turn = request.follows == kNoRequest;
      request.slo_class =
          first_turn ? class_by_share(slo, uniform(random))
                     : workload.requests[static_cast<std::size_t>(request.follows)].slo_class;
    }
  }
  workload.class_names.clear();
  for (const SloClass& c : slo.classes) workload.class_names.push_back(c.name);
}

}  // namespace roofcast
