// Moves and fills memory with all threads of a pool.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/thread_pool.hpp"
#include "kernels/element.hpp"

namespace roofcast::kernels::cpu {

/// Allocates memory and touches every page: unwritten pages would all read from one cached page of
/// zeros. Aligned to 256 bytes; large blocks are aligned to huge pages and use them if the system
/// provides them. Throws std::runtime_error if there is not enough.
void* allocate(std::size_t bytes, ThreadPool& pool);
void release(void* data) noexcept;

/// Reads and writes `bytes` each. Large copies bypass the caches with non-temporal stores, as in
/// STREAM (McCalpin, 1995): a written line is not read first. The ranges must not overlap.
void copy(void* to, const void* from, std::size_t bytes, ThreadPool& pool);

/// Reads `bytes`, a multiple of 64, and writes nothing: what products with few rows can reach at
/// best. Returns the bitwise difference of all words, so that the reads are needed.
std::uint64_t read(const void* from, std::size_t bytes, ThreadPool& pool);

/// kernels/normal_values.hpp times `deviation`, rounded to the element.
void fill_normal(void* data, Element element, std::int64_t count, std::uint64_t seed,
                 float deviation, ThreadPool& pool);

}  // namespace roofcast::kernels::cpu
