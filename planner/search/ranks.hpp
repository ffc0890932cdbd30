// The processes that `mpirun` started together (MPI calls them ranks). The first leads: it hands
// out questions and collects answers; the others serve. Without MPI there is one, which leads.
//
// A rank that dies takes all of them with it, unless `mpirun --enable-recovery` was asked for: then
// the leader gives up on a rank that has been silent for kRankSilence, and its questions go to
// others. Only the leader must not die.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "planner/search/evaluator.hpp"

namespace roofcast {

/// A rank that serves says so once a second; one that has not for this long is given up.
inline constexpr std::chrono::seconds kRankSilence{20};

/// A rank that is ready to answer.
struct ServingRank {
  int rank = 0;
  int threads = 1;
};

class Ranks {
 public:
  /// Joins the others when `started_together`, which only whoever reads the environment can know;
  /// at most once in a process. Throws Error when the program was built without MPI.
  explicit Ranks(bool started_together);
  ~Ranks();  // the leader's lets the others go
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  bool leads() const;
  int count() const;
  /// Threads for each, so that those of one machine share its cores.
  int threads_each() const;

  // ---- of the leader; none of these waits

  /// Those that have said that they are ready and are not given up, by rank.
  std::vector<ServingRank> serving();
  void begin(int rank, std::int64_t id, const std::string& question);
  /// What has arrived since the last call.
  std::vector<FinishedEvaluation> finished();
  /// Of ranks that are gone or given up although nobody let them go: "rank 3: no such file".
  std::vector<std::string> absent() const;

  // ---- of the others

  /// Answers questions until the leader lets go.
  void serve(const Evaluator& evaluate, int threads);
  /// Why this one does not serve; the leader is told.
  void excuse(const std::string& reason);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace roofcast
