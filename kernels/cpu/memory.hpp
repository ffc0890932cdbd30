// Moving and filling memory with all threads of a pool.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/thread_pool.hpp"
#include "kernels/element.hpp"

namespace roofcast::kernels::cpu {

/// Memory whose every page exists: unwritten pages all read from one page of zeros, in the cache.
/// Aligned to 256 bytes, large blocks to and on huge pages where the system gives them. Throws
/// std::runtime_error when there is not enough.
void* allocate(std::size_t bytes, ThreadPool& pool);
void release(void* data) noexcept;

/// `bytes` read and as many written. Large copies go past the caches, as in STREAM (McCalpin,
/// 1995) with non-temporal stores: a line that is written is not read first. No overlap.
void copy(void* to, const void* from, std::size_t bytes, ThreadPool& pool);

/// kernels/normal_values.hpp times `deviation`, rounded to the element.
void fill_normal(void* data, Element element, std::int64_t count, std::uint64_t seed,
                 float deviation, ThreadPool& pool);

}  // namespace roofcast::kernels::cpu
