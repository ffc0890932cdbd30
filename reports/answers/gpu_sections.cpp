#include "reports/answers/gpu_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/numbers.hpp"
#include "model/step/carried_time.hpp"

namespace roofcast {
namespace {

Bytes bytes(std::int64_t count) { return Bytes{static_cast<double>(count)}; }

/// What the driver reports need not be what is sold: an H200 of 141 GB has 150.
std::string memory_words(const GpuFacts& gpu) {
  const std::string visible = as_gib(bytes(gpu.memory_visible_bytes)) + " visible";
  if (gpu.memory_bytes == gpu.memory_visible_bytes) return " nominal, " + visible;
  constexpr double kGigabyte = 1e9;
  return fmt::format(
      " nominal ({:.0f} GB as sold), {} (the driver's total, of which engines take "
      "their share)",
      static_cast<double>(gpu.memory_bytes) / kGigabyte, visible);
}

Table fact_table(const GpuFacts& gpu) {
  Table table{.title = "", .columns = {{"", false}, {"", false}}, .rows = {}};
  const auto row = [&](const std::string& name, const Cell& value) {
    table.rows.push_back({name, value});
  };
  const bool cpu = gpu.is_cpu.value_or(false);
  row("memory", followed(printed::gib(bytes(gpu.memory_bytes)), memory_words(gpu)));
  row("memory bandwidth", printed::rate(gpu.memory_bandwidth));
  if (gpu.l2_cache) row(cpu ? "last-level cache" : "L2 cache", printed::bytes(*gpu.l2_cache));
  if (gpu.multiprocessors) {
    row(cpu ? "cores" : "multiprocessors", printed::count(*gpu.multiprocessors));
  }
  for (const auto& [name, link] : {std::pair{"to peers", gpu.peer_link},
                                   {"to the host", gpu.host_link},
                                   {"network", gpu.network_link}}) {
    if (link) row(name, link->name + ", " + as_rate(link->bandwidth) + " per direction");
  }
  if (!cpu) row("GPUs per node", printed::count(gpu.gpus_per_node));
  if (gpu.nics_per_node) row("NICs per node", printed::count(*gpu.nics_per_node));
  if (gpu.board_power) row("board power", in(gpu.board_power->value, 0, "W"));
  if (gpu.idle_power) {
    row("idle power", followed(in(gpu.idle_power->value, 0, "W"), ", model loaded"));
  }
  if (gpu.curves_of) {
    const std::string chip =
        gpu.same_chip.value_or(true)
            ? ", the same chip"
            : fmt::format(", another chip by its facts: a further ±{} (one standard deviation)",
                          as_percent(kOtherChipDeviation, 0));
    row("kernels timed on", *gpu.curves_of + chip);
  }
  if (gpu.untimed_chip.value_or(false)) {
    row("kernels timed on",
        fmt::format("no such chip: shares of the datasheet are those of others, a further ±{} (one "
                    "standard deviation)",
                    as_percent(kOtherChipDeviation, 0)));
  }
  if (gpu.assumed) row("assumed", fmt::format("{}", fmt::join(*gpu.assumed, ", ")));
  if (gpu.price) {
    row("typical price",
        followed(signed_by("$", printed::fixed(gpu.price->value, 2)), " per hour"));
  }
  return table;
}

Table peak_table(const GpuFacts& gpu) {
  Table table{.title = "Dense peaks",
              .columns = {{"Format", false}, {"Rate"}, {"Ridge (FLOP/byte)"}},
              .rows = {}};
  for (std::size_t i = 0; i < gpu.dense_peaks.size() && i < gpu.ridges.size(); ++i) {
    const auto& [format, rate] = gpu.dense_peaks[i];
    table.rows.push_back(
        {format, printed::rate(rate), printed::fixed(gpu.ridges[i].second.value, 1)});
  }
  return table;
}

Table source_table(const GpuFacts& gpu) {
  Table table{.title = "Sources", .columns = {{"Number", false}, {"Source", false}}, .rows = {}};
  for (const auto& [key, source] : gpu.sources) table.rows.push_back({key, source});
  return table;
}

std::string size_text(OperatorFamily family, double x) {
  return is_sized_in_bytes(family) ? as_bytes(Bytes{x}) : fixed(x, 0);
}

std::string range_text(const MeasuredCurveFacts& curve) {
  if (curve.points.empty()) return "-";
  const OperatorFamily family = curve.family;
  const MeasuredPointFacts& first = curve.points.front();
  const MeasuredPointFacts& last = curve.points.back();
  const std::string x =
      fmt::format("{} to {}", size_text(family, first.x), size_text(family, last.x));
  if (!has_second_axis(family)) return is_sized_in_bytes(family) ? x : x + " tokens";
  const auto [low, high] = std::minmax_element(
      curve.points.begin(), curve.points.end(),
      [](const MeasuredPointFacts& a, const MeasuredPointFacts& b) { return a.y < b.y; });
  const bool prefill = family == OperatorFamily::prefill_attention;
  return fmt::format("{} {}, {} to {} tokens{}", x, prefill ? "new" : "sequences", fixed(low->y, 0),
                     fixed(high->y, 0), prefill ? " before" : " each");
}

/// Shares at the smallest, the middle and the largest timed size.
std::string shares_text(const MeasuredCurveFacts& curve) {
  if (curve.points.empty()) return "-";
  const std::size_t size = curve.points.size();
  std::vector<std::size_t> places = {0, size / 2, size - 1};
  places.erase(std::unique(places.begin(), places.end()), places.end());
  std::string text;
  for (const std::size_t place : places) {
    const MeasuredPointFacts& point = curve.points[place];
    const std::string y =
        has_second_axis(curve.family) ? fmt::format(" x {}", fixed(point.y, 0)) : "";
    text +=
        fmt::format("{}{}{}: {} of {}", text.empty() ? "" : "; ", size_text(curve.family, point.x),
                    y, as_percent(point.share_of_ceiling, 0), point.ceiling);
  }
  return text;
}

Table curve_table(const MeasuredFacts& measured) {
  Table table{.title = "Measured operators",
              .columns = {{"Operator", false},
                          {"Shape", false},
                          {"Kernel", false},
                          {"Timed at", false},
                          {"Points"},
                          {"Error"},
                          {"p90"},
                          {"Share reached at the smallest, middle and largest size", false}},
              .rows = {}};
  for (const MeasuredCurveFacts& curve : measured.curves) {
    const bool known = curve.p90_error > 0;
    table.rows.push_back({std::string(name_of(curve.family)), curve.shape, curve.kernel,
                          range_text(curve), printed::count(std::ssize(curve.points)),
                          known ? printed::percent(curve.median_error) : "-",
                          known ? printed::percent(curve.p90_error) : "-", shares_text(curve)});
  }
  return table;
}

Printed rate_text(const MeasuredCeiling& ceiling, double rate) {
  if (rate <= 0) return "-";
  return ceiling.unit == "flops_per_s" ? printed::rate(FlopsPerSecond{rate})
                                       : printed::rate(BytesPerSecond{rate});
}

Table ceiling_table(const MeasuredFacts& measured) {
  Table table{
      .title = "Roofline",
      .columns = {{"Limit", false}, {"Datasheet"}, {"Reached"}, {"Share"}, {"Operation", false}},
      .rows = {}};
  for (const MeasuredCeiling& one : measured.ceilings) {
    table.rows.push_back({one.name, rate_text(one, one.stated.value_or(0)),
                          rate_text(one, one.reached),
                          one.stated ? printed::percent(one.reached / *one.stated) : "-", one.by});
  }
  return table;
}

Table provenance_table(const MeasuredFacts& measured) {
  Table table{.title = "", .columns = {{"", false}, {"", false}}, .rows = {}};
  const auto row = [&](const std::string& name, const Cell& value) {
    if (!value.text.empty()) table.rows.push_back({name, value});
  };
  row("identity", measured.identity);
  row("date", measured.date);
  row("tool", measured.tool);
  row("protocol", measured.protocol);
  row("incomplete", measured.incomplete.value_or(""));
  for (const auto& [name, version] : measured.versions) row(name, version);
  if (measured.clock_hz) row("clock, median", in_giga(*measured.clock_hz, 2, "Hz"));
  row("dropped samples", printed::count(measured.dropped_samples));
  for (const std::string& rejected : measured.rejected) row("rejected", rejected);
  for (const auto& [name, time] :
       {std::pair{"empty kernel in a recorded step", measured.kernel_floor},
        {"launch of one kernel, host", measured.eager_launch},
        {"launch of a recorded step, host", measured.graph_launch},
        {"step of the small engine, host", measured.engine_step}}) {
    if (time) row(name, as_time(*time));
  }
  return table;
}

void add_measured(std::vector<Section>& sections, const MeasuredFacts& measured) {
  sections.push_back({.heading = "Measured on " + measured.device,
                      .lines = {},
                      .table = provenance_table(measured)});
  Table roofline = ceiling_table(measured);
  if (!roofline.rows.empty()) {
    sections.push_back({.heading = "", .lines = {}, .table = std::move(roofline)});
  }
  if (measured.curves.empty()) return;
  sections.push_back(
      {.heading = "",
       .lines = {"Error: each point predicted from the others (median and 90th percentile)."},
       .table = curve_table(measured)});
}

Section tables_section(const KernelTableFacts& tables) {
  Section section{.heading = "Kernels of engines, timed on " + tables.device,
                  .lines = {"Error: timed points that are not kept, answered from those that are "
                            "(median and 90th percentile).",
                            "Attention and recurrent kernels are of their cache's format; \"block "
                            "in\": timed with the projections, which are in that format."},
                  .table = {}};
  section.table = {.title = "",
                   .columns = {{"Source", false},
                               {"Operator", false},
                               {"Of", false},
                               {"Shapes"},
                               {"Points"},
                               {"Timed"},
                               {"Error"},
                               {"p90"}},
                   .rows = {}};
  for (const TableGroupFacts& group : tables.groups) {
    section.table.rows.push_back({group.source, std::string(name_of(group.family)), group.of,
                                  printed::count(group.curves), printed::count(group.points),
                                  printed::count(group.timed), printed::percent(group.median_error),
                                  printed::percent(group.p90_error)});
  }
  for (const std::string& line : tables.left_out)
    section.lines.push_back("Left out: " + line + ".");
  return section;
}

}  // namespace

std::vector<Section> gpu_sections(const GpuAnswer& answer) {
  const GpuFacts& gpu = answer.gpu;
  std::vector<Section> sections;
  sections.push_back({.heading = gpu.display_name, .lines = {}, .table = fact_table(gpu)});
  sections.push_back({.heading = "", .lines = {}, .table = peak_table(gpu)});
  if (answer.measured) add_measured(sections, *answer.measured);
  if (answer.tables) sections.push_back(tables_section(*answer.tables));
  if (!gpu.sources.empty()) {
    sections.push_back({.heading = "", .lines = {}, .table = source_table(gpu)});
  }
  return sections;
}

}  // namespace roofcast
