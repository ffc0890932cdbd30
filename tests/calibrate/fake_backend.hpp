// A fake device: every launch takes a time given by a formula, on a clock that only replays
// advance. Memory is addresses only; uploads are kept, so that lengths and page tables can be read.
// Noise, throttling and drift are added on demand.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.hpp"

namespace roofcast::test {

/// One launch, as the fake saw it.
struct FakeCall {
  std::string family;  // "gemm", "decode_attention", "rms_norm", ...
  double flops = 0;
  double bytes = 0;  // that must come from memory when they are not in the cache
  /// Operands as (address, bytes): recently used ones are in the cache.
  std::vector<std::pair<std::uintptr_t, double>> operands{};
};

/// Time: floor + max(flops / peak, missing bytes / bandwidth + cached bytes / (4 * bandwidth)).
struct FakeDevice {
  double floor_s = 2e-6;
  double flops_per_s = 400e12;
  double bytes_per_s = 4e12;
  double cache_bytes = 50e6;
  std::int64_t memory_bytes = std::int64_t{80} << 30;
  bool keeps_cache = true;  // false: nothing is ever warm
  double clock_hz = 1.8e9;  // 0: the device does not say
  /// Called at each replay with its number; return a factor on its time, and the clock it reports.
  std::function<double(std::int64_t replay)> slow_down{};
  std::function<double(std::int64_t replay)> clock{};
  /// Calls of this family fail, like those of a library that does not support them.
  std::string refused_family{};
};

class FakeRecording final : public kernels::Recording {
 public:
  std::vector<FakeCall> calls{};
};

class FakeBackend final : public kernels::Backend {
 public:
  explicit FakeBackend(FakeDevice device = {}) : device_(std::move(device)) {
    facts_.name = "Fake Accelerator 80GB";
    facts_.identity = "FAKE-0001";
    facts_.vendor = "NVIDIA";
    facts_.architecture = "sm_90";
    facts_.multiprocessors = 100;
    facts_.memory_bytes = device_.memory_bytes;
    facts_.free_memory_bytes = device_.memory_bytes;
    facts_.cache_bytes = static_cast<std::int64_t>(device_.cache_bytes);
    facts_.clock_hz = device_.clock_hz;
    facts_.versions["driver"] = "1.2.3";
    for (const kernels::KernelFamily family :
         {kernels::KernelFamily::gemm, kernels::KernelFamily::grouped_gemm,
          kernels::KernelFamily::int4_gemm, kernels::KernelFamily::prefill_attention,
          kernels::KernelFamily::decode_attention, kernels::KernelFamily::latent_decode,
          kernels::KernelFamily::token_operators, kernels::KernelFamily::copy}) {
      sources_[family] = {{kernels::KernelSource::own, "fake 1.0"}};
    }
  }

  kernels::DeviceFacts facts_{};
  kernels::Peers peers_{};
  kernels::RowForm own_form_{};  // of all families
  std::map<kernels::KernelFamily, std::vector<std::pair<kernels::KernelSource, std::string>>>
      sources_{};

  std::int64_t replays() const { return replays_; }
  double elapsed_s() const { return elapsed_s_; }
  double max_allocated() const { return max_allocated_; }
  /// All launches, replayed or eager, by family.
  const std::map<std::string, std::int64_t>& launches() const { return launches_; }
  const std::vector<FakeCall>& last_calls() const { return last_calls_; }

  const kernels::DeviceFacts& facts() const override { return facts_; }
  kernels::Peers peers() const override { return peers_; }
  std::vector<std::pair<kernels::KernelSource, std::string>> sources(
      kernels::KernelFamily family) const override {
    const auto found = sources_.find(family);
    if (found == sources_.end()) return {};
    return found->second;
  }

  kernels::RowForm row_form(kernels::KernelFamily, kernels::KernelSource source) const override {
    return source == kernels::KernelSource::own ? own_form_ : kernels::RowForm{};
  }

  bool supports(const kernels::Gemm&, kernels::KernelSource) const override { return true; }
  bool supports(const kernels::GroupedGemm&, kernels::KernelSource) const override { return true; }
  bool supports(const kernels::Int4Gemm&, kernels::KernelSource) const override { return true; }
  bool supports(const kernels::PrefillAttention&, kernels::KernelSource) const override {
    return true;
  }
  bool supports(const kernels::DecodeAttention&, kernels::KernelSource) const override {
    return true;
  }
  bool supports(const kernels::LatentDecode&, kernels::KernelSource) const override { return true; }

