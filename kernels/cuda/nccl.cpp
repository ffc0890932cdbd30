#include "kernels/cuda/nccl.hpp"

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <utility>

#include "kernels/check.hpp"
#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/device_guard.hpp"

namespace roofcast::kernels::cuda {
namespace {

constexpr auto kFamily = "collective";

// Declarations of NCCL's C interface (NCCL user guide, "NCCL API"), whose header is not in the CUDA
// toolkit: a result where 0 is success, and data types and operations by number.
struct OpaqueCommunicator;
using Communicator = OpaqueCommunicator*;
using Result = int;
constexpr Result kSuccess = 0;
constexpr int kSum = 0;

struct Library {
  LoadedLibrary library;
  Result (*get_version)(int*) = library.function<Result(int*)>("ncclGetVersion");
  const char* (*error_string)(Result) = library.function<const char*(Result)>("ncclGetErrorString");
  Result (*init_all)(Communicator*, int, const int*) =
      library.function<Result(Communicator*, int, const int*)>("ncclCommInitAll");
  Result (*destroy)(Communicator) = library.function<Result(Communicator)>("ncclCommDestroy");
  Result (*abort)(Communicator) = library.function<Result(Communicator)>("ncclCommAbort");
  Result (*group_start)() = library.function<Result()>("ncclGroupStart");
  Result (*group_end)() = library.function<Result()>("ncclGroupEnd");
  // input, output, elements, data type, operation, communicator, stream
  using Reduce = Result(const void*, void*, std::size_t, int, int, Communicator, cudaStream_t);
  Reduce* all_reduce = library.function<Reduce>("ncclAllReduce");
  Reduce* reduce_scatter = library.function<Reduce>("ncclReduceScatter");
  using Gather = Result(const void*, void*, std::size_t, int, Communicator, cudaStream_t);
  Gather* all_gather = library.function<Gather>("ncclAllGather");
  // data, elements, data type, peer, communicator, stream
  using Send = Result(const void*, std::size_t, int, int, Communicator, cudaStream_t);
  using Receive = Result(void*, std::size_t, int, int, Communicator, cudaStream_t);
  Send* send = library.function<Send>("ncclSend");
  Receive* receive = library.function<Receive>("ncclRecv");

  void check(Result result, const char* what) const {
    if (result == kSuccess) return;
    throw std::runtime_error(std::string("NCCL: ") + what + " failed: " + error_string(result));
  }
};

Library open_library(const LibraryPlaces& places) { return {.library = {nccl_name(), places}}; }

/// ncclDataType_t
int data_type(Element element) {
  switch (element) {
    case Element::int8:
      return 0;
    case Element::fp16:
      return 6;
    case Element::fp32:
      return 7;
    case Element::bf16:
      return 9;
    case Element::fp8_e4m3:
      break;
  }
  return 10;
}

}  // namespace

std::string nccl_version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::string nccl_version(const LibraryPlaces& places) {
  const Library library = open_library(places);
  int version = 0;
  library.check(library.get_version(&version), "ncclGetVersion");
  return nccl_version_text(version);
}

struct Collectives::Implementation {
  Library library;
  std::vector<int> devices;
  std::vector<Communicator> communicators{};
  std::vector<cudaStream_t> streams{};

  Implementation(std::vector<int> devices_in, const LibraryPlaces& places)
      : library(open_library(places)), devices(std::move(devices_in)) {
    require(!devices.empty(), kFamily, "at least one device must be given");
    const DeviceGuard guard;
    try {
      start();
    } catch (...) {
      stop();
      throw;
    }
  }
  ~Implementation() { stop(); }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  void start() {
    std::vector<Communicator> made(devices.size());
    library.check(library.init_all(made.data(), static_cast<int>(devices.size()), devices.data()),
                  "ncclCommInitAll");
    communicators = made;
    for (const int device : devices) {
      ROOFCAST_CUDA_CHECK(cudaSetDevice(device));
      cudaStream_t stream = nullptr;
      ROOFCAST_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      streams.push_back(stream);
    }
  }

