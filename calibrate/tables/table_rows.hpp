// What all of aiconfigurator's tables share: names of formats and kernels, and rows of one time.
// Internal to calibrate/tables/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "calibrate/tables/imported_rows.hpp"
#include "calibrate/tables/table_file.hpp"

namespace roofcast {

inline constexpr double kMicroseconds = 1e-6, kMilliseconds = 1e-3;  // in seconds

inline constexpr const char* kNoNumber = "a size or time is not a number in its range";

/// 80 % interval of the difference between GPUs of one type: medians of 1 % to 3 % and p90 of 4 %
/// to 12 % between two collections of one table on two H200.
inline constexpr double kSpread = 0.05;

/// Our name of a table's number format.
std::optional<std::string> format_of(const std::string& name);

/// The element type of a table's KV cache.
std::optional<DType> cache_of(const std::string& name);

/// "vLLM" for "VLLM"; others as they are.
std::string framework_of(const std::string& name);

/// "vLLM 0.24.0", of the row.
std::string engine_of(const TableFile& table);

/// "vllm_flash_attn_fa3, vLLM 0.24.0", of the row.
std::string kernel_of(const TableFile& table);

/// A point at (x, y) with the row's latency, which is in milliseconds.
void add_row(const TableFile& table, OperatorShape shape, const std::string& kernel, double x,
             double y, ImportedRows& rows);

/// Leaves the row out because of a size or time that is none.
void refuse_number(const TableFile& table, ImportedRows& rows);

// Kinds of tables with operators of their own.

/// Whole attention blocks (mla, dsa and dsv4 modules; DeepEP's attention).
void read_block(const TableFile& table, ImportedRows& rows);

/// Kernels within sparse attention blocks, which were also timed whole.
void read_block_part(const TableFile& table, ImportedRows& rows);

/// The batched products of absorbed latent attention.
void read_latent_product(const TableFile& table, ImportedRows& rows);

/// Convolution, scan and update of gated delta nets and of Mamba-2.
void read_gated_delta(const TableFile& table, ImportedRows& rows);
void read_mamba2(const TableFile& table, ImportedRows& rows);

/// Quantisation of activations to fp8: with a known scale, and what finding it adds.
void read_quantisation(const TableFile& table, ImportedRows& rows);

}  // namespace roofcast
