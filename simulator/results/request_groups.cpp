#include "simulator/results/request_groups.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace roofcast {
namespace {

void count_within(const RequestRecord& record, const std::vector<PercentileTarget>& targets,
                  TargetGroup& group) {
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const GoodputLimit limit{.metric = targets[t].metric, .limit = targets[t].limit};
    if (is_good(record, {&limit, 1})) ++group.within[t];
  }
}

/// Counts each record in the cell of its stage and class (same layout as the logs of `gaps`),
/// including those within the limits of the targets that apply. `cells` must be empty.
void tally_cells(std::span<const RequestRecord> records, const TokenGaps& gaps, const Slo& slo,
                 std::span<const LoadStage> stages, std::vector<RequestTally>& cells,
                 RequestGroups& groups) {
  for (const RequestRecord& record : records) {
    if (!is_reported(stages, record.request)) continue;
    cells[gaps.index_of(record.request)].add(record, slo.goodput);
    count_within(record, slo.targets, groups.whole);
    const auto slo_class = static_cast<std::size_t>(record.request.slo_class);
    if (slo_class >= slo.classes.size()) continue;
    count_within(record, slo.classes[slo_class].targets, groups.classes[slo_class]);
  }
}

/// The group's durations move into its percentiles.
void add_percentiles(RequestGroup& group, LatencyPart part, const std::vector<double>& percents,
                     std::int64_t missing) {
  DurationHistogram& counted = group.tally.durations[static_cast<std::size_t>(part)];
  const auto source = Percentiles::source_for(counted.count());
  group.percentiles.emplace_back(std::move(counted), percents, missing, source);
}

/// Makes the percentiles of Distributions.
void make_percentiles(RequestGroup& group) {
  for (const LatencyPart part : kAllParts) add_percentiles(group, part, distribution_percents(), 0);
}

/// Makes the percentiles of targets.
void make_percentiles(RequestGroup& group, const std::vector<PercentileTarget>& targets) {
  for (const LatencyPart part : kAllParts) {
    std::vector<double> percents;
    for (const PercentileTarget& target : targets) {
      if (part_of(target.metric) == part) percents.push_back(target.percentile);
    }
    add_percentiles(group, part, percents, group.tally.unserved());
  }
}

void add_cell(RequestGroup& group, const std::vector<RequestTally>& cells, std::size_t index) {
  group.tally.add(cells[index]);
  group.logs.push_back(index);
}

/// Groups all requests, and those of each stage if there are several.
void group_by_stage(RequestGroups& groups, const std::vector<RequestTally>& cells,
                    const TokenGaps& gaps, std::span<const LoadStage> stages) {
  for (std::size_t stage = 0; stage < gaps.stages(); ++stage) {
    if (!is_reported(stages, stage)) continue;
    StageGroup& by_itself = groups.stages.emplace_back();
    by_itself.index = stage;
    for (std::size_t slo_class = 0; slo_class < gaps.classes(); ++slo_class) {
      add_cell(groups.all, cells, gaps.index_of(stage, slo_class));
      add_cell(by_itself.group, cells, gaps.index_of(stage, slo_class));
    }
  }
  if (groups.stages.size() == 1) groups.stages.clear();
  make_percentiles(groups.all);
  for (StageGroup& stage : groups.stages) make_percentiles(stage.group);
}

/// Groups the requests to which targets apply: those of each class, and all.
void group_by_target(RequestGroups& groups, const std::vector<RequestTally>& cells,
                     const TokenGaps& gaps, const Slo& slo, std::span<const LoadStage> stages) {
  for (std::size_t stage = 0; stage < gaps.stages(); ++stage) {
    if (!is_reported(stages, stage)) continue;
    for (std::size_t i = 0; i < gaps.classes(); ++i) {
      const std::size_t cell = gaps.index_of(stage, i);
      if (i < slo.classes.size()) add_cell(groups.classes[i].group, cells, cell);
      if (!slo.targets.empty()) add_cell(groups.whole.group, cells, cell);
    }
  }
  for (std::size_t i = 0; i < slo.classes.size(); ++i) {
    make_percentiles(groups.classes[i].group, slo.classes[i].targets);
  }
  if (!slo.targets.empty()) make_percentiles(groups.whole.group, slo.targets);
}

