// Device memory that timed work runs on: random weights and KV in as many copies as make them cold,
// activations that stay where they are. Filled once and shared by all cases, because filling takes
// longer than timing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "calibrate/timer.hpp"
#include "kernels/backend.hpp"

namespace roofcast {

/// Equal pieces of a cold pool, one a copy.
struct ColdCopies {
  std::byte* first = nullptr;
  std::size_t stride = 0;
  int count = 1;

  void* at(int copy) const { return first + stride * static_cast<std::size_t>(copy); }
};

/// Pointers hold until the next begin_case(), as long as no second call asks for more of the same
/// kind and element. Throws Error when a case needs more than the limit.
class Operands {
 public:
  /// Takes at most `memory_limit` bytes of the device.
  Operands(kernels::Backend& backend, const TimingProtocol& protocol, double memory_limit);

  /// What was handed out before may go.
  void begin_case();

  /// `bytes` of random values that a call reads from memory, in copies that together exceed the
  /// cache as the protocol asks.
  ColdCopies cold(kernels::Element element, double bytes);
  /// The same, for a caller that counts copies itself.
  ColdCopies cold(kernels::Element element, double bytes, int copies);
  /// Copies that make `bytes` cold.
  int copies_for(double bytes) const;

  /// Random values that stay: what the operator before has just written.
  void* warm(kernels::Element element, double bytes);
  /// Memory that a call writes its result to, in as many places as the protocol asks, as far as all
  /// together are small beside large caches.
  ColdCopies written(int slot, double bytes);
  /// Memory for what passes within a call; `slot` tells apart what one call uses at the same time.
  void* scratch(int slot, double bytes);

  kernels::Backend& backend() const { return backend_; }
  const TimingProtocol& protocol() const { return protocol_; }
  double memory_limit() const { return memory_limit_; }

 private:
  using Pools = std::map<kernels::Element, kernels::Memory>;

  kernels::Memory& pool(Pools& pools, kernels::Element element, double bytes);
  kernels::Memory take(double bytes);
  double held() const;
  void fill(void* data, kernels::Element element, std::size_t bytes);

  kernels::Backend& backend_;
  TimingProtocol protocol_;
  double memory_limit_;
  Pools cold_{};
  Pools warm_{};
  std::map<int, kernels::Memory> scratch_{};
  std::set<kernels::Element> in_use_{};
};

/// A copy of host values on the device.
template <class T>
kernels::Memory uploaded(kernels::Backend& backend, const std::vector<T>& values) {
  kernels::Memory memory(backend, values.size() * sizeof(T));
  backend.upload(memory.data(), values.data(), memory.bytes());
  return memory;
}

}  // namespace roofcast
