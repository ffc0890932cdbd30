// The seam between kernels and the code that times or runs them: one device (this machine's CPU, or
// one GPU), its memory, and every operator of a transformer on it. calibrate/ times what it
// launches; the small engine of calibrate/runtime runs a model with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/attention.hpp"
#include "kernels/device_group.hpp"
#include "kernels/gemm.hpp"
#include "kernels/quantized_gemm.hpp"
#include "kernels/recorder.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/token_operators.hpp"

namespace roofcast::kernels {

/// Where a kernel comes from. Sources of the same operator differ in speed by 2 to 10 times, so
/// every timing names its source.
enum class KernelSource { own, library };

/// Families that may have more than one source.
enum class KernelFamily {
  gemm,
  grouped_gemm,
  int4_gemm,
  quantized_gemm,
  prefill_attention,
  decode_attention,
  latent_decode,
  token_operators,  // norms, RoPE, activations, cache writes, embedding, sampling, routing
  copy,
};

/// Facts that the device reports about itself.
struct DeviceFacts {
  std::string name;          // "NVIDIA H200", "AMD EPYC 9654"
  std::string identity;      // a GPU's UUID; a CPU's model and the cores in use
  std::string vendor;        // "NVIDIA", "AMD", "Intel"
  std::string architecture;  // "sm_90", "avx512_bf16"
  int multiprocessors = 0;   // SMs, or worker threads
  std::int64_t memory_bytes = 0;
  std::int64_t free_memory_bytes = 0;
  std::int64_t cache_bytes = 0;  // a GPU's L2, a CPU's last level
  double clock_hz = 0;           // maximum; 0: unknown
  double memory_clock_hz = 0;    // 0: unknown
  int memory_bus_bits = 0;       // 0: unknown
  std::optional<double> power_limit_w;
  /// Physical peaks from the facts above (tables in the backend); absent: unknown.
  std::map<Element, double> peak_flops_per_s;
  std::optional<double> peak_bandwidth_bytes_per_s;
  std::map<std::string, std::string> versions;  // "driver", "cuBLASLt", "oneDNN" -> version
};

class Backend;

/// Owned device memory.
class Memory {
 public:
  Memory() = default;
  Memory(Backend& backend, std::size_t bytes);
  ~Memory();
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(Memory& other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  Backend* backend_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Launches run in order and may not have finished on return; synchronize() waits. A launch checks
/// its parameters (std::invalid_argument), neither allocates nor waits, and can be recorded. A
/// failed device call throws std::runtime_error.
class Backend : public Recorder {
 public:
  virtual const DeviceFacts& facts() const = 0;

  /// Searches for peers; none by default.
  virtual Peers peers() const { return {}; }

  /// The sources of a family on this device, preferred first, with the name that profiles show:
  /// "cuBLASLt 13.1", "oneDNN 2.6.3", "roofcast 0.1.0 split-KV". Empty if the family cannot run
  /// here.
  virtual std::vector<std::pair<KernelSource, std::string>> sources(KernelFamily family) const = 0;

  /// How a source's products divide their rows; unknown by default.
  virtual RowForm row_form(KernelFamily /*family*/, KernelSource /*source*/) const { return {}; }

  /// Whether a source can compute this problem (elements, sizes, head dim).
  virtual bool supports(const Gemm& gemm, KernelSource source) const = 0;
  virtual bool supports(const GroupedGemm& gemm, KernelSource source) const = 0;
  virtual bool supports(const Int4Gemm& gemm, KernelSource source) const = 0;
  /// Whether it has products of quantised weights (QuantizedGemm), of any shape; no by default.
  virtual bool multiplies_quantized() const { return false; }
  virtual bool supports(const PrefillAttention& attention, KernelSource source) const = 0;
  virtual bool supports(const DecodeAttention& attention, KernelSource source) const = 0;
  virtual bool supports(const LatentDecode& attention, KernelSource source) const = 0;

  // ---- memory: allocate() aligns to 256 bytes; copies return when they are done

  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* data) noexcept = 0;
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;
  /// Normally distributed values times `deviation` from the stream `seed`, rounded to the element;
  /// identical on every backend except for rounding.
  virtual void fill_normal(void* data, Element element, std::int64_t count, std::uint64_t seed,
                           float deviation) = 0;

  // ---- operators

  /// May time the source's algorithms for this shape and keep the fastest; call it before
  /// recording.
  virtual void prepare(const Gemm& gemm, KernelSource source) = 0;
  virtual void prepare(const PrefillAttention& attention, KernelSource source) = 0;

  virtual void launch(const Gemm& gemm, KernelSource source) = 0;
  virtual void launch(const GroupedGemm& gemm, KernelSource source) = 0;
  virtual void launch(const Int4Gemm& gemm, KernelSource source) = 0;
  /// Precondition: multiplies_quantized().
  virtual void launch_quantized(const QuantizedGemm& /*gemm*/) {
    throw std::invalid_argument("quantised GEMM: no kernel on " + facts().name);
  }
  virtual void launch(const PrefillAttention& attention, KernelSource source) = 0;
  virtual void launch(const DecodeAttention& attention, KernelSource source) = 0;
  virtual void launch(const LatentDecode& attention, KernelSource source) = 0;
  virtual void launch(const RmsNorm& norm) = 0;
  virtual void launch(const Embedding& embedding) = 0;
  virtual void launch(const Rope& rope) = 0;
  virtual void launch(const KvWrite& write) = 0;
  virtual void launch(const Activation& activation) = 0;
  virtual void launch(const Sampling& sampling) = 0;
  virtual void launch(const GatherRows& gather) = 0;
  virtual void launch(const Routing& routing) = 0;
  virtual void launch(const Combine& combine) = 0;
  /// Device to device: reads and writes `bytes` each; the ranges must not overlap.
  virtual void launch_copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Reads `bytes`, a multiple of 64, and writes nothing: the ceiling of whatever reads weights.
  /// False where the device has no such probe, as by default; nothing is launched then.
  virtual bool launch_read(const void* /*from*/, std::size_t /*bytes*/) { return false; }
  /// Repacks a stored weight of this shape for launch_quantized() (kernels/quantized_gemm.hpp).
  /// With `stored` null: random codes of stream `seed` whose values have about this deviation.
  virtual void pack_weight(const PackedWeight& /*shape*/, const void* /*stored*/,
                           const void* /*scales*/, std::uint64_t /*seed*/, float /*deviation*/,
                           void* /*packed*/) {
    throw std::invalid_argument("quantised GEMM: no kernel on " + facts().name);
  }
  /// An empty launch, to time its cost.
  virtual void launch_nothing() = 0;
};

inline Memory::Memory(Backend& backend, std::size_t bytes)
    : backend_(&backend), data_(bytes == 0 ? nullptr : backend.allocate(bytes)), bytes_(bytes) {}

inline Memory::~Memory() {
  if (data_ != nullptr) backend_->release(data_);
}

/// The CPU of this machine with `threads` worker threads (0: one per allowed core).
std::unique_ptr<Backend> make_cpu_backend(int threads);

}  // namespace roofcast::kernels
