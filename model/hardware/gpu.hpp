// What is known about an accelerator: facts with sources, default efficiencies, and (when it was
// calibrated) measured curves. Read from hardware_profiles/*.json by model/io/gpu_reader.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/architecture/dtype.hpp"
#include "model/curves/measured_curve.hpp"

namespace roofcast {

/// One direction of one GPU's share of an interconnect.
struct Link {
  std::string name;  // "NVLink 4", "PCIe 5 x16"
  BytesPerSecond bandwidth;
  Seconds latency;

  bool operator==(const Link&) const = default;
};

/// Of links that K and V are moved over. No link of a server is slower by far, so less is a mistake
/// in the input.
inline constexpr BytesPerSecond kSlowestLink{1e6};

/// A function given by points, held constant outside them and linear in log2(x) between them.
/// log2 is piecewise linear itself (exponent plus mantissa - 1), so results do not depend on a
/// maths library and are the same on every machine.
struct Curve {
  struct Point {
    double x = 0;
    double y = 0;

    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;  // x strictly ascending, x > 0
  std::string source;

  double at(double x) const;  // precondition: not empty, x > 0

  bool operator==(const Curve&) const = default;
};

/// Share of the datasheet limit that kernels reach, by operator family, beyond the family's floor:
/// expected time = floor + limit / share. All-reduce curves are whole times, floor included. What
/// is absent takes the default of its family (model/step/efficiency.cpp) and its wider uncertainty.
struct Efficiencies {
  std::map<std::string, Curve> gemm;       // by weight format name; x: tokens (M)
  std::map<std::string, Curve> moe;        // by weight format name; x: tokens
  std::optional<Curve> prefill_attention;  // share of dense peak (causal FLOPs); x: tokens attended
  std::map<DType, Curve> decode_attention;  // by KV dtype: share of HBM bandwidth; x: KV bytes read
  std::optional<Curve> memory_bound;        // norms, RoPE, activations; x: bytes moved
  std::map<int, Curve> all_reduce;          // by GPUs: seconds per call; x: bytes

  bool operator==(const Efficiencies&) const = default;
};

/// Time a kernel takes however little it does, back to back in a CUDA graph.
struct Floors {
  Seconds gemm{3e-6};
  Seconds moe{20e-6};  // the whole block of one layer: routing, sorting, two grouped GEMMs
  Seconds attention{10e-6};
  Seconds memory_bound{2e-6};
  Seconds all_reduce{5e-6};

  bool operator==(const Floors&) const = default;
};

struct Gpu {
  std::string name;          // file name without .json: "nvidia-h200-sxm"
  std::string display_name;  // "NVIDIA H200 SXM"
  std::vector<std::string> aliases;
  std::string vendor;
  std::string architecture;        // "hopper"
  std::string compute_capability;  // of a CPU its vector extension, "avx512_bf16", or empty
  Bytes memory;                    // nominal, as sold
  Bytes memory_visible;  // total that the driver reports, what engines multiply by utilisation
  BytesPerSecond memory_bandwidth;
  Bytes l2_cache;
  int multiprocessors = 0;
  std::optional<double> boost_clock_hz;        // at which the dense peaks are stated
  std::map<DType, FlopsPerSecond> dense_peak;  // tensor-core rate without sparsity; absent: none
  std::optional<Link> peer;                    // to other GPUs of the node
  std::optional<Link> host;                    // PCIe or C2C
  std::optional<Link> network;                 // per GPU, between nodes
  int gpus_per_node = 8;
  std::optional<Watts> board_power;
  std::optional<DollarsPerHour> price;
  Efficiencies efficiencies;
  Floors floors;
  std::optional<Measured> measured;            // what was timed on such a device
  std::map<std::string, std::string> sources;  // profile key -> where the number comes from

  /// Rate at which `compute` runs: its own peak, or the fastest wider type's when the hardware has
  /// no such unit (fp8 weights on A100 are multiplied as bf16).
  FlopsPerSecond peak_for(DType compute) const;

  bool operator==(const Gpu&) const = default;
};

/// Whether a profile describes a CPU: it has a vector extension for a compute capability, or none.
bool is_cpu(const Gpu& gpu);

}  // namespace roofcast
