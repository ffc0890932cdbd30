// GPUs with round numbers, and deployments without engine defaults, for step-time tests.
#pragma once

#include <utility>

#include "model/deployment.hpp"

namespace roofcast::test {

/// 100 TFLOP/s, 1 TB/s (ridge at 100 FLOP per byte), no L2 cache, no efficiency curves.
inline Gpu round_gpu() {
  Gpu gpu;
  gpu.name = "round";
  gpu.compute_capability = "1.0";  // no CPU
  gpu.memory = Bytes{80e9};
  gpu.memory_visible = Bytes{80e9};
  gpu.memory_bandwidth = BytesPerSecond{1e12};
  gpu.multiprocessors = 100;
  gpu.dense_peak = {{DType::fp32, FlopsPerSecond{50e12}}, {DType::bf16, FlopsPerSecond{100e12}}};
  gpu.peer = Link{.name = "peer", .bandwidth = BytesPerSecond{100e9}, .latency = Seconds{10e-6}};
  gpu.network = Link{.name = "net", .bandwidth = BytesPerSecond{10e9}, .latency = Seconds{20e-6}};
  gpu.floors = {.gemm = Seconds{4e-6},
                .attention = Seconds{10e-6},
                .memory_bound = Seconds{2e-6},
                .all_reduce = Seconds{5e-6}};
  return gpu;
}

/// An engine that adds nothing: no host time, no graphs, no launch latency.
inline Engine bare_engine() {
  Engine engine;
  engine.name = "bare";
  engine.max_num_batched_tokens = 2048;
  engine.graph_batch_sizes = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1 << 20};
  engine.host = {.step_base = Seconds{},
                 .per_sequence = Seconds{},
                 .output_base = Seconds{},
                 .output_per_sequence = Seconds{},
                 .graph_launch = Seconds{},
                 .per_request = Seconds{},
                 .per_prompt_token = Seconds{}};
  return engine;
}

inline Deployment deployment_of(Transformer model, Gpu gpu, Parallelism parallel = {}) {
  return {.model = std::move(model),
          .gpu = std::move(gpu),
          .parallel = parallel,
          .engine = bare_engine()};
}

}  // namespace roofcast::test
