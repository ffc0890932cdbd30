// A hardware profile's version and its keys for measured values: one table for reader and writer.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "model/curves/measured_curve.hpp"

namespace roofcast {

inline constexpr int kGpuSchemaVersion = 1;

inline constexpr std::array kFamilies{
    OperatorFamily::gemm,
    OperatorFamily::moe,
    OperatorFamily::prefill_attention,
    OperatorFamily::decode_attention,
    OperatorFamily::memory_bound,
    OperatorFamily::collective,
    OperatorFamily::recurrent,
};

inline constexpr std::array kExchanges{Exchange::all_reduce, Exchange::all_gather,
                                       Exchange::reduce_scatter, Exchange::all_to_all,
                                       Exchange::point_to_point};

/// A whole number in a shape.
struct SizeKey {
  const char* key;
  std::int64_t OperatorShape::*field;
};

inline constexpr std::array kMoeSizes{
    SizeKey{"outputs", &OperatorShape::outputs},
    SizeKey{"inputs", &OperatorShape::inputs},
    SizeKey{"experts", &OperatorShape::experts},
    SizeKey{"experts_per_token", &OperatorShape::experts_per_token},
};
inline constexpr std::array kAttentionSizes{
    SizeKey{"query_heads", &OperatorShape::query_heads},
    SizeKey{"kv_heads", &OperatorShape::kv_heads},
    SizeKey{"head_dim", &OperatorShape::head_dim},
    SizeKey{"value_dim", &OperatorShape::value_dim},
};

inline constexpr std::array kRecurrentSizes{
    SizeKey{"query_heads", &OperatorShape::query_heads},
    SizeKey{"kv_heads", &OperatorShape::kv_heads},
    SizeKey{"head_dim", &OperatorShape::head_dim},
    SizeKey{"value_dim", &OperatorShape::value_dim},
    SizeKey{"taps", &OperatorShape::outputs},
};

/// A whole number that only some shapes of a family have, and its value in the others.
struct OptionalSize {
  const char* key;
  std::int64_t OperatorShape::*field;
  std::int64_t without;
};
inline constexpr std::array kBatchedSizes{OptionalSize{"products", &OperatorShape::query_heads, 0}};
inline constexpr std::array kRowSizes{OptionalSize{"inputs", &OperatorShape::inputs, 0}};
inline constexpr std::array kBlockSizes{
    OptionalSize{"projections", &OperatorShape::projections, 0},
    OptionalSize{"inputs", &OperatorShape::inputs, 0},
    OptionalSize{"entry", &OperatorShape::entry, 0},
    OptionalSize{"compression", &OperatorShape::compression, 1},
    OptionalSize{"local_tokens", &OperatorShape::local_tokens, 0},
    OptionalSize{"index_heads", &OperatorShape::index_heads, 0},
    OptionalSize{"index_dim", &OperatorShape::index_dim, 0},
};

/// The optional sizes of a family's shapes.
inline std::span<const OptionalSize> optional_sizes(OperatorFamily family) {
  switch (family) {
    case OperatorFamily::gemm:
      return kBatchedSizes;
    case OperatorFamily::prefill_attention:
    case OperatorFamily::decode_attention:
      return kBlockSizes;
    case OperatorFamily::memory_bound:
      return kRowSizes;
    case OperatorFamily::moe:
    case OperatorFamily::collective:
    case OperatorFamily::recurrent:
      break;
  }
  return {};
}

/// The sizes in a family's shape, in the order in which they are written.
inline std::span<const SizeKey> size_keys(OperatorFamily family) {
  switch (family) {
    case OperatorFamily::gemm:
      return std::span(kMoeSizes).first(2);
    case OperatorFamily::moe:
      return kMoeSizes;
    case OperatorFamily::prefill_attention:
    case OperatorFamily::decode_attention:
      return kAttentionSizes;
    case OperatorFamily::recurrent:
      return kRecurrentSizes;
    case OperatorFamily::memory_bound:
    case OperatorFamily::collective:
      break;
  }
  return {};
}

/// Rates and times that a profile may state in addition to its curves.
struct RateKey {
  const char* key;
  BytesPerSecond Measured::*field;
};
inline constexpr std::array kRates{
    RateKey{"copy_bandwidth_bytes_per_s", &Measured::copy_bandwidth},
    RateKey{"read_bandwidth_bytes_per_s", &Measured::read_bandwidth},
    RateKey{"upload_bandwidth_bytes_per_s", &Measured::upload_bandwidth},
    RateKey{"download_bandwidth_bytes_per_s", &Measured::download_bandwidth},
};
struct TimeKey {
  const char* key;
  Seconds Measured::*field;
};
inline constexpr std::array kTimes{
    TimeKey{"kernel_floor_s", &Measured::kernel_floor},
    TimeKey{"eager_launch_s", &Measured::eager_launch},
    TimeKey{"graph_launch_s", &Measured::graph_launch},
    TimeKey{"engine_step_s", &Measured::engine_step},
};

/// Texts that describe how the curves were made.
struct TextKey {
  const char* key;
  std::string Measured::*field;
  bool required;
};
inline constexpr std::array kProvenance{
    TextKey{"device", &Measured::device, true},
    TextKey{"identity", &Measured::identity, false},
    TextKey{"date", &Measured::date, true},
    TextKey{"tool", &Measured::tool, true},
    TextKey{"protocol", &Measured::protocol, true},
    TextKey{"incomplete", &Measured::incomplete, false},
};

}  // namespace roofcast
