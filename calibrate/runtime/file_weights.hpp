// The weights of a GGUF file on a device, each matrix in the format of its tensor.
#pragma once

#include <string>
#include <vector>

#include "calibrate/runtime/device_weights.hpp"
#include "calibrate/runtime/runnable_model.hpp"
#include "kernels/backend.hpp"
#include "model/io/gguf.hpp"

namespace roofcast::runtime {

/// Why the device cannot run the file's weights as they are stored: a format without a kernel
/// ("q5_k"), routed experts, tensors that are split or fused in another way, or a quantised matrix
/// on a device that multiplies none; empty if it can.
std::string why_not_as_stored(const kernels::Backend& backend, const GgufFile& file,
                              const RunnableModel& model);

/// Sets each matrix's format from its tensor, and the norms' epsilon and RoPE's base from the file.
/// Precondition: why_not_as_stored() is empty.
void take_formats(const GgufFile& file, RunnableModel& model);

/// Reads, converts and repacks every tensor that the model runs. Files of architecture llama have
/// the rows of queries and keys in the order of rotation by neighbouring pairs; they are put into
/// that of halves, which our kernels rotate. Throws Error naming a tensor that is missing or has
/// another size than the model. Precondition: take_formats() was called.
DeviceWeights file_weights(kernels::Backend& backend, const RunnableModel& model,
                           const GgufFile& file);

}  // namespace roofcast::runtime
