// What no simulation of a deployment can beat: used to leave out candidates without simulating
// them, so each bound has to be optimistic. Each says why it is.
#pragma once

#include <cstdint>
#include <string>

#include "model/deployment.hpp"
#include "planner/search/candidate.hpp"
#include "planner/search/plan_load.hpp"

namespace roofcast {

/// Times that the steps of one engine (a data-parallel rank) cannot undercut. Of the operators
/// whose work depends on the tokens of a step alone; attention, recurrent layers and host work are
/// taken to cost nothing. A step's time is the sum of its operators', each of which never falls as
/// tokens are added (TimedOperator), so what holds for these operators holds for the step.
class StepFloor {
 public:
  /// Scheduler, KV cache and what is reserved do not matter: equal for all knobs of a placement.
  explicit StepFloor(const Deployment& deployment);

  /// A step that computes so many tokens, one of which at least is followed by a new one.
  Seconds step(std::int64_t tokens) const;

  /// The least share of a step that a token takes, however steps are composed: the least of
  /// time(n) / n, bounded from below on every stretch between counts a < b by time(a) / b.
  Seconds per_token() const { return per_token_; }

  /// From the first step of a prompt to its first token: in one step, or in several, of which each
  /// takes at least a step of one token and all together so much a token.
  Seconds prompt(std::int64_t tokens) const;

 private:
  std::vector<std::int64_t> counts_;  // ascending, from 1
  std::vector<Seconds> times_;        // of a step with so many tokens, up to the next count
  Seconds rows_{};                    // of one token that is followed by another
  Seconds launch_{};
  Seconds per_token_{};
};

/// Why a shape is out, or the least number of it that might do.
struct ShapeBound {
  enum class Verdict {
    possible,
    too_slow  // even unloaded: a promise is missed whatever the number of replicas
  };
  Verdict verdict = Verdict::possible;
  std::string what{};     // the promise that is missed
  double limit_s = 0;     // of it
  double at_least_s = 0;  // what it takes at least
  std::int64_t min_units = 1;
};

/// The best that `shape`, deployed as `engine` (a resolved engine of it), can do with this load.
ShapeBound bound_shape(const Shape& shape, const Engine& engine, const StepFloor& floor,
                       const PlanLoad& load);

}  // namespace roofcast