  void* allocate(std::size_t bytes) override {
    allocated_ += static_cast<double>(bytes);
    max_allocated_ = std::max(max_allocated_, allocated_);
    if (allocated_ > static_cast<double>(device_.memory_bytes)) {
      throw std::runtime_error("fake device: out of memory");
    }
    const std::uintptr_t at = next_;
    next_ += (bytes + 255) / 256 * 256;
    sizes_[at] = bytes;
    return reinterpret_cast<void*>(at);
  }
  void release(void* data) noexcept override {
    const auto found = sizes_.find(reinterpret_cast<std::uintptr_t>(data));
    if (found == sizes_.end()) return;
    allocated_ -= static_cast<double>(found->second);
    sizes_.erase(found);
  }
  void upload(void* to, const void* from, std::size_t bytes) override {
    const auto* first = static_cast<const unsigned char*>(from);
    uploads_[reinterpret_cast<std::uintptr_t>(to)].assign(first, first + bytes);
  }
  void download(void*, const void*, std::size_t) override {}
  void fill_normal(void*, kernels::Element, std::int64_t, std::uint64_t, float) override {}

  void prepare(const kernels::Gemm&, kernels::KernelSource) override { ++prepared_; }
  void prepare(const kernels::PrefillAttention&, kernels::KernelSource) override { ++prepared_; }

  void launch(const kernels::Gemm& g, kernels::KernelSource) override {
    const double element = static_cast<double>(kernels::size_of(g.element));
    const double m = static_cast<double>(g.m);
    run({.family = "gemm",
         .flops = 2 * m * g.n * g.k,
         .operands = {at(g.weight, element * g.n * g.k), at(g.input, element * m * g.k)}});
  }
  void launch(const kernels::GroupedGemm& g, kernels::KernelSource) override {
    const double element = static_cast<double>(kernels::size_of(g.element));
    const auto first = uploaded<std::int32_t>(g.first_row);
    FakeCall call{.family = "grouped_gemm"};
    for (std::size_t e = 0; e + 1 < first.size(); ++e) {
      const double rows = first[e + 1] - first[e];
      if (rows == 0) continue;
      call.flops += 2 * rows * g.n * g.k;
      const double bytes = element * g.n * g.k;
      call.operands.emplace_back(reinterpret_cast<std::uintptr_t>(g.weight) +
                                     static_cast<std::uintptr_t>(bytes * static_cast<double>(e)),
                                 bytes);
    }
    run(std::move(call));
  }
  void launch(const kernels::Int4Gemm& g, kernels::KernelSource) override {
    run({.family = "int4_gemm",
         .flops = 2.0 * static_cast<double>(g.m) * g.n * g.k,
         .operands = {at(g.weight, 0.5 * g.n * g.k)}});
  }
  void launch(const kernels::PrefillAttention& a, kernels::KernelSource) override {
    const auto first = uploaded<std::int32_t>(a.first_query);
    const auto length = uploaded<std::int32_t>(a.length);
    FakeCall call{.family = "prefill_attention"};
    double tokens = 0;
    for (std::size_t s = 0; s < length.size(); ++s) {
      const double fresh = first[s + 1] - first[s];
      const double cached = length[s] - fresh;
      call.flops += 4.0 * a.query_heads * a.cache.head_dim * fresh * (cached + (fresh + 1) / 2);
      tokens += length[s];
    }
    call.operands = {at(a.cache.page_table, tokens * token_bytes(a.cache))};
    run(std::move(call));
  }
  void launch(const kernels::DecodeAttention& a, kernels::KernelSource) override {
    double tokens = 0;
    for (const std::int32_t length : uploaded<std::int32_t>(a.length)) tokens += length;
    run({.family = "decode_attention",
         .flops = 4.0 * a.query_heads * a.cache.head_dim * tokens,
         .operands = {at(a.cache.page_table, tokens * token_bytes(a.cache))}});
  }
  void launch(const kernels::LatentDecode& a, kernels::KernelSource) override {
    double tokens = 0;
    for (const std::int32_t length : uploaded<std::int32_t>(a.length)) tokens += length;
    const double element = static_cast<double>(kernels::size_of(a.element));
    run({.family = "latent_decode",
         .flops = 2.0 * a.query_heads * tokens * (2.0 * a.latent + a.rotary),
         .operands = {at(a.page_table, tokens * element * (a.latent + a.rotary))}});
  }
  void launch(const kernels::RmsNorm& n) override {
    token_operator("rms_norm", n.input, 4.0 * static_cast<double>(n.rows) * n.hidden, n.element);
  }
  void launch(const kernels::Embedding& e) override {
    token_operator("embedding", e.output, 2.0 * static_cast<double>(e.tokens) * e.hidden,
                   e.element);
  }
  void launch(const kernels::Rope& r) override {
    token_operator("rope", r.query,
                   2.0 * static_cast<double>(r.tokens) * (r.query_heads + r.kv_heads) * r.head_dim,
                   r.element);
  }
  void launch(const kernels::KvWrite& w) override {
    token_operator("kv_write", w.key,
                   4.0 * static_cast<double>(w.tokens) * w.cache.kv_heads * w.cache.head_dim,
                   w.element);
  }
  void launch(const kernels::Activation& a) override {
    const double columns = a.kind == kernels::ActivationKind::gelu ? 2.0 : 3.0;
    token_operator("activation", a.input, columns * static_cast<double>(a.rows) * a.width,
                   a.element);
  }
  void launch(const kernels::Sampling& s) override {
    token_operator("sampling", s.logits, static_cast<double>(s.rows) * s.vocabulary, s.element);
  }
  void launch(const kernels::GatherRows& g) override {
    token_operator("gather_rows", g.output, 2.0 * static_cast<double>(g.rows) * g.hidden,
                   g.element);
  }
  void launch(const kernels::Routing& r) override {
    token_operator("routing", r.logits, 2.0 * static_cast<double>(r.tokens) * r.experts, r.element);
  }
  void launch(const kernels::Combine& c) override {
    token_operator("combine", c.output, (c.top_k + 1.0) * static_cast<double>(c.tokens) * c.hidden,
                   c.element);
  }
  void launch_copy(void* to, const void* from, std::size_t bytes) override {
    const auto size = static_cast<double>(bytes);
    run({.family = "copy", .operands = {at(to, size), at(from, size)}});
  }
  void launch_nothing() override { run({.family = "nothing"}); }

