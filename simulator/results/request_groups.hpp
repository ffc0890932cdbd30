// Groups the requests of a run as they are reported: all together, by load stage and by SLO class.
// Two passes over the requests serve any number of groups.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "simulator/results/percentiles.hpp"
#include "simulator/results/request_tally.hpp"
#include "simulator/results/token_gaps.hpp"

namespace roofcast {

struct RequestGroup {
  RequestTally tally{};                    // its durations are in `percentiles`
  std::vector<std::size_t> logs{};         // indices into TokenGaps: its requests' gaps
  std::vector<Percentiles> percentiles{};  // by LatencyPart

  const Percentiles& of(LatencyPart part) const {
    return percentiles[static_cast<std::size_t>(part)];
  }
};

struct StageGroup {
  std::size_t index = 0;  // index in Workload::stages
  RequestGroup group{};
};

/// Requests to which targets apply; percentiles are those of the targets, with unserved requests
/// missing.
struct TargetGroup {
  RequestGroup group{};
  std::vector<std::int64_t> within{};  // per target: requests within its limit
};

/// Excludes the requests of unreported stages.
struct RequestGroups {
  RequestGroup all{};                  // percentiles: distribution_percents()
  std::vector<StageGroup> stages{};    // percentiles as in `all`; empty if only one stage is
                                       // reported
  TargetGroup whole{};                 // for Slo::targets; empty if there are none
  std::vector<TargetGroup> classes{};  // one per Slo::classes
};

/// `stages`: as many as `gaps` has, or empty for a single reported one. `end`: when the run was
/// stopped; nothing arrived after it.
RequestGroups group_requests(std::span<const RequestRecord> records, const TokenGaps& gaps,
                             const Slo& slo, std::span<const LoadStage> stages,
                             Nanoseconds end = kEndless);

/// Percentiles of the gaps in some logs, plus `missing` requests that have none.
Percentiles gap_percentiles(const TokenGaps& gaps, std::span<const std::size_t> logs,
                            const std::vector<double>& percents, std::int64_t missing);

}  // namespace roofcast
