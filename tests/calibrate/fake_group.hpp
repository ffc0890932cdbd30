// Fake devices that exchange messages: every call takes a time given by a formula. Memory is
// addresses only.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device_group.hpp"

namespace roofcast::test {

/// Time: latency + bytes that a ring sends / bytes_per_s.
struct FakeLinks {
  int devices = 8;
  double latency_s = 10e-6;
  double bytes_per_s = 300e9;
  std::set<int> refused{};  // numbers of ranks for which no group opens
  std::set<int> failing{};  // every call of these fails
};

/// All calls to all groups, in order.
struct GroupLog {
  std::vector<int> opened{};
  std::vector<kernels::Collective> calls{};          // launched or replayed
  std::map<std::pair<int, void*>, double> memory{};  // bytes by rank and address
  std::set<std::pair<int, const void*>> filled{};    // with random values
};

class FakeGroup final : public kernels::DeviceGroup {
 public:
  FakeGroup(int ranks, const FakeLinks& links, std::shared_ptr<GroupLog> log)
      : ranks_(ranks), links_(links), log_(std::move(log)) {}

  int ranks() const override { return ranks_; }

  void* allocate(int rank, std::size_t bytes) override {
    void* data = reinterpret_cast<void*>(next_);
    next_ += bytes;
    log_->memory[{rank, data}] = static_cast<double>(bytes);
    return data;
  }
  void release(int rank, void* data) noexcept override { log_->memory.erase({rank, data}); }
  void fill_normal(int rank, void* data, kernels::Element, std::int64_t, std::uint64_t) override {
    log_->filled.insert({rank, data});
  }

  void launch(const kernels::Collective& call) override {
    if (links_.failing.contains(ranks_)) throw std::runtime_error("fake link: cable pulled");
    if (recorder_ != nullptr) {
      recorder_->push_back(call);
    } else {
      log_->calls.push_back(call);
    }
  }
  void synchronize() override {}

  std::unique_ptr<kernels::Recording> record(const std::function<void()>& launches) override {
    auto calls = std::make_unique<Calls>();
    recorder_ = &calls->list;
    launches();
    recorder_ = nullptr;
    return calls;
  }
  kernels::Sample replay(kernels::Recording& recording) override {
    kernels::Sample sample;
    for (const kernels::Collective& call : dynamic_cast<Calls&>(recording).list) {
      sample.seconds += seconds_of(call);
      log_->calls.push_back(call);
    }
    return sample;
  }

 private:
  struct Calls final : kernels::Recording {
    std::vector<kernels::Collective> list{};
  };

  /// A ring sends a part of the message (n - 1) times, twice that for an all-reduce.
  double seconds_of(const kernels::Collective& call) const {
    const double own =
        static_cast<double>(call.count) * static_cast<double>(kernels::size_of(call.element));
    const double others = ranks_ - 1.0;
    const bool reduce = call.kind == kernels::CollectiveKind::all_reduce;
    const double sent = reduce ? 2 * others * own / ranks_ : others * own;
    return links_.latency_s + sent / links_.bytes_per_s;
  }

  int ranks_;
  FakeLinks links_;
  std::shared_ptr<GroupLog> log_;
  std::vector<kernels::Collective>* recorder_ = nullptr;
  std::uintptr_t next_ = 1 << 20;
};

inline kernels::Peers fake_peers(const FakeLinks& links = {},
                                 std::shared_ptr<GroupLog> log = std::make_shared<GroupLog>()) {
  return {.devices = links.devices,
          .library = "NCCL 9.9.9",
          .open = [links, log](int ranks) -> std::unique_ptr<kernels::DeviceGroup> {
            log->opened.push_back(ranks);
            if (links.refused.contains(ranks)) throw std::runtime_error("fake link: no such group");
            return std::make_unique<FakeGroup>(ranks, links, log);
          }};
}

}  // namespace roofcast::test
