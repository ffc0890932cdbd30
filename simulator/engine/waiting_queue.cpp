#include "simulator/engine/waiting_queue.hpp"

#include <cassert>

namespace roofcast {

RequestId WaitingQueue::front() const {
  assert(!empty());
  return order_ == QueueOrder::fcfs ? fcfs_.front() : by_priority_.begin()->second;
}

void WaitingQueue::pop_front() {
  assert(!empty());
  if (order_ == QueueOrder::fcfs) {
    fcfs_.pop_front();
  } else {
    by_priority_.erase(by_priority_.begin());
  }
}

void WaitingQueue::push_back(RequestId request, std::int64_t priority) {
  if (order_ == QueueOrder::fcfs) {
    fcfs_.push_back(request);
  } else {
    by_priority_.emplace(priority, request);
  }
}

void WaitingQueue::push_front(RequestId request, std::int64_t priority) {
  if (order_ == QueueOrder::fcfs) {
    fcfs_.push_front(request);
  } else {
    by_priority_.emplace(priority, request);
  }
}

}  // namespace roofcast
