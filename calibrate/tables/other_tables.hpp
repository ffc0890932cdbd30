// Reads kernel tables that AMD and NVIDIA publish with their libraries.
//   AITER   ROCm/aiter's tuned tables (its configs folder, collected into one file of products and
//           one of experts): the best kernel that its tuner found for a shape, in microseconds, by
//           architecture and number of compute units
//   cuDNN   NVIDIA/cudnn-frontend's benchmark of attention: causal forward passes over prompts
#pragma once

#include <string>

#include "calibrate/tables/aiconfigurator.hpp"
#include "calibrate/tables/imported_rows.hpp"
#include "model/hardware/gpu.hpp"

namespace roofcast {

/// Adds the file's contents to `rows`: of AITER those for `gpu`'s architecture and number of units
/// (the MI300X's also for the MI325X, which is the same chip with faster memory), of cuDNN those
/// that are not another device's. Returns false, without effect, if the file is of neither kind.
/// Throws Error if it cannot be read.
bool read_other_table(const std::string& path, const Gpu& gpu, ImportedRows& rows,
                      const OtherDevice& other = {});

}  // namespace roofcast
