// What a replica's front end does with a request before the engine sees it.
#pragma once

#include <algorithm>

#include "base/units.hpp"
#include "model/engines/scheduler.hpp"
#include "simulator/cluster/cluster.hpp"
#include "simulator/time.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// Tokenises prompts (HostOverhead::per_prompt_token), at once or one after the other, and hands
/// them over (HostOverhead::per_request). It fails with its replica: a new one takes its place.
/// Neglected: one that stands before servers apart outlives them.
class FrontEnd {
 public:
  explicit FrontEnd(const Pool& pool)
      : per_prompt_token_(pool.replica.engine.host.per_prompt_token),
        per_request_(to_nanoseconds(pool.replica.engine.host.per_request)),
        // Before servers apart stands a front end of their own (Dynamo).
        in_turn_(pool.role == PoolRole::both &&
                 traits_of(pool.replica.engine.scheduler).tokenises_in_turn) {}

  struct Delivery {
    Nanoseconds waited = 0;  // until the prompts before it were tokenised
    Nanoseconds time = 0;    // when the request reaches the engine
  };

  /// Of a request that arrives at `arrival`, after all before it.
  Delivery delivery(Nanoseconds arrival, const Request& request) {
    const auto tokens = static_cast<double>(text_tokens(request));
    const Nanoseconds takes = to_nanoseconds(per_prompt_token_ * tokens);
    const Nanoseconds begins = in_turn_ ? std::max(until_, arrival) : arrival;
    until_ = begins + takes;
    return {.waited = begins - arrival, .time = until_ + per_request_};
  }

 private:
  Seconds per_prompt_token_{};
  Nanoseconds per_request_ = 0;
  bool in_turn_ = false;
  Nanoseconds until_ = 0;  // it has tokenised the prompt before
};

}  // namespace roofcast
