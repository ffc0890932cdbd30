#include "model/curves/operator_shape.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace roofcast {

namespace {

// Rows and columns of the output tile assumed per thread block: the usual size of cuBLAS and
// CUTLASS GEMMs and of FlashAttention's query tiles on Ampere and Hopper.
constexpr double kTile = 128.0;

// A 16-bit scale per group of 128 (AWQ, arXiv 2306.00978), plus a 4-bit zero point in formats that
// have one; a 32-bit scale per 128 x 128 block (DeepSeek-V3, arXiv 2412.19437, section 3.3).
constexpr double kInt4Bits = 4.0 + 16.0 / 128.0;
constexpr double kInt4ZeroBits = 4.0 + 20.0 / 128.0;
constexpr double kBlockFp8Bits = 8.0 + 32.0 / (128.0 * 128.0);

constexpr std::array kFormats{
    KernelFormat{"fp32", 32, 32, 32, DType::fp32},
    KernelFormat{"fp16", 16, 16, 16, DType::fp16},
    KernelFormat{"bf16", 16, 16, 16, DType::bf16},
    KernelFormat{"fp8", 8, 8, 16, DType::fp8},
    KernelFormat{"fp8_block", kBlockFp8Bits, 8, 16, DType::fp8},
    KernelFormat{"int8", 8, 8, 16, DType::int8},
    KernelFormat{"int4", kInt4Bits, 16, 16, DType::bf16},
    KernelFormat{"awq", kInt4ZeroBits, 16, 16, DType::bf16},
    KernelFormat{"gptq", kInt4ZeroBits, 16, 16, DType::bf16},
    KernelFormat{"mxfp4", 4.25, 16, 16, DType::bf16},
    KernelFormat{"nvfp4", 4.5, 4.5, 16, DType::fp4},
    // GGUF's blocks (model/io/gguf.cpp), beside activations in 16 bits as llama.cpp's GPU code and
    // our engine have them.
    KernelFormat{"q8_0", 8.5, 16, 16, DType::fp16},
    KernelFormat{"q6_k", 6.5625, 16, 16, DType::fp16},
    KernelFormat{"q4_k", 4.5, 16, 16, DType::fp16},
    KernelFormat{"q4_0", 4.5, 16, 16, DType::fp16},
    // Stored formats in another arithmetic, as kernel_format_name() names them.
    KernelFormat{"int8 as bf16", 8, 16, 16, DType::bf16},
    KernelFormat{"int4 as fp8", kInt4Bits, 8, 16, DType::fp8},
    KernelFormat{"mxfp4 as fp8", 4.25, 8, 16, DType::fp8},
    KernelFormat{"mxfp4 as fp4", 4.25, 4.25, 16, DType::fp4},
};

const KernelFormat& format_of(const OperatorShape& shape) {
  const KernelFormat* format = kernel_format(shape.format);
  assert(format != nullptr);
  return *format;
}

ShapeWork gemm_work(const OperatorShape& shape, double tokens, double units) {
  const KernelFormat& format = format_of(shape);
  const double n = to_double(shape.outputs);
  const double k = to_double(shape.inputs);
  const double products = to_double(std::max<std::int64_t>(1, shape.query_heads));
  const Bytes weight{products * n * k * format.weight_bits / 8.0};
  const Bytes activations{products * tokens * (k * format.input_bits + n * format.output_bits) /
                          8.0};
  const double tiles = products * std::max(1.0, tokens / kTile) * std::max(1.0, n / kTile);
  return {.flops = Flops{2.0 * products * tokens * n * k},
          .bytes = weight + activations,
          .stored_bytes = weight,
          .waves = tiles / units};
}

/// (1 - p)^n for n >= 0, linear between whole numbers: only multiplications, so every machine gets
/// the same bits.
double missed_by_all(double p, double n) {
  const double whole = std::floor(n);
  double power = 1;
  double base = 1 - p;
  for (auto left = static_cast<std::int64_t>(std::min(whole, 1e15)); left > 0; left /= 2) {
    if (left % 2 == 1) power *= base;
    base *= base;
  }
  return power * (1 - p * (n - whole));
}

/// Each token chooses its experts independently: E (1 - (1 - k/E)^tokens) experts are read.
ShapeWork moe_work(const OperatorShape& shape, double tokens, double units) {
  const KernelFormat& format = format_of(shape);
  const double experts = to_double(shape.experts);
  const double picked = to_double(shape.experts_per_token);
  const double width = to_double(shape.outputs);
  const double hidden = to_double(shape.inputs);
  const double into = shape.gated ? 2.0 : 1.0;  // gate and up, or up only
  const double matrix = (into + 1.0) * width * hidden;
  const double ranks = shape.expert_ranks;
  const double used = experts / ranks * (1.0 - missed_by_all(picked / experts, tokens));
  const double pairs = tokens * picked / ranks;
  const Bytes weights{used * matrix * format.weight_bits / 8.0};
  const Bytes activations{pairs * (2.0 * hidden + (into + 1.0) * width) * format.output_bits / 8.0};
  const double rows = used > 0 ? pairs / used : 0.0;
  const double tiles = used * std::max(1.0, rows / kTile) * std::max(1.0, into * width / kTile);
  return {.flops = Flops{2.0 * pairs * matrix},
          .bytes = weights + activations,
          .stored_bytes = weights,
          .waves = tiles / units};
}

/// Bytes per cached token on this rank.
double entry_bytes(const OperatorShape& shape) {
  const double elements = to_double(
      shape.latent ? shape.head_dim : shape.kv_heads * (shape.head_dim + shape.value_dim));
  return elements * bits_of(shape.cache) / 8.0;
}

/// Input queries plus outputs of one token: 16 bits per element unless the cache is wider.
double query_bytes(const OperatorShape& shape) {
  const double element = std::max(16, bits_of(shape.cache)) / 8.0;
  return to_double(shape.query_heads * (shape.head_dim + shape.value_dim)) * element;
}

/// Scores and values of one query over one entry, for all heads.
double pair_flops(const OperatorShape& shape) {
  return 2.0 * to_double(shape.query_heads * (shape.head_dim + shape.value_dim));
}

/// Causal: n y + n (n + 1) / 2 pairs of new and attended tokens; within a window the pairs of the
/// tokens that it does not cut yet, and a window of pairs for each of the others.
ShapeWork prefill_work(const OperatorShape& shape, double tokens, double cached, double units) {
  const double window = shape.window > 0 ? to_double(shape.window) : tokens + cached;
  const double rising = std::clamp(window - cached, 0.0, tokens);
  const double prompts = shape.prompts;
  const double pairs =
      prompts * (rising * cached + rising * (rising + 1) / 2 + (tokens - rising) * window);
  const Bytes stored{prompts * std::min(cached, window) * entry_bytes(shape)};
  const double tiles = prompts * std::max(1.0, tokens / kTile) * to_double(shape.query_heads);
  const double all = prompts * tokens;
  return {.flops = Flops{pairs * pair_flops(shape)},
          .bytes = stored + Bytes{all * (entry_bytes(shape) + query_bytes(shape))},
          .stored_bytes = stored,
          .waves = tiles / units};
}

ShapeWork decode_work(const OperatorShape& shape, double sequences, double attended, double units) {
  const double entries = sequences * attended;
  const Bytes stored{entries * entry_bytes(shape)};
  const double heads = to_double(std::max<std::int64_t>(1, shape.kv_heads));
  return {.flops = Flops{entries * pair_flops(shape)},
          .bytes = stored + Bytes{sequences * query_bytes(shape)},
          .stored_bytes = stored,
          .waves = std::max(0.0, sequences * heads / units - 1.0)};
}

/// A whole attention block over `sequences` of `tokens` new and `cached` earlier tokens each.
ShapeWork block_work(const OperatorShape& shape, double sequences, double tokens, double cached,
                     double units) {
  const double all = cached + tokens;
  const double compression = to_double(shape.compression);
  const double selected = shape.window > 0 ? to_double(shape.window) : all / compression;
  const double local = to_double(shape.local_tokens);
  const double pairs =
      sequences * (windowed_pairs(tokens, cached, selected * compression) / compression +
                   windowed_pairs(tokens, cached, local));
  const double scanned = sequences * windowed_pairs(tokens, cached, all) / compression;
  const double index = to_double(shape.index_heads * shape.index_dim);
  const KernelFormat& format = format_of(shape);
  const double matrices = to_double(shape.projections);
  const double new_tokens = sequences * tokens;
  const double entries = std::min(cached / compression, selected) + std::min(cached, local);
  const double keys = shape.index_heads > 0 ? cached / compression * to_double(shape.index_dim) : 0;
  const Bytes stored{matrices * format.weight_bits / 8.0 +
                     sequences *
                         (entries * to_double(shape.entry) * bits_of(shape.cache) / 8.0 + keys)};
  const Bytes activations{new_tokens * 2.0 * to_double(shape.inputs) * format.output_bits / 8.0};
  return {.flops = Flops{2.0 * new_tokens * matrices + pairs * pair_flops(shape) +
                         scanned * 2.0 * index},
          .bytes = stored + activations,
          .stored_bytes = stored,
          .waves = std::max(1.0, new_tokens / kTile) * to_double(shape.query_heads) / units};
}

ShapeWork attention_work(const OperatorShape& shape, double x, double y, double units) {
  const bool prefill = shape.family == OperatorFamily::prefill_attention;
  if (shape.projections > 0) {
    return prefill ? block_work(shape, shape.prompts, x, y, units)
                   : block_work(shape, x, 1, std::max(0.0, y - 1), units);
  }
  return prefill ? prefill_work(shape, x, y, units) : decode_work(shape, x, y, units);
}

bool is_convolution(const OperatorShape& shape) {
  return shape.name.find("conv") != std::string::npos;
}

bool continues_sequences(const OperatorShape& shape) { return shape.name.ends_with("update"); }

/// Depthwise convolution over keys, queries and values (of Mamba-2: B, C and x), or the recurrence
/// over a state of key x value elements for each head: decayed, corrected by the new key, read by
/// the query. A new prompt has no state to read; each sequence's state is written.
ShapeWork recurrent_work(const OperatorShape& shape, double tokens, double sequences,
                         double units) {
  const double heads = to_double(shape.query_heads);
  const double values = heads * to_double(shape.value_dim);
  const double channels = 2.0 * to_double(shape.kv_heads * shape.head_dim) + values;
  const double taps = to_double(shape.outputs);
  constexpr double kActivation = 2.0;  // bytes
  const double all = tokens * sequences;
  const double moves = continues_sequences(shape) ? 2.0 : 1.0;
  if (is_convolution(shape)) {
    const Bytes stored{sequences * moves * channels * (taps - 1.0) * kActivation};
    return {.flops = Flops{2.0 * all * channels * taps},
            .bytes = stored + Bytes{all * 2.0 * channels * kActivation},
            .stored_bytes = stored,
            .waves = all * channels / (kTile * kTile) / units};
  }
  const double state = values * to_double(shape.head_dim);
  const Bytes stored{sequences * moves * state * bits_of(shape.cache) / 8.0};
  return {.flops = Flops{6.0 * all * state},
          .bytes = stored + Bytes{all * (channels + values) * kActivation},
          .stored_bytes = stored,
          .waves = sequences * heads * std::max(1.0, tokens / kTile) / units};
}

}  // namespace

