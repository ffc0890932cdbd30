// The requests of a run in the groups that are reported: all together, each load stage, each SLO
// class. Two looks at every request serve them all, whatever their number.
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
  std::vector<std::size_t> logs{};         // of TokenGaps, its requests' gaps
  std::vector<Percentiles> percentiles{};  // by LatencyPart

  const Percentiles& of(LatencyPart part) const {
    return percentiles[static_cast<std::size_t>(part)];
  }
};

struct StageGroup {
  std::size_t index = 0;  // of Workload::stages
  RequestGroup group{};
};

/// Requests to which targets apply; percentiles: those of the targets, unserved requests missing.
struct TargetGroup {
  RequestGroup group{};
  std::vector<std::int64_t> within{};  // requests within the limit of each target
};

/// Without the requests of stages that are not reported.
struct RequestGroups {
  RequestGroup all{};                  // percentiles: distribution_percents()
  std::vector<StageGroup> stages{};    // the same; none when one stage is all there is to report
  TargetGroup whole{};                 // of Slo::targets; empty when there are none
  std::vector<TargetGroup> classes{};  // by Slo::classes
};

/// `stages`: as many as `gaps` has, or none for a single reported one. `end`: when the run was
/// stopped, after which nothing has arrived.
RequestGroups group_requests(std::span<const RequestRecord> records, const TokenGaps& gaps,
                             const Slo& slo, std::span<const LoadStage> stages,
                             Nanoseconds end = kEndless);

/// Percentiles of the gaps in some logs, and of `missing` requests that have none.
Percentiles gap_percentiles(const TokenGaps& gaps, std::span<const std::size_t> logs,
                            const std::vector<double>& percents, std::int64_t missing);

}  // namespace roofcast
