// The CPU as a device: a launch computes immediately, or is appended to the list that is being
// recorded. A kernel has finished when its launch returns, so there is nothing to wait for.
#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "kernels/backend.hpp"
#include "kernels/check.hpp"
#include "kernels/cpu/attention.hpp"
#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/isa.hpp"
#include "kernels/cpu/library_gemm.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/memory.hpp"
#include "kernels/cpu/quantized_gemm.hpp"
#include "kernels/cpu/rms_norm.hpp"
#include "kernels/cpu/thread_pool.hpp"
#include "kernels/cpu/token_operators.hpp"

namespace roofcast::kernels {
namespace {

class CallList final : public Recording {
 public:
  std::vector<std::function<void()>> calls{};
};

/// Rows of `row_bytes` bytes that justify another thread: what one moves in a few microseconds.
std::int64_t grain_of(double row_bytes) {
  constexpr double kPieceBytes = 64 << 10;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(kPieceBytes / row_bytes));
}

void require_own(KernelSource source, std::string_view family) {
  require(source == KernelSource::own, family, "the CPU has only Roofcast's kernels");
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(int threads)
      : pool_(threads),
        library_(pool_),
        facts_(cpu::machine_facts(pool_.threads(), pool_.cores(), isa_)) {
    if (!library_.name().empty()) facts_.versions["oneDNN"] = library_.version();
  }

  const DeviceFacts& facts() const override { return facts_; }

  std::vector<std::pair<KernelSource, std::string>> sources(KernelFamily family) const override {
    const std::string own = "roofcast " ROOFCAST_VERSION " " + std::string(name_of(isa_));
    if (family == KernelFamily::gemm && !library_.name().empty()) {
      return {{KernelSource::library, library_.name()}, {KernelSource::own, own}};
    }
    if (family == KernelFamily::quantized_gemm) {
      return {
          {KernelSource::own, "roofcast " ROOFCAST_VERSION " " + std::string(name_of(dot_isa_))}};
    }
    return {{KernelSource::own, own}};
  }

  RowForm row_form(KernelFamily family, KernelSource source) const override {
    if (source != KernelSource::own) return {};
    if (family == KernelFamily::quantized_gemm) return cpu::quantized_row_form(dot_isa_);
    const bool products = family == KernelFamily::gemm || family == KernelFamily::int4_gemm;
    return products ? cpu::gemm_row_form() : RowForm{};
  }

  bool supports(const Gemm& gemm, KernelSource source) const override {
    return source == KernelSource::own || library_.supports(gemm);
  }
  bool supports(const GroupedGemm& /*gemm*/, KernelSource source) const override {
    return source == KernelSource::own;
  }
  bool supports(const Int4Gemm& /*gemm*/, KernelSource source) const override {
    return source == KernelSource::own;
  }
  bool multiplies_quantized() const override { return true; }
  bool supports(const PrefillAttention& attention, KernelSource source) const override {
    return source == KernelSource::own && cpu::supported(attention);
  }
  bool supports(const DecodeAttention& attention, KernelSource source) const override {
    return source == KernelSource::own && cpu::supported(attention);
  }
  bool supports(const LatentDecode& attention, KernelSource source) const override {
    return source == KernelSource::own && cpu::supported(attention);
  }

  void* allocate(std::size_t bytes) override { return cpu::allocate(bytes, pool_); }
  void release(void* data) noexcept override { cpu::release(data); }
  void upload(void* to, const void* from, std::size_t bytes) override {
    cpu::copy(to, from, bytes, pool_);
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    cpu::copy(to, from, bytes, pool_);
  }
  void fill_normal(void* data, Element element, std::int64_t count, std::uint64_t seed,
                   float deviation) override {
    cpu::fill_normal(data, element, count, seed, deviation, pool_);
  }

  void prepare(const Gemm& gemm, KernelSource source) override {
    if (source == KernelSource::library) library_.prepare(gemm);
  }
  void prepare(const PrefillAttention& /*attention*/, KernelSource /*source*/) override {}

  void launch(const Gemm& gemm, KernelSource source) override {
    check(gemm);
    if (source == KernelSource::library) {
      library_.prepare(gemm);  // throws if the library cannot compute it
      return submit([this, gemm] { library_.launch(gemm); });
    }
    submit([this, gemm] { cpu::gemm(gemm, pool_, isa_); });
  }
  void launch(const GroupedGemm& gemm, KernelSource source) override {
    check(gemm);
    require_own(source, "grouped GEMM");
    submit([this, gemm] { cpu::grouped_gemm(gemm, pool_, isa_); });
  }
  void launch(const Int4Gemm& gemm, KernelSource source) override {
    check(gemm);
    require_own(source, "int4 GEMM");
    submit([this, gemm] { cpu::int4_gemm(gemm, pool_, isa_); });
  }
  void launch_quantized(const QuantizedGemm& gemm) override {
    check(gemm);
    submit([this, gemm] { cpu::quantized_gemm(gemm, pool_, dot_isa_); });
  }
  void launch(const PrefillAttention& attention, KernelSource source) override {
    check(attention);
    require_own(source, "prefill attention");
    require(cpu::supported(attention), "prefill attention", "the head is too wide");
    submit([this, attention] { cpu::prefill_attention(attention, pool_, isa_); });
  }
  void launch(const DecodeAttention& attention, KernelSource source) override {
    check(attention);
    require_own(source, "decode attention");
    require(cpu::supported(attention), "decode attention", "the head is too wide");
    submit([this, attention] { cpu::decode_attention(attention, pool_, isa_); });
  }
  void launch(const LatentDecode& attention, KernelSource source) override {
    check(attention);
    require_own(source, "latent decode");
    require(cpu::supported(attention), "latent decode", "the latent row is too wide");
    submit([this, attention] { cpu::latent_decode(attention, pool_, isa_); });
  }
  void launch(const RmsNorm& norm) override {
    share(norm, norm.rows, [](const RmsNorm& n, cpu::Range rows) { cpu::rms_norm(n, rows); });
  }
  void launch(const Embedding& embedding) override {
    share(embedding, embedding.tokens, cpu::embedding);
  }
  void launch(const Rope& rope) override { share(rope, rope.tokens, cpu::rope); }
  void launch(const KvWrite& write) override { share(write, write.tokens, cpu::kv_write); }
  void launch(const Activation& activation) override {
    share(activation, activation.rows, cpu::activation);
  }
  void launch(const Sampling& sampling) override { share(sampling, sampling.rows, cpu::sampling); }
  void launch(const GatherRows& gather) override { share(gather, gather.rows, cpu::gather_rows); }
  void launch(const Routing& routing) override {
    share(routing, routing.tokens, cpu::choose_experts);
    submit([routing] { cpu::sort_by_expert(routing); });
  }
  void launch(const Combine& combine) override { share(combine, combine.tokens, cpu::combine); }
  void launch_copy(void* to, const void* from, std::size_t bytes) override {
    submit([this, to, from, bytes] { cpu::copy(to, from, bytes, pool_); });
  }
  bool launch_read(const void* from, std::size_t bytes) override {
    submit([this, from, bytes] { cpu::read(from, bytes, pool_); });
    return true;
  }
  void pack_weight(const PackedWeight& shape, const void* stored, const void* scales,
                   std::uint64_t seed, float deviation, void* packed) override {
    pool_.for_ranges(shape.strips(), 1, [&](std::int64_t begin, std::int64_t end) {
      if (stored == nullptr) return pack_random(shape, seed, deviation, begin, end, packed);
      pack(shape, stored, scales, begin, end, packed);
    });
  }
  void launch_nothing() override {
    submit([] {});
  }

  void synchronize() override {}

  std::unique_ptr<Recording> record(const std::function<void()>& launches) override {
    if (recording_ != nullptr) throw std::logic_error("a recording is under way");
    auto list = std::make_unique<CallList>();
    recording_ = list.get();
    try {
      launches();
    } catch (...) {
      recording_ = nullptr;
      throw;
    }
    recording_ = nullptr;
    return list;
  }

  Sample replay(Recording& recording) override {
    const auto& list = dynamic_cast<CallList&>(recording);
    const auto begin = std::chrono::steady_clock::now();
    for (const auto& call : list.calls) call();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    return {.seconds = time.count(), .clock_hz = cpu::measured_clock_hz(), .energy_joule = {}};
  }

 private:
  template <class Call>
  void submit(const Call& call) {
    if (recording_ == nullptr) return call();
    recording_->calls.emplace_back(call);
  }

  /// Divides the rows of an operator among the threads.
  template <class Operator, class Compute>
  void share(const Operator& op, std::int64_t rows, const Compute& compute) {
    check(op);
    if (rows == 0) return;
    const std::int64_t grain = grain_of(bytes_moved(op) / static_cast<double>(rows));
    submit([this, op, rows, grain, compute] {
      pool_.for_ranges(rows, grain, [&](std::int64_t begin, std::int64_t end) {
        compute(op, cpu::Range{.begin = begin, .end = end});
      });
    });
  }

  cpu::Isa isa_ = cpu::best_isa();
  cpu::DotIsa dot_isa_ = cpu::best_dot_isa();
  cpu::ThreadPool pool_;
  cpu::LibraryGemm library_;
  DeviceFacts facts_;
  CallList* recording_ = nullptr;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(int threads) {
  return std::make_unique<CpuBackend>(threads);
}

}  // namespace roofcast::kernels
