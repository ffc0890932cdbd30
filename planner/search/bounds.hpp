// Lower bounds that no simulation of a deployment can beat, used to rule out candidates without
// simulating them. Each bound has to be optimistic and states why it is.
#pragma once

#include <cstdint>
#include <string>

#include "model/deployment.hpp"
#include "planner/search/candidate.hpp"
#include "planner/search/plan_load.hpp"

namespace roofcast {

/// Lower bounds on the step times of one engine (a data-parallel rank). Counts only operators whose
/// work depends on the number of tokens in a step; attention, recurrent layers and host work are
/// taken as free. A step's time is the sum of its operators', none of which falls as tokens are
/// added (TimedOperator), so a bound on these operators bounds the step.
class StepFloor {
 public:
  /// Independent of scheduler, KV cache and reserved memory: equal for all knobs of a placement.
  explicit StepFloor(const Deployment& deployment);

  /// A step that computes this many tokens, at least one of which is followed by a new one.
  Seconds step(std::int64_t tokens) const;

  /// The least time per token, however steps are composed: the minimum of time(n) / n, bounded from
  /// below on every interval between counts a < b by time(a) / b. As many steps are in progress as
  /// there are pipeline stages, the longest of which takes at least the mean.
  Seconds per_token() const { return per_token_ / stages_; }

  /// From the end of one step to the end of the next, each of at least a token.
  Seconds min_step() const { return step(1) / stages_; }

  /// From the first step of a prompt to its first token: in one step, or in several, the last of
  /// which takes at least a one-token step (without pipeline stages the first, too) and all
  /// together at least per_token() per token.
  Seconds prompt(std::int64_t tokens) const;

 private:
  std::vector<std::int64_t> counts_;  // ascending, from 1
  std::vector<Seconds> times_;        // of a step with this many tokens, up to the next count
  Seconds rows_{};                    // for one token that is followed by another
  Seconds launch_{};
  Seconds per_token_{};  // of a step through all stages
  double stages_ = 1;
  std::int64_t prompt_ranks_ = 1;  // that divide the tokens of prompts
};

/// Why a shape is ruled out, or the minimum number of units that might hold.
struct ShapeBound {
  enum class Verdict {
    possible,
    too_slow  // a target is missed even unloaded, with any number of replicas
  };
  Verdict verdict = Verdict::possible;
  std::string what{};     // the target that is missed
  double limit_s = 0;     // its limit
  double at_least_s = 0;  // lower bound on its latency
  std::int64_t min_units = 1;
};

/// The best that `shape`, with its resolved `engine`, can do with this load.
ShapeBound bound_shape(const Shape& shape, const Engine& engine, const StepFloor& floor,
                       const PlanLoad& load);

}  // namespace roofcast
