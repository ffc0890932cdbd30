// Reads kernel tables in the format of NVIDIA's aiconfigurator (ai-dynamo/aiconfigurator,
// systems/data/*/*/*.parquet, as CSV). Latencies are in milliseconds, message sizes in elements of
// two bytes, and the context of decode attention is step + isl.
//   gemm            one product; n outputs, k inputs
//   attention       context: batches of equal prompts; generation: batches of equal context
//   moe             a layer's experts, picked evenly or by a power law, spread over ranks or not
//   MLA             the kernel alone, and its absorbed products
//   modules         whole attention blocks: latent, sparse and DeepSeek-V4's
//   gdn, mamba2     a row for each kernel of a recurrent mixer
//   quantize        of activations to fp8
//   collectives     the engine's own all-reduce inside graphs, and NCCL
#pragma once

#include <functional>
#include <string>

#include "calibrate/tables/imported_rows.hpp"

namespace roofcast {

/// Whether rows of the device of that name are of no use here.
using OtherDevice = std::function<bool(const std::string& device)>;

/// Adds the file's contents to `rows`; those of another device are left out. Throws Error if it is
/// not one of these tables, naming its columns.
void read_aiconfigurator(const std::string& path, ImportedRows& rows,
                         const OtherDevice& other = {});

}  // namespace roofcast
