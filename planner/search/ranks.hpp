// The processes started together by `mpirun` (MPI ranks). The first one leads: it hands out
// questions and collects answers; the others serve. Without MPI there is one rank, which leads.
//
// If a rank dies, all die, unless `mpirun --enable-recovery` is used: then the leader gives up on a
// rank that has been silent for kRankSilence and reassigns its questions. The leader itself must
// not die.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "planner/search/evaluator.hpp"

namespace roofcast {

/// Serving ranks send a heartbeat once a second; the leader gives up on one silent for this long.
inline constexpr std::chrono::seconds kRankSilence{20};

/// An answer from another rank, as text.
struct RankAnswer {
  std::int64_t id = 0;  // the id passed to begin()
  std::string text{};   // the figures, or the error message
  bool failed = false;
};

/// A rank that is ready to answer.
struct ServingRank {
  int rank = 0;
  int threads = 1;
};

class Ranks {
 public:
  /// Joins the others if `started_together`, which the caller finds in the environment; at most
  /// once per process. Throws Error if the program was built without MPI.
  explicit Ranks(bool started_together);
  ~Ranks();  // the leader's releases the others
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  bool leads() const;
  int count() const;
  /// Threads per rank, so that ranks on one machine share its cores.
  int threads_each() const;

  // ---- for the leader; none of these waits

  /// Ranks that are ready and not given up on, by rank.
  std::vector<ServingRank> serving();
  void begin(int rank, std::int64_t id, const std::string& question);
  /// Answers that have arrived since the last call.
  std::vector<RankAnswer> finished();
  /// Ranks that ended or were given up on before the leader released them: "rank 3: no such file".
  std::vector<std::string> absent() const;

  // ---- for the others

  /// Answers questions until the leader releases it. A question with a digest other than `digest`
  /// gets a failure: that rank has read other inputs.
  void serve(const Evaluator& evaluate, const std::string& digest, int threads);
  /// Sends the leader the reason why this rank does not serve.
  void excuse(const std::string& reason);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace roofcast
