#include "simulator/engine/waiting_queue.hpp"

#include <cassert>

namespace roofcast {

RequestId WaitingQueue::front() const {
  assert(!empty());
  return order_ == QueueOrder::priority ? by_priority_.begin()->second : queue_.front();
}

void WaitingQueue::pop_front() {
  assert(!empty());
  if (order_ == QueueOrder::priority) {
    by_priority_.erase(by_priority_.begin());
  } else {
    queue_.pop_front();
  }
}

void WaitingQueue::push_back(RequestId request, std::int64_t priority) {
  if (order_ == QueueOrder::priority) {
    by_priority_.emplace(priority, request);
  } else {
    queue_.push_back(request);
  }
}

void WaitingQueue::push_front(RequestId request, std::int64_t priority) {
  if (order_ == QueueOrder::priority) {
    by_priority_.emplace(priority, request);
  } else {
    queue_.push_front(request);
  }
}

void WaitingQueue::rearrange(std::span<const RequestId> order) {
  assert(order_ != QueueOrder::priority && order.size() == queue_.size());
  queue_.assign(order.begin(), order.end());
}

}  // namespace roofcast
