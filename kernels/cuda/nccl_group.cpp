#include "kernels/cuda/nccl_group.hpp"

#include <cuda_runtime_api.h>

#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/check.hpp"
#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/device_buffer.hpp"
#include "kernels/cuda/device_guard.hpp"
#include "kernels/cuda/event_timer.hpp"
#include "kernels/cuda/fill.hpp"
#include "kernels/cuda/loaded_library.hpp"
#include "kernels/cuda/nccl.hpp"
#include "kernels/cuda/probes.hpp"

namespace roofcast::kernels::cuda {
namespace {

constexpr auto kFamily = "collective";

// First guess of the host's queueing time; a recording that needs longer gets longer.
constexpr std::uint64_t kQueueNanoseconds = 50'000;
constexpr std::uint64_t kQueueNanosecondsPerCall = 15'000;  // per rank
constexpr std::uint64_t kMaxQueueNanoseconds = 200'000'000;

/// Events belong to a device.
EventTimer events_on(int device) {
  const DeviceGuard guard(device);
  return {};
}

class CallList final : public Recording {
 public:
  std::vector<Collective> calls{};
  std::uint64_t queue_nanoseconds = 0;  // that have sufficed, or will be tried next
};

class NcclGroup final : public DeviceGroup {
 public:
  NcclGroup(const std::vector<int>& devices, const LibraryPlaces& places)
      : devices_(devices), collectives_(devices, places), events_(events_on(devices.front())) {}

  int ranks() const override { return collectives_.ranks(); }

  void* allocate(int rank, std::size_t bytes) override {
    const DeviceGuard guard(device_of(rank));
    DeviceBuffer buffer(bytes);
    void* data = buffer.data();
    memory_.emplace(data, std::move(buffer));
    return data;
  }

  void release(int rank, void* data) noexcept override {
    cudaStreamSynchronize(collectives_.stream(rank));
    memory_.erase(data);
  }

  void fill_normal(int rank, void* data, Element element, std::int64_t count,
                   std::uint64_t seed) override {
    const DeviceGuard guard(device_of(rank));
    launch_fill_normal({.element = element, .data = data, .count = count, .seed = seed},
                       collectives_.stream(rank));
  }

  void launch(const Collective& collective) override {
    if (recorder_ != nullptr) {
      recorder_->calls.push_back(collective);
      return;
    }
    const auto& [kind, element, count, buffers] = collective;
    switch (kind) {
      case CollectiveKind::all_reduce:
        return collectives_.all_reduce(element, count, buffers);
      case CollectiveKind::all_gather:
        return collectives_.all_gather(element, count, buffers);
      case CollectiveKind::reduce_scatter:
        return collectives_.reduce_scatter(element, count, buffers);
      case CollectiveKind::all_to_all:
        return collectives_.all_to_all(element, count, buffers);
    }
  }

  void synchronize() override { collectives_.synchronize(); }

  std::unique_ptr<Recording> record(const std::function<void()>& launches) override {
    if (recorder_ != nullptr) throw std::logic_error("nested recording");
    auto list = std::make_unique<CallList>();
    recorder_ = list.get();
    try {
      launches();
    } catch (...) {
      recorder_ = nullptr;
      throw;
    }
    recorder_ = nullptr;
    require(!list->calls.empty(), kFamily, "a recording must contain a call");
    const std::uint64_t calls = list->calls.size() + 1;
    list->queue_nanoseconds =
        kQueueNanoseconds + kQueueNanosecondsPerCall * calls * devices_.size();
    return list;
  }

