// Without MPI: one process, which leads.
#include "base/error.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/search/ranks.hpp"

namespace roofcast {

struct Ranks::Impl {};

Ranks::Ranks(bool started_together) {
  if (!started_together) return;
  throw Error(
      "mpirun started this program, but it was built without MPI, so each process would do all of "
      "the work (install Debian's libopenmpi-dev before configuring, with ROOFCAST_MPI on)");
}

Ranks::~Ranks() = default;
bool Ranks::leads() const { return true; }
int Ranks::count() const { return 1; }
int Ranks::threads_each() const { return available_threads(); }
std::vector<ServingRank> Ranks::serving() { return {}; }
void Ranks::begin(int /*rank*/, std::int64_t /*id*/, const std::string& /*question*/) {}
std::vector<RankAnswer> Ranks::finished() { return {}; }
std::vector<std::string> Ranks::absent() const { return {}; }
void Ranks::excuse(const std::string& /*reason*/) {}
void Ranks::serve(const Evaluator& /*evaluate*/, const std::string& /*digest*/, int /*threads*/) {}

}  // namespace roofcast
