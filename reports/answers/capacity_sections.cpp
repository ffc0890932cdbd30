#include "reports/answers/capacity_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "planner/scenario/prices.hpp"
#include "reports/answers/cost_cells.hpp"
#include "reports/answers/limits_section.hpp"

namespace roofcast {
namespace {

// ---- words

/// False if the search is only for the load at which the engine still keeps up.
bool has_slo(const CapacityAnswer& answer) {
  return has_targets(answer.inputs.scenario.slo) || answer.inputs.min_goodput_share;
}

/// The requirement, in a few words.
std::string promise(const CapacityAnswer& answer) {
  return has_slo(answer) ? "within the SLO" : "before the backlog grows (no SLO given, see --slo)";
}

/// "p95 TTFT is 530.0 ms of 500.0 ms", "the engine is saturated: ...".
std::string binding_of(const CapacityAnswer& answer, const LoadPoint& point) {
  const SloVerdict& verdict = point.verdict;
  switch (verdict.binding) {
    case Binding::target: {
      if (const auto words = missed_by_unserved(verdict)) return *words;
      const TargetMargin& margin = verdict.margins[verdict.binding_target];
      const std::string limit = as_time(Seconds{margin.limit_s});
      return fmt::format("{} is {} of {}", margin.what, as_time(Seconds{margin.achieved_s}), limit);
    }
    case Binding::goodput:
      return fmt::format("goodput is {} of {}", as_percent(verdict.goodput_share.value_or(0)),
                         as_percent(answer.inputs.min_goodput_share.value_or(0)));
    case Binding::saturated:
      return "the engine is " + reason_of(verdict);
    case Binding::undecided:
      return "the verdict is " + reason_of(verdict);
    default:
      return binding_words(verdict);
  }
}

const char* met_text(const CapacityAnswer& answer) {
  return has_slo(answer) ? "the SLO is met" : "the engine keeps up";
}

std::string verdict_at(const CapacityAnswer& answer, const LoadPoint& point) {
  if (point.verdict.holds) {
    return std::string(met_text(answer)) +
           (point.verdict.undecided ? " by these requests, which are too few to be sure" : "");
  }
  if (is_undecided(point.verdict)) return "the verdict is " + reason_of(point.verdict);
  if (point.verdict.undecided) {
    return fmt::format("{} is missed ({}), but that is {}",
                       has_slo(answer) ? "the SLO" : "keeping up", binding_of(answer, point),
                       point.verdict.finding);
  }
  const char* verdict = !has_slo(answer)          ? "the engine does not keep up: "
                        : point.verdict.saturated ? "the SLO is missed because "
                                                  : "the SLO is missed: ";
  return verdict + binding_of(answer, point);
}

/// " (3.39 sessions/s of 8 turns)"
std::string sessions_of(const CapacityAnswer& answer) {
  const std::optional<double>& turns = answer.turns_per_session;
  if (!turns || answer.load != LoadKind::rate) return {};
  return fmt::format(" ({} sessions/s of {:.3g} turns)", as_number(*answer.capacity / *turns),
                     *turns);
}

/// "At the capacity: $4.50 per hour, $0.21 per million output tokens; 412 W drawn, ..."; without a
/// capacity "Idle: $4.50 per hour; 700 W at the boards' limit."
std::string cost_line(const CapacityAnswer& answer) {
  const std::string words = cost_words(answer.cost);
  if (words.empty()) return {};
  const std::string prices = words_of(answer.inputs.scenario.pricing);
  return (answer.capacity ? "At the capacity: " : "Price and power: ") + words +
         (prices.empty() ? "." : "; prices: " + prices + ".");
}

std::string capacity_line(const CapacityAnswer& answer) {
  if (!answer.capacity) {
    const CapacityPoint& min = answer.points.front();
    return fmt::format(
        "{}: at {}, {}.",
        has_slo(answer) ? "No load meets the SLO" : "The engine keeps up with no load",
        as_load(min.kind, min.load), binding_of(answer, min));
  }
  std::string line =
      fmt::format("The capacity is {}{}{} {}", answer.bounded ? "" : "at least ",
                  as_load(answer.load, *answer.capacity), sessions_of(answer), promise(answer));
  const auto load_number = [&](double load) {
    return answer.load == LoadKind::rate ? as_number(load) : fixed(load, 0);
  };
  if (answer.low && answer.high) {
    line +=
        fmt::format("; {} to {} in {} of cases, from the uncertainty of step times and host work",
                    load_number(*answer.low), load_number(*answer.high), interval_percent());
  }
  return line + ".";
}

void add_end(std::vector<std::string>& lines, const CapacityAnswer& answer) {
  const double holding = answer.capacity.value_or(0);
  const auto failing = std::ranges::find_if(answer.points, [&](const CapacityPoint& point) {
    return !point.verdict.holds && point.load > holding;
  });
  if (answer.capacity && failing != answer.points.end()) {
    lines.push_back(fmt::format("At {} {}.", as_load(failing->kind, failing->load),
                                binding_of(answer, *failing)));
  }
  if (!answer.bounded) {
    lines.emplace_back(
        "No load that was tried fails: give more requests (--num-prompts) to find the capacity.");
  }
  if (!answer.monotone) {
    lines.emplace_back(
        "Some higher loads pass again (see the curve): the capacity is the load before the first "
        "failure.");
  }
}

std::string asked_line(const CapacityAnswer& answer) {
  const AskedLoad& asked = *answer.asked;
  std::string line = fmt::format("At the requested {}, {}; probability that {}: {}",
                                 as_load(asked.kind, asked.load), verdict_at(answer, asked),
                                 met_text(answer), as_probability(asked.probability));
  if (answer.headroom) {
    line +=
        fmt::format("; the capacity is {} times the requested load", fixed(*answer.headroom, 2));
  }
  return line + ".";
}

std::string growth_line(const CapacityAnswer& answer, const CapacityGrowth& growth) {
  const std::string rate = fmt::format("At {:+g} % per {}", 100 * growth.rate, growth.period);
  if (!answer.asked->verdict.holds) return rate + ", the load is too high from the start.";
  if (!growth.periods) return rate + ", the load never exceeds the capacity.";
  std::string line = fmt::format("{}, {} for {} {}s", rate, met_text(answer),
                                 fixed(*growth.periods, 1), growth.period);
  if (growth.date) line += ", until " + *growth.date;
  return line + ".";
}

std::string loss_line(const CapacityAnswer& answer, const LostReplicaAnswer& lost) {
  const std::string pool = lost.pool == PoolScenario{}.name ? "" : " in pool " + lost.pool;
  const std::string whose =
      fmt::format("With one replica fewer{} ({} left)", pool, lost.replicas_left);
  if (lost.replicas_left == 0) return whose + ", nothing is served.";
  std::string line = whose + ", ";
  line += lost.capacity ? "the capacity is " + as_load(answer.load, *lost.capacity)
                        : std::string("no load meets the SLO");
  if (lost.asked) {
    line += "; at the requested load, " + verdict_at(answer, *lost.asked);
  }
  return line + ".";
}

// ---- tables

/// The requests at this load leave its verdict open, and no greater load of the same arrivals is
/// sure to hold either, which would settle it.
bool is_doubtful(const CapacityAnswer& answer, const LoadPoint& point) {
  if (!point.verdict.holds || !point.verdict.undecided) return false;
  return std::ranges::none_of(answer.curve, [&](const CapacityPoint& other) {
    return other.load > point.load && other.verdict.holds && !other.verdict.undecided;
  });
}

/// The doubtful load whose reason is given: the one that was asked, else the lowest; null if there
/// is none.
const CapacityPoint* doubt_to_explain(const CapacityAnswer& answer) {
  const CapacityPoint* lowest = nullptr;
  for (const CapacityPoint& point : answer.curve) {
    if (!is_doubtful(answer, point)) continue;
    if (answer.asked && point.load == answer.asked->load) return &point;
    if (lowest == nullptr) lowest = &point;
  }
  return lowest;
}

std::string state_of(const CapacityAnswer& answer, const LoadPoint& point) {
  const bool doubtful = is_doubtful(answer, point);
  const std::string good = has_slo(answer) ? "met" : "keeps up";
  std::string state = doubtful                      ? good + ", undecided"
                      : point.verdict.holds         ? good
                      : point.verdict.saturated     ? "saturated"
                      : is_undecided(point.verdict) ? "undecided"
                                                    : "missed: " + binding_words(point.verdict);
  if (point.load == answer.capacity) state += " (capacity)";
  if (answer.asked && point.load == answer.asked->load) state += " (requested)";
  return state;
}

Printed latency_cell(const Distribution& distribution) {
  return distribution.mean <= 0 ? "-" : printed::time(Seconds{distribution.p95});
}

/// Beyond saturation a percentile would be that of one run length only: it grows.
Printed grown(const LoadPoint& point, const Distribution& distribution) {
  return point.verdict.saturated ? "grows" : latency_cell(distribution);
}

Table curve_table(const CapacityAnswer& answer) {
  const bool rate = answer.load == LoadKind::rate;
  Table table{.title = "Saturation curve",
              .columns = {{rate ? "Requests/s offered" : "In flight"},
                          {"Requests/s served"},
                          {"Output tokens/s"},
                          {"TTFT p95"},
                          {"TPOT p95"},
                          {"E2E p95"},
                          {"Running"},
                          {"KV peak"}},
              .rows = {}};
  const bool goodput = !answer.curve.empty() && answer.curve.front().verdict.goodput_share;
  if (goodput) table.columns.push_back({"Good"});
  table.columns.push_back({has_slo(answer) ? "SLO" : "Load", false});
  for (const CapacityPoint& point : answer.curve) {
    std::vector<Cell> row = {rate ? printed_load(point.load) : printed::fixed(point.load, 0),
                             printed_load(point.request_rate_per_s),
                             printed::fixed(point.output_tokens_per_s, 0),
                             grown(point, point.ttft),
                             latency_cell(point.tpot),
                             grown(point, point.e2e),
                             printed::fixed(point.use.mean_running, 1),
                             printed::percent(point.use.peak_kv_use)};
    if (goodput) row.push_back(printed::percent(point.verdict.goodput_share.value_or(0)));
    row.push_back(state_of(answer, point));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Section limits_at_capacity(const CapacityAnswer& answer) {
  const CapacityLimits& limits = answer.limits;
  Section section = limits_section(limits);
  section.heading = "Limits at " + as_load(limits.kind, limits.load);
  if (!limits.utilisation.empty()) section.lines.push_back(utilisation_line(limits.utilisation));
  const bool explained =
      std::any_of(limits.limits.begin(), limits.limits.end(),
                  [](const LimitAnswer& limit) { return limit.relaxed_capacity.has_value(); });
  if (!explained) return section;
  section.table.columns.push_back({"Capacity"});
  const double unrelaxed = answer.unrelaxed.value_or(0);
  section.table.rows.front().push_back(printed_load(unrelaxed));
  for (std::size_t i = 0; i < limits.limits.size(); ++i) {
    const double load = limits.limits[i].relaxed_capacity.value_or(std::nullopt).value_or(0);
    const double change = unrelaxed > 0 ? load / unrelaxed - 1 : 0;
    const std::string percent = fixed(100 * change, 1);
    section.table.rows[i + 1].push_back(
        followed(printed_load(load),
                 fmt::format(" ({}{} %)", change > 0 && percent != "0.0" ? "+" : "", percent)));
  }
  return section;
}

}  // namespace

std::vector<std::string> capacity_sentences(const CapacityAnswer& answer) {
  std::vector<std::string> lines = {capacity_line(answer)};
  if (answer.doubt) lines.push_back(*answer.doubt);
  if (answer.capacity && !answer.points.empty()) {
    const CapacityPoint& least = answer.points.front();
    if (const auto& why = least.verdict.unserved_why) {
      lines.push_back(fmt::format("At {}, {}.", as_load(least.kind, least.load), *why));
    }
  }
  add_end(lines, answer);
  if (answer.asked) lines.push_back(asked_line(answer));
  if (const std::string cost = cost_line(answer); !cost.empty()) lines.push_back(cost);
  if (answer.growth && answer.asked) lines.push_back(growth_line(answer, *answer.growth));
  for (const LostReplicaAnswer& lost : answer.lost) lines.push_back(loss_line(answer, lost));
  return lines;
}

std::vector<Section> capacity_sections(const CapacityAnswer& answer) {
  if (!answer.fits) {
    return {{.heading = answer.headline,
             .lines = {answer.reason + ".",
                       "roofcast memory shows every term, and changes that would make it fit."},
             .table = {}}};
  }
  Section first{
      .heading = answer.headline, .lines = {answer.workload}, .table = curve_table(answer)};
  for (const std::vector<std::string>& lines :
       {answer.workload_notes, capacity_sentences(answer)}) {
    first.lines.insert(first.lines.end(), lines.begin(), lines.end());
  }
  std::vector<Section> sections = {std::move(first), limits_at_capacity(answer)};
  if (answer.limits.advice) sections.push_back(advice_section(answer.limits));
  std::vector<std::string> notes = answer.notes;
  if (const CapacityPoint* point = doubt_to_explain(answer)) {
    // Before the number of simulations, which ends the notes.
    notes.insert(
        notes.empty() ? notes.end() : std::prev(notes.end()),
        fmt::format("at {} {}", as_load(point->kind, point->load), reason_of(point->verdict)));
  }
  sections.push_back({.heading = "Notes", .lines = std::move(notes), .table = {}});
  return sections;
}

}  // namespace roofcast
