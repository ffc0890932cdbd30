#include "cli/calibrate/calibrate_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "base/statistics.hpp"
#include "calibrate/curve_errors.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

namespace {

constexpr std::size_t kWorstPoints = 5;
constexpr std::size_t kListed = 5;  // names shown of a list that may be long

// A warm GPU takes some per cent longer for a product, but not this much.
constexpr double kSteady = 0.15;
constexpr const char* kUnsteady =
    ": the device was not steady, calibrate again when nothing else runs on it";

std::string error_text(const FamilyError& family, double error) {
  return family.judged == 0 ? "-" : as_percent(error);
}

Section ceilings_section(const CalibrationOutcome& outcome) {
  const Gpu& gpu = *outcome.gpu;
  const Measured& measured = *gpu.measured;
  const Ceilings ceilings = ceilings_of(outcome.sweep.timed);
  Table table{.title = "Ceilings", .columns = {{"", false}, {""}, {"", false}}, .rows = {}};
  const auto share = [&](double value, double stated) {
    return outcome.known_gpu && stated > 0 ? as_percent(value / stated, 0) + " of the datasheet"
                                           : std::string();
  };
  const auto add_rate = [&](const char* name, BytesPerSecond rate, const std::string& note) {
    if (rate.value > 0) table.rows.push_back({name, as_rate(rate), note});
  };
  const auto add_time = [&](const char* name, Seconds time, const char* note) {
    if (time.value > 0) table.rows.push_back({name, as_time(time), note});
  };
  add_rate("device copy, read and written", measured.copy_bandwidth,
           share(measured.copy_bandwidth.value, gpu.memory_bandwidth.value));
  add_rate("weights or KV read", measured.read_bandwidth,
           share(measured.read_bandwidth.value, gpu.memory_bandwidth.value));
  for (const auto& [dtype, rate] : ceilings.gemm) {
    const auto stated = gpu.dense_peak.find(dtype);
    table.rows.push_back(
        {fmt::format("matrix product, {}", name_of(dtype)), as_rate(rate),
         share(rate.value, stated == gpu.dense_peak.end() ? 0 : stated->second.value)});
  }
  add_time("empty kernel, back to back", measured.kernel_floor, "");
  add_time("launch outside a graph", measured.eager_launch, "of the host");
  add_time("replay of a recording", measured.graph_launch, "of the host");
  add_time("a step's arrays in and tokens out", measured.engine_step, "of the host");
  add_rate("host to device", measured.upload_bandwidth, "");
  add_rate("device to host", measured.download_bandwidth, "");
  return {.heading = "", .lines = {}, .table = std::move(table)};
}

Section errors_section(const std::vector<FamilyError>& families) {
  Table table{.title = "Answering each point from the others (leave one out)",
              .columns = {{"Family", false},
                          {"Kernels", false},
                          {"Curves"},
                          {"Points"},
                          {"Median error"},
                          {"p90"}},
              .rows = {}};
  for (const FamilyError& family : families) {
    table.rows.push_back({std::string(name_of(family.family)), family.kernel,
                          std::to_string(family.curves), std::to_string(family.points),
                          error_text(family, family.median_error),
                          error_text(family, family.p90_error)});
  }
  return {.heading = "", .lines = {}, .table = std::move(table)};
}

Section worst_section(const std::vector<PointError>& worst) {
  Table table{.title = "Worst points", .columns = {{"Point", false}, {"Error"}}, .rows = {}};
  for (const PointError& point : worst) {
    table.rows.push_back({point.place, as_percent(point.error)});
  }
  return {.heading = "", .lines = {}, .table = std::move(table)};
}

/// "3 points faster than physics: a; b; c"; nothing if the list is empty.
void add_list(std::vector<std::string>& lines, const std::string& what,
              const std::vector<std::string>& names) {
  if (names.empty()) return;
  const std::size_t shown = std::min(names.size(), kListed);
  std::string line = fmt::format("{} {}: ", names.size(), what);
  for (std::size_t i = 0; i < shown; ++i) line += (i > 0 ? "; " : "") + names[i];
  if (names.size() > shown) line += "; ...";
  lines.push_back(std::move(line));
}

std::vector<std::string> notes_of(const CalibrationOutcome& outcome) {
  const SweepResult& sweep = outcome.sweep;
  std::vector<std::string> lines;
  const std::string& incomplete = outcome.gpu->measured->incomplete;
  if (!incomplete.empty()) lines.push_back("the profile is incomplete: " + incomplete);
  if (sweep.drift.size() > 1) {
    const double drift = sweep.drift.back().seconds / sweep.drift.front().seconds - 1;
    lines.push_back(fmt::format("the same product took {} {} at the end than at the start{}",
                                as_percent(std::abs(drift)), drift < 0 ? "less" : "more",
                                std::abs(drift) < kSteady ? "" : kUnsteady));
  }
  std::map<OperatorFamily, std::vector<double>> ratios;
  for (const CheckRatio& check : check_ratios(sweep.timed)) {
    ratios[check.family].push_back(check.ratio);
  }
  for (const auto& [family, values] : ratios) {
    lines.push_back(
        fmt::format("{}: uneven batches take {} of the time of even ones (median of {})",
                    name_of(family), as_percent(median(values), 0), values.size()));
  }
  if (sweep.outrun > 0) {
    lines.push_back(fmt::format("left out, another kernel being faster by far: {} of the points",
                                with_separators(sweep.outrun)));
  }
  if (sweep.not_reached > 0) {
    lines.push_back(fmt::format("{} finer points were not reached in time", sweep.not_reached));
  }
  add_list(lines, "points faster than physics, left out", outcome.gpu->measured->rejected);
  add_list(lines, "points too long to time", sweep.too_long);
  add_list(lines, "points failed", sweep.failed);
  add_list(lines, "operators without a kernel here", outcome.untimed);
  return lines;
}

Json errors_json(const CurveErrors& errors) {
  Json families = Json::array();
  for (const FamilyError& family : errors.families) {
    families.push_back({{"family", name_of(family.family)},
                        {"kernel", family.kernel},
                        {"curves", family.curves},
                        {"points", family.points},
                        {"judged_points", family.judged},
                        {"median_error", family.median_error},
                        {"p90_error", family.p90_error}});
  }
  Json worst = Json::array();
  for (const PointError& point : errors.worst) {
    worst.push_back({{"point", point.place}, {"error", point.error}});
  }
  return {{"families", std::move(families)}, {"worst_points", std::move(worst)}};
}

Json ceilings_json(const CalibrationOutcome& outcome) {
  const Measured& measured = *outcome.gpu->measured;
  Json gemm = Json::object();
  for (const auto& [dtype, rate] : ceilings_of(outcome.sweep.timed).gemm) {
    gemm[std::string(name_of(dtype))] = rate.value;
  }
  return {{"copy_bandwidth_bytes_per_s", measured.copy_bandwidth.value},
          {"read_bandwidth_bytes_per_s", measured.read_bandwidth.value},
          {"gemm_flops_per_s", std::move(gemm)},
          {"kernel_floor_s", measured.kernel_floor.value},
          {"eager_launch_s", measured.eager_launch.value},
          {"graph_launch_s", measured.graph_launch.value},
          {"engine_step_s", measured.engine_step.value},
          {"upload_bandwidth_bytes_per_s", measured.upload_bandwidth.value},
          {"download_bandwidth_bytes_per_s", measured.download_bandwidth.value}};
}

}  // namespace

