// The built-in hardware profiles, and the facts of one profile: memory, dense peaks with their
// ridge points, links, the source of every number, and what was timed on such a device.
//
//   const GpuAnswer answer = describe_gpu("h200");
//   for (const auto& [format, ridge] : answer.gpu.ridges) {
//     std::cout << format << " " << ridge.value << " FLOP/byte\n";
//   }
//
// Fields of an answer are described by its `members`, key by key.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/units.hpp"
#include "model/curves/operator_shape.hpp"
#include "model/hardware/gpu.hpp"
#include "model/io/gpu_reader.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

struct GpuFacts {
  std::string name{};
  std::string display_name{};
  std::vector<std::string> aliases{};
  std::string architecture{};
  std::int64_t memory_bytes = 0;
  std::int64_t memory_visible_bytes = 0;
  BytesPerSecond memory_bandwidth{};
  std::vector<std::pair<std::string, FlopsPerSecond>> dense_peaks{};
  std::vector<std::pair<std::string, FlopsPerByte>> ridges{};
  std::optional<Link> peer_link{};
  std::optional<Link> host_link{};
  std::optional<Link> network_link{};
  int gpus_per_node = 0;
  std::optional<int> nics_per_node{};
  std::optional<Watts> board_power{};
  std::optional<Watts> idle_power{};
  std::optional<std::string> curves_of{};
  std::optional<bool> same_chip{};
  std::optional<bool> untimed_chip{};  // set where true: Gpu::untimed_chip
  std::optional<std::vector<std::string>> assumed{};
  std::optional<DollarsPerHour> price{};
  std::string profile_hash{};
  std::map<std::string, std::string> sources{};
  // Not in the JSON; unset when read back.
  std::optional<bool> is_cpu{};
  std::optional<Bytes> l2_cache{};       // last-level cache of a CPU
  std::optional<int> multiprocessors{};  // cores of a CPU
};

struct GpuListAnswer {
  AnswerHead head{};
  NoInputs inputs{};
  std::vector<GpuFacts> gpus{};
};

/// All built-in profiles, sorted by name.
GpuListAnswer list_gpus();

/// One ceiling of the roofline: the datasheet's value, the measured value, and what reached it.
struct MeasuredCeiling {
  std::string name{};
  std::string unit{};
  std::optional<double> stated{};
  double reached = 0;
  std::string by{};
};

struct MeasuredPointFacts {
  double x = 0;
  double y = 0;
  Seconds time{};
  double relative_spread = 0;
  int samples = 0;
  std::string ceiling{};
  double share_of_ceiling = 0;
};

struct MeasuredCurveFacts {
  OperatorFamily family = OperatorFamily::gemm;
  std::string shape{};
  std::string kernel{};
  double median_error = 0;
  double p90_error = 0;
  std::vector<MeasuredPointFacts> points{};
};

struct MeasuredFacts {
  std::string device{};
  std::string identity{};
  std::string date{};
  std::string tool{};
  std::string protocol{};
  std::optional<std::string> incomplete{};
  std::vector<std::pair<std::string, std::string>> versions{};
  std::optional<double> clock_hz{};
  std::int64_t dropped_samples = 0;
  std::vector<std::string> rejected{};
  std::optional<Seconds> kernel_floor{};
  std::optional<Seconds> eager_launch{};
  std::optional<Seconds> graph_launch{};
  std::optional<Seconds> engine_step{};
  std::vector<MeasuredCeiling> ceilings{};
  std::vector<MeasuredCurveFacts> curves{};
};

/// The curves of one source and kind of operator in built-in kernel tables.
struct TableGroupFacts {
  std::string source{};
  OperatorFamily family = OperatorFamily::gemm;
  std::string of{};
  std::int64_t curves = 0;
  std::int64_t points = 0;
  std::int64_t timed = 0;
  double median_error = 0;
  double p90_error = 0;
};

struct KernelTableFacts {
  std::string name{};
  std::string device{};
  std::vector<TableGroupFacts> groups{};
  std::vector<std::string> left_out{};
};

struct GpuInputs {
  std::string gpu{};
};

