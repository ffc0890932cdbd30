// The weights of a runnable model on a device, filled with random numbers whose variance preserves
// the magnitude of activations (LeCun et al., Efficient BackProp, 1998: 1 / inputs).
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/runtime/runnable_model.hpp"
#include "kernels/backend.hpp"

namespace roofcast::runtime {

/// Matrices are [outputs, inputs], row-major. Weights that a layer does not have are empty.
struct LayerWeights {
  kernels::Memory attention_norm;    // [hidden]
  kernels::Memory qkv;               // [query + 2 kv width, hidden]
  kernels::Memory attention_output;  // [hidden, query width]
  kernels::Memory block_norm;        // [hidden]
  kernels::Memory block_in;          // [intermediate, hidden], gated: [2 intermediate, hidden]
  kernels::Memory block_out;         // [hidden, intermediate]
  kernels::Memory router;            // [experts, hidden]
  kernels::Memory experts_in;        // [experts, 2 intermediate, hidden]
  kernels::Memory experts_out;       // [experts, hidden, intermediate]
};

struct DeviceWeights {
  kernels::Memory embedding;  // [vocabulary, hidden]
  std::vector<LayerWeights> layers;
  kernels::Memory final_norm;  // [hidden]
  kernels::Memory lm_head;     // [vocabulary, hidden]
};

/// Equal seeds give equal weights on every backend, except for rounding.
DeviceWeights random_weights(kernels::Backend& backend, const RunnableModel& model,
                             std::uint64_t seed);

}  // namespace roofcast::runtime
