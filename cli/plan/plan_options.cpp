#include "cli/plan/plan_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "base/io/shown.hpp"
#include "cli/program_build.hpp"
#include "model/io/gpu_reader.hpp"
#include "planner/capacity/confidence.hpp"
#include "planner/flags/flag_values.hpp"
#include "simulator/io/engine_options.hpp"

namespace roofcast {
namespace {

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

/// "any" means every profile with a price.
std::vector<std::string> gpus_of(const std::string& text) {
  return text == "any" ? priced_gpus() : split_at_commas(text);
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
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
                                     listed(searched)));
      }
      if (!values.emplace(gpu, parse(part.substr(equals + 1), flag)).second) {
        throw UsageError(fmt::format("{}: {} is given twice", flag, gpu));
      }
    }
  }
  return values;
}

double parse_share_above_zero(const std::string& text, const std::string& flag) {
  const double share = parse_share(text, flag);
  if (share > 0) return share;
  throw UsageError(fmt::format("{}: '{}' requires nothing, expected a share above 0", flag, text));
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

po::typed_value<std::string>* number(std::optional<double>& value, const char* flag) {
  return converted(value, flag, parse_positive_number)->value_name("X");
}

po::typed_value<std::string>* count(std::optional<std::int64_t>& value, const char* flag) {
  return converted(value, flag, parse_positive)->value_name("N");
}

auto* list(std::vector<std::string>& values, const char* form) {
  return po::value(&values)->composing()->value_name(form);
}

po::options_description plan_flags(PlanOptions& target) {
  po::options_description options = option_group("Plan");
  options.add_options()("scenario", po::value(&target.simulate.scenario_path)->value_name("FILE"),
                        "scenario file; flags override it")(
      "search", list(target.search, "KEY=A,B ...")->multitoken(),
      "values of a knob, such as kv_cache_dtype=auto,fp8 (default tp=1,2,4,8)")(
      "objective", converted(target.objective, "--objective", parse_objective)->value_name("WHAT"),
      "what to minimise: cost (default), gpus, power (of the boards)")(
      "available", list(target.available, "GPU=N,..."), "GPUs available (default: unlimited)")(
      "price", list(target.prices, "GPU=X,..."), "$ per GPU and hour, instead of the profile's")(
      "budget", number(target.budget, "--budget"), "highest cost in $ per hour")(
      "goodput-share",
      converted(target.goodput_share, "--goodput-share", parse_share_above_zero)->value_name("X"),
      "minimum share of requests within --goodput, such as 95%")(
      "kubernetes", po::value(&target.kubernetes)->value_name("FILE"),
      "write a manifest of the best deployment")(
      "explain", po::bool_switch(&target.explain),
      "what limits the best one, and the outcome of every shape");
  return options;
}

po::options_description more_plan_flags(PlanOptions& target) {
  po::options_description options = option_group("More options of plan");
  options.add_options()("power", number(target.power, "--power"),
                        "highest power in watts, boards at their limit")(
      "probability",
      converted(target.probability, "--probability", parse_probability)->value_name("X"),
      "minimum probability that the SLO is met (default: any; the prediction alone decides)")(
      "least-goodput",
      converted(target.min_goodput, "--least-goodput", parse_share_above_zero)->value_name("X"),
      "alias of --goodput-share")("max-replicas", count(target.max_replicas, "--max-replicas"),
                                  "maximum units of a shape (default 64)")(
      "top", count(target.top, "--top"), "deployments in the answer (default 5)")(
      "threads", count(target.threads, "--threads"),
      "threads (default: all cores); the answer does not depend on it")(
      "store", po::value(&target.simulate.store_path)->value_name("FILE"),
      "the SQLite store (default roofcast.db)")(
      "no-store",
      po::bool_switch()->notifier([&target](bool off) { target.simulate.store = !off; }),
      "do not store anything: an interrupted plan cannot be resumed");
  return options;
}

/// --goodput-share under either name.
std::optional<double> goodput_share_of(const PlanOptions& options) {
  if (options.goodput_share && options.min_goodput) {
    throw UsageError("--least-goodput is an alias of --goodput-share: give only one");
  }
  return options.goodput_share ? options.goodput_share : options.min_goodput;
}

void refuse_idle_share(const PlanOptions& options, const Slo& slo) {
  if (!goodput_share_of(options) || !slo.goodput.empty()) return;
  throw UsageError(fmt::format("{}: needs --goodput",
                               options.goodput_share ? "--goodput-share" : "--least-goodput"));
}

/// Whether a flag sets the knob.
bool is_given(const DeploymentOptions& given, const std::string& key) {
  if (key == "engine") return !given.engine.empty();
  if (key == "quantization") return given.weight_format.has_value();
  if (key == "tensor_parallel_size") return given.parallel.tensor.has_value();
  if (key == "pipeline_parallel_size") return given.parallel.pipeline.has_value();
  if (key == "data_parallel_size") return given.parallel.data.has_value();
  if (key == "enable_expert_parallel") return given.parallel.expert_parallel.has_value();
  return engine_options_json(given.overrides).contains(key);
}

/// Every value of --search would override such a flag.
void refuse_searched_flags(const DeploymentOptions& given, const std::vector<Knob>& dimensions) {
  for (const Knob& dimension : dimensions) {
    if (!is_given(given, dimension.key)) continue;
    std::string flag = dimension.key;
    std::replace(flag.begin(), flag.end(), '_', '-');
    throw UsageError(
        fmt::format("--search {}: conflicts with --{}; give only one", dimension.key, flag));
  }
}

std::vector<Knob> dimensions_of(const PlanOptions& options) {
  std::vector<Knob> dimensions;
  for (const std::string& text : options.search) dimensions.push_back(parse_dimension(text));
  refuse_searched_flags(options.simulate.deployment, dimensions);
  return dimensions;
}

}  // namespace

