// Requests that an engine has received and not yet admitted, in scheduling order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <utility>

#include "model/engines/engine.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {

/// First come, first served, with preempted requests at the front; or by priority (smaller first),
/// ties by arrival, including preempted requests (vLLM's two policies). For any other order the
/// scheduler sorts the queue itself.
class WaitingQueue {
 public:
  explicit WaitingQueue(QueueOrder order) : order_(order) {}

  bool empty() const { return size() == 0; }
  std::size_t size() const { return queue_.size() + by_priority_.size(); }

  /// The next request to consider. Precondition: not empty.
  RequestId front() const;
  void pop_front();

  void push_back(RequestId request, std::int64_t priority);
  /// Returns a preempted request to the queue.
  void push_front(RequestId request, std::int64_t priority);

  /// The requests in queue order. Precondition, here and below: not ordered by priority.
  const std::deque<RequestId>& in_order() const { return queue_; }
  /// Replaces the order of the same requests.
  void rearrange(std::span<const RequestId> order);

 private:
  QueueOrder order_;
  std::deque<RequestId> queue_;
  std::set<std::pair<std::int64_t, RequestId>> by_priority_;
};

}  // namespace roofcast
