#include "cli/calibrate/measured_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "model/step/roofline.hpp"
#include "roofcast/deployment_description.hpp"

namespace roofcast {
namespace {

/// How near a timed point comes to what the datasheet allows: the larger of FLOPs over peak and
/// bytes over bandwidth, caches left aside.
struct Reached {
  std::string_view ceiling;  // "peak", "bandwidth", "link"
  double share = 0;
};

Reached reached(const MeasuredCurve& curve, const MeasuredPoint& point, const Gpu& gpu) {
  const Work work = work_of(curve.shape, point.x, point.y);
  if (work.family == OperatorFamily::collective) {
    const std::optional<Link>& link = work.ranks <= gpu.gpus_per_node ? gpu.peer : gpu.network;
    return {"link", link ? work.bytes / link->bandwidth / point.time : 0.0};
  }
  const double compute = work.flops / gpu.peak_for(work.compute) / point.time;
  const double memory = work.bytes / gpu.memory_bandwidth / point.time;
  return compute > memory ? Reached{"peak", compute} : Reached{"bandwidth", memory};
}

std::string count(double value) { return with_separators(static_cast<std::int64_t>(value)); }

std::string describe(const OperatorShape& shape) {
  switch (shape.family) {
    case OperatorFamily::gemm:
      return fmt::format("{} x {} {}", shape.outputs, shape.inputs, shape.format);
    case OperatorFamily::moe:
      return fmt::format("{} of {} experts, {} x {} {}{}", shape.experts_per_token, shape.experts,
                         shape.outputs, shape.inputs, shape.format, shape.gated ? ", gated" : "");
    case OperatorFamily::prefill_attention:
    case OperatorFamily::decode_attention:
      return fmt::format(
          "{} on {} heads of {}{}, {} cache{}{}", shape.query_heads, shape.kv_heads, shape.head_dim,
          shape.value_dim == shape.head_dim ? "" : fmt::format(" and {}", shape.value_dim),
          name_of(shape.cache), shape.latent ? ", latent" : "",
          shape.beside_prefill ? ", beside prefill" : "");
    case OperatorFamily::memory_bound:
      return shape.name;
    case OperatorFamily::collective:
      return fmt::format("{} of {} GPUs", name_of(shape.exchange), shape.ranks);
  }
  return {};
}

bool sized_in_bytes(OperatorFamily family) {
  return family == OperatorFamily::memory_bound || family == OperatorFamily::collective;
}

std::string size_text(OperatorFamily family, double x) {
  return sized_in_bytes(family) ? as_bytes(Bytes{x}) : count(x);
}

std::string range_text(const MeasuredCurve& curve) {
  const OperatorFamily family = curve.shape.family;
  const MeasuredPoint& first = curve.points.front();
  const MeasuredPoint& last = curve.points.back();
  const std::string x =
      fmt::format("{} to {}", size_text(family, first.x), size_text(family, last.x));
  if (!has_second_axis(family)) return sized_in_bytes(family) ? x : x + " tokens";
  const auto [low, high] =
      std::minmax_element(curve.points.begin(), curve.points.end(),
                          [](const MeasuredPoint& a, const MeasuredPoint& b) { return a.y < b.y; });
  const bool prefill = family == OperatorFamily::prefill_attention;
  return fmt::format("{} {}, {} to {} tokens{}", x, prefill ? "new" : "sequences", count(low->y),
                     count(high->y), prefill ? " before" : " each");
}

/// At the smallest, the middle and the largest timed size.
std::string shares_text(const MeasuredCurve& curve, const Gpu& gpu) {
  const std::size_t size = curve.points.size();
  std::vector<std::size_t> places = {0, size / 2, size - 1};
  places.erase(std::unique(places.begin(), places.end()), places.end());
  std::string text;
  for (const std::size_t place : places) {
    const MeasuredPoint& point = curve.points[place];
    const Reached reach = reached(curve, point, gpu);
    const std::string y =
        has_second_axis(curve.shape.family) ? fmt::format(" x {}", count(point.y)) : "";
    text += fmt::format("{}{}{}: {} of {}", text.empty() ? "" : "; ",
                        size_text(curve.shape.family, point.x), y, as_percent(reach.share, 0),
                        reach.ceiling);
  }
  return text;
}

Table curve_table(const Gpu& gpu) {
  Table table{.title = "Measured operators",
              .columns = {{"Operator", false},
                          {"Shape", false},
                          {"Kernel", false},
                          {"Timed at", false},
                          {"Points"},
                          {"Error"},
                          {"p90"},
                          {"Reached at the smallest, middle and largest size", false}},
              .rows = {}};
  for (const MeasuredCurve& curve : gpu.measured->curves) {
    const bool known = curve.p90_error > 0;
    table.rows.push_back({std::string(name_of(curve.shape.family)), describe(curve.shape),
                          curve.kernel, range_text(curve), count(double(curve.points.size())),
                          known ? as_percent(curve.median_error) : "-",
                          known ? as_percent(curve.p90_error) : "-", shares_text(curve, gpu)});
  }
  return table;
}

/// One line of the roofline: what the datasheet states, what was reached, and by what.
struct Ceiling {
  std::string name;
  double stated = 0;
  double reached = 0;
  std::string by{};
  bool flops = false;
};

/// The fastest matrix product of each arithmetic.
std::vector<Ceiling> compute_ceilings(const Gpu& gpu) {
  std::vector<Ceiling> list;
  for (const auto& [dtype, peak] : gpu.dense_peak) {
    Ceiling best{.name = std::string(name_of(dtype)), .stated = peak.value, .flops = true};
    for (const MeasuredCurve& curve : gpu.measured->curves) {
      if (curve.shape.family != OperatorFamily::gemm) continue;
      for (const MeasuredPoint& point : curve.points) {
        const Work work = work_of(curve.shape, point.x, point.y);
        const double rate = (work.flops / point.time).value;
        if (work.compute != dtype || rate <= best.reached) continue;
        best.reached = rate;
        best.by = fmt::format("{} x {} x {}, {}", count(point.x), curve.shape.outputs,
                              curve.shape.inputs, curve.kernel);
      }
    }
    if (best.reached > 0) list.push_back(std::move(best));
  }
  return list;
}

std::vector<Ceiling> ceilings(const Gpu& gpu) {
  const Measured& measured = *gpu.measured;
  std::vector<Ceiling> list = compute_ceilings(gpu);
  const auto add = [&](const char* name, BytesPerSecond stated, BytesPerSecond rate,
                       const char* by) {
    if (rate.value > 0) {
      list.push_back({.name = name, .stated = stated.value, .reached = rate.value, .by = by});
    }
  };
  add("memory, copy", gpu.memory_bandwidth, measured.copy_bandwidth, "bytes read and written");
  add("memory, read", gpu.memory_bandwidth, measured.read_bandwidth, "bytes read");
  const BytesPerSecond host = gpu.host ? gpu.host->bandwidth : BytesPerSecond{};
  add("from the host", host, measured.upload_bandwidth, "");
  add("to the host", host, measured.download_bandwidth, "");
  return list;
}

std::string rate_text(const Ceiling& ceiling, double rate) {
  if (rate <= 0) return "-";
  return ceiling.flops ? as_rate(FlopsPerSecond{rate}) : as_rate(BytesPerSecond{rate});
}

Table ceiling_table(const Gpu& gpu) {
  Table table{.title = "Roofline",
              .columns = {{"Ceiling", false}, {"Stated"}, {"Reached"}, {"Share"}, {"By", false}},
              .rows = {}};
  for (const Ceiling& one : ceilings(gpu)) {
    table.rows.push_back({one.name, rate_text(one, one.stated), rate_text(one, one.reached),
                          one.stated > 0 ? as_percent(one.reached / one.stated) : "-", one.by});
  }
  return table;
}

struct FixedTime {
  const char* name;
  const char* key;
  Seconds time;
};

std::vector<FixedTime> fixed_times(const Measured& measured) {
  std::vector<FixedTime> known;
  for (const FixedTime& one :
       {FixedTime{"empty kernel in a recorded step", "kernel_floor_s", measured.kernel_floor},
        FixedTime{"launch of one kernel, host", "eager_launch_s", measured.eager_launch},
        FixedTime{"launch of a recorded step, host", "graph_launch_s", measured.graph_launch},
        FixedTime{"step of the small engine, host", "engine_step_s", measured.engine_step}}) {
    if (one.time.value > 0) known.push_back(one);
  }
  return known;
}

Table provenance_table(const Measured& measured) {
  Table table{.title = "", .columns = {{"", false}, {"", false}}, .rows = {}};
  const auto row = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) table.rows.push_back({name, value});
  };
  row("identity", measured.identity);
  row("date", measured.date);
  row("tool", measured.tool);
  row("protocol", measured.protocol);
  row("incomplete", measured.incomplete);
  for (const auto& [name, version] : measured.versions) row(name, version);
  if (measured.clock_hz > 0) row("clock, median", fixed(measured.clock_hz / 1e9, 2) + " GHz");
  row("dropped samples", with_separators(measured.dropped_samples));
  for (const std::string& rejected : measured.rejected) row("rejected", rejected);
  for (const FixedTime& one : fixed_times(measured)) row(one.name, as_time(one.time));
  return table;
}

