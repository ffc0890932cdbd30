// Device memory for timed work: random weights and KV in enough copies to be cold, and activations
// that stay in place. Filled once and shared by all cases, because filling takes longer than
// timing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "calibrate/timer.hpp"
#include "kernels/backend.hpp"

namespace roofcast {

/// Equal pieces of a cold pool, one per copy.
struct ColdCopies {
  std::byte* first = nullptr;
  std::size_t stride = 0;
  int count = 1;

  void* at(int copy) const { return first + stride * static_cast<std::size_t>(copy); }
};

/// Pointers stay valid until the next begin_case(), unless a second call asks for more of the same
/// kind and element. Throws Error if a case needs more than the limit.
class Operands {
 public:
  /// Uses at most `memory_limit` bytes of the device.
  Operands(kernels::Backend& backend, const TimingProtocol& protocol, double memory_limit);

  /// Invalidates what was handed out before.
  void begin_case();

  /// `bytes` of random values that a call reads from memory, in copies that together exceed the
  /// cache by the protocol's factor.
  ColdCopies cold(kernels::Element element, double bytes);
  /// The same, with the number of copies given by the caller.
  ColdCopies cold(kernels::Element element, double bytes, int copies);
  /// Number of copies that make `bytes` cold.
  int copies_for(double bytes) const;

  /// Random values that stay warm, as if just written by the previous operator.
  void* warm(kernels::Element element, double bytes);
  /// Memory for a call's result, in as many places as the protocol asks for, while their total
  /// stays small compared with large caches.
  ColdCopies written(int slot, double bytes);
  /// Scratch memory within a call; `slot` distinguishes buffers that one call uses at the same
  /// time.
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

/// Copies host values to the device.
template <class T>
kernels::Memory uploaded(kernels::Backend& backend, const std::vector<T>& values) {
  kernels::Memory memory(backend, values.size() * sizeof(T));
  backend.upload(memory.data(), values.data(), memory.bytes());
  return memory;
}

}  // namespace roofcast
