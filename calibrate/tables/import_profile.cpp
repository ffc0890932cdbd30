#include "calibrate/tables/import_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/joined.hpp"
#include "calibrate/curve_fit.hpp"
#include "calibrate/derived_efficiency.hpp"

namespace roofcast {

namespace {

std::string joined_devices(const ImportedRows& rows) {
  const std::string names = joined(rows.devices, [](const auto& device) { return device.first; });
  return names.empty() ? "not stated" : names;
}

Measured provenance_of(const ImportedRows& rows, const ImportRecord& record) {
  Measured measured;
  measured.device = joined_devices(rows);
  measured.date = record.date;
  measured.tool = record.tool;
  measured.protocol =
      "imported from kernel tables measured by others, on the date of the import; each curve names "
      "its kernel and engine";
  for (const auto& [what, version] : rows.versions) measured.versions.emplace_back(what, version);
  for (const auto& [reason, left_out] : rows.refused) {
    measured.rejected.push_back(fmt::format(
        "{} rows: {} ({}{})", left_out.rows, reason, fmt::join(left_out.first, ", "),
        static_cast<std::size_t>(left_out.rows) > left_out.first.size() ? ", ..." : ""));
  }
  return measured;
}

/// Adds what the tables state about the curve's kernel in addition to its times.
void add_facts(const ImportedRows& rows, MeasuredCurve& curve) {
  for (const DecodeKernel& known : rows.decode_kernels) {
    if (curve.shape != known.shape || curve.kernel != known.kernel) continue;
    curve.empty_tile = known.empty_tile;
    curve.tail_token = known.tail_token;
  }
  for (const KernelSource& source : rows.sources) {
    if (curve.kernel != source.kernel) continue;
    curve.graph_saving = source.graph_saving;
    for (const MeasuredPoint& point : curve.points) {
      curve.graph_saving = std::min(curve.graph_saving, point.time);
    }
    curve.writes_cache = source.attention_writes_cache && is_attention(curve.shape.family);
  }
}

}  // namespace

Gpu import_profile(ImportedRows& rows, const Gpu& known, const ImportRecord& record) {
  take_off_quantising(rows);
  undo_group_limit(rows);
  add_finalizing(rows, known);
  refuse_beyond_physics(rows, known);
  refuse_cached_reads(rows, known);
  refuse_launch_bound(rows);
  refuse_detours(rows, known);
  settle_duplicates(rows);
  refuse_spikes(rows);
  if (rows.points.empty()) {
    throw Error(
        fmt::format("no profile: none of {} rows is usable: {}", rows.rows, main_reasons(rows)));
  }
  Gpu gpu = known;
  Measured measured = provenance_of(rows, record);
  measured.curves = fit_curves(rows.points, known.multiprocessors, nullptr).curves;
  for (MeasuredCurve& curve : measured.curves) add_facts(rows, curve);
  const std::string source =
      fmt::format("imported {} by {}: {}", record.date, record.tool, measured.device);
  gpu.efficiencies =
      with_stated(derive_efficiencies(gpu, measured, gpu.floors, source), gpu.efficiencies);
  gpu.measured = std::move(measured);
  return gpu;
}

}  // namespace roofcast
