#include "serve/answer_figures.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "cli/options/simulate_command_options.hpp"
#include "cli/plan/capacity_command_options.hpp"
#include "planner/capacity/level_recording.hpp"
#include "planner/flags/flag_values.hpp"
#include "reports/figures/chart_option.hpp"
#include "reports/figures/figure_table.hpp"
#include "reports/pages/load_figures.hpp"
#include "reports/pages/memory_figures.hpp"
#include "reports/pages/simulation_figures.hpp"
#include "reports/pages/staircase_figures.hpp"
#include "reports/pages/typical_steps.hpp"
#include "roofcast/capacity.hpp"
#include "roofcast/simulate.hpp"

namespace roofcast {
namespace {

Json table_json(const Table& table) {
  Json columns = Json::array();
  for (const Column& column : table.columns) {
    columns.push_back({{"title", column.title}, {"right", column.right}});
  }
  return {{"columns", std::move(columns)}, {"rows", table.rows}};
}

Json figure_json(const Figure& figure) {
  return {{"key", figure.key},
          {"title", figure.title},
          {"caption", figure.caption},
          {"option", chart_option(figure)},
          {"table", table_json(figure_table(figure))}};
}

Json figures_json(const std::vector<Figure>& figures) {
  Json list = Json::array();
  for (const Figure& figure : figures) {
    try {
      list.push_back(figure_json(figure));
    } catch (const Error&) {  // nothing in it to draw: the others are there all the same
      continue;
    }
  }
  return list;
}

void parse_arguments(const std::vector<std::string>& arguments, const Usage& usage) {
  std::ostringstream unheard;
  CommandContext context{arguments, "roofcast", unheard, unheard};
  try {
    parse(context, usage);
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
}

/// What its users felt, how it went over time, and what fills the memory.
std::vector<Figure> simulation_pictures(const std::vector<std::string>& arguments,
                                        const std::function<bool()>& stopped) {
  SimulateOptions options;
  parse_arguments(arguments, simulate_usage(options));
  SimulationRun prepared = prepare_simulation(simulate_scenario(options));
  if (!prepared.refusal.empty()) return {memory_figure(prepared.pools)};
  const auto goes_on = [&](std::int64_t, std::int64_t) { return !stopped(); };
  const SimulationRun run = simulate_prepared(std::move(prepared), goes_on).run;
  if (run.result.stopped) throw Error("stopped before its end");
  std::vector<Figure> figures = simulation_figures(run);
  std::ranges::move(timeline_figures(levels_of(run, goes_on)), std::back_inserter(figures));
  figures.push_back(memory_figure(run.pools));
  if (run.result.completed > 0) {
    const TypicalLoad load = typical_load(run);
    figures.push_back(steps_figure(run, load, typical_steps(run, load)));
  }
  return figures;
}

/// The search, with what `roofcast capacity` answers: nobody searches twice for the picture.
Json searched_capacity(const std::vector<std::string>& arguments,
                       const std::function<bool()>& stopped) {
  CapacityOptions options;
  parse_arguments(arguments, capacity_usage(options));
  const CapacityAnswer answer = capacity(
      capacity_question(options), [&](std::int64_t, std::int64_t) { return !stopped(); }, stopped);
  Json result = {{"code", answer.holds ? kExitDone : kExitNo}, {"document", to_json(answer)}};
  if (answer.fits) {
    result["figures"] = figures_json(load_figures(answer.inputs.scenario.slo, answer.curve));
  }
  return result;
}

std::vector<Figure> staircase_pictures(const std::vector<std::string>& arguments) {
  DeploymentOptions deployment;
  StaircaseQuestion question;
  Usage usage{.synopsis = "roofcast staircase",
              .example = "",
              .options = option_group("Options"),
              .unlisted = scheduler_options(deployment),
              .positional = {}};
  usage.options.add_options()("prompt",
                              converted(question.prompt, "--prompt", parse_positive)->required())(
      "generate", converted(question.generate, "--generate", parse_positive)->required());
  usage.options.add(machine_options(deployment)).add(engine_options(deployment));
  parse_arguments(arguments, usage);
  question.deployment = deployment;
  return staircase_figures(staircase(question));
}

}  // namespace

const std::vector<std::string>& figure_commands() {
  static const std::vector<std::string> names = {"simulate", "staircase", "capacity"};
  return names;
}

Json answer_figures(const std::string& command, const std::vector<std::string>& arguments,
                    const std::function<bool()>& stopped) {
  if (command == "capacity") return searched_capacity(arguments, stopped);
  return {{"figures", figures_json(command == "simulate" ? simulation_pictures(arguments, stopped)
                                                         : staircase_pictures(arguments))}};
}

}  // namespace roofcast
