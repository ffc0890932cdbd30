#include "cli/plan/plan_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "cli/plan/limits_section.hpp"
#include "planner/launch/plan_launch.hpp"
#include "roofcast/plan_json.hpp"

namespace roofcast {
namespace {

std::string name_of(const PlanReport& report, const TriedCandidate& tried) {
  return title_of(report.answer, tried);
}

std::string dollars(double value) { return "$" + fixed(value, 2); }

/// "6 GPUs, $21.00 per hour, $1.20 per million output tokens"
std::string price_of(const RankedCandidate& one) {
  std::string text = counted(one.needs.gpus, "GPU");
  if (!one.needs.cost_per_hour) return text;
  text += fmt::format(", {} per hour", dollars(*one.needs.cost_per_hour));
  if (const auto each = dollars_per_million_output_tokens(one)) {
    text += fmt::format(", {} per million output tokens", dollars(*each));
  }
  return text;
}

/// Whether the load ends before the engine has filled at the breaking point, so that it seems
/// later.
bool breaks_on_few(const RankedCandidate& one) {
  return one.finalist.capacity_factor &&
         one.figures.requests < one.finalist.capacity_requests_needed;
}

/// How sure, and how much more it carries.
std::string prospects_of(const RankedCandidate& one) {
  std::string text =
      "holds with probability " + as_probability(one.finalist.confidence.probability);
  const FinalistFigures& finalist = one.finalist;
  if (!finalist.capacity_factor) return text;
  // Of a rate that nobody can send, no hundredths.
  const double rate = finalist.capacity_rate_per_s;
  constexpr double kWhole = 100;
  return fmt::format(
      "{}; breaks {} {:.2f} times this load ({} requests/s){}{}", text,
      finalist.capacity_bounded ? "beyond" : "not before", *finalist.capacity_factor,
      fixed(rate, rate < kWhole ? 2 : 0),
      finalist.capacity_monotone ? "" : ", though some greater loads hold",
      breaks_on_few(one) ? " (few requests: a load that lasts may break it sooner)" : "");
}

const char* superlative(PlanObjective objective) {
  switch (objective) {
    case PlanObjective::cost:
      return "Cheapest";
    case PlanObjective::gpus:
      return "Fewest GPUs";
    case PlanObjective::power:
      break;
  }
  return "Least power";
}

/// "p95 ttft 500 ms, p95 tpot 50 ms"
std::string promises_of(const PlanReport& report) {
  std::string text;
  const auto add = [&](const std::string& one) { text += (text.empty() ? "" : ", ") + one; };
  const Slo& slo = report.catalogue.base.slo;
  const auto add_targets = [&](const std::vector<PercentileTarget>& targets,
                               const std::string& whose) {
    for (const PercentileTarget& target : targets) {
      add(fmt::format("p{:g} {}{} {}", target.percentile, name_of(target.metric), whose,
                      as_time(target.limit)));
    }
  };
  add_targets(slo.targets, "");
  for (const SloClass& one : slo.classes) add_targets(one.targets, " of " + one.name);
  if (report.question.requirement.min_goodput_share) {
    add(fmt::format("goodput {}", as_percent(*report.question.requirement.min_goodput_share)));
  }
  return text;
}

std::string as_margin(double margin) { return fmt::format("{:+.0f} %", 100 * margin); }

/// The limit that a simulated candidate misses by most.
std::string miss_of(const TriedCandidate& tried) {
  const SloVerdict& verdict = tried.figures.verdict;
  if (verdict.holds && tried.figures.probability) {
    return "holds with probability " + as_probability(*tried.figures.probability);
  }
  if (verdict.holds) return "holds";
  for (const TargetMargin& margin : verdict.margins) {
    if (margin.what != verdict.binding) continue;
    return fmt::format("{} {} of {}", margin.what, duration(margin.achieved_s),
                       duration(margin.limit_s));
  }
  return verdict.binding;
}

Table ranked_table(const PlanReport& report) {
  Table table{.title = "",
              .columns = {{"Deployment", false},
                          {"GPUs"},
                          {"$/h"},
                          {"TTFT p95 (ms)"},
                          {"TPOT p95 (ms)"},
                          {"Margin"},
                          {"P(holds)"},
                          {"Breaks at"},
                          {"Pareto", false}},
              .rows = {}};
  for (const RankedCandidate& one : report.answer.ranked) {
    const CandidateFigures& figures = one.figures;
    const auto& capacity = one.finalist.capacity_factor;
    table.rows.push_back(
        {name_of(report, one), with_separators(one.needs.gpus),
         one.needs.cost_per_hour ? fixed(*one.needs.cost_per_hour, 2) : "-",
         fixed(1e3 * figures.ttft_p95_s, 0), fixed(1e3 * figures.tpot_p95_s, 1),
         as_margin(figures.verdict.worst_margin),
         as_probability(one.finalist.confidence.probability),
         capacity ? fmt::format("{:.2f}x{}", *capacity, breaks_on_few(one) ? " (few)" : "") : "-",
         one.pareto ? "yes" : ""});
  }
  return table;
}

/// The answer that can be read aloud.
std::vector<std::string> spoken(const PlanReport& report) {
  std::vector<std::string> lines;
  const std::vector<RankedCandidate>& ranked = report.answer.ranked;
  for (std::size_t i = 0; i < std::min<std::size_t>(ranked.size(), 2); ++i) {
    lines.push_back(
        fmt::format("{}: {}; {}; {}.", i == 0 ? superlative(report.question.objective) : "Next",
                    name_of(report, ranked[i]), price_of(ranked[i]), prospects_of(ranked[i])));
  }
  return lines;
}

/// A limit of the user's that rules out what may hold, and the least that it would have to allow.
std::vector<std::string> contradictions(const PlanReport& report) {
  const PlannedShape* min = nullptr;
  std::int64_t ruled_out = 0;
  const auto needed = [](const PlannedShape& one) {
    return one.unit_objective * static_cast<double>(one.bound.min_units);
  };
  for (const PlannedShape& planned : report.answer.shapes) {
    if (planned.outcome != ShapeOutcome::beyond_limits || planned.limit.by.empty()) continue;
    ++ruled_out;
    if (min == nullptr || needed(planned) < needed(*min)) min = &planned;
  }
  if (min == nullptr) return {};
  return {
      fmt::format("What the limits allow contradicts what is promised: they rule out {}; the "
                  "least of them, {}, {}.",
                  counted(ruled_out, "shape"), short_name(min->shape), min->why)};
}

std::vector<std::string> refusal(const PlanReport& report) {
  const bool stopped = report.answer.stopped;
  std::vector<std::string> lines;
  if (stopped) {
    lines.emplace_back("Interrupted before an answer.");
  } else {
    lines.emplace_back("No deployment that was searched holds this.");
    for (std::string& line : contradictions(report)) lines.push_back(std::move(line));
  }
  for (const TriedCandidate& tried : report.answer.closest) {
    lines.push_back(fmt::format("{}: {}: {}.", stopped ? "So far" : "Closest",
                                name_of(report, tried), miss_of(tried)));
  }
  return lines;
}

/// Limit by limit, what the best achieves.
Table margins_table(const RankedCandidate& best) {
  Table table{
      .title = "", .columns = {{"Target", false}, {"Limit"}, {"Achieved"}, {"Margin"}}, .rows = {}};
  for (const TargetMargin& margin : best.figures.verdict.margins) {
    table.rows.push_back({margin.what, duration(margin.limit_s), duration(margin.achieved_s),
                          as_margin(margin.margin)});
  }
  return table;
}

/// What would have to be off, and by how much, for the verdict to turn.
std::vector<std::string> causes_of(const RankedCandidate& best) {
  std::vector<std::string> lines;
  for (const Cause& cause : best.finalist.confidence.causes) {
    if (!cause.flips_at) continue;
    lines.push_back(fmt::format("{}: {:+.1f} standard deviations alone turn the verdict.",
                                cause.name, *cause.flips_at));
  }
  if (lines.empty()) {
    lines.emplace_back(
        "Neither step times, host work nor KV capacity turn the verdict within 4 standard "
        "deviations.");
  }
  return lines;
}

Table losses_table(const PlanAnswer& answer) {
  std::map<ShapeOutcome, std::int64_t> counts;
  for (const PlannedShape& planned : answer.shapes) ++counts[planned.outcome];
  Table table{.title = "", .columns = {{"Shapes"}, {"that", false}}, .rows = {}};
  for (const auto& [outcome, count] : counts) {
    table.rows.push_back({with_separators(count), reason_text(outcome)});
  }
  return table;
}

/// What one that holds takes beyond the first.
std::string surplus_of(const PlanReport& report, const TriedCandidate& tried) {
  if (report.answer.ranked.empty()) return {};
  const auto objective = [&](const TriedCandidate& one) {
    return report.answer.shapes[one.shape].unit_objective * static_cast<double>(one.units);
  };
  const double min = objective(report.answer.ranked.front());
  const double more = objective(tried) - min;
  constexpr double kEqual = 1e-9;  // sums of prices
  if (more <= kEqual * min) return ", with less to spare";
  switch (report.question.objective) {
    case PlanObjective::cost:
      return fmt::format(", and costs {} per hour more than the first", dollars(more));
    case PlanObjective::gpus:
      return fmt::format(", and takes {} more than the first", counted(std::llround(more), "GPU"));
    case PlanObjective::power:
      break;
  }
  return fmt::format(", and takes {} W more than the first", fixed(more, 0));
}

std::string loser_text(const PlanReport& report, const NearestRejected& loser) {
  const PlannedShape& planned = report.answer.shapes[loser.shape];
  if (loser.tried) {
    const std::string also = loser.tried->holds ? surplus_of(report, *loser.tried) : "";
    return fmt::format("{}: {}{}.", name_of(report, *loser.tried), miss_of(*loser.tried), also);
  }
  const std::string why = planned.why.empty() ? reason_text(planned.outcome) : planned.why;
  return fmt::format("{}: {}.", short_name(planned.shape), why);
}

/// Counts by reason, and of each GPU without a place in the answer what came nearest.
Section losers_section(const PlanReport& report) {
  Section section{.heading = report.answer.stopped ? "Shapes so far" : "Why the others lost",
                  .lines = {},
                  .table = losses_table(report.answer)};
  for (const NearestRejected& loser : report.answer.rejected) {
    section.lines.push_back(loser_text(report, loser));
  }
  return section;
}

/// --explain: every shape with its fate.
Section explained(const PlanReport& report) {
  Section section{.heading = "Every shape",
                  .lines = {},
                  .table = {.title = "",
                            .columns = {{"Shape", false}, {"Bound"}, {"Limit"}, {"Fate", false}},
                            .rows = {}}};
  for (const PlannedShape& planned : report.answer.shapes) {
    const std::string knobs = knobs_of(planned.shape);
    const Candidate one{.shape = planned.shape, .units = 1};
    section.table.rows.push_back(
        {short_name(one) + (knobs.empty() ? "" : " (" + knobs + ")"),
         with_separators(planned.bound.min_units), with_separators(planned.limit.units),
         planned.why.empty() ? reason_text(planned.outcome) : planned.why});
  }
  return section;
}

std::string searched_text(const PlanReport& report) {
  const PlanAnswer& answer = report.answer;
  return fmt::format(
      "Searched: {} of {}; {} simulated, each with {}; {} more for probabilities and breaking "
      "points.",
      counted(answer.candidates, "candidate"), counted(std::ssize(answer.shapes), "shape"),
      with_separators(answer.simulations),
      counted(std::ssize(report.catalogue.workload.requests), "request"),
      with_separators(answer.finalist_simulations));
}

}  // namespace

std::string as_probability(double probability) {
  constexpr double kNearly = 0.999;
  constexpr double kHigh = 0.99;  // beyond it two digits would be rounded to 1
  if (probability > kNearly) return "over 0.999";
  if (probability < 1 - kNearly) return "under 0.001";
  return fixed(probability, probability > kHigh || probability < 1 - kHigh ? 3 : 2);
}

const char* reason_text(ShapeOutcome outcome) {
  switch (outcome) {
    case ShapeOutcome::cannot_run:
      return "cannot run: the model or the engine refuses the combination";
    case ShapeOutcome::does_not_fit:
      return "do not fit in memory";
    case ShapeOutcome::too_slow:
      return "miss the SLO even unloaded (bound)";
    case ShapeOutcome::beyond_limits:
      return "need more than the limits allow (bound)";
    case ShapeOutcome::searched:
      return "were not decided on";
    case ShapeOutcome::more_expensive:
      return "are dearer than what is in the answer, or have less to spare";
    case ShapeOutcome::misses:
      return "miss the SLO as often as allowed (simulated)";
    case ShapeOutcome::ranked:
      break;
  }
  return "are in the answer";
}

std::string plan_headline(const PlanReport& report) {
  return report.answer.ranked.empty() ? refusal(report).front() : spoken(report).front();
}

Document plan_document(const PlanReport& report) {
  const PlanAnswer& answer = report.answer;
  Document document{.machine = plan_json(report), .sections = {}};
  Section head{
      .heading = fmt::format("{} for {}", report.catalogue.base.model, promises_of(report)),
      .lines = {report.catalogue.workload.description},
      .table = {}};
  for (const std::string& line : answer.ranked.empty() ? refusal(report) : spoken(report)) {
    head.lines.push_back(line);
  }
  head.lines.push_back(searched_text(report));
  if (!answer.ranked.empty()) head.table = ranked_table(report);
  document.sections.push_back(std::move(head));
  if (!answer.ranked.empty()) {
    const RankedCandidate& best = answer.ranked.front();
    document.sections.push_back({.heading = "What the first has to spare",
                                 .lines = causes_of(best),
                                 .table = margins_table(best)});
  }
  if (report.limits) {
    document.sections.push_back(limits_section(report.limits->report, report.limits->pools));
  }
  document.sections.push_back(losers_section(report));
  if (report.explain) document.sections.push_back(explained(report));
  if (!answer.ranked.empty()) {
    document.sections.push_back({.heading = "How to run the first",
                                 .lines = launch_lines(report, answer.ranked.front()),
                                 .table = {}});
  }
  return document;
}

}  // namespace roofcast