struct GpuAnswer {
  AnswerHead head{};
  GpuInputs inputs{};
  GpuFacts gpu{};
  std::optional<MeasuredFacts> measured{};
  std::optional<KernelTableFacts> tables{};
};

/// `gpu` is a name in any usual spelling or the path of a profile. Throws Error if the name is
/// unknown (suggesting the nearest ones) or the profile cannot be read.
GpuAnswer describe_gpu(const std::string& gpu);

/// The profile as the text of a file that reads back to the same GPU, under a name of its own
/// ("my-h200"). Throws as describe_gpu().
std::string profile_text(const std::string& gpu);

/// The same for a loaded profile.
GpuAnswer describe_gpu(const GpuProfile& profile);

/// What `roofcast gpus -o json` prints, without and with a name.
Json to_json(const GpuListAnswer& answer);
Json to_json(const GpuAnswer& answer);

/// Read what to_json wrote. Throw Error naming the key and what was expected.
GpuListAnswer gpu_list_answer_from_json(const Json& json);
GpuAnswer gpu_answer_from_json(const Json& json);

/// JSON Schemas (draft 2020-12) of to_json().
Json gpu_list_answer_schema();
Json gpu_answer_schema();

template <class Visitor>
void members(Visitor& visit, Link& link) {
  visit("name", link.name, "NVLink 4, PCIe 5 x16, ...");
  visit("bandwidth_bytes_per_s", link.bandwidth, "per direction and GPU");
  visit("latency_s", link.latency, "per transfer");
  visit("bus_bandwidth_bytes_per_s", link.bus_bandwidth,
        "what NCCL's collectives reach (busbw); null: the usual share of the bandwidth");
}

template <class Visitor>
void members(Visitor& visit, GpuFacts& gpu) {
  visit("name", gpu.name, "name in commands");
  visit("display_name", gpu.display_name, "name for readers");
  visit("aliases", gpu.aliases, "other accepted names");
  visit("architecture", gpu.architecture, "hopper, ...");
  visit("memory_bytes", gpu.memory_bytes, "memory as sold");
  visit("memory_visible_bytes", gpu.memory_visible_bytes, "memory reported by the driver");
  visit("memory_bandwidth_bytes_per_s", gpu.memory_bandwidth, "memory bandwidth of the datasheet");
  visit("dense_peak_flops_per_s", gpu.dense_peaks, "by number format, without sparsity");
  visit("ridge_flops_per_byte", gpu.ridges, "by number format: peak over memory bandwidth");
  visit("peer_link", gpu.peer_link, "to other GPUs of the node; null: none");
  visit("host_link", gpu.host_link, "to host memory; null: unknown");
  visit("network_link", gpu.network_link, "one NIC, to other nodes; null: unknown");
  visit("gpus_per_node", gpu.gpus_per_node, "GPUs in a usual server");
  visit("nics_per_node", gpu.nics_per_node, "network links of that server; null: unknown");
  visit("board_power_w", gpu.board_power, "board power; null: unknown");
  visit.if_set("idle_power_w", gpu.idle_power,
               "with a model loaded, no step in progress; left out: unknown");
  visit.if_set("curves_of", gpu.curves_of,
               "card on which its kernels were timed; left out: itself");
  visit.if_set("same_chip", gpu.same_chip, "whether that card has the same chip");
  visit.if_set("untimed_chip", gpu.untimed_chip,
               "true: nothing was timed on it, nor is it a built-in card by its facts");
  visit.if_set("assumed", gpu.assumed, "keys that the profile leaves out, with assumed values");
  visit("price_usd_per_h", gpu.price, "typical rental price; null: unknown");
  visit("profile_hash", gpu.profile_hash, "FNV-1a of the profile's text");
  visit("sources", gpu.sources, "source of each number of the profile, by key");
}

template <class Visitor>
void members(Visitor& visit, GpuListAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "none");
  visit("gpus", answer.gpus, "sorted by name");
}