RequestGroups first_look(std::span<const RequestRecord> records, const TokenGaps& gaps,
                         const Slo& slo, std::span<const LoadStage> stages, Nanoseconds end) {
  RequestGroups groups;
  groups.whole.within.resize(slo.targets.size());
  groups.classes.resize(slo.classes.size());
  for (std::size_t i = 0; i < slo.classes.size(); ++i) {
    groups.classes[i].within.resize(slo.classes[i].targets.size());
  }
  std::vector<RequestTally> cells(gaps.stages() * gaps.classes());
  for (RequestTally& cell : cells) cell.end = end;
  tally_cells(records, gaps, slo, stages, cells, groups);
  group_by_stage(groups, cells, gaps, stages);
  group_by_target(groups, cells, gaps, slo, stages);
  return groups;
}

void look_at(RequestGroup& group, const RequestRecord& record) {
  if (group.percentiles.empty()) return;
  for (const LatencyPart part : kAllParts) {
    Percentiles& percentiles = group.percentiles[static_cast<std::size_t>(part)];
    if (!percentiles.needs_second_look()) continue;
    const auto duration = duration_of(record, part);
    if (duration) percentiles.look_at(*duration);
  }
}

/// The second pass over all records, for all groups.
void look_again(RequestGroups& groups, std::span<const RequestRecord> records,
                std::span<const LoadStage> stages) {
  std::vector<RequestGroup*> of_stage(std::max<std::size_t>(1, stages.size()), nullptr);
  for (StageGroup& stage : groups.stages) of_stage[stage.index] = &stage.group;
  for (const RequestRecord& record : records) {
    const auto stage = static_cast<std::size_t>(record.request.stage);
    const auto slo_class = static_cast<std::size_t>(record.request.slo_class);
    if (!is_reported(stages, stage)) continue;
    look_at(groups.all, record);
    if (of_stage[stage] != nullptr) look_at(*of_stage[stage], record);
    look_at(groups.whole.group, record);
    if (slo_class < groups.classes.size()) look_at(groups.classes[slo_class].group, record);
  }
}

void finish(RequestGroup& group) {
  for (Percentiles& percentiles : group.percentiles) percentiles.finish();
}

}  // namespace

RequestGroups group_requests(std::span<const RequestRecord> records, const TokenGaps& gaps,
                             const Slo& slo, std::span<const LoadStage> stages, Nanoseconds end) {
  assert(gaps.stages() == std::max<std::size_t>(1, stages.size()));
  RequestGroups groups = first_look(records, gaps, slo, stages, end);
  look_again(groups, records, stages);
  finish(groups.all);
  for (StageGroup& stage : groups.stages) finish(stage.group);
  finish(groups.whole.group);
  for (TargetGroup& slo_class : groups.classes) finish(slo_class.group);
  return groups;
}

Percentiles gap_percentiles(const TokenGaps& gaps, std::span<const std::size_t> logs,
                            const std::vector<double>& percents, std::int64_t missing) {
  DurationHistogram counted;
  for (const std::size_t log : logs) counted.add(gaps.counted(log));
  const auto source = gaps.exact() ? Percentiles::Source::values : Percentiles::Source::histogram;
  Percentiles percentiles(std::move(counted), percents, missing, source);
  if (!percentiles.needs_second_look()) return percentiles;
  for (const std::size_t log : logs) {
    for (const GapCount& run : gaps.runs(log)) percentiles.look_at(run.gap, run.count);
  }
  percentiles.finish();
  return percentiles;
}

}  // namespace roofcast
