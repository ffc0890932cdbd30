#include "kernels/cuda/graph_replay.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/probes.hpp"

namespace roofcast::kernels::cuda {
namespace {

constexpr std::size_t kReadings = kMaxMultiprocessors;

}  // namespace

GraphTimer::GraphTimer(int multiprocessors, cudaStream_t stream)
    : multiprocessors_(std::min(multiprocessors, kMaxMultiprocessors)), stream_(stream) {
  ROOFCAST_CUDA_CHECK(cudaHostAlloc(reinterpret_cast<void**>(&readings_),
                                    2 * kReadings * sizeof(ClockReading), cudaHostAllocMapped));
  ROOFCAST_CUDA_CHECK(cudaEventCreate(&start_));
  ROOFCAST_CUDA_CHECK(cudaEventCreate(&stop_));
  ROOFCAST_CUDA_CHECK(cudaEventCreate(&before_));
  ROOFCAST_CUDA_CHECK(cudaEventCreate(&after_));
}

GraphTimer::~GraphTimer() {
  for (const cudaEvent_t event : {start_, stop_, before_, after_}) cudaEventDestroy(event);
  cudaFreeHost(readings_);
}

void GraphTimer::capture(const std::function<void()>& launches) {
  // Events recorded as "external" become nodes that record the time whenever the graph executes.
  launch_clock_probe(readings_, multiprocessors_, stream_);
  ROOFCAST_CUDA_CHECK(cudaEventRecordWithFlags(start_, stream_, cudaEventRecordExternal));
  launches();
  ROOFCAST_CUDA_CHECK(cudaEventRecordWithFlags(stop_, stream_, cudaEventRecordExternal));
  launch_clock_probe(readings_ + kReadings, multiprocessors_, stream_);
}

std::unique_ptr<Graph> GraphTimer::record(const std::function<void()>& launches) {
  if (recording_) throw std::logic_error("nested recording");
  // Relaxed: a kernel's first launch loads it, which stricter modes do not allow during capture.
  ROOFCAST_CUDA_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
  recording_ = true;
  cudaGraph_t graph = nullptr;
  try {
    capture(launches);
  } catch (...) {
    recording_ = false;
    cudaStreamEndCapture(stream_, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();  // clears the error of an aborted capture
    throw;
  }
  recording_ = false;
  ROOFCAST_CUDA_CHECK(cudaStreamEndCapture(stream_, &graph));
  cudaGraphExec_t executable = nullptr;
  const cudaError_t code = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  ROOFCAST_CUDA_CHECK(code);
  auto recorded = std::make_unique<Graph>(executable);
  ROOFCAST_CUDA_CHECK(cudaGraphUpload(executable, stream_));
  return recorded;
}

Sample GraphTimer::replay(Graph& graph) {
  constexpr double kMilli = 1e-3;
  std::fill_n(readings_, 2 * kReadings, ClockReading{});
  ROOFCAST_CUDA_CHECK(cudaEventRecord(before_, stream_));
  ROOFCAST_CUDA_CHECK(cudaGraphLaunch(graph.get(), stream_));
  ROOFCAST_CUDA_CHECK(cudaEventRecord(after_, stream_));
  ROOFCAST_CUDA_CHECK(cudaStreamSynchronize(stream_));
  float milliseconds = 0;
  if (cudaEventElapsedTime(&milliseconds, start_, stop_) != cudaSuccess) {
    cudaGetLastError();
    ROOFCAST_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, before_, after_));
  }
  const std::span<const ClockReading> readings(readings_, 2 * kReadings);
  Sample sample;
  sample.seconds = double{milliseconds} * kMilli;
  sample.clock_hz = mean_clock_hz(readings.first(kReadings), readings.last(kReadings));
  graph.last_seconds = sample.seconds;
  return sample;
}

}  // namespace roofcast::kernels::cuda