template <class Visitor>
void members(Visitor& visit, MeasuredCeiling& ceiling) {
  visit("name", ceiling.name, "bf16, memory, copy, from the host, ...");
  visit("unit", ceiling.unit, "flops_per_s or bytes_per_s");
  visit("stated", ceiling.stated, "datasheet value; null: none");
  visit("reached", ceiling.reached, "highest rate measured");
  visit("by", ceiling.by, "operation that reached it");
}

template <class Visitor>
void members(Visitor& visit, MeasuredPointFacts& point) {
  visit("x", point.x, "the size: tokens, new tokens, sequences or bytes, by family");
  visit("y", point.y, "attention: cached tokens per sequence; else 0");
  visit("time_s", point.time, "median of one call");
  visit("relative_spread", point.relative_spread, "(p90 - p10) / 2 over the median");
  visit("samples", point.samples, "calls timed");
  visit("ceiling", point.ceiling, "the nearest datasheet limit: peak, bandwidth or link");
  visit("share_of_ceiling", point.share_of_ceiling,
        "achieved share of that limit; caches are ignored");
}

template <class Visitor>
void members(Visitor& visit, MeasuredCurveFacts& curve) {
  visit("family", curve.family, "operator family");
  visit("shape", curve.shape, "operator shape, for readers");
  visit("kernel", curve.kernel, "library of the timed kernel");
  visit("median_error", curve.median_error,
        "error of predicting each point from the others, relative; 0: too few points");
  visit("p90_error", curve.p90_error, "90th percentile of the same error");
  visit("points", curve.points, "timed sizes, ascending");
}

template <class Visitor>
void members(Visitor& visit, MeasuredFacts& measured) {
  visit("device", measured.device, "name reported by the device");
  visit("identity", measured.identity, "UUID of the device");
  visit("date", measured.date, "date, UTC");
  visit("tool", measured.tool, "program that timed it");
  visit("protocol", measured.protocol, "timing method, in one sentence");
  visit.if_set("incomplete", measured.incomplete, "why fewer points were timed than planned");
  visit("versions", measured.versions, "versions of driver and libraries");
  visit("clock_hz", measured.clock_hz, "median over all samples; null: unknown");
  visit("dropped_samples", measured.dropped_samples, "samples dropped because of throttling");
  visit("rejected", measured.rejected, "points rejected as faster than physics, for readers");
  visit.if_set("kernel_floor_s", measured.kernel_floor, "an empty kernel in a recorded step");
  visit.if_set("eager_launch_s", measured.eager_launch, "host time of launching one kernel");
  visit.if_set("graph_launch_s", measured.graph_launch, "host time of launching a recorded step");
  visit.if_set("engine_step_s", measured.engine_step,
               "host time of a step of the small engine, launch excluded");
  visit("ceilings", measured.ceilings, "the measured roofline");
  visit("curves", measured.curves, "all timed operators");
}

template <class Visitor>
void members(Visitor& visit, TableGroupFacts& group) {
  visit("source", group.source, "engine and version, or library, whose kernels were timed");
  visit("family", group.family, "operator family");
  visit("of", group.of, "number format, or what it is called");
  visit("curves", group.curves, "operator shapes");
  visit("points", group.points, "kept");
  visit("timed", group.timed, "in the tables, kept or not");
  visit("median_error", group.median_error,
        "of answering timed points that are not kept from those that are, relative");
  visit("p90_error", group.p90_error, "90th percentile of the same error");
}

template <class Visitor>
void members(Visitor& visit, KernelTableFacts& tables) {
  visit("name", tables.name, "of the tables");
  visit("device", tables.device, "as they name it");
  visit("groups", tables.groups, "by source and kind of operator");
  visit("left_out", tables.left_out, "sources for which there was no room, for readers");
}

template <class Visitor>
void members(Visitor& visit, GpuInputs& inputs) {
  visit("gpu", inputs.gpu, "name of the profile");
}

template <class Visitor>
void members(Visitor& visit, GpuAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the requested profile");
  members(visit, answer.gpu);
  visit.if_set("measured", answer.measured, "measurements on such a device");
  visit.if_set("kernel_tables", answer.tables, "kernels of engines, timed by others and built in");
}

}  // namespace roofcast