  /// Calls are queued one by one rather than captured as a graph: NCCL's guide says that in a
  /// process that drives several GPUs, a launch of captured calls may block before all of them are
  /// launched, and deadlock (NCCL 2.30 user guide, "Using NCCL with CUDA Graphs"). But a small call
  /// takes less time than one thread needs to queue it on eight GPUs. So a kernel that only waits
  /// is queued first on every stream, until all calls are queued; an event that has passed by then
  /// shows that the delay was too short. The first call is not counted: it synchronises ranks that
  /// started one after the other. After it, each rank waits for the others within the calls, so
  /// rank 0's events represent all.
  Sample replay(Recording& recording) override {
    auto& list = dynamic_cast<CallList&>(recording);
    while (!queue(list)) {
      if (list.queue_nanoseconds >= kMaxQueueNanoseconds) {
        throw std::runtime_error(
            "NCCL: calls cannot be queued ahead of the GPUs (CUDA_LAUNCH_BLOCKING prevents it)");
      }
      list.queue_nanoseconds *= 2;
    }
    constexpr double kMilli = 1e-3;
    Sample sample;
    sample.seconds = double{events_.milliseconds_between()} * kMilli;
    return sample;
  }

 private:
  int device_of(int rank) const { return devices_.at(static_cast<std::size_t>(rank)); }

  /// Runs the list and waits. Returns false if the GPUs did not wait for the host.
  bool queue(const CallList& list) {
    const DeviceGuard guard(device_of(0));
    for (int rank = 0; rank < ranks(); ++rank) {
      ROOFCAST_CUDA_CHECK(cudaSetDevice(device_of(rank)));
      launch_delay(list.queue_nanoseconds, collectives_.stream(rank));
    }
    launch(list.calls.front());
    ROOFCAST_CUDA_CHECK(cudaSetDevice(device_of(0)));
    events_.start(collectives_.stream(0));
    for (const Collective& call : list.calls) launch(call);
    events_.stop(collectives_.stream(0));
    const bool all_queued = !events_.started();
    synchronize();
    return all_queued;
  }

  std::vector<int> devices_;
  std::map<void*, DeviceBuffer> memory_{};  // outlives the streams that use it
  Collectives collectives_;
  EventTimer events_;
  CallList* recorder_ = nullptr;
};

std::vector<int> devices_like(int device) {
  int count = 0;
  ROOFCAST_CUDA_CHECK(cudaGetDeviceCount(&count));
  cudaDeviceProp own{};
  ROOFCAST_CUDA_CHECK(cudaGetDeviceProperties(&own, device));
  std::vector<int> alike = {device};
  for (int other = 0; other < count; ++other) {
    cudaDeviceProp properties{};
    if (other == device) continue;
    ROOFCAST_CUDA_CHECK(cudaGetDeviceProperties(&properties, other));
    const bool same = std::string(own.name) == properties.name &&
                      own.multiProcessorCount == properties.multiProcessorCount;
    if (same) alike.push_back(other);
  }
  return alike;
}

std::string name_of_device(int device) {
  cudaDeviceProp properties{};
  ROOFCAST_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  return properties.name;
}

}  // namespace

std::unique_ptr<DeviceGroup> make_nccl_group(const std::vector<int>& devices,
                                             const LibraryPlaces& places) {
  return std::make_unique<NcclGroup>(devices, places);
}

Peers nccl_peers(int device, const LibraryPlaces& places) {
  const std::vector<int> devices = devices_like(device);
  Peers peers{.devices = static_cast<int>(devices.size())};
  if (peers.devices < 2) {
    peers.why_not = "there is one " + name_of_device(device) + " in this machine";
    return peers;
  }
  try {
    peers.library = "NCCL " + nccl_version(places);
  } catch (const std::runtime_error& error) {
    peers.why_not = std::string(error.what()) +
                    "; NVIDIA's package libnccl2 has it, or put the folder of " +
                    nccl_name().files.front() + " on LD_LIBRARY_PATH";
    return peers;
  }
  peers.open = [devices, places](int ranks) {
    require(ranks >= 1 && ranks <= static_cast<int>(devices.size()), kFamily,
            "there must be a device for each rank");
    return make_nccl_group({devices.begin(), devices.begin() + ranks}, places);
  };
  return peers;
}

}  // namespace roofcast::kernels::cuda
