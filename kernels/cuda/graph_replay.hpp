// Launches recorded as a CUDA graph, replayed and timed by events and clock probes that are part of
// the graph: no time of the host lies between them.
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

/// The events and readings that all graphs of one stream share, and which must outlive them.
class GraphTimer {
 public:
  GraphTimer(int multiprocessors, cudaStream_t stream);
  ~GraphTimer();
  GraphTimer(const GraphTimer&) = delete;
  GraphTimer& operator=(const GraphTimer&) = delete;

  /// Runs `launches`, which queue work on the stream, without executing it. Throws std::logic_error
  /// within itself, what `launches` throws, and CudaError.
  std::unique_ptr<Graph> record(const std::function<void()>& launches);

  /// Executes a graph once, waits, and says how long what was recorded took.
  Sample replay(Graph& graph);

 private:
  void capture(const std::function<void()>& launches);

  int multiprocessors_;
  cudaStream_t stream_;
  bool recording_ = false;
  cudaEvent_t start_ = nullptr;  // within the graphs, around what was recorded
  cudaEvent_t stop_ = nullptr;
  cudaEvent_t before_ = nullptr;  // around the graphs, where a driver does not time those
  cudaEvent_t after_ = nullptr;
  ClockReading* readings_ = nullptr;  // in host memory that the GPU writes: before, then after
};

}  // namespace roofcast::kernels::cuda
