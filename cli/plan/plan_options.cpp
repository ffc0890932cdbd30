#include "cli/plan/plan_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "cli/options/flag_options.hpp"
#include "cli/program_build.hpp"

namespace roofcast {
namespace {

po::options_description common_flags(PlanCommandOptions& target) {
  po::options_description options = option_group("Plan");
  options.add_options()("scenario", po::value(&target.simulate.scenario_path)->value_name("FILE"),
                        "scenario file; flags override it");
  add_flags(options, plan_flags(), target.plan);
  options.add_options()("kubernetes", po::value(&target.kubernetes)->value_name("FILE"),
                        "write a manifest of the best deployment")(
      "emit", po::value(&target.emitted)->composing()->multitoken()->value_name("TARGET=FILE ..."),
      "write it for kserve, llm-d, dynamo, compose, vllm-sweep ...");
  return options;
}

po::options_description more_flags(PlanCommandOptions& target) {
  po::options_description options = option_group("More options of plan");
  add_flags(options, more_plan_flags(), target.plan);
  options.add_options()("store", po::value(&target.simulate.store_path)->value_name("FILE"),
                        "the SQLite store (default roofcast.db)")(
      "no-store",
      po::bool_switch()->notifier([&target](bool off) { target.simulate.store = !off; }),
      "do not store anything: an interrupted plan cannot be resumed");
  return options;
}

}  // namespace

Usage plan_usage(PlanCommandOptions& target) {
  Usage usage{.synopsis = "roofcast plan [SCENARIO.json] --gpu A,B,... --slo TARGETS [options]",
              .example =
                  "roofcast plan --model llama-3.1-8b --gpu h100,l40s --request-rate 10 "
                  "--slo p95:ttft:500ms",
              .options = common_flags(target),
              .unlisted = {},
              .positional = {}};
  SimulateOptions& simulate = target.simulate;
  usage.options.add(objective_options(simulate.workload)).add(machine_options(simulate.deployment));
  usage.unlisted.add(more_flags(target))
      .add(synthetic_options(simulate.workload))
      .add(trace_options(simulate.workload))
      .add(load_shape_options(simulate.workload.shape))
      .add(trace_form_options(simulate.workload))
      .add(pricing_options(simulate.pricing))
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

std::vector<PlanFile> plan_files(const PlanCommandOptions& options) {
  std::vector<PlanFile> files;
  if (!options.kubernetes.empty()) {
    files.push_back({.path = options.kubernetes, .flag = "--kubernetes"});
  }
  for (const std::string& text : options.emitted) {
    const std::size_t equals = text.find('=');
    const auto target = parse_launch_target(text.substr(0, equals));
    if (!target || equals == std::string::npos || equals + 1 == text.size()) {
      throw UsageError(fmt::format("--emit: '{}' given, expected TARGET=FILE with {}", shown(text),
                                   kLaunchTargets));
    }
    files.push_back({.target = *target,
                     .path = text.substr(equals + 1),
                     .flag = fmt::format("--emit {}", name_of(*target))});
  }
  for (auto file = files.begin(); file != files.end(); ++file) {
    const auto same = [&](const PlanFile& other) { return other.path == file->path; };
    if (std::find_if(files.begin(), file, same) == file) continue;
    throw UsageError(fmt::format("{}: {} is given twice", file->flag, file->path));
  }
  return files;
}

PlanQuestion plan_question(const PlanCommandOptions& options) {
  const SimulateOptions& simulate = options.simulate;
  const bool free_length = has_free_length(simulate);
  PlanQuestion question = plan_question(simulate_scenario(simulate), scenario_options(simulate),
                                        options.plan, free_length);
  question.program = program_build();
  return question;
}

}  // namespace roofcast
