#include "cli/plan/plan_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "cli/options/flag_options.hpp"
#include "cli/options/option_groups.hpp"
#include "cli/program_build.hpp"

namespace roofcast {
Usage plan_usage(PlanCommandOptions& target) {
  Usage usage{.synopsis = "roofcast plan [SCENARIO.json] --gpu A,B,... --slo TARGETS [options]",
              .example =
                  "roofcast plan --model llama-3.1-8b --gpu h100,l40s --request-rate 10 "
                  "--slo p95:ttft:500ms",
              .options = option_group("Plan"),
              .unlisted = {},
              .positional = {}};
  add_scenario_file(usage, target.asked.load.scenario);
  add_flags(usage.options, plan_flags(), target.asked.plan);
  usage.options.add_options()("kubernetes", po::value(&target.kubernetes)->value_name("FILE"),
                              "write a manifest of the best deployment")(
      "emit", po::value(&target.emitted)->composing()->multitoken()->value_name("TARGET=FILE ..."),
      "write it for kserve, llm-d, dynamo, compose, vllm-sweep ...");
  po::options_description more = option_group("More options of plan");
  add_flags(more, more_plan_flags(), target.asked.plan);
  add_store_options(more, target.store,
                    {.off = "do not store anything: an interrupted plan cannot be resumed"});
  auto& [deployment, cluster, workload, pricing] = target.asked.load.options;
  usage.options.add(objective_options(workload)).add(machine_options(deployment));
  usage.unlisted.add(more)
      .add(more_machine_options(deployment))
      .add(synthetic_options(workload))
      .add(trace_options(workload))
      .add(load_shape_options(workload.shape))
      .add(trace_form_options(workload))
      .add(pricing_options(pricing))
      .add(engine_options(deployment))
      .add(scheduler_options(deployment))
      .add(feature_options(deployment.overrides));
  usage.more =
      "--gpu takes several (h100,h200,l40s) or any (all with a price). More: load flags as in "
      "simulate,\n"
      "--power, --top, --max-replicas, --store, engine flags (for all candidates)";
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
  PlanQuestion question = question_of(options.asked);
  question.program = program_build();
  return question;
}

}  // namespace roofcast
