// Kernel tables in the columns of NVIDIA's aiconfigurator (ai-dynamo/aiconfigurator,
// systems/data/*/*/*.parquet, as CSV). Latencies are milliseconds, message sizes elements of two
// bytes, and the context of decode attention is step + isl.
//   gemm            one product; n outputs, k inputs
//   attention       context: single prompts; generation: batches of equal context
//   moe             a layer's experts; balanced tokens, else the mildest power law
//   generation MLA  the kernel alone; tables of whole modules hold projections too
//   collectives     the engine's own all-reduce inside graphs, and NCCL
#pragma once

#include <string>

#include "calibrate/tables/imported_rows.hpp"

namespace roofcast {

/// Adds what the file holds to `rows`. Throws Error when it is no table of these, naming what is
/// missing.
void read_aiconfigurator(const std::string& path, ImportedRows& rows);

}  // namespace roofcast
