#include "calibrate/run_calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/dates.hpp"
#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/json.hpp"
#include "base/version.hpp"
#include "calibrate/calibration_record.hpp"
#include "calibrate/cases.hpp"
#include "calibrate/collective_cases.hpp"
#include "calibrate/device_choice.hpp"
#include "calibrate/host_costs.hpp"
#include "model/architecture/weights.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"

namespace roofcast {

namespace {

// Default models: they fit the device and are in wide use.
constexpr const char* kModelOnCpu = "gpt2";
constexpr const char* kModelOnGpu = "llama-3.1-8b";

// Used only for the KV cache's storage format and the context length. Our own engine, whose steps
// consist of a calibration's kernels.
constexpr const char* kEngine = "roofcast";

std::string tool() { return std::string("roofcast ") + kVersion; }

/// The catalogue's entry for this device; nullopt if there is none.
std::optional<Gpu> known_gpu(const kernels::DeviceFacts& device) {
  if (is_cpu(device)) return std::nullopt;
  const std::string key = gpu_name_key(device.name);
  for (const std::string& name : gpu_names()) {
    Gpu gpu = load_gpu(name).gpu;
    if (gpu_name_key(gpu.name) == key || gpu_name_key(gpu.display_name) == key) return gpu;
    for (const std::string& alias : gpu.aliases) {
      if (gpu_name_key(alias) == key) return gpu;
    }
  }
  return std::nullopt;
}

Deployment deployment_of(const std::string& name, const CalibrateOptions& options, const Gpu& gpu) {
  Deployment deployment{.model = load_model(name), .gpu = gpu};
  if (options.weight_format) requantise(deployment.model, *options.weight_format);
  deployment.parallel.tensor = options.tensor_parallel;
  check_parallelism(deployment.model, deployment.parallel);
  EngineOverrides overrides;
  overrides.kv_cache_dtype = options.kv_cache_dtype;
  deployment.engine =
      resolve_engine(kEngine, overrides, deployment.model, deployment.gpu, deployment.parallel);
  return deployment;
}

/// What is timed, and how.
struct Plan {
  Extent extent{};
  SweepPlan sweep{};
  std::string model{};
  std::vector<std::string> untimed{};
  kernels::Peers peers{};
};

/// Plans collectives, and tells the user if there are none.
void plan_collectives(Plan& plan, const kernels::Backend& backend, const CalibrateHooks& hooks) {
  plan.peers = backend.peers();
  plan.sweep.collectives = collective_cases(plan.peers, plan.extent.limits);
  if (!plan.peers.why_not.empty()) {
    hooks.tell("collectives were not timed: " + plan.peers.why_not);
  }
}

/// Adds the communication library to the device's list of libraries.
kernels::DeviceFacts facts_with(const kernels::DeviceFacts& device, const kernels::Peers& peers) {
  kernels::DeviceFacts facts = device;
  if (!peers.library.empty()) facts.versions["collectives"] = peers.library;
  if (!peers.why_not.empty()) facts.versions["collectives"] = "not timed: " + peers.why_not;
  return facts;
}

Plan plan_of(const kernels::Backend& backend, const CalibrateOptions& options,
             const std::optional<Gpu>& known) {
  constexpr std::int64_t kAnyContext = std::int64_t{1} << 40;
  const kernels::DeviceFacts& device = backend.facts();
  Plan plan;
  plan.model = options.model;
  if (plan.model.empty() && options.extent != ExtentKind::full) {
    plan.model = is_cpu(device) ? kModelOnCpu : kModelOnGpu;
  }
  std::vector<CalibrationCase> cases;
  plan.extent = extent_of(options.extent, device, kAnyContext);
  if (!plan.model.empty()) {
    const Deployment deployment =
        deployment_of(plan.model, options, known ? *known : stand_in_gpu(device));
    const Extent own = extent_of(options.extent, device, deployment.engine.max_model_len);
    cases = model_cases(deployment, backend, own.limits);
    if (options.extent != ExtentKind::full) {
      plan.extent.protocol.step_bytes = weight_bytes(deployment.model, deployment.parallel).value;
    }
  }
  if (options.extent == ExtentKind::full) {
    const std::vector<CalibrationCase> generic = generic_cases(backend, plan.extent.limits);
    cases.insert(cases.end(), generic.begin(), generic.end());
  }
  plan.sweep = {.ceilings = ceiling_cases(backend, plan.extent.memory_bytes),
                .sentinel = sentinel_case(backend),
                .cases = runnable(std::move(cases), backend, plan.untimed),
                .collectives = {},
                .known = {}};
  if (plan.sweep.cases.empty()) {
    throw Error("this device has no kernel for any operator of " +
                (plan.model.empty() ? "the generic shapes" : plan.model));
  }
  return plan;
}

const char* name_of(ExtentKind kind) {
  switch (kind) {
    case ExtentKind::quick:
      return "quick";
    case ExtentKind::model:
      return "model";
    case ExtentKind::full:
      return "full";
  }
  return "";
}

CalibrationRow calibration_row(const kernels::DeviceFacts& device, const Plan& plan) {
  std::string conditions = describe(plan.extent.protocol) + "; " + tool();
  for (const auto& [name, version] : device.versions) {
    conditions += fmt::format("; {} {}", name, version);
  }
  return {.device = device.name, .identity = device.identity, .conditions = std::move(conditions)};
}

/// The options of the calibration, for the store.
Json scenario_of(const CalibrateOptions& options, const Plan& plan) {
  return {{"extent", name_of(options.extent)},
          {"model", plan.model},
          {"weight_format", options.weight_format.value_or("")},
          {"kv_cache_dtype", options.kv_cache_dtype ? name_of(*options.kv_cache_dtype) : ""},
          {"tensor_parallel_size", options.tensor_parallel}};
}

RunRow run_row(const CalibrateOptions& options, const Plan& plan, const Gpu& gpu) {
  return {.kind = "calibrate",
          .created_at = utc_now(),
          .tool_version = kVersion,
          .command_line = options.command_line,
          .model = plan.model.empty() ? "generic" : plan.model,
          .gpu = gpu.name,
          .engine = "-",
          .scenario_json = scenario_of(options, plan).dump(),
          .profile_hash = "",
          .summary = "running, or killed without a message: `resume` continues"};
}

/// An interrupted calibration of this device with the same options, whose samples can be mixed with
/// new ones. The model must be the same: its size determines how cold operands are.
std::optional<UnfinishedCalibration> unfinished(const Store& store, const CalibrationRow& row,
                                                const Plan& plan, const CalibrateOptions& options,
                                                const CalibrateHooks& hooks) {
  if (!options.resume) return std::nullopt;
  auto found = store.unfinished_calibration(row.identity);
  if (!found) {
    hooks.tell(fmt::format("no interrupted calibration of {} in {}; starting from scratch",
                           row.device, options.store_path));
    return std::nullopt;
  }
  if (found->calibration.conditions != row.conditions) {
    hooks.tell(
        fmt::format("run {} was interrupted under other conditions ({}); starting from scratch",
                    found->row.id, found->calibration.conditions));
    return std::nullopt;
  }
  if (found->row.scenario_json != scenario_of(options, plan).dump()) {
    hooks.tell(fmt::format("run {} was interrupted with other options ({}); starting from scratch",
                           found->row.id, found->row.command_line));
    return std::nullopt;
  }
  hooks.tell(
      fmt::format("resuming run {}: {} points already timed", found->row.id, found->points.size()));
  return found;
}

/// Other commands recognise a profile by its path.
void check_profile_path(const std::string& path) {
  if (is_profile_path(path)) return;
  throw UsageError(fmt::format("`out`: '{}' looks like a GPU name; a profile ends in .json", path));
}

/// If the profile cannot be written, the calibration's measurements are still in the store.
void write_profile(const std::string& text, const CalibrationOutcome& outcome,
                   const CalibrateOptions& options, CalibrationRecord& record) {
  try {
    write_whole(outcome.out, text);
  } catch (const std::exception& error) {
    record.end({.summary = "the profile was not written; `resume` continues",
                .profile_hash = "",
                .metrics = {},
                .complete = false});
    throw Error(
        fmt::format("{}; all points are in {}: to write the profile without timing them again, use "
                    "the same command with `resume` and an `out` with enough space",
                    error.what(), options.store_path));
  }
}

/// `profile_hash`: hash of the profile written; "" if interrupted.
CalibrationEnd end_of(const CalibrationOutcome& outcome, const std::string& profile_hash) {
  const SweepResult& sweep = outcome.sweep;
  if (!outcome.gpu || sweep.end == SweepEnd::device_lost) {
    const char* how = outcome.gpu ? "the device failed" : "interrupted";
    return {.summary =
                fmt::format("{} after {} points; `resume` continues", how, outcome.stored_points),
            .profile_hash = profile_hash,
            .metrics = {},
            .complete = false};
  }
  const Measured& measured = *outcome.gpu->measured;
  CalibrationEnd end{.summary = fmt::format("{} points, {} curves in {}", sweep.timed.size(),
                                            measured.curves.size(), outcome.out),
                     .profile_hash = profile_hash,
                     .metrics = {}};
  const auto add = [&](const char* name, double value) {
    if (std::isfinite(value)) {
      end.metrics.push_back({.name = name, .statistic = "value", .value = value});
    }
  };
  add("points", static_cast<double>(sweep.timed.size()));
  add("curves", static_cast<double>(measured.curves.size()));
  add("copy_bandwidth_bytes_per_s", measured.copy_bandwidth.value);
  add("read_bandwidth_bytes_per_s", measured.read_bandwidth.value);
  add("kernel_floor_s", measured.kernel_floor.value);
  add("dropped_samples", static_cast<double>(measured.dropped_samples));
  add("elapsed_s", outcome.elapsed_s);
  return end;
}

/// Times everything in the plan; records every point at once.
SweepResult sweep(kernels::Backend& backend, const Plan& plan, const CalibrateHooks& hooks,
                  double start_s, CalibrationRecord& record) {
  Timer timer(backend, plan.extent.protocol);
  Operands operands(backend, plan.extent.protocol, plan.extent.memory_bytes);
  CollectiveTimer collectives(plan.peers, plan.extent.protocol, plan.extent.limits.message_bytes);
  SweepOptions options = plan.extent.sweep;
  options.budget_s -= hooks.now_s() - start_s;
  const SweepHooks sweep_hooks{
      .now_s = hooks.now_s,
      .on_timed = [&](const TimedCase& timed) { record.add(timed, hooks.now_s()); },
      .go_on = hooks.go_on};
  try {
    return run_sweep(timer, operands, plan.sweep, options, sweep_hooks, &collectives);
  } catch (...) {
    record.flush();
    throw;
  }
}

/// Whether make_profile() has what it needs: a matrix product of the model and a copy.
bool makes_profile(const SweepResult& sweep) {
  const bool products =
      std::any_of(sweep.timed.begin(), sweep.timed.end(), [](const TimedCase& timed) {
        return timed.c.kind == CaseKind::gemm && timed.c.role == CaseRole::curve;
      });
  return products && ceilings_of(sweep.timed).copy.value > 0;
}

/// Throws Error, after storing the timings, if they do not suffice for a profile.
void check_makes_profile(const CalibrationOutcome& outcome, const CalibrateOptions& options,
                         CalibrationRecord& record) {
  const SweepResult& sweep = outcome.sweep;
  if (sweep.end == SweepEnd::interrupted || makes_profile(sweep)) return;
  record.flush();
  if (sweep.end == SweepEnd::device_lost) {
    throw Error(
        fmt::format("the device failed: {}; too little was timed for a profile; the points are in "
                    "{}: the same command with `resume` continues",
                    sweep.fault, options.store_path));
  }
  throw Error(fmt::format(
      "no matrix product or no copy was timed in {:.0f} s: {}; the timed points are in {}",
      outcome.elapsed_s,
      sweep.failed.empty() ? "the device is too busy, or too slow for `quick`"
                           : sweep.failed.front(),
      options.store_path));
}

/// Makes and writes the profile; returns its hash.
std::string put_profile(const CalibrationData& data, const std::optional<Gpu>& known,
                        const CalibrateOptions& options, CalibrationOutcome& outcome,
                        CalibrationRecord& record) {
  outcome.gpu = make_profile(data, known ? &*known : nullptr);
  const std::string text = write_gpu(*outcome.gpu);
  std::string hash = parse_profile(text, outcome.out).hash;  // also checks that it can be
                                                             // read
  write_profile(text, outcome, options, record);
  return hash;
}

}  // namespace

CalibrationOutcome run_calibration(kernels::Backend& backend, const CalibrateOptions& options,
                                   const CalibrateHooks& hooks) {
  const double start_s = hooks.now_s();
  const std::optional<Gpu> known = known_gpu(backend.facts());
  Plan plan = plan_of(backend, options, known);
  plan_collectives(plan, backend, hooks);
  const Gpu named = known ? *known : stand_in_gpu(backend.facts());
  CalibrationOutcome outcome{.known_gpu = known.has_value(),
                             .model = plan.model,
                             .untimed = plan.untimed,
                             .out = options.out.empty() ? named.name + ".json" : options.out};
  check_profile_path(outcome.out);
  check_not_among(outcome.out, "`out`", {options.store_path});
  check_writable(outcome.out);
  Store store(options.store_path, Store::Mode::write);
  const CalibrationRow row = calibration_row(backend.facts(), plan);
  const auto earlier = unfinished(store, row, plan, options, hooks);
  if (earlier) {
    plan.sweep.known = timings_of(earlier->points);
    outcome.resumed_points = static_cast<std::int64_t>(earlier->points.size());
  }
  CalibrationRecord record(store, run_row(options, plan, named), row,
                           earlier ? &*earlier : nullptr);
  outcome.run_id = record.run_id();

  const DeviceRates host = measure_host_costs(backend, hooks.now_s);
  outcome.sweep = sweep(backend, plan, hooks, start_s, record);
  outcome.stored_points = record.points();
  outcome.elapsed_s = hooks.now_s() - start_s;
  check_makes_profile(outcome, options, record);
  std::string profile_hash;
  if (outcome.sweep.end != SweepEnd::interrupted) {
    const std::string& fault = outcome.sweep.fault;
    const CalibrationData data{
        .device = facts_with(backend.facts(), plan.peers),
        .devices = plan.peers.devices,
        .timed = outcome.sweep.timed,
        .host = host,
        .protocol = plan.extent.protocol,
        .date = utc_now(),
        .tool = tool(),
        .incomplete = fault.empty() ? "" : "the device failed before the end: " + fault};
    profile_hash = put_profile(data, known, options, outcome, record);
  }
  record.end(end_of(outcome, profile_hash));
  return outcome;
}

}  // namespace roofcast
