// roofcast measure: runs a real model with random weights on this machine.
#include <fmt/format.h>

#include <cassert>
#include <optional>
#include <ostream>

#include "base/error.hpp"
#include "cli/default_store.hpp"
#include "cli/options/option_groups.hpp"
#include "cli/progress.hpp"
#include "cli/spelling.hpp"
#include "planner/flags/flag_values.hpp"
#include "reports/answers/answer_documents.hpp"
#include "reports/store.hpp"
#include "roofcast/measure.hpp"

namespace roofcast {
namespace {

struct MeasureOptions {
  DeploymentOptions deployment;
  WorkloadOptions workload;
  std::string device = "cpu";
  std::optional<std::int64_t> threads;
  std::optional<std::int64_t> layers;
  std::optional<std::int64_t> batch;
  std::optional<std::int64_t> repeats;
  std::optional<std::int64_t> warm_ups;
  bool naive = false;
  StoreOptions store;
};

Usage measure_usage(MeasureOptions& target) {
  Usage usage{.synopsis = "roofcast measure --model M [--device cpu|cuda] [options]",
              .example = "roofcast measure --model gpt2 --batch 1 --isl 64 --osl 16 --no-store",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()("device", po::value(&target.device)->value_name("DEVICE"),
                              "cpu, cuda or cuda:N (default cpu)")(
      "threads", converted(target.threads, "--threads", parse_positive)->value_name("N"),
      "CPU: number of threads (default: all cores)")(
      "layers", converted(target.layers, "--layers", parse_positive)->value_name("N"),
      "run the first N layers")("batch",
                                converted(target.batch, "--batch", parse_positive)->value_name("N"),
                                "N equal requests at once, like a textbook profiler (default 1; "
                                "prompts of 128 and outputs of 32 tokens by default)")(
      "repeats", converted(target.repeats, "--repeats", parse_positive)->value_name("N"),
      "measured runs of the batch (default 5); medians and quartiles are shown")(
      "warm-ups", converted(target.warm_ups, "--warm-ups", parse_count)->value_name("N"),
      "runs before them that do not count (default 1)")(
      "naive", po::bool_switch(&target.naive), "also run without a KV cache: the staircase");
  add_store_options(usage.options, target.store);
  add_keep_requests(usage.options, target.store);
  usage.options.add(machine_options(target.deployment))
      .add(synthetic_options(target.workload))
      .add(trace_options(target.workload))
      .add(objective_options(target.workload))
      .add(engine_options(target.deployment));
  usage.unlisted.add(more_machine_options(target.deployment))
      .add(scheduler_options(target.deployment))
      .add(load_shape_options(target.workload.shape))
      .add(trace_form_options(target.workload));
  return usage;
}

/// The first given flag that sets requests or their arrivals; null if none does.
const char* load_flag(const WorkloadOptions& given) {
  if (given.trace) return "--trace";
  if (given.num_prompts) return "--num-prompts";
  if (given.request_rate) return "--request-rate";
  if (given.burstiness) return "--burstiness";
  return is_given(given.shape) ? "a load of another shape" : nullptr;
}

/// Requests all at once, of equal length; short by default, so that a CPU finishes in seconds and
/// the smallest models' contexts hold them. Precondition: a synthetic workload.
void apply_textbook(std::int64_t batch, const WorkloadOptions& given, Scenario& scenario) {
  constexpr std::int64_t kInput = 128;
  constexpr std::int64_t kOutput = 32;
  auto* synthetic = std::get_if<SyntheticWorkload>(&scenario.workload);
  assert(synthetic != nullptr);
  if (!given.input) synthetic->input = fixed_length(kInput);
  if (!given.output) synthetic->output = fixed_length(kOutput);
  if (synthetic->input.kind != LengthDistribution::Kind::fixed ||
      synthetic->output.kind != LengthDistribution::Kind::fixed) {
    throw UsageError("--batch needs requests of one length: --input-len N --output-len N");
  }
  synthetic->num_prompts = batch;
  synthetic->request_rate = kAllAtOnce;
}

MeasureQuestion question_of(const MeasureOptions& options) {
  check(options.store);
  if (options.deployment.model.empty()) {
    throw UsageError("--model is missing (a name such as gpt2; roofcast models)");
  }
  if (with_given({}, options.deployment.parallel).gpus() > 1) {
    throw UsageError("measure runs on a single device: parallelism must be 1 (--tp, --pp, --dp)");
  }
  MeasureQuestion question;
  question.device = options.device;
  question.threads = static_cast<int>(options.threads.value_or(0));
  Scenario& scenario = question.scenario;
  scenario.deployment = options.deployment;
  apply(options.workload, scenario);
  const char* own_load = load_flag(options.workload);
  const bool textbook = options.batch || options.naive;
  if (textbook && own_load != nullptr) {
    throw UsageError(fmt::format("{} and {} are mutually exclusive",
                                 options.batch ? "--batch" : "--naive", own_load));
  }
  if (own_load == nullptr) {
    question.batch = options.batch.value_or(1);
    if (options.naive && *question.batch != 1) throw UsageError("--naive runs a single request");
    apply_textbook(*question.batch, options.workload, scenario);
  }
  if (own_load != nullptr && (options.repeats || options.warm_ups)) {
    throw UsageError(fmt::format("{} and {} are mutually exclusive: only a batch is repeated",
                                 options.repeats ? "--repeats" : "--warm-ups", own_load));
  }
  question.repeats = static_cast<int>(options.repeats.value_or(question.repeats));
  question.warm_ups = static_cast<int>(options.warm_ups.value_or(question.warm_ups));
  if (options.layers) question.layers = static_cast<int>(*options.layers);
  question.naive = options.naive;
  return question;
}

}  // namespace

int run_measure(CommandContext& context) {
  MeasureOptions options;
  const auto common = parse(context, measure_usage(options));
  if (!common) return kExitDone;
  const MeasureQuestion question = question_of(options);
  std::optional<Store> store;
  if (options.store.on) store.emplace(options.store.path, Store::Mode::write);
  std::optional<MeasureOutcome> outcome;
  {
    ProgressBar bar(context.err, "requests");
    outcome = measure_with_requests(
        question, [&](std::int64_t done, std::int64_t total) { return bar.show(done, total); });
    if (!outcome || bar.interrupted()) {
      context.err << "interrupted: nothing was stored\n";
      return kExitFailed;
    }
  }
  if (store) {
    const auto id = store->add(
        measure_row(outcome->measurement, context.command_line, options.store.keep_requests));
    context.err << "run " << id << " stored in " << options.store.path << " (roofcast runs " << id
                << " --store " << options.store.path << ")\n";
  }
  print(measure_document(outcome->answer), common->output, context);
  return kExitDone;
}

}  // namespace roofcast
