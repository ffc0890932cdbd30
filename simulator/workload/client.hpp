// The client side of a simulation: creates requests at their arrival times, sends them when its
// concurrency limit allows (first created, first sent), and hands them to the engine after the
// host's per-request time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/engine/waiting_queue.hpp"
#include "simulator/results/result.hpp"

namespace roofcast {

class Client {
 public:
  /// `records` holds the requests in order of arrival, outlives the client and gets `sent` and
  /// `queued`. Requests marked rejected are answered at once and take no place.
  Client(std::vector<RequestRecord>& records, std::optional<std::int64_t> max_concurrency,
         Nanoseconds per_request);

  /// Sends what was created up to `now` as far as there are places.
  void send_until(Nanoseconds now);

  /// Frees the places of `finished` requests that ended at `now`, and sends what waited for them.
  void release(std::int64_t finished, Nanoseconds now);

  /// The next request that has reached the engine by `now`, or nothing.
  std::optional<RequestId> take_delivered(Nanoseconds now);

  /// When the next request reaches the engine if none finishes before; nothing when none will.
  std::optional<Nanoseconds> next_delivery() const;

 private:
  bool has_place() const { return !max_concurrency_ || outstanding_ < *max_concurrency_; }

  std::vector<RequestRecord>& records_;
  std::optional<std::int64_t> max_concurrency_;
  Nanoseconds per_request_ = 0;
  std::size_t next_ = 0;  // first request not sent
  std::int64_t outstanding_ = 0;
  Nanoseconds place_free_since_ = 0;  // no request is sent before the place it takes was freed
  std::deque<std::pair<Nanoseconds, RequestId>> on_the_way_;
};

}  // namespace roofcast