Document calibration_document(const CalibrationOutcome& outcome) {
  const Gpu& gpu = *outcome.gpu;
  const CurveErrors errors = curve_errors(gpu, kWorstPoints);

  Document document{.machine = envelope("calibrate", {{"model", outcome.model}}), .sections = {}};
  Json& json = document.machine;
  json["profile"] = outcome.out;
  json["gpu"] = gpu.name;
  json["known_gpu"] = outcome.known_gpu;
  json["run"] = outcome.run_id;
  json["points"] = outcome.sweep.timed.size();
  json["resumed_points"] = outcome.resumed_points;
  json["elapsed_s"] = outcome.elapsed_s;
  json["ceilings"] = ceilings_json(outcome);
  json.update(errors_json(errors));
  json["incomplete"] = gpu.measured->incomplete;
  json["dropped_samples"] = gpu.measured->dropped_samples;
  json["rejected"] = gpu.measured->rejected;
  json["too_long"] = outcome.sweep.too_long;
  json["failed"] = outcome.sweep.failed;
  json["not_reached"] = outcome.sweep.not_reached;
  json["untimed"] = outcome.untimed;

  const std::string shapes =
      outcome.model.empty() ? "generic shapes" : "shapes of " + outcome.model;
  document.sections.push_back(
      {.heading = gpu.display_name,
       .lines = {fmt::format("{} points of {} in {}; profile in {}", outcome.sweep.timed.size(),
                             shapes, as_time(Seconds{outcome.elapsed_s}), outcome.out)},
       .table = {}});
  document.sections.push_back(ceilings_section(outcome));
  document.sections.push_back(errors_section(errors.families));
  document.sections.push_back(worst_section(errors.worst));
  document.sections.push_back({.heading = "", .lines = notes_of(outcome), .table = {}});
  return document;
}

std::optional<std::string> failure_of(const CalibrationOutcome& outcome) {
  if (outcome.sweep.end != SweepEnd::device_lost) return std::nullopt;
  return fmt::format(
      "the device failed: {}; {} holds what was timed before and says that it is incomplete; the "
      "same command with --resume goes on",
      outcome.sweep.fault, outcome.out);
}

}  // namespace roofcast
