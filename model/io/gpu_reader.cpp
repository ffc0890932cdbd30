#include "model/io/gpu_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "model/io/kernel_tables_file.hpp"
#include "model/io/measured_keys.hpp"
#include "model/io/measured_reader.hpp"
#include "model/io/profile_section.hpp"
#include "model/step/carried_time.hpp"

namespace roofcast {
namespace {

constexpr const char* kNetworkLink = "network_link";
constexpr const char* kNicsPerNode = "nics_per_node";
constexpr const char* kTables = "kernel_tables";
constexpr const char* kCurvesOf = "curves_of";
constexpr const char* kBusBandwidth = "bus_bandwidth_bytes_per_s";

constexpr Range kMemory{1e8, 1e14, "bytes"};
constexpr Range kCache{1e3, 1e12, "bytes"};
constexpr Range kLinkRate{1e8, 1e14, "bytes per second"};
constexpr Range kPeak{1e9, 1e18, "FLOP per second"};
constexpr Range kPower{1, 1e5, "watts"};
constexpr Range kPrice{1e-3, 1e4, "dollars per hour"};
constexpr Range kShare{1e-4, 1.0, "of the limit"};
constexpr Range kCurveX{1, 1e15, "tokens or bytes"};
constexpr Range kJoulesPerByte{1e-13, 1e-8, "joules per byte"};
constexpr Range kJoulesPerFlop{1e-15, 1e-9, "joules per FLOP"};
constexpr Range kCount{1, 1e6, "pieces"};
constexpr Range kVersion{kGpuSchemaVersion, kGpuSchemaVersion, "(the version this program reads)"};

// Of what a profile leaves out. Sizes are the H100's (nvidia-h100-sxm.json); the ratio of 16-bit to
// fp32 peaks is the A100's, between 2 (graphics cards) and 31 (B200).
constexpr double kAssumedCache = 52428800;
constexpr int kAssumedMultiprocessors = 132;
constexpr int kAssumedGpusPerNode = 8;
constexpr double kAssumedWidePeaks = 16;
constexpr const char* kUnknown = "unknown";

std::map<DType, FlopsPerSecond> read_peaks(const ProfileSection& top, Gpu& gpu) {
  const ProfileSection section = subsection(top, "dense_peak_flops_per_s");
  std::map<DType, FlopsPerSecond> result;
  for (const auto& [key, value] : section.value().items()) {
    result[dtype_key(section, key)] = FlopsPerSecond{checked(section, key, value, kPeak)};
  }
  if (result.contains(DType::fp32)) return result;
  for (const DType half : {DType::bf16, DType::fp16}) {
    const auto found = result.find(half);
    if (found == result.end()) continue;
    result[DType::fp32] = FlopsPerSecond{found->second.value / kAssumedWidePeaks};
    gpu.assumed.emplace_back("dense_peak_flops_per_s.fp32");
    return result;
  }
  section.fail("fp32", "is missing, and so are bf16 and fp16, from which it would be assumed");
}

std::optional<Link> read_link(const ProfileSection& top, const std::string& key) {
  if (!top.has(key)) return std::nullopt;
  const ProfileSection section = subsection(top, key);
  std::vector<std::string> keys{"name", "bandwidth_bytes_per_s", "latency_s"};
  keys.emplace_back(key == kNetworkLink ? kNicsPerNode : kBusBandwidth);
  check_keys(section, keys);
  Link link{.name = text(section, "name"),
            .bandwidth = BytesPerSecond{number(section, "bandwidth_bytes_per_s", kLinkRate)},
            .latency = Seconds{number(section, "latency_s", kTime)}};
  if (section.has(kBusBandwidth)) {
    link.bus_bandwidth = BytesPerSecond{number(section, kBusBandwidth, kLinkRate)};
    // A switch that reduces saves up to half of an all-reduce's traffic.
    if (*link.bus_bandwidth > 2.0 * link.bandwidth) {
      section.fail(kBusBandwidth, "is more than twice bandwidth_bytes_per_s");
    }
  }
  return link;
}

Curve read_curve(const ProfileSection& parent, const std::string& key, const Range& y) {
  const ProfileSection section = subsection(parent, key);
  check_keys(section, {"points", "source", "assumed"});
  Curve curve;
  curve.assumed = section.flag("assumed").value_or(false);
  curve.source = text(section, "source");
  const nlohmann::json& points = section.required("points");
  if (!points.is_array() || points.empty()) {
    section.fail("points", "must be a non-empty list of [x, y]");
  }
  for (const nlohmann::json& point : points) {
    if (!point.is_array() || point.size() != 2) {
      section.fail("points", fmt::format("{} is not [x, y]", section.shown_value(point)));
    }
    const double x = checked(section, "points", point[0], kCurveX);
    if (!curve.points.empty() && x <= curve.points.back().x) {
      section.fail("points",
                   fmt::format("x must ascend, but {} follows {}", x, curve.points.back().x));
    }
    curve.points.push_back({x, checked(section, "points", point[1], y)});
  }
  return curve;
}

std::map<std::string, Curve> read_curves(const ProfileSection& parent, const std::string& key,
                                         const Range& y) {
  std::map<std::string, Curve> result;
  if (!parent.has(key)) return result;
  const ProfileSection section = subsection(parent, key);
  for (const auto& [name, value] : section.value().items()) {
    result.emplace(name, read_curve(section, name, y));
  }
  return result;
}

std::map<DType, Curve> read_decode_attention(const ProfileSection& section) {
  std::map<DType, Curve> result;
  for (auto& [name, curve] : read_curves(section, "decode_attention", kShare)) {
    const ProfileSection named{section.value(), section.path() + "decode_attention.",
                               section.source};
    result.emplace(dtype_key(named, name), std::move(curve));
  }
  return result;
}

std::map<int, Curve> read_all_reduce(const ProfileSection& section) {
  std::map<int, Curve> result;
  for (auto& [name, curve] : read_curves(section, "all_reduce_s", kTime)) {
    const nlohmann::json ranks = nlohmann::json::parse(name, nullptr, false);
    if (!ranks.is_number_integer() || ranks < 2 || ranks > 4096) {
      section.fail("all_reduce_s." + name, "is not a number of GPUs of at least 2");
    }
    result.emplace(ranks.get<int>(), std::move(curve));
  }
  return result;
}

Efficiencies read_efficiencies(const ProfileSection& top) {
  Efficiencies result;
  if (!top.has("efficiency")) return result;
  const ProfileSection section = subsection(top, "efficiency");
  check_keys(section, {"gemm", "moe", "prefill_attention", "decode_attention", "memory_bound",
                       "all_reduce_s"});
  result.gemm = read_curves(section, "gemm", kShare);
  result.moe = read_curves(section, "moe", kShare);
  if (section.has("prefill_attention")) {
    result.prefill_attention = read_curve(section, "prefill_attention", kShare);
  }
  result.decode_attention = read_decode_attention(section);
  if (section.has("memory_bound")) {
    result.memory_bound = read_curve(section, "memory_bound", kShare);
  }
  result.all_reduce = read_all_reduce(section);
  return result;
}

Floors read_floors(const ProfileSection& top) {
  Floors result;
  const ProfileSection section = subsection(top, "floors_s");
  check_keys(section, {"gemm", "moe", "attention", "memory_bound", "all_reduce"});
  for (const auto& [key, floor] : {std::pair{"gemm", &Floors::gemm}, std::pair{"moe", &Floors::moe},
                                   std::pair{"attention", &Floors::attention},
                                   std::pair{"memory_bound", &Floors::memory_bound},
                                   std::pair{"all_reduce", &Floors::all_reduce}}) {
    if (section.has(key)) result.*floor = Seconds{number(section, key, kTime)};
  }
  return result;
}

std::shared_ptr<const KernelTables> read_tables(const ProfileSection& top) {
  if (!top.has(kTables)) return nullptr;
  const std::string name = text(top, kTables);
  auto tables = built_in_tables(name);
  if (tables == nullptr) {
    top.fail(kTables, fmt::format("there are no built-in kernel tables {}", top.shown_value(name)) +
                          did_you_mean(name, kernel_table_names()));
  }
  return tables;
}

PowerTerms read_power(const ProfileSection& top) {
  PowerTerms power;
  if (!top.has("power")) return power;
  const ProfileSection section = subsection(top, "power");
  check_keys(section, {"idle_w", "active_w", "joules_per_byte", "joules_per_flop"});
  if (section.has("idle_w")) power.idle = Watts{number(section, "idle_w", kPower)};
  if (section.has("active_w")) power.active = Watts{number(section, "active_w", kPower)};
  if (section.has("joules_per_byte")) {
    power.joules_per_byte = number(section, "joules_per_byte", kJoulesPerByte);
  }
  if (section.has("joules_per_flop")) {
    power.joules_per_flop = number(section, "joules_per_flop", kJoulesPerFlop);
  }
  return power;
}

Gpu read_gpu(const ProfileSection& top);

/// Takes what was timed on another card with the same chip.
void take_curves_of(const ProfileSection& top, Gpu& gpu) {
  const std::string name = text(top, kCurvesOf);
  const std::vector<std::string> known = gpu_names();
  if (std::ranges::find(known, name) == known.end()) {
    top.fail(kCurvesOf, fmt::format("there is no built-in profile {}", top.shown_value(name)) +
                            did_you_mean(name, known));
  }
  if (name == gpu.name) top.fail(kCurvesOf, fmt::format("{} is the profile itself", name));
  const ProfileText source{.name = name + ".json (built in)",
                           .text = std::string(built_in_text(name))};
  const nlohmann::json sister = parse_profile_json(source);
  // Before it is read: profiles that name each other would be read without end.
  if (const auto third = sister.find(kCurvesOf); third != sister.end()) {
    top.fail(kCurvesOf, fmt::format("{} has no curves of its own, but those of {}", name,
                                    third->get<std::string>()));
  }
  carry_over(read_gpu(ProfileSection{sister, "", source}), gpu);
}

/// Whether `key`, with dots for nesting, exists in the profile.
bool leads_somewhere(const nlohmann::json& profile, const std::string& key) {
  const nlohmann::json* at = &profile;
  std::istringstream parts(key);
  for (std::string part; std::getline(parts, part, '.');) {
    if (!at->is_object() || !at->contains(part)) return false;
    at = &(*at)[part];
  }
  return true;
}

std::map<std::string, std::string> read_sources(const ProfileSection& top) {
  if (!top.has("sources")) return {};
  const ProfileSection section = subsection(top, "sources");
  std::map<std::string, std::string> result;
  for (const auto& [key, value] : section.value().items()) {
    if (!leads_somewhere(top.value(), key)) {
      section.fail(key, "is the source of a key that the profile does not have");
    }
    result[key] = text(section, key);
  }
  return result;
}

/// Those of `keys` that the section lacks, with its path.
void add_missing(const ProfileSection& section, const std::vector<std::string>& keys,
                 std::vector<std::string>& missing) {
  for (const std::string& key : keys) {
    if (!section.has(key)) missing.push_back(section.path() + key);
  }
}

/// Names all missing keys at once: a profile is written key by key. A single one is reported by its
/// reader; the others are assumed.
void check_complete(const ProfileSection& top) {
  std::vector<std::string> missing;
  add_missing(top, {"memory_bytes", "memory_bandwidth_bytes_per_s", "dense_peak_flops_per_s"},
              missing);
  const auto add_within = [&](const char* key, const std::vector<std::string>& keys) {
    if (top.has(key) && top.value().at(key).is_object()) {
      add_missing(subsection(top, key), keys, missing);
    }
  };
  for (const char* link : {"peer_link", "host_link", kNetworkLink}) {
    add_within(link, {"name", "bandwidth_bytes_per_s", "latency_s"});
  }
  if (missing.size() < 2) return;
  throw Error(
      fmt::format("hardware profile {}: {} keys are missing: {} ('roofcast gpus NAME "
                  "--as-profile' prints a profile to start from)",
                  top.source.name, missing.size(), fmt::join(missing, ", ")));
}

/// "my-gpu" of "profiles/my-gpu.json"
std::string stem_of(const std::string& where) {
  return std::filesystem::path(where).stem().string();
}

void read_names(const ProfileSection& top, Gpu& gpu) {
  const auto given_or = [&](const char* key, const std::string& otherwise) {
    return top.has(key) ? text(top, key) : otherwise;
  };
  gpu.name = given_or("name", stem_of(top.source.name));
  gpu.display_name = given_or("display_name", gpu.name);
  if (top.has("aliases")) gpu.aliases = texts(top, "aliases");
  gpu.vendor = given_or("vendor", kUnknown);
  gpu.architecture = given_or("architecture", kUnknown);
  // Empty for a CPU without a vector extension, which it therefore must state.
  // NOLINTNEXTLINE(readability-container-size-empty): of any JSON value
  const bool is_empty = top.has("compute_capability") && top.value().at("compute_capability") == "";
  gpu.compute_capability = is_empty ? "" : given_or("compute_capability", kUnknown);
}

/// The facts that no answer but a fine one depends on.
void read_or_assume(const ProfileSection& top, Gpu& gpu) {
  const auto is_given = [&](const char* key) {
    if (!top.has(key)) gpu.assumed.emplace_back(key);
    return top.has(key);
  };
  gpu.memory_visible = is_given("memory_visible_bytes")
                           ? Bytes{number(top, "memory_visible_bytes", kMemory)}
                           : gpu.memory;
  gpu.l2_cache =
      Bytes{is_given("l2_cache_bytes") ? number(top, "l2_cache_bytes", kCache) : kAssumedCache};
  const auto count_or = [&](const char* key, int otherwise) {
    return is_given(key) ? static_cast<int>(whole_number(top, key, kCount)) : otherwise;
  };
  gpu.multiprocessors = count_or("multiprocessors", kAssumedMultiprocessors);
  gpu.gpus_per_node = count_or("gpus_per_node", kAssumedGpusPerNode);
}

void read_facts(const ProfileSection& top, Gpu& gpu) {
  read_names(top, gpu);
  gpu.memory = Bytes{number(top, "memory_bytes", kMemory)};
  gpu.memory_bandwidth = BytesPerSecond{number(top, "memory_bandwidth_bytes_per_s", kMemoryRate)};
  read_or_assume(top, gpu);
  if (top.has("boost_clock_hz")) gpu.boost_clock_hz = number(top, "boost_clock_hz", kClock);
  if (top.has("board_power_w")) gpu.board_power = Watts{number(top, "board_power_w", kPower)};
  if (top.has("price_dollars_per_hour")) {
    gpu.price = DollarsPerHour{number(top, "price_dollars_per_hour", kPrice)};
  }
  // "80 GB" is 80e9 bytes on some datasheets and 80 GiB on others, so the driver may report up to
  // 7.4 % more than the nominal figure, and slightly less if ECC takes a share.
  const double shown = gpu.memory_visible / gpu.memory;
  if (shown < 0.5 || shown > kGiB / 1e9) {
    top.fail("memory_visible_bytes",
             fmt::format("is {:.3f} of memory_bytes, expected 0.5 to 1.074", shown));
  }
}

Gpu read_gpu(const ProfileSection& top) {
  check_keys(top, {"schema_version",
                   "name",
                   "display_name",
                   "aliases",
                   "vendor",
                   "architecture",
                   "compute_capability",
                   "memory_bytes",
                   "memory_visible_bytes",
                   "memory_bandwidth_bytes_per_s",
                   "l2_cache_bytes",
                   "multiprocessors",
                   "boost_clock_hz",
                   "dense_peak_flops_per_s",
                   "peer_link",
                   "host_link",
                   "network_link",
                   "gpus_per_node",
                   "board_power_w",
                   "price_dollars_per_hour",
                   "power",
                   kCurvesOf,
                   "efficiency",
                   "floors_s",
                   "measured",
                   kTables,
                   "sources"});
  check_complete(top);
  if (top.has("schema_version")) number(top, "schema_version", kVersion);
  Gpu gpu;
  read_facts(top, gpu);
  gpu.dense_peak = read_peaks(top, gpu);
  gpu.peer = read_link(top, "peer_link");
  gpu.host = read_link(top, "host_link");
  gpu.network = read_link(top, kNetworkLink);
  if (gpu.network) {
    const ProfileSection network = subsection(top, kNetworkLink);
    if (network.has(kNicsPerNode)) {
      gpu.nics_per_node = static_cast<int>(whole_number(network, kNicsPerNode, kCount));
    }
  }
  gpu.efficiencies = read_efficiencies(top);
  gpu.power = read_power(top);
  if (top.has("measured")) gpu.measured = read_measured(subsection(top, "measured"), gpu);
  gpu.tables = read_tables(top);
  if (top.has(kCurvesOf)) take_curves_of(top, gpu);
  if (top.has("floors_s")) gpu.floors = read_floors(top);
  gpu.sources = read_sources(top);
  return gpu;
}

}  // namespace

Gpu parse_gpu(const std::string& profile, const std::string& where) {
  const ProfileText source{.name = where, .text = profile};
  const nlohmann::json json = parse_profile_json(source);
  return read_gpu(ProfileSection{json, "", source});
}

}  // namespace roofcast
