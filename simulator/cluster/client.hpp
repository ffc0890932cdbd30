// The client side of a simulation: creates requests at their arrival times, or a think time after
// the request they follow, and sends them in order of creation as its concurrency limit allows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "simulator/results/result.hpp"

namespace roofcast {

class Client {
 public:
  /// `records` must outlive the client and list the requests that follow none in order of arrival.
  /// The client sets `sent`, and the creation times of requests that follow others. Requests marked
  /// rejected are answered at once and take no slot; their followers must be marked too.
  Client(std::vector<RequestRecord>& records, std::optional<std::int64_t> max_concurrency);

  /// When the next request is sent or created if none finishes before; nullopt if there is none.
  std::optional<Nanoseconds> next_send() const;

  /// Returns the next request that leaves the client by `now`, or nullopt. Call it at the times
  /// given by next_send() and when requests end.
  std::optional<RequestId> send(Nanoseconds now);

  /// Call when a sent request has been answered: frees its slot and schedules its followers.
  void finished(RequestId id, Nanoseconds now);

  /// Call when a sent request will never be answered: frees its slot and marks its followers
  /// rejected. Returns how many it marked.
  std::int64_t lost(RequestId id, Nanoseconds now);

 private:
  using Creation = std::pair<Nanoseconds, RequestId>;

  bool has_place() const { return !max_concurrency_ || outstanding_ < *max_concurrency_; }
  RequestRecord& record(RequestId id) { return records_[static_cast<std::size_t>(id)]; }
  void link_followers();
  void skip_followers();
  std::optional<Creation> next_creation() const;
  void take(const Creation& creation);
  RequestId first_follower(RequestId id) const;
  RequestId next_follower(RequestId id) const;
  void create_followers(RequestId id, Nanoseconds now);

  std::vector<RequestRecord>& records_;
  std::optional<std::int64_t> max_concurrency_;
  std::size_t next_ = 0;  // first request without predecessor that has not been sent
  std::priority_queue<Creation, std::vector<Creation>, std::greater<>> created_;  // of followers
  std::int64_t outstanding_ = 0;
  // Followers of each request as linked lists in order of id; empty if no request follows another.
  std::vector<RequestId> first_follower_;
  std::vector<RequestId> next_follower_;
};

/// Marks the followers of rejected requests as rejected; returns how many.
std::int64_t reject_followers(std::vector<RequestRecord>& records);

}  // namespace roofcast