Json curve_json(const MeasuredCurve& curve, const Gpu& gpu) {
  Json points = Json::array();
  for (const MeasuredPoint& point : curve.points) {
    const Reached reach = reached(curve, point, gpu);
    points.push_back({{"x", point.x},
                      {"y", point.y},
                      {"time_s", point.time.value},
                      {"relative_spread", point.relative_spread},
                      {"samples", point.samples},
                      {"ceiling", reach.ceiling},
                      {"share_of_ceiling", reach.share}});
  }
  return {{"family", name_of(curve.shape.family)},
          {"shape", describe(curve.shape)},
          {"kernel", curve.kernel},
          {"median_error", curve.median_error},
          {"p90_error", curve.p90_error},
          {"points", std::move(points)}};
}

Json measured_json(const Gpu& gpu) {
  const Measured& measured = *gpu.measured;
  Json json = {{"device", measured.device},
               {"identity", measured.identity},
               {"date", measured.date},
               {"tool", measured.tool},
               {"protocol", measured.protocol}};
  if (!measured.incomplete.empty()) json["incomplete"] = measured.incomplete;
  json["versions"] = Json::object();
  for (const auto& [name, version] : measured.versions) json["versions"][name] = version;
  json["clock_hz"] = measured.clock_hz > 0 ? Json(measured.clock_hz) : Json(nullptr);
  json["dropped_samples"] = measured.dropped_samples;
  json["rejected"] = measured.rejected;
  for (const FixedTime& one : fixed_times(measured)) json[one.key] = one.time.value;
  json["ceilings"] = Json::array();
  for (const Ceiling& one : ceilings(gpu)) {
    json["ceilings"].push_back({{"name", one.name},
                                {"unit", one.flops ? "flops_per_s" : "bytes_per_s"},
                                {"stated", one.stated > 0 ? Json(one.stated) : Json(nullptr)},
                                {"reached", one.reached},
                                {"by", one.by}});
  }
  json["curves"] = Json::array();
  for (const MeasuredCurve& curve : measured.curves) {
    json["curves"].push_back(curve_json(curve, gpu));
  }
  return json;
}

}  // namespace

void add_measured(Document& document, const Gpu& gpu) {
  document.machine["measured"] = measured_json(gpu);
  document.sections.push_back({.heading = "Measured on " + gpu.measured->device,
                               .lines = {},
                               .table = provenance_table(*gpu.measured)});
  const Table roofline = ceiling_table(gpu);
  if (!roofline.rows.empty()) {
    document.sections.push_back({.heading = "", .lines = {}, .table = roofline});
  }
  if (gpu.measured->curves.empty()) return;
  document.sections.push_back(
      {.heading = "",
       .lines = {"Error: of answering each point from the others (median and 90th percentile)."},
       .table = curve_table(gpu)});
}

}  // namespace roofcast
