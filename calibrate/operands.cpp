#include "calibrate/operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/units.hpp"

namespace roofcast {

namespace {

using kernels::Element;

constexpr double kAlignment = 256;  // of every copy, like allocate()'s

// Only this much memory is filled with random values and then copied: copies differ in address,
// which is all that matters to a cache.
constexpr std::size_t kSeedBytes = std::size_t{16} << 20;

constexpr std::uint64_t kOperandSeed = 20251;

// Total for all places of one output: a larger output leaves any cache between uses anyway.
constexpr double kMaxWritten = 256e6;

/// Standard deviation of the values: chosen so that products of a few thousand stay in range and
/// int8 uses most of its range.
float deviation_of(Element element) { return element == Element::int8 ? 32.0F : 1.0F; }

double aligned_up(double bytes) {
  return kAlignment *
         static_cast<double>(static_cast<std::int64_t>((bytes + kAlignment - 1) / kAlignment));
}

}  // namespace

Operands::Operands(kernels::Backend& backend, const TimingProtocol& protocol, double memory_limit)
    : backend_(backend), protocol_(protocol), memory_limit_(memory_limit) {}

int Operands::copies_for(double bytes) const {
  const auto cache = static_cast<double>(backend_.facts().cache_bytes);
  return roofcast::copies_for(protocol_, aligned_up(bytes), cache, memory_limit_ / 2);
}

ColdCopies Operands::cold(Element element, double bytes) {
  return cold(element, bytes, copies_for(bytes));
}

ColdCopies Operands::cold(Element element, double bytes, int copies) {
  const double stride = aligned_up(bytes);
  return {.first = pool(cold_, element, stride * copies).as<std::byte>(),
          .stride = static_cast<std::size_t>(stride),
          .count = copies};
}

void* Operands::warm(Element element, double bytes) { return pool(warm_, element, bytes).data(); }

void* Operands::scratch(int slot, double bytes) {
  kernels::Memory& memory = scratch_[slot];
  if (static_cast<double>(memory.bytes()) < bytes) {
    memory = kernels::Memory();
    memory = take(bytes);
  }
  return memory.data();
}

ColdCopies Operands::written(int slot, double bytes) {
  const double stride = aligned_up(std::max(bytes, 1.0));
  const double fitting = std::floor(kMaxWritten / stride);
  const int places = std::clamp(static_cast<int>(fitting), 1, protocol_.written_places);
  return {.first = static_cast<std::byte*>(scratch(slot, stride * places)),
          .stride = static_cast<std::size_t>(stride),
          .count = places};
}

void Operands::begin_case() { in_use_.clear(); }

double Operands::held() const {
  std::size_t bytes = 0;
  for (const Pools* pools : {&cold_, &warm_}) {
    for (const auto& [element, memory] : *pools) bytes += memory.bytes();
  }
  for (const auto& [slot, memory] : scratch_) bytes += memory.bytes();
  return static_cast<double>(bytes);
}

/// Allocates within the limit, if necessary freeing pools that this case does not use.
kernels::Memory Operands::take(double bytes) {
  const double size = aligned_up(std::max(bytes, kAlignment));
  for (Pools* pools : {&cold_, &warm_}) {
    if (held() + size <= memory_limit_) break;
    std::erase_if(*pools, [&](const auto& pool) { return !in_use_.contains(pool.first); });
  }
  if (held() + size > memory_limit_) {
    throw Error(
        fmt::format("needs {:.1f} GiB of device memory in addition to {:.1f}; the limit is {:.1f}",
                    size / kGiB, held() / kGiB, memory_limit_ / kGiB));
  }
  return {backend_, static_cast<std::size_t>(size)};
}

kernels::Memory& Operands::pool(Pools& pools, Element element, double bytes) {
  in_use_.insert(element);
  kernels::Memory& memory = pools[element];
  if (static_cast<double>(memory.bytes()) >= bytes && memory.bytes() > 0) return memory;
  memory = kernels::Memory();
  memory = take(bytes);
  fill(memory.data(), element, memory.bytes());
  return memory;
}

void Operands::fill(void* data, Element element, std::size_t bytes) {
  const std::size_t seed_bytes = std::min(bytes, kSeedBytes);
  const auto count = static_cast<std::int64_t>(seed_bytes / kernels::size_of(element));
  backend_.fill_normal(data, element, count, kOperandSeed, deviation_of(element));
  auto* first = static_cast<std::byte*>(data);
  for (std::size_t done = seed_bytes; done < bytes;) {
    const std::size_t next = std::min(done, bytes - done);
    backend_.launch_copy(first + done, first, next);
    done += next;
  }
  backend_.synchronize();
}

}  // namespace roofcast
