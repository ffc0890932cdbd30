// Several devices of one kind that exchange messages: each is a rank, and one process drives all.
// Like kernels/backend.hpp a seam, so that code that times collectives is tested without devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/element.hpp"
#include "kernels/recorder.hpp"

namespace roofcast::kernels {

enum class CollectiveKind {
  all_reduce,      // output[i] = sum over the ranks of input[i]; [count] both
  all_gather,      // output = the inputs in the order of the ranks; [count], [ranks, count]
  reduce_scatter,  // output[i] = sum over the ranks of input[rank][i]; [ranks, count], [count]
  all_to_all,      // output[s] = input[rank] of rank s; [ranks, count] both
};

/// One rank's memory on its device. Input and output must not overlap.
struct RankBuffers {
  const void* input = nullptr;
  void* output = nullptr;
};

/// One call on all ranks.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Element element = Element::bf16;
  std::int64_t count = 0;              // elements, with the meaning above
  std::vector<RankBuffers> buffers{};  // one per rank
};

/// Launches run in order on every rank and may not have finished on return. A failed call of a
/// device or library throws std::runtime_error, a bad parameter std::invalid_argument.
class DeviceGroup : public Recorder {
 public:
  virtual int ranks() const = 0;

  /// Memory on one rank's device. Unreleased memory is freed with the group.
  virtual void* allocate(int rank, std::size_t bytes) = 0;
  virtual void release(int rank, void* data) noexcept = 0;
  /// Like Backend::fill_normal(), on one rank.
  virtual void fill_normal(int rank, void* data, Element element, std::int64_t count,
                           std::uint64_t seed) = 0;

  virtual void launch(const Collective& collective) = 0;
};

/// The devices of one kind in this machine and the library that connects them.
struct Peers {
  int devices = 1;        // including this one
  std::string library{};  // "NCCL 2.28.9"; empty: no messages possible here
  std::string why_not{};  // the reason in one line; empty for devices that never have peers
  /// Opens the first `ranks` devices, with this one as rank 0; 2 <= ranks <= devices.
  std::function<std::unique_ptr<DeviceGroup>(int ranks)> open{};
};

}  // namespace roofcast::kernels
