#include "simulator/results/token_gaps.hpp"

namespace roofcast {

DurationHistogram TokenGaps::counted(std::size_t index) const {
  DurationHistogram all = logs_[index].older;
  for (const GapCount& run : logs_[index].runs) all.add(run.gap, run.count);
  return all;
}

void TokenGaps::begin_run(std::size_t index, GapCount run) {
  if (exact_ && total_runs_ == kMaxRuns) {
    exact_ = false;
    for (Log& log : logs_) give_up_runs(log);
  }
  Log& log = logs_[index];
  if (!exact_) {
    // Keeps the last run, since it may continue.
    for (const GapCount& ended : log.runs) log.older.add(ended.gap, ended.count);
    log.runs.clear();
  }
  log.runs.push_back(run);
  ++total_runs_;
}

void TokenGaps::give_up_runs(Log& log) {
  for (const GapCount& run : log.runs) log.older.add(run.gap, run.count);
  std::vector<GapCount>().swap(log.runs);
}

void HeldGaps::release(RequestId id, std::size_t index, TokenGaps& log) {
  const auto held = gaps_.find(id);
  if (held == gaps_.end()) return;
  for (const Nanoseconds gap : held->second) log.add(index, gap);
  gaps_.erase(held);
}

}  // namespace roofcast