double windowed_pairs(double tokens, double cached, double window) {
  const double rising = std::clamp(window - cached, 0.0, tokens);
  return rising * cached + rising * (rising + 1) / 2 + (tokens - rising) * window;
}

std::string_view name_of(OperatorFamily family) {
  switch (family) {
    case OperatorFamily::gemm:
      return "gemm";
    case OperatorFamily::moe:
      return "moe";
    case OperatorFamily::prefill_attention:
      return "prefill_attention";
    case OperatorFamily::decode_attention:
      return "decode_attention";
    case OperatorFamily::memory_bound:
      return "memory_bound";
    case OperatorFamily::collective:
      return "collective";
    case OperatorFamily::recurrent:
      return "recurrent";
  }
  return "unknown";
}

std::string_view name_of(Exchange exchange) {
  switch (exchange) {
    case Exchange::all_reduce:
      return "all_reduce";
    case Exchange::all_gather:
      return "all_gather";
    case Exchange::reduce_scatter:
      return "reduce_scatter";
    case Exchange::all_to_all:
      return "all_to_all";
    case Exchange::point_to_point:
      return "point_to_point";
  }
  return "unknown";
}

bool is_attention(OperatorFamily family) {
  return family == OperatorFamily::prefill_attention || family == OperatorFamily::decode_attention;
}

