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

/// What another rank answered, as text.
struct RankAnswer {
  std::int64_t id = 0;  // as it was begun under
  std::string text{};   // of the figures, or why there are none
  bool failed = false;
};

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
  ~Ranks();  // the leader's releases the others
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
  std::vector<RankAnswer> finished();
  /// Of ranks that ended or were given up before the leader released them: "rank 3: no such file".
  std::vector<std::string> absent() const;

  // ---- of the others

  /// Answers questions until the leader releases it. One that rests on something else than `digest`
  /// is answered by a failure: that rank has read other inputs.
  void serve(const Evaluator& evaluate, const std::string& digest, int threads);
  /// Why this one does not serve; sent to the leader.
  void excuse(const std::string& reason);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace roofcast