  void stop() noexcept {
    bool done = true;
    for (const cudaStream_t stream : streams) {
      done = cudaStreamSynchronize(stream) == cudaSuccess && done;
      cudaStreamDestroy(stream);
    }
    // Destroying would wait for calls that never finish on a lost device.
    for (const Communicator communicator : communicators) {
      done ? library.destroy(communicator) : library.abort(communicator);
    }
  }

  /// Runs call(rank) for each rank as one operation.
  template <class Call>
  void as_group(std::size_t buffers, std::int64_t count, const char* what, const Call& call) {
    require(buffers == devices.size(), kFamily, "there must be buffers for each rank");
    require(count >= 0, kFamily, "the count must not be negative");
    library.check(library.group_start(), "ncclGroupStart");
    Result result = kSuccess;
    for (std::size_t rank = 0; rank < buffers && result == kSuccess; ++rank) {
      result = call(rank);
    }
    const Result ended = library.group_end();
    library.check(result == kSuccess ? ended : result, what);
  }

  /// Sends part `s` of a rank's input to rank s, and receives the same amount from it.
  Result exchange(Element element, std::int64_t count, const RankBuffers& buffers,
                  std::size_t rank) {
    const auto elements = static_cast<std::size_t>(count);
    const std::size_t bytes = elements * size_of(element);
    Result result = kSuccess;
    for (std::size_t other = 0; other < devices.size() && result == kSuccess; ++other) {
      const auto* from = static_cast<const char*>(buffers.input) + other * bytes;
      auto* to = static_cast<char*>(buffers.output) + other * bytes;
      const int peer = static_cast<int>(other);
      result = library.send(from, elements, data_type(element), peer, communicators[rank],
                            streams[rank]);
      if (result != kSuccess) break;
      result = library.receive(to, elements, data_type(element), peer, communicators[rank],
                               streams[rank]);
    }
    return result;
  }
};

Collectives::Collectives(std::vector<int> devices, const LibraryPlaces& places)
    : implementation_(std::make_unique<Implementation>(std::move(devices), places)) {}

Collectives::~Collectives() = default;

int Collectives::ranks() const { return static_cast<int>(implementation_->devices.size()); }

CUstream_st* Collectives::stream(int rank) const {
  return implementation_->streams.at(static_cast<std::size_t>(rank));
}

void Collectives::all_reduce(Element element, std::int64_t count,
                             const std::vector<RankBuffers>& buffers) {
  Implementation& all = *implementation_;
  all.as_group(buffers.size(), count, "ncclAllReduce", [&](std::size_t rank) {
    return all.library.all_reduce(buffers[rank].input, buffers[rank].output,
                                  static_cast<std::size_t>(count), data_type(element), kSum,
                                  all.communicators[rank], all.streams[rank]);
  });
}

void Collectives::all_gather(Element element, std::int64_t count,
                             const std::vector<RankBuffers>& buffers) {
  Implementation& all = *implementation_;
  all.as_group(buffers.size(), count, "ncclAllGather", [&](std::size_t rank) {
    return all.library.all_gather(buffers[rank].input, buffers[rank].output,
                                  static_cast<std::size_t>(count), data_type(element),
                                  all.communicators[rank], all.streams[rank]);
  });
}

void Collectives::reduce_scatter(Element element, std::int64_t count,
                                 const std::vector<RankBuffers>& buffers) {
  Implementation& all = *implementation_;
  all.as_group(buffers.size(), count, "ncclReduceScatter", [&](std::size_t rank) {
    return all.library.reduce_scatter(buffers[rank].input, buffers[rank].output,
                                      static_cast<std::size_t>(count), data_type(element), kSum,
                                      all.communicators[rank], all.streams[rank]);
  });
}

void Collectives::all_to_all(Element element, std::int64_t count,
                             const std::vector<RankBuffers>& buffers) {
  Implementation& all = *implementation_;
  all.as_group(buffers.size(), count, "ncclSend and ncclRecv",
               [&](std::size_t rank) { return all.exchange(element, count, buffers[rank], rank); });
}

void Collectives::synchronize() {
  for (const cudaStream_t stream : implementation_->streams) {
    ROOFCAST_CUDA_CHECK(cudaStreamSynchronize(stream));
  }
}

}  // namespace roofcast::kernels::cuda
