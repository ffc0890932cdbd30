// Slots for work that takes a core: a fixed number at once, some more that wait for a moment, the
// rest turned away.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>

namespace roofcast {

class WorkSlots {
 public:
  /// A slot, freed by the destructor.
  class Place {
   public:
    explicit Place(WorkSlots& slots) : slots_(&slots) {}
    Place(Place&& other) noexcept : slots_(other.slots_) { other.slots_ = nullptr; }
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (slots_ != nullptr) slots_->give_back();
    }

   private:
    WorkSlots* slots_;
  };

  /// `at_once` is at least 1, `waiting` at least 0.
  WorkSlots(int at_once, int waiting) : free_(at_once), may_wait_(waiting) {}

  /// Nullopt if too many wait already, after `patience`, or once `stopped` returns true.
  std::optional<Place> take(std::chrono::milliseconds patience,
                            const std::function<bool()>& stopped);

 private:
  void give_back();

  std::mutex mutex_;
  std::condition_variable freed_;
  int free_;
  int may_wait_;
};

}  // namespace roofcast
