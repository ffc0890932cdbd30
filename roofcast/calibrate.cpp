#include "roofcast/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/numbers.hpp"
#include "base/statistics.hpp"
#include "calibrate/device_choice.hpp"
#include "roofcast/record_parts.hpp"

namespace roofcast {

// ---- the record

template <class Visitor>
void members(Visitor& visit, CalibrationInputs& inputs) {
  visit("model", inputs.model, "whose shapes were timed; empty: generic shapes");
}

template <class Visitor>
void members(Visitor& visit, CalibratedCeilings& ceilings) {
  visit("copy_bandwidth_bytes_per_s", ceilings.copy_bandwidth, "on the device, read and written");
  visit("read_bandwidth_bytes_per_s", ceilings.read_bandwidth, "of weights or KV");
  visit("gemm_flops_per_s", ceilings.gemm, "of matrix products, by number format");
  visit("kernel_floor_s", ceilings.kernel_floor, "an empty kernel, back to back");
  visit("eager_launch_s", ceilings.eager_launch, "of the host, outside a graph");
  visit("graph_launch_s", ceilings.graph_launch, "of the host, to replay a recording");
  visit("engine_step_s", ceilings.engine_step, "of the host, a step's arrays in and tokens out");
  visit("upload_bandwidth_bytes_per_s", ceilings.upload_bandwidth, "host to device");
  visit("download_bandwidth_bytes_per_s", ceilings.download_bandwidth, "device to host");
}

template <class Visitor>
void members(Visitor& visit, FamilyError& family) {
  visit_family(visit, family, true);
}

template <class Visitor>
void members(Visitor& visit, PointError& point) {
  visit("point", point.place, "shape, size and kernel");
  visit("error", point.error, "relative, answered from the other points of its curve");
}

template <class Visitor>
void members(Visitor& visit, CalibrationAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as understood");
  visit("profile", answer.profile, "its file");
  visit("gpu", answer.gpu, "name of the profile");
  visit("known_gpu", answer.known_gpu, "its datasheet facts come from the catalogue");
  visit("run", answer.run_id, "in the store");
  visit("points", answer.points, "timed");
  visit("resumed_points", answer.resumed, "of them, from an interrupted calibration");
  visit("elapsed_s", answer.elapsed_s, "from start to end");
  visit("ceilings", answer.ceilings, "highest rates and shortest times; 0: not timed");
  visit("families", answer.families, "errors of points answered from the others of their curve");
  visit("worst_points", answer.worst, "with the largest errors");
  visit("incomplete", answer.incomplete, "why it ended early; empty: it did not");
  visit("dropped_samples", answer.dropped_samples, "throttled");
  visit("rejected", answer.rejected, "points faster than physically possible");
  visit("too_long", answer.too_long, "points that would have taken too long");
  visit("failed", answer.failed, "points, and why");
  visit("not_reached", answer.not_reached, "points beyond the time");
  visit("untimed", answer.untimed, "operators that no kernel here computes");
}

namespace {

constexpr const char* kCalibrateCommand = "calibrate";
constexpr std::size_t kWorstPoints = 5;
constexpr std::size_t kListed = 5;  // names shown of a list that may be long

// A warm GPU takes some per cent longer for a product, but not this much.
constexpr double kSteady = 0.15;
constexpr const char* kUnsteady = ": the device was not steady; calibrate again when it is idle";

double steady_s() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
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
    lines.push_back(fmt::format("left out because another kernel is far faster: {} of the points",
                                with_separators(sweep.outrun)));
  }
  if (sweep.not_reached > 0) {
    lines.push_back(
        fmt::format("{} finer points were not timed in the available time", sweep.not_reached));
  }
  add_list(lines, "points left out because they were faster than physics",
           outcome.gpu->measured->rejected);
  add_list(lines, "points too long to time", sweep.too_long);
  add_list(lines, "points failed", sweep.failed);
  add_list(lines, "operators without a kernel on this device", outcome.untimed);
  return lines;
}

CalibratedCeilings calibrated_ceilings(const CalibrationOutcome& outcome) {
  CalibratedCeilings ceilings;
  static_cast<DeviceRates&>(ceilings) = *outcome.gpu->measured;
  for (const auto& [dtype, rate] : ceilings_of(outcome.sweep.timed).gemm) {
    ceilings.gemm.emplace_back(name_of(dtype), rate);
  }
  return ceilings;
}

DatasheetRates datasheet_of(const CalibrationOutcome& outcome) {
  if (!outcome.known_gpu) return {};
  DatasheetRates rates{.memory_bandwidth = outcome.gpu->memory_bandwidth};
  for (const auto& [dtype, peak] : outcome.gpu->dense_peak) {
    rates.peaks.emplace(name_of(dtype), peak);
  }
  return rates;
}

}  // namespace

CalibrationAnswer answer_of(const CalibrationOutcome& outcome) {
  const SweepResult& sweep = outcome.sweep;
  CalibrationAnswer answer{.head = answer_head(kCalibrateCommand),
                           .inputs = {outcome.model},
                           .profile = outcome.out,
                           .known_gpu = outcome.known_gpu,
                           .run_id = outcome.run_id,
                           .points = std::ssize(sweep.timed),
                           .resumed = outcome.resumed_points,
                           .elapsed_s = outcome.elapsed_s,
                           .too_long = sweep.too_long,
                           .failed = sweep.failed,
                           .not_reached = sweep.not_reached,
                           .untimed = outcome.untimed,
                           .finished = outcome.gpu.has_value(),
                           .stored_points = outcome.stored_points};
  if (sweep.end == SweepEnd::device_lost) answer.fault = sweep.fault;
  if (!answer.finished) return answer;
  const Gpu& gpu = *outcome.gpu;
  CurveErrors errors = curve_errors(gpu, kWorstPoints);
  answer.gpu = gpu.name;
  answer.gpu_display_name = gpu.display_name;
  answer.ceilings = calibrated_ceilings(outcome);
  answer.datasheet = datasheet_of(outcome);
  answer.families = std::move(errors.families);
  answer.worst = std::move(errors.worst);
  answer.incomplete = gpu.measured->incomplete;
  answer.dropped_samples = gpu.measured->dropped_samples;
  answer.rejected = gpu.measured->rejected;
  answer.notes = notes_of(outcome);
  return answer;
}

CalibrationAnswer calibrate(const CalibrationQuestion& question, const Progress& progress,
                            const std::function<void(const std::string&)>& tell) {
  const auto backend = open_device(question.device, question.threads);
  const CalibrateHooks hooks{
      .now_s = steady_s,
      .go_on = [&](int done, int total) { return !progress || progress(done, total); },
      .tell =
          [&](const std::string& line) {
            if (tell) tell(line);
          }};
  return answer_of(run_calibration(*backend, question, hooks));
}

Json to_json(const CalibrationAnswer& answer) { return record_to_json(answer); }

CalibrationAnswer calibration_answer_from_json(const Json& json) {
  return answer_from_json<CalibrationAnswer>(json, kCalibrateCommand);
}

Json calibration_answer_schema() {
  return schema_document<CalibrationAnswer>("What roofcast calibrate answers");
}

}  // namespace roofcast
