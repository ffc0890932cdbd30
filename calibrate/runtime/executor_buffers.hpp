// Device memory of an executor in addition to its weights: step inputs, activations, KV cache.
// Internal to executor.cpp.
#pragma once

#include <vector>

#include "calibrate/runtime/executor.hpp"

namespace roofcast::runtime {

struct Executor::Buffers {
  Buffers(kernels::Backend& backend, const RunnableModel& model, const ExecutorLimits& limits);

  /// Attention inputs of one kind of sequence in a step.
  struct Group {
    kernels::Memory length;      // [sequences]
    kernels::Memory page_table;  // [sequences, pages_per_sequence]
  };

  // Inputs of a step, and its results.
  kernels::Memory token, position, slot;  // [rows]
  kernels::Memory first_query;            // [sequences + 1]
  Group prompts, decodes;
  kernels::Memory sampled_row, next_token;  // [sequences]
  // Activations.
  kernels::Memory residual, normed;     // [rows, hidden]
  kernels::Memory qkv;                  // [rows, widest qkv]
  kernels::Memory attended;             // [rows, widest queries]
  kernels::Memory block_in, block_mid;  // [rows, widest]
  kernels::Memory block_out;            // [rows, hidden]
  kernels::Memory gathered;             // [sequences, hidden]
  kernels::Memory logits;               // [sequences, vocabulary]
  kernels::Memory attention_workspace, sampling_workspace, quantized_workspace;
  // Routed experts.
  kernels::Memory router_logits;                  // [rows, experts]
  kernels::Memory first_row;                      // [experts + 1]
  kernels::Memory source, place, routing_weight;  // [rows * choices]
  kernels::Memory routing_workspace;
  kernels::Memory expert_rows, experts_in, experts_mid, experts_out;  // [rows * choices, ...]
  // Rotation tables by head size, and caches by layer.
  struct Rotation {
    int head_dim = 0;
    kernels::Memory cosine, sine;
  };
  std::vector<Rotation> rotations;
  std::vector<kernels::Memory> keys, values;

  const Rotation* rotation_of(int head_dim) const;
};

}  // namespace roofcast::runtime