Usage plan_usage(PlanOptions& target) {
  Usage usage{.synopsis = "roofcast plan [SCENARIO.json] --gpu A,B,... --slo TARGETS [options]",
              .example =
                  "roofcast plan --model llama-3.1-8b --gpu h100,l40s --request-rate 10 "
                  "--slo p95:ttft:500ms",
              .options = plan_flags(target),
              .unlisted = {},
              .positional = {}};
  SimulateOptions& simulate = target.simulate;
  usage.options.add(objective_options(simulate.workload)).add(machine_options(simulate.deployment));
  usage.unlisted.add(more_plan_flags(target))
      .add(synthetic_options(simulate.workload))
      .add(trace_options(simulate.workload))
      .add(load_shape_options(simulate.workload.shape))
      .add(trace_form_options(simulate.workload))
      .add(engine_options(simulate.deployment))
      .add(scheduler_options(simulate.deployment))
      .add(feature_options(simulate.deployment.overrides));
  usage.more =
      "--gpu takes several (h100,h200,l40s) or any (all with a price). More: load flags as in "
      "simulate,\n"
      "--power, --top, --max-replicas, --store, engine flags (for all candidates)";
  usage.positional.add("scenario", 1);
  return usage;
}

PlanQuestion plan_question(const PlanOptions& options) {
  PlanQuestion question{.scenario = simulate_scenario(options.simulate)};
  refuse_idle_share(options, question.scenario.slo);
  if (question.scenario.gpu.empty()) {
    throw UsageError("--gpu is missing (one or more, such as h100,h200,l40s, or any)");
  }
  question.gpus = gpus_of(question.scenario.gpu);
  if (question.gpus.empty()) {
    throw UsageError(fmt::format("--gpu: '{}' contains no GPU (such as h100,h200,l40s, or any)",
                                 shown(question.scenario.gpu)));
  }
  std::vector<std::string> keys;
  for (const std::string& gpu : question.gpus) keys.push_back(gpu_key(gpu));
  question.search = dimensions_of(options);
  question.fixed_tensor = options.simulate.deployment.parallel.tensor.has_value();
  question.free_length =
      !options.simulate.workload.num_prompts && options.simulate.scenario_path.empty();
  question.objective = options.objective.value_or(question.objective);
  question.limits = {
      .budget_per_hour = options.budget,
      .power_w = options.power,
      .available = by_gpu<std::int64_t>(options.available, "--available", keys, parse_count),
      .prices = by_gpu<double>(options.prices, "--price", keys, parse_positive_number)};
  question.min_goodput_share = goodput_share_of(options);
  question.min_probability = options.probability;
  question.max_replicas = options.max_replicas.value_or(question.max_replicas);
  question.top = options.top.value_or(question.top);
  question.explain = options.explain;
  question.program = program_build();
  return question;
}

}  // namespace roofcast
