#include "roofcast/search_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/text.hpp"
#include "model/io/gpu_reader.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/flags/cluster_flags.hpp"
#include "planner/flags/flag_values.hpp"
#include "planner/flags/idle_flags.hpp"
#include "planner/vary/vary.hpp"
#include "planner/vary/vary_scenario.hpp"
#include "planner/verdict/confidence.hpp"
#include "roofcast/question_json.hpp"
#include "simulator/deployment_options.hpp"
#include "simulator/io/engine_options.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kMaxSeeds = 1000;
constexpr std::int64_t kMaxThreads = 1024;
constexpr std::string_view kAny = "any";  // of --gpu

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(text, ',')) {
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

/// "any" means every profile with a price; others named beside it are added.
std::vector<std::string> gpus_of(const std::string& text) {
  std::vector<std::string> named = split_at_commas(text);
  if (std::erase(named, kAny) == 0) return named;
  std::vector<std::string> gpus = priced_gpus();
  for (const std::string& one : named) {
    const std::string gpu = gpu_key(one);
    if (std::ranges::find(gpus, gpu) == gpus.end()) gpus.push_back(gpu);
  }
  return gpus;
}

/// A value per GPU: "h100=16,l40s=32", in one or several texts.
template <class Value, class Parse>
std::map<std::string, Value> by_gpu(const std::vector<std::string>& texts, const std::string& flag,
                                    const std::vector<std::string>& searched, Parse parse) {
  std::map<std::string, Value> values;
  for (const std::string& text : texts) {
    for (const std::string& part : split_at_commas(text)) {
      const std::size_t equals = part.rfind('=');
      if (equals == std::string::npos) {
        throw UsageError(fmt::format("{}: '{}' given, expected GPU=NUMBER", flag, part));
      }
      const std::string gpu = gpu_key(part.substr(0, equals));
      if (std::find(searched.begin(), searched.end(), gpu) == searched.end()) {
        throw UsageError(fmt::format("{}: {} is not among the GPUs of --gpu ({})", flag, shown(gpu),
                                     joined(searched)));
      }
      if (!values.emplace(gpu, parse(part.substr(equals + 1), flag)).second) {
        throw UsageError(fmt::format("{}: {} is given twice", flag, gpu));
      }
    }
  }
  return values;
}

/// Rejects a probability beyond what can be computed: no plan would ever hold.
double parse_probability(const std::string& text, const std::string& flag) {
  const double probability = parse_share(text, flag);
  if (probability <= greatest_probability()) return probability;
  throw UsageError(fmt::format(
      "{}: {} given, expected at most {:.4f} (the search stops at 4 standard deviations)", flag,
      text, std::floor(greatest_probability() * 1e4) / 1e4));
}

PlanObjective parse_objective(const std::string& text, const std::string& flag) {
  if (const auto objective = parse_plan_objective(text)) return *objective;
  throw UsageError(fmt::format("{}: '{}' is not {}", flag, text, kPlanObjectives));
}

/// Whether a flag sets the knob.
bool is_given(const DeploymentOptions& given, const std::string& key) {
  if (key == "engine") return !given.engine.empty();
  if (key == "quantization") return given.weight_format.has_value();
  bool sets_degree = false;
  visit_degrees([&](std::string_view flag, auto, auto degree) {
    if (key == key_of(flag)) sets_degree = (given.parallel.*degree).has_value();
  });
  return sets_degree || engine_options_json(given.overrides).contains(key);
}

/// Every value of --search would override such a flag.
void refuse_searched_flags(const DeploymentOptions& given, const std::vector<Knob>& dimensions) {
  for (const Knob& dimension : dimensions) {
    if (!is_given(given, dimension.key)) continue;
    throw UsageError(fmt::format("--search {}: conflicts with --{}; give only one", dimension.key,
                                 with_dashes(dimension.key)));
  }
}

/// The scenario, and what each of the settings makes of it. What they contradict is refused
/// elsewhere.
std::vector<Scenario> with_each(const Scenario& scenario, const std::vector<Settings>& settings) {
  std::vector<Scenario> all{scenario};
  for (const Settings& one : settings) {
    try {
      all.push_back(with_settings(scenario, one));
    } catch (const UsageError&) {
      continue;
    }
  }
  return all;
}

auto count_up_to(std::int64_t max) {
  return [max](const std::string& text, const std::string& flag) {
    return parse_count_by({.what = "count above zero", .examples = "1, 5", .min = 1, .max = max},
                          text, flag);
  };
}

std::vector<Settings> settings_of(const WhatIfOptions& options) {
  if (options.vary.empty()) {
    throw UsageError(fmt::format("whatif: --vary is missing, expected {}", kVaryForms));
  }
  std::vector<Knob> knobs;
  for (const std::string& text : options.vary) knobs.push_back(parse_knob(text, "--vary"));
  if (options.one_at_a_time && knobs.size() == 1) {
    throw UsageError("--one-at-a-time: needs at least two knobs");
  }
  return options.one_at_a_time ? one_at_a_time(knobs) : grid_of(knobs);
}

std::vector<MetricName> metrics_of(const WhatIfOptions& options) {
  std::vector<MetricName> metrics;
  for (const std::string& text : options.metrics) {
    const MetricName metric = parse_metric_name(text);
    if (std::find(metrics.begin(), metrics.end(), metric) != metrics.end()) {
      throw UsageError(fmt::format("--metric: {} is given twice", text));
    }
    metrics.push_back(metric);
  }
  return metrics;
}

}  // namespace

