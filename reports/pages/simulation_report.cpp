#include "reports/pages/simulation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/joined.hpp"
#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "planner/scenario/cost.hpp"
#include "planner/scenario/deployment_description.hpp"
#include "planner/scenario/level_recording.hpp"
#include "planner/scenario/pool_description.hpp"
#include "planner/what_if/hints.hpp"
#include "reports/answers/simulation_sections.hpp"
#include "reports/pages/figures/load_figures.hpp"
#include "reports/pages/figures/memory_figures.hpp"
#include "reports/pages/figures/simulation_figures.hpp"
#include "reports/pages/figures/staircase_figures.hpp"
#include "reports/pages/provenance_section.hpp"
#include "reports/pages/stored_report.hpp"
#include "reports/pages/typical_steps.hpp"
#include "simulator/results/figures.hpp"
#include "simulator/results/verdict.hpp"

namespace roofcast {
namespace {

// The name that results give to targets for all requests.
constexpr std::string_view kAllClasses = "all";

std::string outcome_text(const TargetOutcome& outcome) {
  const PercentileTarget& target = outcome.target;
  const std::string name =
      name_of(target, outcome.slo_class == kAllClasses ? "" : outcome.slo_class);
  if (outcome.achieved <= 0) return name + " has no value";
  return fmt::format("{} is {} of {}{}", name, as_time(Seconds{outcome.achieved}),
                     as_time(target.limit), outcome.met ? "" : " (missed)");
}

std::string load_text(const SimulationRun& run) {
  const SimulationResult& result = run.result;
  if (run.scenario.max_concurrency) {
    const std::string in_flight = counted(*run.scenario.max_concurrency, "request") + " in flight";
    if (result.offered_rate_per_s <= 0) return "with " + in_flight;
    return fmt::format("at {} requests/s offered, at most {}", fixed(result.offered_rate_per_s, 2),
                       in_flight);
  }
  if (result.offered_rate_per_s <= 0) return "with all requests sent at once";
  return fmt::format("at {} requests/s offered", fixed(result.offered_rate_per_s, 2));
}

/// With intervals of the percentiles, and the probability that the SLO is met.
ReportSection latency_section(const SimulationRun& run, const std::optional<Confidence>& confidence,
                              const ReportEffort& effort) {
  ReportSection section{.heading = "Latency", .figures = simulation_figures(run)};
  SimulationAnswer answer = answer_of(run);
  const IntervalSearch search{
      .other_draws = std::holds_alternative<SyntheticWorkload>(run.scenario.workload),
      .threads = effort.threads,
      .progress = effort.progress};
  if (!add_intervals(run, search, answer)) throw_interrupted();
  if (confidence && answer.intervals) answer.slo.probability = confidence->probability;
  const std::vector<Section> sections = simulation_sections(answer);
  section.lines = sections.front().lines;
  // Why there are no intervals, if so; the run's own notes stand with the sources.
  section.lines.insert(section.lines.end(), answer.notes.begin() + std::ssize(run.notes),
                       answer.notes.end());
  for (const Section& part : sections) {
    if (part.heading == "Notes" || part.table.columns.empty()) continue;
    section.tables.push_back(part.table);
  }
  return section;
}

ReportSection timeline_section(const SimulationRun& run, const ReportEffort& effort) {
  return {.heading = "Over time", .figures = timeline_figures(levels_of(run, effort.progress))};
}

/// Multiples of the run's own load that the sweep tries.
constexpr std::array kLoads = {0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0};
// With more requests the sweep would take longer than readers wait.
constexpr std::int64_t kMaxSwept = 50'000;

/// Why there is no sweep; empty if there is one.
std::string no_sweep(const SimulationRun& run) {
  const std::int64_t requests = std::ssize(run.workload.requests);
  if (requests > kMaxSwept) {
    return fmt::format("Not drawn for {}: use roofcast capacity.", counted(requests, "request"));
  }
  if (run.result.offered_rate_per_s <= 0 && !run.scenario.max_concurrency) {
    return "Not drawn: all requests arrive at once, so there is no rate to vary.";
  }
  return "";
}

std::vector<double> loads_of(const LoadStudy& study) {
  std::vector<double> loads;
  for (const double share : kLoads) {
    double load = study.load_of_run * share;
    if (study.kind == LoadKind::concurrency) load = std::max(1.0, std::round(load));
    if (loads.empty() || load > loads.back()) loads.push_back(load);
  }
  return loads;
}

/// The load of the run, or nullopt with the reason if it cannot be varied.
std::optional<LoadStudy> study_for(const SimulationRun& run, std::string& why) {
  why = no_sweep(run);
  if (!why.empty()) return std::nullopt;
  try {
    return study_of(run.scenario, {}, false);
  } catch (const Error& error) {
    why = fmt::format("Not drawn: {}.", error.what());
    return std::nullopt;
  }
}

ReportSection load_section(const SimulationRun& run, const ReportEffort& effort) {
  ReportSection section{.heading = "Throughput against latency"};
  std::string why;
  const std::optional<LoadStudy> study = study_for(run, why);
  if (!study) {
    section.lines = {why};
    return section;
  }
  const std::vector<double> loads = loads_of(*study);
  Execution execution{.threads = effort.threads};
  if (effort.progress) {
    execution.progress = [&](std::int64_t done) {
      return effort.progress(done, std::ssize(loads));
    };
  }
  const std::vector<LoadPoint> points = trial_of(*study, simulate_run, execution)(loads);
  section.figures = load_figures(run.scenario.slo, capacity_points(study->kind, points));
  for (Figure& figure : section.figures) {
    figure.marked.push_back({.axis = MarkedValue::Across::x,
                             .value = run.result.output_tokens_per_s,
                             .name = "this run"});
  }
  section.lines.push_back(fmt::format(
      "The run's own load is {}. roofcast capacity finds the highest load that meets the SLO.",
      load_text(study->kind, study->load_of_run)));
  return section;
}

/// The smallest share of a limit that is left over, or how far beyond it the worst target is.
std::optional<ReportTile> margin_tile(const SimulationResult& result) {
  std::optional<ReportTile> tile;
  double smallest = 0;
  for (const TargetOutcome& outcome : result.slo) {
    const double limit = outcome.target.limit.value;
    if (limit <= 0 || outcome.requests == 0) continue;
    const double margin = 1 - outcome.achieved / limit;
    if (tile && margin >= smallest) continue;
    smallest = margin;
    tile = {.name = "Margin",
            .value = (margin > 0 ? "+" : "") + as_percent(margin, 0),
            .note = outcome_text(outcome)};
  }
  return tile;
}

std::vector<ReportTile> tiles_of(const SimulationRun& run,
                                 const std::optional<Confidence>& confidence) {
  const SimulationResult& result = run.result;
  std::vector<ReportTile> tiles;
  if (!result.slo.empty()) {
    const SloVerdict verdict = judge(result);
    const std::string probable =
        confidence ? "probability that it is met: " + as_probability(confidence->probability) : "";
    tiles.push_back({.name = "SLO",
                     .value = verdict_word(verdict),
                     .note = proves_little(verdict) ? "too few requests to be sure" +
                                                          (probable.empty() ? "" : "; " + probable)
                                                    : probable});
    if (result.saturation.saturated) {
      tiles.push_back({.name = "Latency",
                       .value = "grows without bound",
                       .note = "for as long as the load lasts"});
    } else if (auto margin = margin_tile(result)) {
      tiles.push_back(*std::move(margin));
    }
  } else {
    tiles.push_back({.name = "Load",
                     .value = result.saturation.saturated ? "too high" : "carried",
                     .note = "no SLO was given"});
  }
  tiles.push_back({.name = "Throughput",
                   .value = fixed(result.output_tokens_per_s, 0) + " tokens/s",
                   .note = fixed(result.request_rate_per_s, 2) + " requests/s served"});
  const ServingCost cost = cost_of(run.pools, result);
  if (cost.dollars_per_hour) {
    ReportTile tile{.name = "Cost", .value = "$" + fixed(*cost.dollars_per_hour, 2) + " per hour"};
    if (cost.dollars_per_million_output_tokens) {
      tile.note = fmt::format("${} per million output tokens",
                              amount(*cost.dollars_per_million_output_tokens, 2));
    }
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

ReportSection memory_section(const SimulationRun& run) {
  ReportSection section{.heading = "Memory", .figures = {memory_figure(run.pools)}};
  for (const PoolRun& pool : run.pools) {
    const MemoryPlan& plan = pool.plan;
    if (plan.layout.row_bytes().value <= 0) {
      section.lines.push_back("The model keeps no K and V.");
      break;
    }
    section.lines.push_back(fmt::format(
        "{}{} hold {} (±{}): {} sequences of {} at once.",
        run.pools.size() > 1 ? pool.name + ": " : "", counted(plan.kv_blocks, "KV block"),
        counted(plan.kv_tokens, "token"), as_percent(plan.relative_uncertainty),
        fixed(plan.max_concurrency, 2), counted(pool.deployment.engine.max_model_len, "token")));
    if (are_alike(run.pools)) break;
  }
  return section;
}

ReportSection roofline_section(const SimulationRun& run, const TypicalLoad& load,
                               const GenerationEstimate& estimate) {
  ReportSection section{.heading = "Time of a step"};
  section.lines.push_back(fmt::format(
      "Requests of this run have {} and {} on average. A step that prefills {} of one prompt takes "
      "{}; a step that decodes {} (the mean number running per replica) takes {}.",
      counted(load.input_tokens, "prompt token"), counted(load.output_tokens, "output token"),
      load.prefill_tokens < load.input_tokens ? counted(load.prefill_tokens, "token") : "all",
      as_time(estimate.prefill_time), counted(load.batch, "sequence"),
      as_time(estimate.decode_step)));
  section.figures.push_back(steps_figure(run, load, estimate));
  return section;
}

ReportSection staircase_section(const PoolRun& pool, const TypicalLoad& load) {
  // Longer outputs add nothing to the picture.
  constexpr std::int64_t kMaxTokens = 4096;
  return {.heading = "KV cache savings",
          .figures = staircase_figures(staircase_on(
              pool.deployment, {.prompt = load.input_tokens,
                                .generate = std::min(load.output_tokens, kMaxTokens)}))};
}

}  // namespace

std::vector<Figure> run_figures(const SimulationRun& run, const Progress& progress) {
  if (!run.refusal.empty()) return {memory_figure(run.pools)};
  std::vector<Figure> figures = simulation_figures(run);
  std::ranges::move(timeline_figures(levels_of(run, progress)), std::back_inserter(figures));
  figures.push_back(memory_figure(run.pools));
  if (run.result.completed > 0) {
    const TypicalLoad load = typical_load(run);
    figures.push_back(steps_figure(run, load, typical_steps(run, load)));
  }
  return figures;
}

std::string simulation_answer(const SimulationRun& run) {
  const SimulationResult& result = run.result;
  const std::string where = headline(run.pools);
  if (result.completed == 0) return where + ": no request is served.";
  if (result.slo.empty()) {
    return fmt::format(
        "{} serves {} requests/s {}: TTFT p95 {}, TPOT p95 {}, {} output tokens/s{}.", where,
        fixed(result.request_rate_per_s, 2), load_text(run), as_time(Seconds{result.ttft.p95}),
        as_time(Seconds{result.tpot.p95}), fixed(result.output_tokens_per_s, 0),
        result.saturation.saturated ? "; the engine does not keep up" : "");
  }
  const std::string outcomes = joined(result.slo, outcome_text);
  const SloVerdict verdict = judge(result);
  if (is_undecided(verdict)) {
    return fmt::format("Whether {} meets the SLO {} is {}: {}.", where, load_text(run),
                       reason_of(verdict), outcomes);
  }
  if (proves_little(verdict)) {
    return fmt::format("{} meets the SLO {} with these requests, which are too few to be sure: {}.",
                       where, load_text(run), outcomes);
  }
  return fmt::format(
      "{} {} the SLO {}: {}{}.", where, verdict.holds ? "meets" : "misses", load_text(run),
      outcomes,
      verdict.saturated ? "; saturated, so latencies grow for as long as the load lasts" : "");
}

Report simulation_report(const Run& stored, const SimulationRun& run, const ReportEffort& effort) {
  const PoolRun& first = run.pools.front();
  const TypicalLoad typical = typical_load(run);
  const GenerationEstimate estimate = typical_steps(run, typical);
  Report report{.title = report_title(stored.row),
                .answer = simulation_answer(run),
                .footer = report_footer(stored.row) +
                          " Times are simulated, from models of the hardware and the engine; see "
                          "the section on sources and uncertainty.",
                .machine = report_machine(stored.row)};
  if (!run.result.slo.empty() || run.result.completed == 0) {
    const SloVerdict verdict = judge(run.result);
    if (!proves_little(verdict) && !is_undecided(verdict)) report.verdict = verdict.holds;
  }
  report.facts = {{"Model", first.deployment.model.name},
                  {"Runs on", placement(first)},
                  {"Load", run.workload.description},
                  {"Requests", with_separators(std::ssize(run.workload.requests))},
                  {"Seed", std::to_string(run.scenario.seed)}};
  if (run.pools.size() > 1) report.facts[1].second = headline(run.pools);
  const std::optional<Confidence> confidence = confidence_in(run, effort);
  if (run.result.completed > 0) report.tiles = tiles_of(run, confidence);
  report.sections.push_back(latency_section(run, confidence, effort));
  if (run.result.completed > 0) {
    report.sections.push_back(timeline_section(run, effort));
    report.sections.push_back(load_section(run, effort));
  } else {
    report.sections.front().lines.emplace_back(
        "No request finished, so latencies, loads and steps are not drawn.");
  }
  report.sections.push_back(memory_section(run));
  if (run.result.completed > 0) {
    report.sections.push_back(roofline_section(run, typical, estimate));
    report.sections.push_back(staircase_section(first, typical));
  }
  if (auto advice = hints_on(run); !advice.empty()) {
    report.sections.push_back({.heading = "What to do", .lines = std::move(advice)});
  }
  report.sections.push_back(provenance_section(run, estimate, confidence));
  report.sections.push_back(input_section(stored.row));
  // If nothing finished, some sections have nothing to show.
  std::erase_if(report.sections, [](const ReportSection& section) {
    return section.lines.empty() && section.figures.empty() && section.tables.empty() &&
           section.commands.empty();
  });
  return report;
}

}  // namespace roofcast
