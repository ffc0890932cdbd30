// Event queue ordered by time, then phase, then insertion, so that a run has one order of events.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/time.hpp"

namespace roofcast {

template <class Payload>
class EventQueue {
 public:
  /// `phase` (below 256) orders events at the same time, smaller first.
  void push(Nanoseconds time, std::uint8_t phase, Payload payload) {
    const std::uint64_t order = (std::uint64_t{phase} << kSequenceBits) | sequence_++;
    heap_.push_back({time, order, std::move(payload)});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }

  // Time of the next event. Precondition: not empty.
  Nanoseconds next_time() const { return heap_.front().time; }

  std::uint8_t next_phase() const {
    return static_cast<std::uint8_t>(heap_.front().order >> kSequenceBits);
  }

  /// Removes and returns the next event. Precondition: not empty.
  Payload pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Payload payload = std::move(heap_.back().payload);
    heap_.pop_back();
    return payload;
  }

  /// Removes all events whose payload satisfies `matches`; returns them in the order of the queue.
  template <class Predicate>
  std::vector<Payload> take_if(const Predicate& matches) {
    const auto stays = [&](const Entry& entry) { return !matches(entry.payload); };
    const auto taken = std::partition(heap_.begin(), heap_.end(), stays);
    std::sort(taken, heap_.end(), [](const Entry& a, const Entry& b) { return later(b, a); });
    std::vector<Payload> payloads;
    for (auto entry = taken; entry != heap_.end(); ++entry) {
      payloads.push_back(std::move(entry->payload));
    }
    heap_.erase(taken, heap_.end());
    std::make_heap(heap_.begin(), heap_.end(), later);
    return payloads;
  }

 private:
  static constexpr int kSequenceBits = 56;

  struct Entry {
    Nanoseconds time = 0;
    std::uint64_t order = 0;  // phase, then insertion number
    Payload payload{};
  };

  static bool later(const Entry& a, const Entry& b) {
    return a.time != b.time ? a.time > b.time : a.order > b.order;
  }

  std::vector<Entry> heap_;
  std::uint64_t sequence_ = 0;
};

}  // namespace roofcast
