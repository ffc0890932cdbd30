#include "roofcast/gpus.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/numbers.hpp"
#include "model/curves/kernel_tables.hpp"
#include "model/step/roofline.hpp"
#include "roofcast/record_parts.hpp"

namespace roofcast {

namespace {

constexpr const char* kGpusCommand = "gpus";

GpuFacts facts_of(const GpuProfile& profile) {
  const Gpu& gpu = profile.gpu;
  GpuFacts facts{.name = gpu.name,
                 .display_name = gpu.display_name,
                 .aliases = gpu.aliases,
                 .architecture = gpu.architecture,
                 .memory_bytes = static_cast<std::int64_t>(gpu.memory.value),
                 .memory_visible_bytes = static_cast<std::int64_t>(gpu.memory_visible.value),
                 .memory_bandwidth = gpu.memory_bandwidth,
                 .peer_link = gpu.peer,
                 .host_link = gpu.host,
                 .network_link = gpu.network,
                 .gpus_per_node = gpu.gpus_per_node,
                 .board_power = gpu.board_power,
                 .idle_power = gpu.power.idle,
                 .curves_of = gpu.sister ? std::optional(gpu.sister->name) : std::nullopt,
                 .same_chip = gpu.sister ? std::optional(gpu.sister->same_chip) : std::nullopt,
                 .price = gpu.price,
                 .profile_hash = profile.hash,
                 .sources = gpu.sources,
                 .is_cpu = is_cpu(gpu),
                 .l2_cache = gpu.l2_cache,
                 .multiprocessors = gpu.multiprocessors};
  if (!gpu.assumed.empty()) facts.assumed = gpu.assumed;
  if (gpu.untimed_chip) facts.untimed_chip = true;
  if (gpu.network) facts.nics_per_node = nics_of_node(gpu);
  for (const auto& [dtype, rate] : gpu.dense_peak) {
    const std::string format(name_of(dtype));
    facts.dense_peaks.emplace_back(format, rate);
    facts.ridges.emplace_back(format, ridge_point(gpu, dtype));
  }
  return facts;
}

/// How close a timed point comes to the datasheet: the larger of FLOP/s over peak and bytes/s over
/// bandwidth, ignoring caches.
struct Reached {
  std::string_view ceiling;  // "peak", "bandwidth", "link"
  double share = 0;
};

Reached reached(const MeasuredCurve& curve, const MeasuredPoint& point, const Gpu& gpu) {
  const Work work = work_of(curve.shape, point.x, point.y);
  if (work.family == OperatorFamily::collective) {
    const bool known =
        work.ranks <= gpu.gpus_per_node ? gpu.peer.has_value() : gpu.network.has_value();
    return {"link", known ? physical_limit(work, gpu) / point.time : 0.0};
  }
  const double compute = work.flops / gpu.peak_for(work.compute) / point.time;
  const double memory = work.bytes / gpu.memory_bandwidth / point.time;
  return compute > memory ? Reached{"peak", compute} : Reached{"bandwidth", memory};
}

/// The curve's differences from others of the same sizes: ", over 8 ranks, power law of 1.2".
std::string variant_of(const OperatorShape& shape) {
  std::string words;
  if (shape.expert_ranks > 1) words += fmt::format(", over {} ranks", shape.expert_ranks);
  if (shape.power_law > 0) words += fmt::format(", power law of {}", shape.power_law / 100.0);
  if (shape.window > 0) words += fmt::format(", window of {}", shape.window);
  if (shape.prompts > 1) words += fmt::format(", {} prompts", shape.prompts);
  if (shape.fp8_arithmetic) words += ", computed in fp8";
  if (shape.projections > 0) words += fmt::format(", the whole block in {}", shape.format);
  if (shape.compression > 1) words += fmt::format(", {} tokens an entry", shape.compression);
  if (shape.index_heads > 0) words += fmt::format(", indexer of {} heads", shape.index_heads);
  return words;
}

std::string describe(const OperatorShape& shape) {
  switch (shape.family) {
    case OperatorFamily::gemm:
      return fmt::format("{}{} x {} {}",
                         shape.query_heads > 0 ? fmt::format("{} of ", shape.query_heads) : "",
                         shape.outputs, shape.inputs, shape.format);
    case OperatorFamily::moe:
      return fmt::format("{} of {} experts, {} x {} {}{}{}", shape.experts_per_token, shape.experts,
                         shape.outputs, shape.inputs, shape.format, shape.gated ? ", gated" : "",
                         variant_of(shape));
    case OperatorFamily::prefill_attention:
    case OperatorFamily::decode_attention:
      return fmt::format(
          "{} on {} heads of {}{}, {} cache{}{}{}", shape.query_heads, shape.kv_heads,
          shape.head_dim,
          shape.value_dim == shape.head_dim ? "" : fmt::format(" and {}", shape.value_dim),
          name_of(shape.cache), shape.latent ? ", latent" : "",
          shape.beside_prefill ? ", in a call with prefill" : "", variant_of(shape));
    case OperatorFamily::memory_bound:
      return shape.inputs > 0 ? fmt::format("{}, rows of {}", shape.name, shape.inputs)
                              : shape.name;
    case OperatorFamily::collective:
      return fmt::format("{} of {} GPUs", name_of(shape.exchange), shape.ranks);
    case OperatorFamily::recurrent:
      return fmt::format("{}, {} on {} heads of {} and {}", shape.name, shape.query_heads,
                         shape.kv_heads, shape.head_dim, shape.value_dim);
  }
  return {};
}

MeasuredCurveFacts facts_of(const MeasuredCurve& curve, const Gpu& gpu) {
  MeasuredCurveFacts facts{.family = curve.shape.family,
                           .shape = describe(curve.shape),
                           .kernel = curve.kernel,
                           .median_error = curve.median_error,
                           .p90_error = curve.p90_error};
  for (const MeasuredPoint& point : curve.points) {
    const Reached reach = reached(curve, point, gpu);
    facts.points.push_back({.x = point.x,
                            .y = point.y,
                            .time = point.time,
                            .relative_spread = point.relative_spread,
                            .samples = point.samples,
                            .ceiling = std::string(reach.ceiling),
                            .share_of_ceiling = reach.share});
  }
  return facts;
}

std::optional<double> stated(double rate) {
  if (rate > 0) return rate;
  return std::nullopt;
}

/// The fastest matrix product per arithmetic.
std::vector<MeasuredCeiling> compute_ceilings(const Gpu& gpu) {
  std::vector<MeasuredCeiling> list;
  for (const auto& [dtype, peak] : gpu.dense_peak) {
    MeasuredCeiling best{
        .name = std::string(name_of(dtype)), .unit = "flops_per_s", .stated = stated(peak.value)};
    for (const MeasuredCurve& curve : gpu.measured->curves) {
      if (curve.shape.family != OperatorFamily::gemm) continue;
      for (const MeasuredPoint& point : curve.points) {
        const Work work = work_of(curve.shape, point.x, point.y);
        const double rate = (work.flops / point.time).value;
        if (work.compute != dtype || rate <= best.reached) continue;
        best.reached = rate;
        best.by = fmt::format("{} x {} x {}, {}", fixed(point.x, 0), curve.shape.outputs,
                              curve.shape.inputs, curve.kernel);
      }
    }
    if (best.reached > 0) list.push_back(std::move(best));
  }
  return list;
}

std::vector<MeasuredCeiling> ceilings(const Gpu& gpu) {
  const Measured& measured = *gpu.measured;
  std::vector<MeasuredCeiling> list = compute_ceilings(gpu);
  const auto add = [&](const char* name, BytesPerSecond datasheet, BytesPerSecond rate,
                       const char* by) {
    if (rate.value <= 0) return;
    list.push_back({.name = name,
                    .unit = "bytes_per_s",
                    .stated = stated(datasheet.value),
                    .reached = rate.value,
                    .by = by});
  };
  add("memory, copy", gpu.memory_bandwidth, measured.copy_bandwidth, "bytes read and written");
  add("memory, read", gpu.memory_bandwidth, measured.read_bandwidth, "bytes read");
  const BytesPerSecond host = gpu.host ? gpu.host->bandwidth : BytesPerSecond{};
  add("from the host", host, measured.upload_bandwidth, "");
  add("to the host", host, measured.download_bandwidth, "");
  return list;
}

std::optional<Seconds> timed(Seconds time) {
  if (time.value > 0) return time;
  return std::nullopt;
}

MeasuredFacts measured_facts(const Gpu& gpu) {
  const Measured& measured = *gpu.measured;
  MeasuredFacts facts{.device = measured.device,
                      .identity = measured.identity,
                      .date = measured.date,
                      .tool = measured.tool,
                      .protocol = measured.protocol,
                      .versions = measured.versions,
                      .dropped_samples = measured.dropped_samples,
                      .rejected = measured.rejected,
                      .kernel_floor = timed(measured.kernel_floor),
                      .eager_launch = timed(measured.eager_launch),
                      .graph_launch = timed(measured.graph_launch),
                      .engine_step = timed(measured.engine_step),
                      .ceilings = ceilings(gpu)};
  if (!measured.incomplete.empty()) facts.incomplete = measured.incomplete;
  if (measured.clock_hz > 0) facts.clock_hz = measured.clock_hz;
  for (const MeasuredCurve& curve : measured.curves) facts.curves.push_back(facts_of(curve, gpu));
  return facts;
}

KernelTableFacts table_facts(const KernelTables& tables) {
  KernelTableFacts facts{.name = tables.name(),
                         .device = tables.record().device,
                         .left_out = tables.record().left_out};
  for (const TableGroup& group : tables.groups()) {
    const GroupKey& key = group.key;
    std::string of = key.name + key.format;  // one of the two, except for experts by their kernels
    if (!key.name.empty() && !key.format.empty()) of = key.format + " " + key.name;
    if (has_second_axis(key.family)) {
      of = name_of(key.cache);
      if (!key.name.empty()) of += " " + key.name;  // which recurrent kernel
      // Attention is timed alone, or with its projections in a weight format.
      if (!key.format.empty()) of += ", block in " + key.format;
    }
    if (key.family == OperatorFamily::collective) of = name_of(key.exchange);
    facts.groups.push_back({.source = group.source,
                            .family = key.family,
                            .of = std::move(of),
                            .curves = group.curves,
                            .points = group.points,
                            .timed = group.timed,
                            .median_error = group.median_error,
                            .p90_error = group.p90_error});
  }
  return facts;
}

}  // namespace

GpuListAnswer list_gpus() {
  GpuListAnswer answer{.head = answer_head(kGpusCommand)};
  for (const std::string& name : gpu_names()) answer.gpus.push_back(facts_of(load_gpu(name)));
  return answer;
}

std::string profile_text(const std::string& gpu) {
  Gpu own = load_gpu(gpu).gpu;
  if (!is_profile_path(gpu)) {
    // Names of built-in profiles mean these.
    own.name = "my-" + own.name;
    own.display_name = "My " + own.display_name;
    own.aliases.clear();
  }
  return write_gpu(own);
}

GpuAnswer describe_gpu(const std::string& gpu) { return describe_gpu(load_gpu(gpu)); }

GpuAnswer describe_gpu(const GpuProfile& profile) {
  GpuAnswer answer{.head = answer_head(kGpusCommand),
                   .inputs = {.gpu = profile.gpu.name},
                   .gpu = facts_of(profile)};
  if (profile.gpu.measured) answer.measured = measured_facts(profile.gpu);
  if (profile.gpu.tables) answer.tables = table_facts(*profile.gpu.tables);
  return answer;
}

Json to_json(const GpuListAnswer& answer) { return record_to_json(answer); }
Json to_json(const GpuAnswer& answer) { return record_to_json(answer); }

GpuListAnswer gpu_list_answer_from_json(const Json& json) {
  return answer_from_json<GpuListAnswer>(json, kGpusCommand);
}

GpuAnswer gpu_answer_from_json(const Json& json) {
  return answer_from_json<GpuAnswer>(json, kGpusCommand);
}

Json gpu_list_answer_schema() { return schema_document<GpuListAnswer>("roofcast gpus"); }
Json gpu_answer_schema() { return schema_document<GpuAnswer>("roofcast gpus NAME"); }

}  // namespace roofcast
