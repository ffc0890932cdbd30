#include "kernels/cpu/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/normal_values.hpp"

namespace roofcast::kernels::cpu {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::int64_t kPieceBytes = 64 << 10;                // justifies another thread
constexpr std::size_t kStreamedBytes = std::size_t{1} << 20;  // more than a core's L2 would hold

/// Copies in lines of 64 bytes, then the rest. `to` must be aligned to 16 bytes.
void copy_past_caches(char* to, const char* from, std::int64_t bytes) {
#ifdef __SSE2__
  constexpr std::int64_t kLine = 64;
  std::int64_t i = 0;
  for (; i + kLine <= bytes; i += kLine) {
    for (std::int64_t j = i; j < i + kLine; j += 16) {
      const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + j));
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + j), value);
    }
  }
  _mm_sfence();
  std::memcpy(to + i, from + i, static_cast<std::size_t>(bytes - i));
#else
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
#endif
}

/// Four lines of memory at a time, in as many sums that do not wait for each other.
ROOFCAST_CLONES std::uint64_t read_words(const std::uint64_t* from, std::int64_t count) {
  constexpr std::int64_t kWords = 32;
  std::uint64_t sums[kWords] = {};
  std::int64_t i = 0;
  for (; i + kWords <= count; i += kWords) {
    for (std::int64_t j = 0; j < kWords; ++j) sums[j] ^= from[i + j];
  }
  for (; i < count; ++i) sums[0] ^= from[i];
  std::uint64_t all = 0;
  for (const std::uint64_t sum : sums) all ^= sum;
  return all;
}

template <class T>
ROOFCAST_CLONES void fill_pairs(T* data, std::int64_t begin, std::int64_t end, std::uint64_t seed,
                                float deviation) {
  for (std::int64_t pair = begin; pair < end; ++pair) {
    const NormalPair values = normal_pair(seed, static_cast<std::uint64_t>(pair));
    data[2 * pair] = from_float<T>(values.first * deviation);
    data[2 * pair + 1] = from_float<T>(values.second * deviation);
  }
}

template <class T>
void fill(T* data, std::int64_t count, std::uint64_t seed, float deviation, ThreadPool& pool) {
  constexpr std::int64_t kGrain = 4096;
  pool.for_ranges(count / 2, kGrain, [&](std::int64_t begin, std::int64_t end) {
    fill_pairs(data, begin, end, seed, deviation);
  });
  if (count % 2 == 0) return;
  const NormalPair last = normal_pair(seed, static_cast<std::uint64_t>(count / 2));
  data[count - 1] = from_float<T>(last.first * deviation);
}

/// What release() needs to know, in the bytes before those that the caller has.
struct Block {
  void* start = nullptr;
  std::size_t mapped = 0;  // bytes; 0: from the heap
};
static_assert(sizeof(Block) <= kAlignment);

char* noted(char* data, const Block& block) {
  std::memcpy(data - sizeof block, &block, sizeof block);
  return data;
}

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// nullptr: not enough.
char* take_from_heap(std::size_t bytes) {
  auto* start = static_cast<char*>(std::aligned_alloc(kAlignment, bytes + kAlignment));
  return start == nullptr ? nullptr : noted(start + kAlignment, {.start = start});
}

/// A mapping of its own: memory that the heap gives again has small pages where it was touched
/// before, and keeps them. (Of 2.3 GB of weights and buffers that were loaded from a file, huge
/// pages held 1.2 GB.) nullptr: not enough.
char* map_huge(std::size_t bytes) {
  const std::size_t mapped = bytes + kHugePage;  // room to align, and for the note
  void* start = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  auto* data =
      static_cast<char*>(start) + (rounded_up(address + sizeof(Block), kHugePage) - address);
  madvise(data, bytes, MADV_HUGEPAGE);  // a hint only
  return noted(data, {.start = start, .mapped = mapped});
}

/// Linux grants more memory than exists and kills the program when it touches too much of it.
void check_free(std::size_t bytes) {
  const auto free_bytes = static_cast<std::size_t>(free_memory_bytes());
  if (free_bytes == 0 || bytes <= free_bytes) return;
  throw std::runtime_error("not enough memory for " + std::to_string(bytes) + " bytes, " +
                           std::to_string(free_bytes) + " are free");
}

}  // namespace

void* allocate(std::size_t bytes, ThreadPool& pool) {
  const bool large = bytes >= kHugePage;
  if (large) check_free(bytes);
  const std::size_t alignment = large ? kHugePage : kAlignment;
  const std::size_t rounded = rounded_up(std::max<std::size_t>(bytes, 1), alignment);
  char* const data = large ? map_huge(rounded) : take_from_heap(rounded);
  if (data == nullptr) {
    throw std::runtime_error("not enough memory for " + std::to_string(bytes) + " bytes");
  }
  const auto pages = static_cast<std::int64_t>(rounded_up(rounded, kPage) / kPage);
  pool.for_ranges(pages, kHugePage / kPage, [data](std::int64_t begin, std::int64_t end) {
    for (std::int64_t page = begin; page < end; ++page) {
      data[static_cast<std::size_t>(page) * kPage] = 0;
    }
  });
  return data;
}

void release(void* data) noexcept {
  if (data == nullptr) return;
  Block block;
  std::memcpy(&block, static_cast<char*>(data) - sizeof block, sizeof block);
  if (block.mapped > 0) {
    munmap(block.start, block.mapped);
  } else {
    std::free(block.start);
  }
}

void copy(void* to, const void* from, std::size_t bytes, ThreadPool& pool) {
  auto* const target = static_cast<char*>(to);
  const auto* const source = static_cast<const char*>(from);
  const bool streamed =
      bytes >= kStreamedBytes && reinterpret_cast<std::uintptr_t>(target) % 16 == 0;
  pool.for_ranges(
      static_cast<std::int64_t>(bytes), kPieceBytes, [=](std::int64_t begin, std::int64_t end) {
        if (streamed) return copy_past_caches(target + begin, source + begin, end - begin);
        std::memcpy(target + begin, source + begin, static_cast<std::size_t>(end - begin));
      });
}

std::uint64_t read(const void* from, std::size_t bytes, ThreadPool& pool) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  constexpr std::int64_t kGrain = kPieceBytes / static_cast<std::int64_t>(kWord);
  std::atomic<std::uint64_t> all{0};
  pool.for_ranges(static_cast<std::int64_t>(bytes / kWord), kGrain,
                  [&](std::int64_t begin, std::int64_t end) {
                    all ^= read_words(static_cast<const std::uint64_t*>(from) + begin, end - begin);
                  });
  return all;
}

void fill_normal(void* data, Element element, std::int64_t count, std::uint64_t seed,
                 float deviation, ThreadPool& pool) {
  switch (element) {
    case Element::fp32:
      return fill(static_cast<float*>(data), count, seed, deviation, pool);
    case Element::fp16:
      return fill(static_cast<Fp16*>(data), count, seed, deviation, pool);
    case Element::bf16:
      return fill(static_cast<Bf16*>(data), count, seed, deviation, pool);
    case Element::fp8_e4m3:
      return fill(static_cast<Fp8E4M3*>(data), count, seed, deviation, pool);
    case Element::int8:
      return fill(static_cast<std::int8_t*>(data), count, seed, deviation, pool);
  }
}

}  // namespace roofcast::kernels::cpu