  void synchronize() override {}

  std::unique_ptr<kernels::Recording> record(const std::function<void()>& launches) override {
    auto recording = std::make_unique<FakeRecording>();
    recorder_ = recording.get();
    launches();
    recorder_ = nullptr;
    return recording;
  }
  kernels::Sample replay(kernels::Recording& recording) override {
    kernels::Sample sample;
    last_calls_ = static_cast<FakeRecording&>(recording).calls;
    for (const FakeCall& call : last_calls_) sample.seconds += seconds_of(call);
    if (device_.slow_down) sample.seconds *= device_.slow_down(replays_);
    sample.clock_hz = device_.clock ? device_.clock(replays_) : device_.clock_hz;
    elapsed_s_ += sample.seconds;
    ++replays_;
    return sample;
  }

 private:
  static std::pair<std::uintptr_t, double> at(const void* data, double bytes) {
    return {reinterpret_cast<std::uintptr_t>(data), bytes};
  }
  static double token_bytes(const kernels::PagedCache& cache) {
    return 2.0 * static_cast<double>(kernels::size_of(cache.element)) * cache.kv_heads *
           cache.head_dim;
  }
  void token_operator(const char* family, const void* data, double elements,
                      kernels::Element element) {
    run({.family = family,
         .operands = {at(data, elements * static_cast<double>(kernels::size_of(element)))}});
  }
  template <class T>
  std::vector<T> uploaded(const T* data) const {
    const auto& bytes = uploads_.at(reinterpret_cast<std::uintptr_t>(data));
    std::vector<T> values(bytes.size() / sizeof(T));
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<unsigned char*>(values.data()));
    return values;
  }

  void run(FakeCall call) {
    if (call.family == device_.refused_family) {
      throw std::runtime_error("fake library: cannot do " + call.family);
    }
    ++launches_[call.family];
    if (recorder_ != nullptr) {
      recorder_->calls.push_back(std::move(call));
    } else {
      elapsed_s_ += seconds_of(call);
    }
  }

  double seconds_of(const FakeCall& call) {
    double missed = 0;
    double hit = 0;
    for (const auto& [address, bytes] : call.operands) {
      (touch(address, bytes) ? hit : missed) += bytes;
    }
    const double memory = (missed + hit / 4) / device_.bytes_per_s;
    return device_.floor_s + std::max(call.flops / device_.flops_per_s, memory);
  }

  /// Whether the operand was in the cache, which holds it afterwards. Least recently used is
  /// evicted.
  bool touch(std::uintptr_t address, double bytes) {
    bool found = false;
    for (auto entry = recent_.begin(); entry != recent_.end(); ++entry) {
      if (entry->first != address) continue;
      recent_.erase(entry);
      found = true;
      break;
    }
    recent_.emplace_front(address, bytes);
    double held = 0;
    for (auto entry = recent_.begin(); entry != recent_.end(); ++entry) {
      held += entry->second;
      if (held > device_.cache_bytes) {
        recent_.erase(entry, recent_.end());
        break;
      }
    }
    return found && device_.keeps_cache;
  }

  FakeDevice device_;
  FakeRecording* recorder_ = nullptr;
  std::uintptr_t next_ = 1 << 20;
  std::map<std::uintptr_t, std::size_t> sizes_{};
  std::map<std::uintptr_t, std::vector<unsigned char>> uploads_{};
  std::map<std::string, std::int64_t> launches_{};
  std::vector<FakeCall> last_calls_{};
  std::deque<std::pair<std::uintptr_t, double>> recent_{};
  double allocated_ = 0;
  double max_allocated_ = 0;
  double elapsed_s_ = 0;
  std::int64_t replays_ = 0;
  int prepared_ = 0;
};

}  // namespace roofcast::test
