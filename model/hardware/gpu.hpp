// An accelerator: facts with sources, default efficiencies and, if it was calibrated, measured
// curves. Read from hardware_profiles/*.json by model/io/gpu_reader.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "model/architecture/dtype.hpp"
#include "model/curves/measured_curve.hpp"

namespace roofcast {

class KernelTables;

/// A GPU's link to others or to the host, or a NIC, in one direction.
struct Link {
  std::string name;  // "NVLink 4", "PCIe 5 x16"
  BytesPerSecond bandwidth;
  Seconds latency;
  /// Bandwidth that NCCL's collectives reach over it ("busbw" of nccl-tests), where that was
  /// measured; unset: the usual share of the bandwidth (model/step/collective.cpp).
  std::optional<BytesPerSecond> bus_bandwidth{};

  bool operator==(const Link&) const = default;
};

/// Minimum for links that carry K and V. No server link is nearly this slow, so less is an input
/// error.
inline constexpr BytesPerSecond kSlowestLink{1e6};

/// A one-shot all-reduce: every rank reads every other's whole message, which saves latency and
/// costs bandwidth.
struct OneShotAllReduce {
  double link_share = 0;  // share of the peer link's bandwidth reached; 0: not used
  Bytes limit{};          // larger messages use another algorithm and take no less than this size
};

/// A function given by points: linear in log2(x) between them, constant outside. log2 is itself
/// piecewise linear (exponent plus mantissa - 1), so results do not depend on a maths library and
/// are the same on every machine.
struct Curve {
  struct Point {
    double x = 0;
    double y = 0;

    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;  // x strictly ascending, x > 0
  std::string source;
  bool assumed = false;  // not of kernels on this GPU: as uncertain as the datasheet

  double at(double x) const;  // precondition: not empty, x > 0

  bool operator==(const Curve&) const = default;
};

/// Share of the datasheet limit that kernels reach after the floor, by operator family: expected
/// time = floor + limit / share. All-reduce curves are whole times, including the floor. Missing
/// entries take the default of their family (model/step/efficiency.cpp) and its wider uncertainty.
struct Efficiencies {
  std::map<std::string, Curve> gemm;       // by weight format name; x: tokens (M)
  std::map<std::string, Curve> moe;        // by weight format name; x: tokens
  std::optional<Curve> prefill_attention;  // share of dense peak (causal FLOPs); x: tokens attended
  std::map<DType, Curve> decode_attention;  // by KV dtype: share of HBM bandwidth; x: KV bytes read
  std::optional<Curve> memory_bound;        // norms, RoPE, activations; x: bytes moved
  std::map<int, Curve> all_reduce;          // by GPUs: seconds per call; x: bytes

  bool operator==(const Efficiencies&) const = default;
};

/// Minimum time of a kernel, back to back in a CUDA graph. Defaults are assumptions, except
/// that of memory_bound; the first three lie within the range of the profiles that state one.
struct Floors {
  Seconds gemm{3e-6};  // profiles: 2 to 6 us
  Seconds moe{20e-6};  // the whole block of one layer: routing, sorting, two grouped GEMMs; 8 to 24
  Seconds attention{10e-6};    // 7.5 to 15
  Seconds memory_bound{2e-6};  // an H200's (cuDNN frontend, norms/results/h200: 8192 x 128)
  Seconds all_reduce{5e-6};

  bool operator==(const Floors&) const = default;
};

/// The power that a GPU draws, by cause. Unset terms take the defaults of model/step/power.hpp.
struct PowerTerms {
  std::optional<Watts> idle{};    // with a model loaded, while no step is in progress
  std::optional<Watts> active{};  // additional during a step: clocks, caches and schedulers
  std::optional<double> joules_per_byte{};  // read from or written to memory
  std::optional<double> joules_per_flop{};  // of bf16, else of fp16

  bool operator==(const PowerTerms&) const = default;
};

/// Another card whose times are scaled for this one: what they are scaled by.
struct SisterCard {
  std::string name{};
  bool same_chip = true;  // as far as the facts of both tell
  std::map<DType, FlopsPerSecond> dense_peak{};
  BytesPerSecond memory_bandwidth{};
  int multiprocessors = 0;
  double clock_hz = 0;
  std::optional<Link> peer{};

  bool operator==(const SisterCard&) const = default;
};

/// Rate at which `compute` runs: its own peak, or the fastest wider type's if the hardware lacks
/// the type (fp8 weights on A100 are multiplied as bf16).
FlopsPerSecond peak_of(const std::map<DType, FlopsPerSecond>& dense_peak, DType compute);

struct Gpu {
  std::string name;          // file name without .json: "nvidia-h200-sxm"
  std::string display_name;  // "NVIDIA H200 SXM"
  std::vector<std::string> aliases;
  std::string vendor;
  std::string architecture;        // "hopper"
  std::string compute_capability;  // for a CPU its vector extension, "avx512_bf16", or empty
  Bytes memory;                    // nominal, as sold
  Bytes memory_visible;  // total that the driver reports, which engines multiply by utilisation
  BytesPerSecond memory_bandwidth;
  Bytes l2_cache;
  int multiprocessors = 0;
  std::optional<double> boost_clock_hz;        // at which the dense peaks are stated
  std::map<DType, FlopsPerSecond> dense_peak;  // tensor-core rate without sparsity; absent: none
  std::optional<Link> peer;                    // to other GPUs in the node
  std::optional<Link> host;                    // PCIe or C2C
  std::optional<Link> network;                 // one NIC, between nodes
  int gpus_per_node = 8;
  int nics_per_node = 0;  // of `network`; 0: one for each GPU
  std::optional<Watts> board_power;
  PowerTerms power{};
  std::optional<DollarsPerHour> price;
  /// Dollars per hour and watt that `price` counts at the board's limit; 0: power is in the rent.
  double price_per_watt = 0;
  Efficiencies efficiencies;
  Floors floors;
  std::optional<Measured> measured;  // what was timed on such a device
  /// Built-in tables of kernels, for what `measured` does not answer; null: none.
  std::shared_ptr<const KernelTables> tables{};
  /// The card on which its efficiencies and kernel tables were timed, if it was another
  /// (model/step/carried_time.hpp).
  std::optional<SisterCard> sister{};
  std::map<std::string, std::string> sources;  // profile key -> where the number comes from
  std::vector<std::string> assumed{};          // keys that the profile leaves out
  /// A profile by hand of a chip that no built-in one describes, on which nothing was timed: shares
  /// of the datasheet come from other chips.
  bool untimed_chip = false;

  /// peak_of() its peaks.
  FlopsPerSecond peak_for(DType compute) const { return peak_of(dense_peak, compute); }
  /// Whether it has tables and they hold the kernels that `engine` ("sglang-0.5") runs
  /// (KernelTables::answer_for).
  bool has_tables_for(std::string_view engine) const;

  bool operator==(const Gpu&) const = default;
};

/// NICs of a node: `nics_per_node`, or one for each GPU.
int nics_of_node(const Gpu& gpu);

/// Ten times the CUDA compute capability, 75 for "7.5"; nullopt for other vendors' GPUs and CPUs.
std::optional<int> cuda_capability(const Gpu& gpu);

/// Whether a profile describes a CPU: its compute capability is a vector extension or empty.
bool is_cpu(const Gpu& gpu);

}  // namespace roofcast
