#include "cli/plan/capacity_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "cli/plan/limits_section.hpp"
#include "reports/pages/simulation_sections.hpp"
#include "roofcast/capacity_json.hpp"
#include "roofcast/deployment_description.hpp"
#include "roofcast/pool_description.hpp"
#include "roofcast/simulation_rows.hpp"

namespace roofcast {
namespace {

// ---- words

/// Four digits that mean something, whatever the size.
std::string as_number(double value) {
  constexpr int kDigits = 4;
  const double size = value > 0 ? std::floor(std::log10(value)) : 0;
  return fixed(value, std::clamp(kDigits - 1 - static_cast<int>(size), 0, 9));
}

std::string as_load(const LoadStudy& study, double load) {
  return study.kind == LoadKind::rate ? as_number(load) + " requests/s"
                                      : counted(std::llround(load), "request") + " in flight";
}

/// What is promised, in a few words.
std::string promise(const LoadStudy& study) {
  const bool promised = !study.run.scenario.slo.targets.empty() ||
                        !study.run.scenario.slo.classes.empty() ||
                        study.requirement.min_goodput_share;
  return promised ? "within the SLO" : "before the backlog grows (nothing is promised, see --slo)";
}

/// "p95 ttft is 530 ms of 500 ms", "saturated: ...".
std::string binding_of(const SloVerdict& verdict, const SloRequirement& requirement) {
  for (const TargetMargin& margin : verdict.margins) {
    if (margin.what != verdict.binding) continue;
    const std::string limit = as_time(Seconds{margin.limit_s});
    if (margin.achieved_s <= margin.limit_s && margin.margin < 0) {
      return fmt::format("{} falls on requests that are not served (limit {})", margin.what, limit);
    }
    return fmt::format("{} is {} of {}", margin.what, as_time(Seconds{margin.achieved_s}), limit);
  }
  if (verdict.binding == "goodput") {
    return fmt::format("goodput is {} of {}", as_percent(verdict.goodput_share.value_or(0)),
                       as_percent(requirement.min_goodput_share.value_or(0)));
  }
  // Of a load beyond saturation the shares of its latencies follow, which say little.
  return verdict.binding.substr(0, verdict.binding.find(';'));
}

std::string capacity_line(const CapacityAnswer& answer) {
  const LoadStudy& study = answer.study;
  if (!answer.capacity.load) {
    const LoadPoint& min = point_of(answer.capacity);
    return fmt::format("No load holds: at {}, {}.", as_load(study, min.load),
                       binding_of(min.verdict, study.requirement));
  }
  std::string line = fmt::format("Carries {}{} {}", answer.capacity.bounded ? "" : "at least ",
                                 as_load(study, *answer.capacity.load), promise(study));
  if (answer.low && answer.high) {
    line += fmt::format("; {} to {} in 80 % of cases, by what step times may be off",
                        as_number(*answer.low), as_number(*answer.high));
  }
  return line + ".";
}

/// The least load known to fail, if one is.
const LoadPoint* first_failing(const Capacity& capacity) {
  const auto found = std::find_if(capacity.points.begin(), capacity.points.end(),
                                  [](const LoadPoint& point) { return !point.verdict.holds; });
  return found == capacity.points.end() ? nullptr : &*found;
}

void add_end(std::vector<std::string>& lines, const CapacityAnswer& answer) {
  const LoadPoint* failing = first_failing(answer.capacity);
  if (answer.capacity.load && failing != nullptr) {
    lines.push_back(fmt::format("At {} {}.", as_load(answer.study, failing->load),
                                binding_of(failing->verdict, answer.study.requirement)));
  }
  if (!answer.capacity.bounded) {
    lines.emplace_back(
        "No load that was tried fails: more requests (--num-prompts) would tell more.");
  }
  if (!answer.capacity.monotone) {
    lines.emplace_back(
        "Greater loads hold again, see the curve: the capacity is where the first one fails.");
  }
}

/// Never "100 %": what is left out of the probability is more than that.
std::string as_probability(double probability) {
  constexpr double kNearly = 0.999;
  if (probability > kNearly) return "over 99.9 %";
  if (probability < 1 - kNearly) return "under 0.1 %";
  return as_percent(probability);
}

void add_asked(std::vector<std::string>& lines, const CapacityAnswer& answer) {
  if (!answer.asked || !answer.confidence) return;
  const SloVerdict& verdict = answer.asked->verdict;
  std::string line = fmt::format(
      "The {} asked for {}; probability that they do: {}",
      as_load(answer.study, answer.asked->load),
      verdict.holds ? "hold" : "do not hold, " + binding_of(verdict, answer.study.requirement),
      as_probability(answer.confidence->probability));
  const auto headroom = headroom_of(answer);
  if (headroom) line += fmt::format("; capacity is {} times as much", fixed(*headroom, 2));
  lines.push_back(line + ".");
}

// ---- growth

std::string growth_line(const CapacityAnswer& answer, const GrowthQuestion& question) {
  const GrowthEnd end = end_of_growth(headroom_of(answer).value_or(0), question);
  const std::string growth =
      fmt::format("At {:+g} % a {}", 100 * question.growth.rate, question.growth.period);
  if (!answer.asked->verdict.holds) return growth + " it fails already.";
  if (!end.periods) return growth + " it never fails.";
  std::string line =
      fmt::format("{} it holds for {} {}s", growth, fixed(*end.periods, 1), question.growth.period);
  if (end.date) line += ", until " + *end.date;
  return line + ".";
}

// ---- tables

std::string state_of(const CapacityAnswer& answer, const LoadPoint& point) {
  std::string state = point.verdict.holds       ? "holds"
                      : point.verdict.saturated ? "saturated"
                                                : "fails: " + point.verdict.binding;
  if (answer.capacity.load && point.load == *answer.capacity.load) state += " (capacity)";
  if (answer.asked && point.load == answer.asked->load) state += " (asked)";
  return state;
}

std::string as_latency(const Distribution& distribution) {
  return distribution.count == 0 ? "-" : as_time(Seconds{distribution.p95});
}

Table curve_table(const CapacityAnswer& answer) {
  const bool rate = answer.study.kind == LoadKind::rate;
  Table table{.title = "Saturation curve",
              .columns = {{rate ? "Rate /s" : "In flight"},
                          {"Served /s"},
                          {"Tokens /s out"},
                          {"TTFT p95"},
                          {"TPOT p95"},
                          {"E2E p95"},
                          {"Running"},
                          {"KV peak"}},
              .rows = {}};
  const bool goodput = !answer.curve.empty() && answer.curve.front().verdict.goodput_share;
  if (goodput) table.columns.push_back({"Good"});
  table.columns.push_back({"SLO", false});
  for (const LoadPoint& point : answer.curve) {
    std::vector<std::string> row = {rate ? as_number(point.load) : fixed(point.load, 0),
                                    as_number(point.request_rate_per_s),
                                    fixed(point.output_tokens_per_s, 0),
                                    as_latency(point.ttft),
                                    as_latency(point.tpot),
                                    as_latency(point.e2e),
                                    fixed(point.use.mean_running, 1),
                                    as_percent(point.use.peak_kv_use)};
    if (goodput) row.push_back(as_percent(point.verdict.goodput_share.value_or(0)));
    row.push_back(state_of(answer, point));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Section limits_at_capacity(const CapacityAnswer& answer) {
  Section section = limits_section(answer.limits, answer.study.run.pools);
  section.heading = "Limits at " + as_load(answer.study, answer.limit_load);
  if (answer.relaxed.empty()) return section;
  section.table.columns.push_back({"Capacity"});
  const double unrelaxed = answer.unrelaxed.value_or(0);
  section.table.rows.front().push_back(as_number(unrelaxed));
  for (std::size_t i = 0; i < answer.relaxed.size(); ++i) {
    const double load = answer.relaxed[i].load.value_or(0);
    const double change = unrelaxed > 0 ? load / unrelaxed - 1 : 0;
    const std::string percent = fixed(100 * change, 1);
    section.table.rows[i + 1].push_back(fmt::format(
        "{} ({}{} %)", as_number(load), change > 0 && percent != "0.0" ? "+" : "", percent));
  }
  return section;
}

std::string loss_line(const CapacityAnswer& answer, const LostReplica& lost) {
  const std::string whose =
      fmt::format("With one replica fewer in pool {} ({} left)", lost.pool, lost.left);
  if (lost.left == 0) return whose + " nothing is served.";
  std::string line = whose + " it ";
  line += lost.capacity.load ? "carries " + as_load(answer.study, *lost.capacity.load)
                             : std::string("holds no load");
  if (lost.asked) {
    line += fmt::format(
        ", the load asked for {}",
        lost.asked->verdict.holds
            ? "still holds"
            : "does not hold: " + binding_of(lost.asked->verdict, answer.study.requirement));
  }
  return line + ".";
}

std::vector<std::string> notes_of(const CapacityAnswer& answer, std::int64_t simulations) {
  std::vector<std::string> notes = answer.notes;
  if (!answer.study.asked) {
    notes.emplace_back(
        "no load was asked for (--request-rate): the same arrivals are tried at any");
  }
  if (answer.confidence) {
    for (const Cause& cause : answer.confidence->causes) {
      if (!cause.flips_at) continue;
      notes.push_back(fmt::format("the verdict turns with {} off by {:+.1f} standard deviations",
                                  cause.name, *cause.flips_at));
    }
  }
  for (const PoolRun& pool : answer.study.run.pools) {
    notes.push_back(fmt::format("{}step times ±{}, KV capacity ±{} (one standard deviation)",
                                answer.study.run.pools.size() > 1 ? "pool " + pool.name + ": " : "",
                                as_percent(pool.step_uncertainty, 0),
                                as_percent(pool.plan.relative_uncertainty)));
  }
  notes.emplace_back(
      "the same requests at every load; other arrivals at the same rate give another "
      "capacity (--seed)");
  notes.push_back(counted(simulations, "simulation") + " of " +
                  counted(std::ssize(answer.study.run.workload.requests), "request"));
  return notes;
}

/// One line for a list of runs.
std::string summary_of(const CapacityAnswer& answer) {
  if (!answer.capacity.load) return "no load holds";
  return "carries " + as_load(answer.study, *answer.capacity.load) +
         (holds(answer) ? ", holds" : ", does not hold");
}

}  // namespace

Document capacity_document(const CapacityAnswer& answer,
                           const std::optional<GrowthQuestion>& growth, std::int64_t simulations) {
  const SimulationRun& run = answer.study.run;
  const std::vector<std::string> notes = notes_of(answer, simulations);
  Document document{.machine = capacity_json(answer, growth, simulations), .sections = {}};
  document.machine["notes"] = notes;
  Section first{.heading = headline(run.pools),
                .lines = {run.workload.description},
                .table = curve_table(answer)};
  first.lines.insert(first.lines.end(), run.workload.notes.begin(), run.workload.notes.end());
  first.lines.push_back(capacity_line(answer));
  add_end(first.lines, answer);
  add_asked(first.lines, answer);
  if (growth && answer.asked) first.lines.push_back(growth_line(answer, *growth));
  for (const LostReplica& lost : answer.lost) first.lines.push_back(loss_line(answer, lost));
  document.sections.push_back(std::move(first));
  document.sections.push_back(limits_at_capacity(answer));
  document.sections.push_back({.heading = "Notes", .lines = notes, .table = {}});
  return document;
}

Document capacity_refusal(const LoadStudy& study) {
  return {.machine = capacity_refusal_json(study),
          .sections = simulation_sections(answer_of(study.run))};
}

Run capacity_row(const CapacityAnswer& answer, const std::string& command_line) {
  SimulationRun run = answer.study.run;
  run.result = {};
  Run row = simulation_row(run, command_line, false);
  row.row.kind = "capacity";
  row.row.summary = summary_of(answer);
  row.metrics.clear();
  const auto add = [&](const std::string& name, const std::optional<double>& value) {
    if (value) row.metrics.push_back({name, "value", *value});
  };
  const std::string name =
      answer.study.kind == LoadKind::rate ? "capacity_rate_per_s" : "capacity_concurrency";
  add(name, answer.capacity.load);
  if (answer.low) row.metrics.push_back({name, "p10", *answer.low});
  if (answer.high) row.metrics.push_back({name, "p90", *answer.high});
  add("headroom", headroom_of(answer));
  if (answer.confidence) add("holds_probability", answer.confidence->probability);
  return row;
}

}  // namespace roofcast
