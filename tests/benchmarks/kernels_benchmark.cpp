// The CPU kernels against their limits: bytes per second of products with few rows and of decode
// attention against a copy in the same run, FLOPs per second of large products with our kernels and
// with oneDNN. Weights and caches rotate through more memory than the last-level cache.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/backend.hpp"

namespace roofcast::kernels {
namespace {

constexpr std::int64_t kMegabyte = std::int64_t{1} << 20;

/// Uses all cores; created once, because it pins the thread that creates it.
Backend& backend() {
  static const std::unique_ptr<Backend> instance = make_cpu_backend(0);
  return *instance;
}

/// Tensors of `bytes` that have left the cache by the time they are used again: together four times
/// the last-level cache, at most 2 GiB.
class Rotation {
 public:
  Rotation(std::int64_t bytes, Element element) {
    const std::int64_t wanted = std::min(4 * backend().facts().cache_bytes, 2048 * kMegabyte);
    const std::int64_t count = std::max<std::int64_t>(2, wanted / bytes);
    for (std::int64_t i = 0; i < count; ++i) {
      tensors_.emplace_back(backend(), static_cast<std::size_t>(bytes));
      backend().fill_normal(tensors_.back().data(), element,
                            bytes / static_cast<std::int64_t>(size_of(element)),
                            static_cast<std::uint64_t>(i), 1);
    }
  }
  void* next() { return tensors_[index_++ % tensors_.size()].data(); }

