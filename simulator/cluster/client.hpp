// The client side of a simulation: creates requests at their arrival times, or a pause after the
// request they follow, and sends them when its concurrency limit allows, first created first.
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
  /// `records` outlives the client, holds the requests that follow none in order of arrival, and
  /// gets `sent` and the creation times of requests that follow others. Requests marked rejected
  /// are answered at once and take no place; what follows them must be marked too.
  Client(std::vector<RequestRecord>& records, std::optional<std::int64_t> max_concurrency);

  /// When the next request is sent, or created, if none finishes before; nothing when none will.
  std::optional<Nanoseconds> next_send() const;

  /// The next request that leaves the client by `now`, or nothing. Called at the times that
  /// next_send() and the ends of requests give.
  std::optional<RequestId> send(Nanoseconds now);

  /// A request that was sent has been answered: frees its place and lets its followers come.
  void finished(RequestId id, Nanoseconds now);

  /// A request that was sent will never be answered: frees its place; its followers are marked
  /// rejected. Returns how many.
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
  std::size_t next_ = 0;  // first request that follows none and has not been sent
  std::priority_queue<Creation, std::vector<Creation>, std::greater<>> created_;  // of followers
  std::int64_t outstanding_ = 0;
  // Followers of each request as linked lists in order of id; empty when no request follows any.
  std::vector<RequestId> first_follower_;
  std::vector<RequestId> next_follower_;
};

/// Marks requests rejected that follow a rejected one; returns how many.
std::int64_t reject_followers(std::vector<RequestRecord>& records);

}  // namespace roofcast