const Flags<PlanOptions>& plan_flags() {
  using O = PlanOptions;
  static const Flags<O> flags = {
      {.name = "search",
       .placeholder = "KEY=A,B ...",
       .help = "values of a knob: kv_cache_dtype=auto,fp8 (default tp=1,2,4,8)",
       .read = added_to(&O::search),
       .form = FlagForm::list},
      {.name = "objective",
       .placeholder = "WHAT",
       .help = "what to minimise: cost (default), gpus, power (of the boards)",
       .read = into(&O::objective, parse_objective)},
      {.name = "available",
       .placeholder = "GPU=N,...",
       .help = "GPUs available (default: unlimited)",
       .read = added_to(&O::available),
       .form = FlagForm::repeated},
      {.name = "price",
       .placeholder = "GPU=X,...",
       .help = "$ per GPU and hour, instead of the profile's",
       .read = added_to(&O::prices),
       .form = FlagForm::repeated},
      {.name = "budget",
       .placeholder = "X",
       .help = "highest cost in $ per hour",
       .read = into(&O::budget, parse_positive_number)},
      {.name = "min-goodput",
       .placeholder = "X",
       .help = "minimum share of requests within --goodput, such as 95%",
       .read = into(&O::min_goodput, parse_share_above_zero),
       .aliases = {"--goodput-share"}},
      {.name = "explain",
       .help = "what limits the best one, and the outcome of every shape",
       .read = set_to(&O::explain, true),
       .form = FlagForm::toggle}};
  return flags;
}

const Flags<PlanOptions>& more_plan_flags() {
  using O = PlanOptions;
  static const Flags<O> flags = {
      {.name = "power",
       .placeholder = "X",
       .help = "highest power in watts, boards at their limit",
       .read = into(&O::power, parse_positive_number)},
      {.name = "probability",
       .placeholder = "X",
       .help = "minimum probability that the SLO is met (default 0.9; with 0.5 the prediction "
               "decides)",
       .read = into(&O::probability, parse_probability)},
      {.name = "router",
       .placeholder = "POLICY",
       .help = "how requests are spread over replicas: least_outstanding, prefix_affinity ... "
               "(default round_robin)",
       .read =
           [](O& target, const std::string& text, const std::string& flag) {
             ClusterOptions cluster;
             find_flag(cluster_flags(), "router")->read(cluster, text, flag);
             target.router = cluster.router;
           }},
      {.name = "mix",
       .help = "also fleets of several pools, each of another GPU or degree, behind a router by "
               "prompt length or request class",
       .read = set_to(&O::mix, true),
       .form = FlagForm::toggle},
      {.name = "whole-trace",
       .help = "plan for all of a trace that lasts over three hours, not for its busiest hour",
       .read = set_to(&O::whole_trace, true),
       .form = FlagForm::toggle},
      {.name = "max-replicas",
       .placeholder = "N",
       .help = "maximum replicas, prefill and decode together (default 64)",
       .read = into(&O::max_replicas, parse_positive)},
      {.name = "top",
       .placeholder = "N",
       .help = "deployments in the answer (default 5)",
       .read = into(&O::top, parse_positive)},
      {.name = "threads",
       .placeholder = "N",
       .help = "threads (default: all cores); the answer does not depend on it",
       .read = into(&O::threads, parse_positive)}};
  return flags;
}

PlanQuestion plan_question(Scenario scenario, const ScenarioOptions& given,
                           const PlanOptions& options, bool free_length) {
  PlanQuestion question{.scenario = std::move(scenario)};
  if (options.min_goodput && question.scenario.slo.goodput.empty()) {
    throw UsageError("--min-goodput: needs --goodput");
  }
  if (question.scenario.deployment.gpu.empty()) {
    throw UsageError("--gpu is missing (one or more, such as h100,h200,l40s, or any)");
  }
  question.gpus = gpus_of(question.scenario.deployment.gpu);
  if (question.gpus.empty()) {
    throw UsageError(fmt::format("--gpu: '{}' contains no GPU (such as h100,h200,l40s, or any)",
                                 shown(question.scenario.deployment.gpu)));
  }
  std::vector<std::string> keys;
  for (const std::string& gpu : question.gpus) keys.push_back(gpu_key(gpu));
  for (const std::string& text : options.search) {
    question.search.push_back(parse_dimension(text));
  }
  refuse_searched_flags(given.deployment, question.search);
  refuse_idle_flags(given, with_each(question.scenario, one_at_a_time(question.search)),
                    Degrees::searched);
  question.fixed_tensor = given.deployment.parallel.tensor.has_value();
  question.free_length = free_length;
  if (options.whole_trace && !std::holds_alternative<TraceWorkload>(question.scenario.workload)) {
    throw UsageError("--whole-trace: needs --trace");
  }
  question.whole_trace = options.whole_trace;
  question.objective = options.objective.value_or(question.objective);
  question.limits = {
      .budget_per_hour = options.budget,
      .power_w = options.power,
      .available = by_gpu<std::int64_t>(options.available, "--available", keys, parse_count),
      .prices = by_gpu<double>(options.prices, "--price", keys, parse_positive_number)};
  question.min_goodput_share = options.min_goodput;
  question.min_probability = options.probability.value_or(kPlanProbability);
  question.max_replicas = options.max_replicas.value_or(question.max_replicas);
  question.top = options.top.value_or(question.top);
  question.explain = options.explain;
  question.mix = options.mix;
  if (options.router) {
    if (question.max_replicas == 1) {
      throw UsageError("--router: would change nothing with --max-replicas 1");
    }
    if (!question.scenario.cluster) question.scenario.cluster.emplace();
    ClusterScenario& cluster = *question.scenario.cluster;
    cluster.router.policy = cluster.decode_router.policy = *options.router;
  }
  return question;
}

