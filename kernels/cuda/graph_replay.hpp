// Launches recorded as a CUDA graph, replayed and timed by events and clock probes inside the
// graph, so that no host time is included.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "kernels/backend.hpp"
#include "kernels/cuda/clock_reading.hpp"

namespace roofcast::kernels::cuda {

/// An instantiated graph.
class Graph final : public Recording {
 public:
  explicit Graph(cudaGraphExec_t graph) : graph_(graph) {}
  ~Graph() override { cudaGraphExecDestroy(graph_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  cudaGraphExec_t get() const { return graph_; }

  double last_seconds = 0;  // of the last replay; 0: none yet

 private:
  cudaGraphExec_t graph_;
};

/// The events and readings shared by all graphs of one stream. Must outlive them.
class GraphTimer {
 public:
  GraphTimer(int multiprocessors, cudaStream_t stream);
  ~GraphTimer();
  GraphTimer(const GraphTimer&) = delete;
  GraphTimer& operator=(const GraphTimer&) = delete;

  /// Captures `launches`, which queues work on the stream, without executing it. Throws
  /// std::logic_error if nested, whatever `launches` throws, and CudaError.
  std::unique_ptr<Graph> record(const std::function<void()>& launches);

  /// Executes a graph once, waits, and returns the time of the recorded work.
  Sample replay(Graph& graph);

 private:
  void capture(const std::function<void()>& launches);

  int multiprocessors_;
  cudaStream_t stream_;
  bool recording_ = false;
  cudaEvent_t start_ = nullptr;  // inside the graphs, around the recorded work
  cudaEvent_t stop_ = nullptr;
  cudaEvent_t before_ = nullptr;  // around the graphs, for drivers that do not time those
  cudaEvent_t after_ = nullptr;
  ClockReading* readings_ = nullptr;  // in host memory that the GPU writes: before, then after
};

}  // namespace roofcast::kernels::cuda