bool has_second_axis(OperatorFamily family) {
  return is_attention(family) || family == OperatorFamily::recurrent;
}

bool is_sized_in_bytes(OperatorFamily family) {
  return family == OperatorFamily::memory_bound || family == OperatorFamily::collective;
}

const KernelFormat* kernel_format(std::string_view name) {
  const auto found = std::find_if(kFormats.begin(), kFormats.end(),
                                  [&](const KernelFormat& f) { return f.name == name; });
  return found == kFormats.end() ? nullptr : &*found;
}

std::vector<std::string> kernel_format_names() {
  std::vector<std::string> names;
  for (const KernelFormat& format : kFormats) names.emplace_back(format.name);
  return names;
}

std::string kernel_format_name(const WeightFormat& format) {
  const KernelFormat* kernels = kernel_format(format.name);
  const bool same = kernels != nullptr && bits_of(kernels->compute) == bits_of(format.compute);
  if (same || kernels == nullptr) return format.name;
  return format.name + " as " + std::string(name_of(format.compute));
}

OperatorShape min_work_shape(const OperatorShape& shape) {
  OperatorShape least = shape;
  if (shape.family == OperatorFamily::moe && shape.power_law > 0) {
    least.experts = shape.experts_per_token;
  }
  return least;
}

ShapeWork shape_work(const OperatorShape& shape, double x, double y, int multiprocessors) {
  const double units = std::max(1, multiprocessors);
  switch (shape.family) {
    case OperatorFamily::gemm:
      return gemm_work(shape, x, units);
    case OperatorFamily::moe:
      return moe_work(shape, x, units);
    case OperatorFamily::prefill_attention:
    case OperatorFamily::decode_attention:
      return attention_work(shape, x, y, units);
    case OperatorFamily::recurrent:
      return recurrent_work(shape, x, y, units);
    case OperatorFamily::memory_bound:
    case OperatorFamily::collective:
      break;
  }
  return {.bytes = Bytes{x}};
}

}  // namespace roofcast
