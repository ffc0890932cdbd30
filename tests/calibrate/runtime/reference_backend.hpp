// A device made of the double-precision reference operators: slow, and simple enough to be right.
// Outputs are rounded to the element, like a kernel's.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/normal_values.hpp"
#include "tests/kernels/reference_attention.hpp"
#include "tests/kernels/reference_gemm.hpp"
#include "tests/kernels/reference_tokens.hpp"

namespace roofcast::test {

namespace k = kernels;

inline void store(k::Element element, void* data, std::size_t i, double value) {
  const auto single = static_cast<float>(value);
  if (element == k::Element::fp32) static_cast<float*>(data)[i] = single;
  if (element == k::Element::fp16) static_cast<k::Fp16*>(data)[i] = k::from_float<k::Fp16>(single);
  if (element == k::Element::bf16) static_cast<k::Bf16*>(data)[i] = k::from_float<k::Bf16>(single);
}

class ReferenceBackend final : public k::Backend {
 public:
  using Source = k::KernelSource;

  ReferenceBackend() { facts_.name = "reference"; }

  const k::DeviceFacts& facts() const override { return facts_; }
  std::vector<std::pair<Source, std::string>> sources(k::KernelFamily) const override {
    return {{Source::own, "reference"}};
  }
  bool supports(const k::Gemm&, Source) const override { return true; }
  bool supports(const k::GroupedGemm&, Source) const override { return true; }
  bool supports(const k::Int4Gemm&, Source) const override { return true; }
  bool supports(const k::PrefillAttention&, Source) const override { return true; }
  bool supports(const k::DecodeAttention&, Source) const override { return true; }
  bool supports(const k::LatentDecode&, Source) const override { return true; }

  void* allocate(std::size_t bytes) override { return ::operator new(bytes, kAlignment); }
  void release(void* data) noexcept override { ::operator delete(data, kAlignment); }
  void upload(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void fill_normal(void* data, k::Element element, std::int64_t count, std::uint64_t seed,
                   float deviation) override {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto pair = k::normal_pair(seed, static_cast<std::uint64_t>(i) / 2);
      store(element, data, static_cast<std::size_t>(i),
            deviation * (i % 2 == 0 ? pair.first : pair.second));
    }
  }

  void prepare(const k::Gemm&, Source) override {}
  void prepare(const k::PrefillAttention&, Source) override {}