bool compares_machines(const std::string& gpu, const std::string& sizes) {
  return !sizes.empty() || gpu == kAny || gpu.find(',') != std::string::npos;
}

CapacityTableQuestion capacity_table_question(Scenario scenario, const ScenarioOptions& given,
                                              const CapacityOptions& options,
                                              const std::string& sizes, bool free_length) {
  const char* idle = options.explain    ? "--explain"
                     : options.growth   ? "--growth"
                     : options.lose_one ? "--lose-one"
                                        : nullptr;
  if (idle != nullptr) {
    throw UsageError(fmt::format("{}: not of several GPUs or sizes; give one", idle));
  }
  CapacityTableQuestion question{.gpus = gpus_of(scenario.deployment.gpu)};
  if (question.gpus.empty()) throw UsageError("--gpu is missing (such as h100,h200,l40s, or any)");
  if (sizes.empty()) question.sizes = {with_given({}, scenario.deployment.parallel).tensor};
  if (sizes != "auto") {
    for (const std::string& size : split_at_commas(sizes)) {
      const std::string flag = "--tensor-parallel-size";
      question.sizes.push_back(static_cast<int>(parse_count_by(
          {.what = "degree", .examples = "1, 2, 4", .min = 1, .max = kMaxDegree}, size, flag)));
    }
  }
  question.each = capacity_question(std::move(scenario), given, options, free_length);
  return question;
}

const Flags<WhatIfOptions>& what_if_flags() {
  using O = WhatIfOptions;
  static const Flags<O> flags = {
      {.name = "vary",
       .placeholder = "KEY=VALUES ...",
       .help = "flag of simulate or key of a scenario file, and its values: gpu=h100,l40s, "
               "request_rate=2-10+2, max_num_seqs=64-512*2, speculative=off,eagle:3:0.7, "
               "pools=together,1:3; lists in brackets: cuda_graph_batch_sizes=[1,2,4],[8]; "
               "relative to the baseline: replicas=-1, request_rate=*2, input_len=*1.5, "
               "num_prompts=+20%",
       .read = added_to(&O::vary),
       .form = FlagForm::list},
      {.name = "one-at-a-time",
       .help = "vary one key at a time, instead of all combinations",
       .read = set_to(&O::one_at_a_time, true),
       .form = FlagForm::toggle},
      {.name = "seeds",
       .placeholder = "N",
       .help = "repeat with N seeds, the same for every variant (default 5; 1 for a trace)",
       .read = into(&O::seeds, count_up_to(kMaxSeeds))},
      {.name = "metric",
       .placeholder = "NAME[:STATISTIC] ...",
       .help =
           "metrics to compare: ttft:p95, tpot:mean, output_tokens, goodput, cost_usd_per_h ... "
           "(default ttft, tpot and e2e at p95, output tokens per second, and the SLO's metrics)",
       .read = added_to(&O::metrics),
       .form = FlagForm::list},
      {.name = "explain",
       .help = "which limit binds each variant, and the gain from 10 % more of it",
       .read = set_to(&O::explain, true),
       .form = FlagForm::toggle},
      {.name = "threads",
       .placeholder = "N",
       .help = "parallel simulations (default: all cores); the answer does not depend on it",
       .read = into(&O::threads, count_up_to(kMaxThreads))}};
  return flags;
}

WhatIfQuestion what_if_question(Scenario baseline, const ScenarioOptions& given,
                                const WhatIfOptions& options, bool free_length) {
  WhatIfQuestion question{
      .baseline = std::move(baseline),
      .settings = settings_of(options),
      .metrics = metrics_of(options),
      .seeds = options.seeds,
      .threads = static_cast<int>(options.threads.value_or(available_threads())),
      .free_length = free_length,
      .explain = options.explain};
  refuse_idle_flags(given, with_each(question.baseline, question.settings));
  return question;
}

}  // namespace roofcast
