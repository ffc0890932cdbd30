// The weights of a runnable model on a device: random numbers whose variance preserves the
// magnitude of activations (LeCun et al., Efficient BackProp, 1998: 1 / inputs), or those of a GGUF
// file (calibrate/runtime/file_weights.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/runtime/runnable_model.hpp"
#include "kernels/backend.hpp"

namespace roofcast::runtime {

/// Outputs [first, first + outputs) of a matrix, in one format.
struct MatrixPart {
  MatrixFormat format{};
  int first = 0;
  int outputs = 0;
  kernels::Memory data{};  // [outputs, inputs], row-major; quantised: a PackedWeight
};

/// Matrices that are multiplied with the same input, their outputs side by side. Plain parts are
/// never beside others.
struct Matrix {
  int outputs = 0;
  int inputs = 0;
  std::vector<MatrixPart> parts{};  // none: the layer does not have it
};

/// What a matrix is made of, before it has data: neighbours of equal format become one part. Throws
/// Error where plain and quantised ones meet.
struct NamedFormat {
  MatrixFormat format{};
  int outputs = 0;
};
Matrix matrix_of(const std::vector<NamedFormat>& pieces, int inputs);

/// The matrices of a layer without data, in the order of LayerWeights' comments.
Matrix qkv_of(const RunnableModel& model, const RunnableLayer& layer);
Matrix attention_output_of(const RunnableModel& model, const RunnableLayer& layer);
Matrix block_in_of(const RunnableModel& model, const RunnableLayer& layer);
Matrix block_out_of(const RunnableModel& model, const RunnableLayer& layer);
Matrix lm_head_of(const RunnableModel& model);

/// Weights that a layer does not have are empty.
struct LayerWeights {
  kernels::Memory attention_norm;  // [hidden]
  Matrix qkv;                      // query + 2 kv width, from hidden
  Matrix attention_output;         // hidden, from query width
  kernels::Memory block_norm;      // [hidden]
  Matrix block_in;                 // intermediate, gated: 2 intermediate, from hidden
  Matrix block_out;                // hidden, from intermediate
  Matrix router;                   // experts, from hidden
  kernels::Memory experts_in;      // [experts, 2 intermediate, hidden]
  kernels::Memory experts_out;     // [experts, hidden, intermediate]
};

struct DeviceWeights {
  kernels::Memory embedding;  // [vocabulary, hidden]
  std::vector<LayerWeights> layers;
  kernels::Memory final_norm;  // [hidden]
  Matrix lm_head;              // vocabulary, from hidden
};

/// Equal seeds give equal weights on every backend, except for rounding.
DeviceWeights random_weights(kernels::Backend& backend, const RunnableModel& model,
                             std::uint64_t seed);

/// Bytes of workspace for products of `rows` rows with any quantised matrix of the model; 0: none.
std::size_t quantized_workspace_bytes(const RunnableModel& model, std::int64_t rows);

}  // namespace roofcast::runtime