  void launch(const k::Gemm& gemm, Source) override {
    check(gemm);
    keep(gemm.result, gemm.output, gemm_reference(gemm).values);
  }
  void launch(const k::GroupedGemm& gemm, Source) override {
    check(gemm);
    keep(gemm.element, gemm.output, grouped_gemm_reference(gemm).values);
  }
  void launch(const k::Int4Gemm& gemm, Source) override {
    check(gemm);
    keep(gemm.element, gemm.output, int4_gemm_reference(gemm).values);
  }
  void launch(const k::PrefillAttention& attention, Source) override {
    check(attention);
    keep(attention.element, attention.output, attention_reference(attention).output.values);
  }
  void launch(const k::DecodeAttention& attention, Source) override {
    check(attention);
    keep(attention.element, attention.output, attention_reference(attention).output.values);
  }
  void launch(const k::LatentDecode& attention, Source) override {
    check(attention);
    keep(attention.element, attention.output, attention_reference(attention).output.values);
  }
  void launch(const k::RmsNorm& norm) override {
    check(norm);
    const auto count = static_cast<std::size_t>(norm.rows) * static_cast<std::size_t>(norm.hidden);
    const auto values = [&](const void* data, std::size_t size) {
      std::vector<double> result;
      for (std::size_t i = 0; data != nullptr && i < size; ++i) {
        result.push_back(k::value_at(norm.element, data, static_cast<std::int64_t>(i)));
      }
      return result;
    };
    const k::RmsNormResult result = k::rms_norm_reference(
        {.element = norm.element,
         .rows = norm.rows,
         .hidden = norm.hidden,
         .epsilon = norm.epsilon,
         .input = values(norm.input, count),
         .residual = values(norm.residual, count),
         .weight = values(norm.weight, static_cast<std::size_t>(norm.hidden))});
    if (norm.residual_out != nullptr) keep(norm.element, norm.residual_out, result.residual_out);
    keep(norm.element, norm.output, result.output);
  }
  void launch(const k::Embedding& embedding) override {
    check(embedding);
    keep(embedding.element, embedding.output, embedding_reference(embedding));
  }
  void launch(const k::Rope& rope) override {
    check(rope);
    const k::RopeAnswer answer = rope_reference(rope);
    scatter(rope, rope.query, rope.query_heads, answer.query.values);
    scatter(rope, rope.key, rope.kv_heads, answer.key.values);
  }
  void launch(const k::KvWrite& write) override {
    check(write);
    const k::KvWriteAnswer answer = kv_write_reference(write);
    const auto width = static_cast<std::size_t>(write.cache.kv_heads) *
                       static_cast<std::size_t>(write.cache.head_dim);
    for (std::size_t t = 0; t < static_cast<std::size_t>(write.tokens); ++t) {
      for (std::size_t i = 0; i < width; ++i) {
        const std::size_t at = static_cast<std::size_t>(write.slot[t]) * width + i;
        store(write.cache.element, write.cache.keys, at, answer.keys[t * width + i]);
        store(write.cache.element, write.cache.values, at, answer.values[t * width + i]);
      }
    }
  }
  void launch(const k::Activation& activation) override {
    check(activation);
    keep(activation.element, activation.output, activation_reference(activation));
  }
  void launch(const k::Sampling& sampling) override {
    check(sampling);
    const std::vector<std::int32_t> tokens = sampling_reference(sampling);
    std::memcpy(sampling.token, tokens.data(), tokens.size() * sizeof(tokens[0]));
  }
  void launch(const k::GatherRows& gather) override {
    check(gather);
    keep(gather.element, gather.output, gather_reference(gather));
  }
  void launch(const k::Routing& routing) override {
    check(routing);
    const k::RoutingAnswer answer = routing_reference(routing);
    const auto copy = [](auto* to, const std::vector<std::int32_t>& from) {
      std::memcpy(to, from.data(), from.size() * sizeof(from[0]));
    };
    copy(routing.first_row, answer.first_row);
    copy(routing.source, answer.source);
    copy(routing.place, answer.place);
    for (std::size_t i = 0; i < answer.weight.size(); ++i) {
      routing.weight[i] = static_cast<float>(answer.weight[i]);
    }
  }
  void launch(const k::Combine& combine) override {
    check(combine);
    keep(combine.element, combine.output, combine_reference(combine).values);
  }
  void launch_copy(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void launch_nothing() override {}
  void synchronize() override {}

  std::unique_ptr<k::Recording> record(const std::function<void()>& launches) override {
    return std::make_unique<Calls>(launches);
  }
  k::Sample replay(k::Recording& recording) override {
    dynamic_cast<Calls&>(recording).launches();
    return {.seconds = 1e-6, .clock_hz = 0, .energy_joule = {}};
  }

 private:
  static constexpr std::align_val_t kAlignment{256};

  struct Calls final : k::Recording {
    explicit Calls(std::function<void()> all) : launches(std::move(all)) {}
    std::function<void()> launches;
  };

  static void keep(k::Element element, void* output, std::span<const double> values) {
    for (std::size_t i = 0; i < values.size(); ++i) store(element, output, i, values[i]);
  }
  static void scatter(const k::Rope& rope, void* rows, int heads, std::span<const double> values) {
    const auto width = static_cast<std::size_t>(heads) * static_cast<std::size_t>(rope.head_dim);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t at = i / width * static_cast<std::size_t>(rope.stride) + i % width;
      store(rope.element, rows, at, values[i]);
    }
  }

  k::DeviceFacts facts_;
};

}  // namespace roofcast::test