 private:
  std::vector<Memory> tensors_{};
  std::size_t index_ = 0;
};

Memory filled(Element element, std::int64_t count) {
  Memory memory(backend(), static_cast<std::size_t>(count) * size_of(element));
  backend().fill_normal(memory.data(), element, count, 1, 1);
  return memory;
}

void report(benchmark::State& state, double bytes, double flops) {
  using Counter = benchmark::Counter;
  const auto rate = Counter::kIsIterationInvariantRate;
  state.counters["bytes/s"] = Counter(bytes, rate);
  if (flops > 0) state.counters["FLOP/s"] = Counter(flops, rate);
}

void Copy(benchmark::State& state) {
  const std::int64_t bytes = 256 * kMegabyte;
  const Memory from = filled(Element::bf16, bytes / 2);
  const Memory to = filled(Element::bf16, bytes / 2);
  for (auto _ : state) {
    backend().launch_copy(to.data(), from.data(), static_cast<std::size_t>(bytes));
  }
  report(state, 2.0 * static_cast<double>(bytes), 0);
}
BENCHMARK(Copy)->UseRealTime();

void Read(benchmark::State& state) {
  const std::int64_t bytes = 512 * kMegabyte;
  const Memory from = filled(Element::bf16, bytes / 2);
  for (auto _ : state) backend().launch_read(from.data(), static_cast<std::size_t>(bytes));
  report(state, static_cast<double>(bytes), 0);
}
BENCHMARK(Read)->UseRealTime();

/// The arguments are rows, columns and depth.
void product(benchmark::State& state, Element element, KernelSource source) {
  const std::int64_t m = state.range(0);
  const auto n = static_cast<int>(state.range(1));
  const auto k = static_cast<int>(state.range(2));
  const Memory input = filled(element, m * k);
  const Memory output(backend(), static_cast<std::size_t>(m * n) * size_of(element));
  Rotation weights(std::int64_t{n} * k * static_cast<std::int64_t>(size_of(element)), element);
  Gemm gemm{.element = element,
            .result = element,
            .m = m,
            .n = n,
            .k = k,
            .input = input.data(),
            .weight = weights.next(),
            .output = output.data()};
  if (!backend().supports(gemm, source)) return state.SkipWithError("no such kernel here");
  backend().prepare(gemm, source);
  for (auto _ : state) {
    gemm.weight = weights.next();
    backend().launch(gemm, source);
  }
  report(state, bytes_moved(gemm), flops(gemm));
}

void OwnFp32(benchmark::State& state) { product(state, Element::fp32, KernelSource::own); }
void OwnBf16(benchmark::State& state) { product(state, Element::bf16, KernelSource::own); }
void OwnFp16(benchmark::State& state) { product(state, Element::fp16, KernelSource::own); }
void LibraryFp32(benchmark::State& state) { product(state, Element::fp32, KernelSource::library); }
void LibraryBf16(benchmark::State& state) { product(state, Element::bf16, KernelSource::library); }
void LibraryFp16(benchmark::State& state) { product(state, Element::fp16, KernelSource::library); }

void few_and_many_rows(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t m : {1, 4, 16, 64, 512}) benchmark->Args({m, 4096, 4096});
  benchmark->ArgNames({"m", "n", "k"})->UseRealTime();
}
BENCHMARK(OwnFp32)->Apply(few_and_many_rows);
BENCHMARK(LibraryFp32)->Apply(few_and_many_rows);
BENCHMARK(OwnBf16)->Apply(few_and_many_rows);
BENCHMARK(LibraryBf16)->Apply(few_and_many_rows);
BENCHMARK(LibraryFp16)->Apply(few_and_many_rows);
BENCHMARK(OwnFp16)->Apply(few_and_many_rows);

/// The same with a quantised weight.
void quantized(benchmark::State& state, QuantizedFormat format) {
  const std::int64_t m = state.range(0);
  const PackedWeight shape{.format = format,
                           .n = static_cast<int>(state.range(1)),
                           .k = static_cast<int>(state.range(2))};
  QuantizedGemm gemm{.shape = shape, .element = Element::fp32, .m = m};
  const Memory input = filled(Element::fp32, m * shape.k);
  const Memory output(backend(), static_cast<std::size_t>(m * shape.n) * sizeof(float));
  const Memory workspace(backend(), workspace_bytes(gemm));
  const std::int64_t cache = 4 * backend().facts().cache_bytes;
  const auto bytes = static_cast<std::int64_t>(shape.bytes());
  std::vector<Memory> weights;
  for (std::int64_t i = 0; i < std::max<std::int64_t>(2, cache / bytes); ++i) {
    weights.emplace_back(backend(), shape.bytes());
    backend().pack_weight(shape, nullptr, nullptr, static_cast<std::uint64_t>(i), 0.02F,
                          weights.back().data());
  }
  gemm.input = input.data();
  gemm.output = output.data();
  gemm.workspace = workspace.data();
  std::size_t next = 0;
  for (auto _ : state) {
    gemm.weight = weights[next++ % weights.size()].data();
    backend().launch_quantized(gemm);
  }
  report(state, bytes_moved(gemm), flops(gemm));
}
BENCHMARK_CAPTURE(quantized, q8_0, QuantizedFormat::q8_0)->Apply(few_and_many_rows);
BENCHMARK_CAPTURE(quantized, q4_0, QuantizedFormat::q4_0)->Apply(few_and_many_rows);
BENCHMARK_CAPTURE(quantized, q4_k, QuantizedFormat::q4_k)->Apply(few_and_many_rows);
BENCHMARK_CAPTURE(quantized, q6_k, QuantizedFormat::q6_k)->Apply(few_and_many_rows);
BENCHMARK_CAPTURE(quantized, int8, QuantizedFormat::int8)->Apply(few_and_many_rows);
BENCHMARK_CAPTURE(quantized, int4, QuantizedFormat::int4)->Apply(few_and_many_rows);
BENCHMARK_CAPTURE(quantized, fp8, QuantizedFormat::fp8)->Apply(few_and_many_rows);

/// Pages for `tokens` tokens of each sequence, in order.
struct Pages {
  Pages(int sequences, int tokens) : per_sequence(tokens / kSize) {
    const auto count = static_cast<std::size_t>(sequences) * static_cast<std::size_t>(per_sequence);
    table = Memory(backend(), count * sizeof(std::int32_t));
    length = Memory(backend(), static_cast<std::size_t>(sequences) * sizeof(std::int32_t));
    for (std::size_t i = 0; i < count; ++i) table.as<std::int32_t>()[i] = static_cast<int>(i);
    std::fill_n(length.as<std::int32_t>(), sequences, tokens);
  }
  static constexpr int kSize = 16;
  int per_sequence;
  Memory table{};
  Memory length{};
};

/// The arguments are sequences and tokens per sequence; heads as in Llama-3-8B.
void decode(benchmark::State& state, Element cache_element) {
  constexpr int kQueryHeads = 32;
  constexpr int kKvHeads = 8;
  constexpr int kHeadDim = 128;
  const auto sequences = static_cast<int>(state.range(0));
  const auto tokens = static_cast<int>(state.range(1));
  const Pages pages(sequences, tokens);
  const std::int64_t bytes = std::int64_t{sequences} * tokens * kKvHeads * kHeadDim *
                             static_cast<std::int64_t>(size_of(cache_element));
  Rotation cache(bytes, cache_element);
  const std::int64_t row = std::int64_t{sequences} * kQueryHeads * kHeadDim;
  const Memory query = filled(Element::bf16, row);
  const Memory output = filled(Element::bf16, row);
  DecodeAttention attention{.element = Element::bf16,
                            .sequences = sequences,
                            .query_heads = kQueryHeads,
                            .scale = 1 / std::sqrt(static_cast<float>(kHeadDim)),
                            .query = query.data(),
                            .output = output.data(),
                            .length = pages.length.as<std::int32_t>(),
                            .cache = {.element = cache_element,
                                      .page_size = Pages::kSize,
                                      .kv_heads = kKvHeads,
                                      .head_dim = kHeadDim,
                                      .keys = cache.next(),
                                      .values = cache.next(),
                                      .page_table = pages.table.as<std::int32_t>(),
                                      .pages_per_sequence = pages.per_sequence},
                            .longest_length = tokens};
  const Memory workspace(backend(), static_cast<std::size_t>(workspace_bytes(attention)));
  attention.workspace = workspace.data();
  for (auto _ : state) {
    attention.cache.keys = cache.next();
    attention.cache.values = cache.next();
    backend().launch(attention, KernelSource::own);
  }
  const AttentionWork work = work_of(attention, attention.length);
  report(state, work.bytes, work.flops);
}

void DecodeBf16(benchmark::State& state) { decode(state, Element::bf16); }
void DecodeFp8(benchmark::State& state) { decode(state, Element::fp8_e4m3); }
BENCHMARK(DecodeBf16)->Args({1, 4096})->Args({8, 4096})->UseRealTime();
BENCHMARK(DecodeFp8)->Args({8, 4096})->UseRealTime();

/// The argument is the number of prompt tokens; heads as in Llama-3-8B.
void PrefillBf16(benchmark::State& state) {
  constexpr int kQueryHeads = 32;
  constexpr int kKvHeads = 8;
  constexpr int kHeadDim = 128;
  const auto tokens = static_cast<std::int32_t>(state.range(0));
  const Pages pages(1, tokens);
  const Memory query = filled(Element::bf16, std::int64_t{tokens} * kQueryHeads * kHeadDim);
  const Memory output = filled(Element::bf16, std::int64_t{tokens} * kQueryHeads * kHeadDim);
  const Memory keys = filled(Element::bf16, std::int64_t{tokens} * kKvHeads * kHeadDim);
  const Memory values = filled(Element::bf16, std::int64_t{tokens} * kKvHeads * kHeadDim);
  alignas(16) const std::int32_t first_query[] = {0, tokens};
  const PrefillAttention attention{.element = Element::bf16,
                                   .sequences = 1,
                                   .query_heads = kQueryHeads,
                                   .scale = 1 / std::sqrt(static_cast<float>(kHeadDim)),
                                   .query = query.data(),
                                   .output = output.data(),
                                   .first_query = first_query,
                                   .length = pages.length.as<std::int32_t>(),
                                   .cache = {.element = Element::bf16,
                                             .page_size = Pages::kSize,
                                             .kv_heads = kKvHeads,
                                             .head_dim = kHeadDim,
                                             .keys = keys.data(),
                                             .values = values.data(),
                                             .page_table = pages.table.as<std::int32_t>(),
                                             .pages_per_sequence = pages.per_sequence},
                                   .tokens = tokens,
                                   .longest_query = tokens,
                                   .longest_length = tokens};
  for (auto _ : state) backend().launch(attention, KernelSource::own);
  const AttentionWork work = work_of(attention, &tokens, attention.length);
  report(state, work.bytes, work.flops);
}
BENCHMARK(PrefillBf16)->Arg(512)->Arg(2048)->UseRealTime();

}  // namespace
}  // namespace roofcast::kernels
