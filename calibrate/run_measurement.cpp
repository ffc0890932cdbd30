#include "calibrate/run_measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "calibrate/device_choice.hpp"
#include "calibrate/runtime/file_weights.hpp"
#include "model/architecture/experts.hpp"
#include "model/architecture/requantise.hpp"
#include "model/engines/knobs.hpp"
#include "model/io/gguf.hpp"
#include "model/step/step_estimate.hpp"
#include "planner/flags/idle_flags.hpp"
#include "planner/scenario/resolve_deployment.hpp"
#include "planner/scenario/simulation_run.hpp"
#include "simulator/io/scenario_workload.hpp"

namespace roofcast {
namespace {

constexpr const char* kOwnEngine = "roofcast";

// Share of memory used; the rest is for the libraries' buffers and other processes.
constexpr double kUsableShare = 0.9;

// Large enough to leave any cache, small enough to be quick on a slow machine.
constexpr std::size_t kCopyBytes = std::size_t{256} << 20;
constexpr int kCopies = 5;

// Lets all prompts of the batch run in one step, with activations small compared with the weights.
constexpr std::int64_t kMaxPrefillTokens = 16384;

/// Rate of the fastest of a few copies, bytes read plus written, or of a few reads, on devices with
/// a kernel that only reads.
BytesPerSecond memory_bandwidth(kernels::Backend& backend) {
  const kernels::Memory from(backend, kCopyBytes);
  const kernels::Memory to(backend, kCopyBytes);
  backend.fill_normal(from.data(), kernels::Element::fp32,
                      static_cast<std::int64_t>(kCopyBytes / sizeof(float)), 0, 1.0F);
  const auto recording =
      backend.record([&] { backend.launch_copy(to.data(), from.data(), kCopyBytes); });
  double fastest = 0;
  for (int i = 0; i < kCopies; ++i) {
    const double seconds = backend.replay(*recording).seconds;
    fastest = std::max(fastest, 2.0 * static_cast<double>(kCopyBytes) / seconds);
  }
  bool reads = false;
  const auto read = backend.record([&] { reads = backend.launch_read(from.data(), kCopyBytes); });
  for (int i = 0; reads && i < 2 * kCopies; ++i) {
    const double seconds = backend.replay(*read).seconds;
    fastest = std::max(fastest, static_cast<double>(kCopyBytes) / seconds);
  }
  return BytesPerSecond{fastest};
}

/// The format of activations and cache, and of weights that are not quantised: the requested one,
/// else the model's activation format.
DType number_format(const Scenario& scenario, const Transformer& model) {
  for (const DType format : {DType::fp32, DType::fp16, DType::bf16}) {
    if (scenario.deployment.weight_format == name_of(format)) return format;
  }
  return model.activation;
}

/// Puts the model's weights into the format that runs, which the estimate uses, too: the requested
/// one; else each layer's own where there is a kernel for it, and the activations' where not.
void set_weight_formats(const kernels::Backend& backend, const Scenario& scenario, DType activation,
                        Transformer& model) {
  const auto runs = [&](const WeightFormat& format) {
    return backend.multiplies_quantized() && runtime::quantized_format_of(format).has_value();
  };
  const bool own = !scenario.deployment.weight_format &&
                   std::ranges::any_of(model.layers, [&](const Layer& layer) {
                     return runs(layer.mixer_format) || runs(layer.ffn_format);
                   });
  if (own && !has_experts(model)) {
    const WeightFormat plain = plain_format(activation);
    const auto keep = [&](WeightFormat& format) {
      if (!runs(format)) format = plain;
    };
    for (Layer& layer : model.layers) {
      keep(layer.mixer_format);
      keep(layer.ffn_format);
      keep(layer.shared_format);
    }
    keep(model.lm_head_format);
    model.embedding_format = plain;  // looked up, not multiplied
    return;
  }
  requantise(model, std::string(name_of(activation)));
  model.activation = activation;
  // requantise() leaves a file's quantised ones, for which this device may have no product.
  model.embedding_format = plain_format(activation);
  model.lm_head_format = plain_format(activation);
  if (!scenario.deployment.weight_format ||
      *scenario.deployment.weight_format == name_of(activation))
    return;
  const WeightFormat wanted = weight_format_named(*scenario.deployment.weight_format);
  if (!runs(wanted) || has_experts(model)) {
    throw UsageError(
        fmt::format("`quantization`: '{}' cannot be run {}; expected fp32, fp16 or bf16{}",
                    *scenario.deployment.weight_format,
                    has_experts(model) ? "by routed experts" : "on " + backend.facts().name,
                    backend.multiplies_quantized() && !has_experts(model)
                        ? ", or q8_0, q6_k, q4_k, q4_0, int8, fp8, int4, awq or gptq"
                        : ""));
  }
  requantise(model, wanted.name);
}

/// The memory is this machine's and the kernels are launched one by one: other settings of engines
/// change nothing here. Throws UsageError naming the first that is given.
void refuse_idle_knobs(const Scenario& scenario, const Workload& workload) {
  for (const EngineKnob& knob : engine_knobs()) {
    if (!knob.get(scenario.deployment.overrides)) continue;
    const bool acts = knob.in_measure == InMeasure::if_it_schedules
                          ? knob.only_schedules
                          : knob.in_measure != InMeasure::nothing;
    if (!acts) {
      throw UsageError(
          fmt::format("`{}`: has no effect here, it is not part of what measure runs", knob.key));
    }
    if (workload.requests.size() == 1 && knob.in_measure == InMeasure::between_requests) {
      throw UsageError(
          fmt::format("`{}`: has no effect here, there is a single request", knob.key));
    }
  }
  if (const auto idle = idle_priorities(scenario.deployment.overrides, scenario))
    throw UsageError(*idle);
}

/// Length of the longest request, prompt and output.
std::int64_t longest_request(const Workload& workload) {
  std::int64_t longest = 1;
  for (const Request& request : workload.requests) {
    longest = std::max(longest, request.input_tokens + request.output_tokens);
  }
  return longest;
}

void check_runs(const Measurement& m, DType format) {
  if (const auto asked = m.task.scenario.deployment.overrides.kv_cache_dtype;
      asked && *asked != format) {
    throw UsageError(fmt::format(
        "`kv_cache_dtype`: '{}' cannot be run; the cache must be {}, like everything else",
        name_of(*asked), name_of(format)));
  }
  const std::int64_t max = m.deployment.model.max_context;
  const std::int64_t longest = longest_request(m.workload);
  if (max > 0 && longest > max) {
    throw Error(fmt::format(
        "a request of {} tokens, prompt and output, exceeds the longest context of {}: {}",
        with_separators(longest), m.deployment.model.name, with_separators(max)));
  }
}

std::int64_t prompt_tokens(const Workload& workload) {
  std::int64_t tokens = 0;
  for (const Request& request : workload.requests) tokens += request.input_tokens;
  return tokens;
}

/// Engine knobs that this workload needs, unless the user has set them.
EngineOverrides knobs_for(const MeasurementTask& task, const Workload& workload) {
  EngineOverrides knobs = task.scenario.deployment.overrides;
  const std::int64_t longest = longest_request(workload);
  if (!knobs.max_model_len) knobs.max_model_len = longest;
  const auto requests = static_cast<std::int64_t>(workload.requests.size());
  if (task.batch) {
    if (!knobs.max_num_seqs) knobs.max_num_seqs = requests;
    if (*knobs.max_num_seqs < requests) {
      throw UsageError(fmt::format(
          "`max_num_seqs`: {} given, less than the {} requests of the batch, which run at once",
          *knobs.max_num_seqs, requests));
    }
    if (!knobs.max_num_batched_tokens) {
      const std::int64_t all = std::min(prompt_tokens(workload), kMaxPrefillTokens);
      knobs.max_num_batched_tokens = std::max({all, requests, std::int64_t{16}});
    }
  }
  return knobs;
}

/// Limits that fit every running sequence at its longest, as far as memory allows.
runtime::ExecutorLimits limits_for(const Measurement& m) {
  const Engine& engine = m.deployment.engine;
  const auto requests = static_cast<std::int64_t>(m.workload.requests.size());
  runtime::ExecutorLimits limits{.rows = engine.max_num_batched_tokens,
                                 .sequences = std::min(engine.max_num_seqs, requests),
                                 .context = longest_request(m.workload),
                                 .page_size = static_cast<int>(engine.block_size)};
  limits.rows = std::max(limits.rows, m.task.naive ? limits.context : 0);
  const double free = kUsableShare * static_cast<double>(m.device.free_memory_bytes);
  const double fixed = runtime::weight_bytes(m.model) + runtime::buffer_bytes(m.model, limits);
  const double page = runtime::kv_bytes_per_token(m.model) * static_cast<double>(limits.page_size);
  // One more page each: some engines admit a request only if a token is to spare.
  const std::int64_t wanted = limits.sequences * (limits.pages_per_sequence() + 1);
  const double room = (free - fixed) / page;
  if (room < static_cast<double>(limits.pages_per_sequence())) {
    throw Error(fmt::format(
        "{} does not fit on {}: weights and buffers take {}, one sequence of {} tokens {}, but "
        "only {} are free (`layers` runs part of the model)",
        m.model.name, m.device.name, as_gib(Bytes{fixed}), with_separators(limits.context),
        as_gib(Bytes{page * limits.pages_per_sequence()}),
        as_gib(Bytes{static_cast<double>(m.device.free_memory_bytes)})));
  }
  limits.pages = static_cast<std::int32_t>(std::min(static_cast<double>(wanted), room));
  return limits;
}

void put_to_estimate(MeasuredLoop& loop, const StepTime& estimate) {
  loop.predicted = runtime::predicted_times(loop.run.steps, estimate);
  loop.comparison = runtime::compare_steps(loop.run.steps, loop.predicted);
}

runtime::ServedRun run_loop(runtime::Executor& executor, const Measurement& m,
                            SchedulerKind scheduler, const SimulationOptions& simulation) {
  Engine engine = m.deployment.engine;
  engine.scheduler = scheduler;
  return runtime::serve(executor, m.workload,
                        {.engine = engine,
                         .spans = attention_spans(m.deployment.model),
                         .seed = m.task.scenario.seed,
                         .simulation = simulation});
}

Seconds time_of(const runtime::ServedRun& run) {
  Seconds time;
  for (const runtime::TimedStep& step : run.steps) time += step.time;
  return time;
}

/// Keeps the steps of all runs, and the run of median time; of an even number the faster one.
MeasuredLoop loop_of(std::vector<runtime::ServedRun> runs) {
  MeasuredLoop loop;
  for (const runtime::ServedRun& run : runs) loop.repeats.push_back(run.steps);
  const auto middle = runs.begin() + (std::ssize(runs) - 1) / 2;
  std::nth_element(runs.begin(), middle, runs.end(),
                   [](const auto& a, const auto& b) { return time_of(a) < time_of(b); });
  loop.run = std::move(*middle);
  return loop;
}

/// The profile's estimate of the steps of a loop, if there is a profile.
void predict(const Measurement& m, SchedulerKind scheduler, MeasuredLoop& loop) {
  if (!m.has_profile) return;
  Deployment deployment = m.deployment;
  deployment.engine.scheduler = scheduler;
  put_to_estimate(loop, RooflineStepTime(deployment));
}

/// Runs the loops in turn, so that both see the same drift of the machine. Stops after the loop in
/// which `progress` returned false.
void run_loops(runtime::Executor& executor, Measurement& m, const Progress& progress) {
  const MeasurementTask& task = m.task;
  const SchedulerKind cached = m.deployment.engine.scheduler;
  std::vector<SchedulerKind> loops{cached};
  if (task.naive) loops.push_back(SchedulerKind::naive);
  const int warm_ups = task.batch ? task.warm_ups : 0;
  const int rounds = warm_ups + (task.batch ? task.repeats : 1);
  m.loops = rounds * std::ssize(loops);
  std::int64_t done = 0;
  const SimulationOptions simulation{.max_concurrency = task.scenario.max_concurrency,
                                     .slo = task.scenario.slo,
                                     .progress = [&](std::int64_t finished, std::int64_t total) {
                                       return !progress ||
                                              progress(done * total + finished, m.loops * total);
                                     }};
  std::vector<std::vector<runtime::ServedRun>> runs(loops.size());
  bool stopped = false;
  for (int round = 0; round < rounds && !stopped; ++round) {
    for (std::size_t i = 0; i < loops.size() && !stopped; ++i) {
      runtime::ServedRun run = run_loop(executor, m, loops[i], simulation);
      ++done;
      stopped = run.result.stopped;
      if (round >= warm_ups || stopped) runs[i].push_back(std::move(run));
    }
  }
  if (!runs[0].empty()) m.cached = loop_of(std::move(runs[0]));
  predict(m, cached, m.cached);
  if (!task.naive || runs[1].empty()) return;
  m.naive = loop_of(std::move(runs[1]));
  predict(m, SchedulerKind::naive, *m.naive);
}

/// Throws if no request was served, since nothing was measured.
void check_served(const Measurement& m) {
  const SimulationResult& result = m.cached.run.result;
  if (result.completed > 0 || result.rejected == 0) return;
  throw Error(fmt::format(
      "no request was served: all {} are longer than the engine allows (`max_model_len` {}), or "
      "than its cache",
      with_separators(result.rejected), with_separators(m.deployment.engine.max_model_len)));
}

/// The file whose weights run, if the model was read from one that the device can run as it is
/// stored and no other format is asked for; why not, if it cannot. The file decides: m.model has
/// the formats of set_weight_formats(), which are plain where the device multiplies no quantised
/// ones.
std::optional<GgufFile> weights_file(const kernels::Backend& backend, Measurement& m) {
  const std::string& source = m.deployment.model.source;
  if (m.task.scenario.deployment.weight_format || !source.ends_with(".gguf")) return std::nullopt;
  GgufFile file = read_gguf(source);
  const std::string why = runtime::why_not_as_stored(backend, file, m.model);
  if (!why.empty()) {
    m.why_random_weights = fmt::format("random weights instead of those of {}: {}", source, why);
    return std::nullopt;
  }
  return file;
}

/// Resolves model, profile and engine, and the layers that run.
void resolve_question(const kernels::Backend& backend, Measurement& m) {
  const Scenario& scenario = m.task.scenario;
  refuse_idle_knobs(scenario, m.workload);
  DeploymentOptions options = deployment_options(scenario, PoolScenario{});
  options.weight_format.reset();  // number_format() decides
  options.engine = scenario.deployment.engine.empty() ? kOwnEngine : scenario.deployment.engine;
  options.overrides = knobs_for(m.task, m.workload);
  m.has_profile = !scenario.deployment.gpu.empty();
  if (m.has_profile) {
    ResolvedDeployment resolved = resolve(options);
    m.deployment = std::move(resolved.deployment);
    m.profile_hash = std::move(resolved.profile_hash);
  } else {
    m.deployment = resolve_on(options, stand_in_gpu(m.device));
  }
  Transformer& model = m.deployment.model;
  const DType format = number_format(scenario, model);
  check_runs(m, format);
  set_weight_formats(backend, scenario, format, model);
  m.deployment.engine.kv_cache_dtype = format;
  m.model = runtime::runnable_model(model, runtime::element_of(format), m.task.layers);
  model.layers.resize(m.model.layers.size());
}

}  // namespace

Measurement run_measurement(kernels::Backend& backend, const MeasurementTask& task,
                            const Progress& progress) {
  Measurement m;
  m.task = task;
  m.device = backend.facts();
  m.workload = load_workload(task.scenario);
  resolve_question(backend, m);
  const std::optional<GgufFile> file = weights_file(backend, m);
  if (file) {
    runtime::take_formats(*file, m.model);
    m.weights_file = file->path;
  }
  m.limits = limits_for(m);
  m.bandwidth = memory_bandwidth(backend);
  runtime::Executor executor(backend, m.model, m.limits,
                             file ? runtime::file_weights(backend, m.model, *file)
                                  : runtime::random_weights(backend, m.model, task.scenario.seed));
  run_loops(executor, m, progress);
  check_served(m);
  if (task.batch && !m.cached.run.steps.empty()) {
    const Request& first = m.workload.requests.front();
    m.textbook = runtime::textbook_profile(m.cached.repeats, m.model,
                                           {.batch = *task.batch,
                                            .input_tokens = first.input_tokens,
                                            .output_tokens = first.output_tokens},
                                           m.bandwidth);
  }
  return m;
}

}  // namespace roofcast
