#include "roofcast/plan_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"

namespace roofcast {
namespace {

/// "6 GPUs, 2,900 of 4,200 W, $21.00 per hour, $1.20 per million output tokens"
std::string price_of(const RankedPlan& one) {
  const ServingCost& cost = one.cost;
  std::string text = counted(one.gpus, "GPU");
  if (cost.board_power_w) {
    const auto watts = [](double value) { return with_separators(std::llround(value)); };
    text += cost.mean_power_w
                ? fmt::format(", {} of {} W", watts(*cost.mean_power_w), watts(*cost.board_power_w))
                : fmt::format(", {} W", watts(*cost.board_power_w));
  }
  if (!cost.dollars_per_hour) return text;
  text += fmt::format(", {} per hour", dollars(*cost.dollars_per_hour));
  if (const auto& each = cost.dollars_per_million_output_tokens) {
    text += fmt::format(", {} per million output tokens", dollars(*each));
  }
  return text;
}

/// The probability that it holds, and how much more load it carries.
std::string prospects_of(const RankedPlan& one) {
  std::string text = "meets the SLO with probability " + as_probability(one.probability);
  if (!one.capacity_factor) return text;
  // Rates that high need no decimals.
  const double rate = one.capacity_rate_per_s;
  constexpr double kWhole = 100;
  return fmt::format("{}; breaks {} {:.2f} times this load ({} requests/s){}{}", text,
                     one.capacity_bounded ? "beyond" : "not before", *one.capacity_factor,
                     fixed(rate, rate < kWhole ? 2 : 0),
                     one.capacity_monotone ? "" : ", though some higher loads meet the SLO again",
                     breaks_on_few(one) ? " (undecided: the requests are too few to be sure)" : "");
}

std::string as_predicted(const RankedPlan& one) {
  return fmt::format("On the prediction alone, {} would be enough: {}; {}.", one.title,
                     price_of(one), prospects_of(one));
}

/// What the longest context that fits would save.
std::string shorter_context_text(const PlanAnswer& answer) {
  const RankedPlan& one = *answer.shorter_context;
  std::string text =
      fmt::format("The model's full context keeps a better one out of memory: {}; {}; {}",
                  one.title, price_of(one), prospects_of(one));
  if (!answer.ranked.empty() && one.cost.dollars_per_hour &&
      answer.ranked.front().cost.dollars_per_hour) {
    const double full = *answer.ranked.front().cost.dollars_per_hour;
    const double saved = full - *one.cost.dollars_per_hour;
    if (saved > 0) {
      text += fmt::format("; saves {} per hour ({})", dollars(saved), as_percent(saved / full, 0));
    }
  }
  return text + ".";
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
  return "Lowest power";
}

std::vector<std::string> refusal(const PlanAnswer& answer) {
  std::vector<std::string> lines;
  if (answer.stopped) {
    lines.emplace_back("Interrupted before an answer was found.");
  } else {
    lines.emplace_back("No deployment that was searched meets the SLO.");
    if (const auto& one = answer.contradiction) {
      lines.push_back(fmt::format(
          "The limits contradict the SLO: they rule out {}; the smallest of them, {}, {}.",
          counted(one->shapes, "shape"), one->nearest, one->why));
    }
  }
  for (const PlanCandidate& one : answer.closest) {
    lines.push_back(fmt::format("{}: {}: {}.", answer.stopped ? "So far" : "Closest", one.title,
                                miss_of(one.result)));
  }
  if (answer.point_estimate) lines.push_back(as_predicted(*answer.point_estimate));
  if (answer.shorter_context) lines.push_back(shorter_context_text(answer));
  return lines;
}

}  // namespace

std::vector<std::string> plan_sentences(const PlanAnswer& answer) {
  if (answer.ranked.empty()) return refusal(answer);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min<std::size_t>(answer.ranked.size(), 2); ++i) {
    const RankedPlan& one = answer.ranked[i];
    lines.push_back(fmt::format("{}: {}; {}; {}.",
                                i == 0 ? superlative(answer.inputs.objective) : "Next", one.title,
                                price_of(one), prospects_of(one)));
  }
  if (answer.point_estimate) lines.push_back(as_predicted(*answer.point_estimate));
  if (answer.shorter_context) lines.push_back(shorter_context_text(answer));
  if (const auto& least = answer.inputs.min_probability) {
    lines.push_back(fmt::format(
        "Required probability: at least {}, given the uncertainty of step times, host work "
        "per request and KV capacity.",
        as_probability(*least)));
  }
  return lines;
}

std::string miss_of(const PlanResult& result) {
  const SloVerdict& verdict = result.verdict;
  if (verdict.holds && result.probability) {
    return "meets the SLO with probability " + as_probability(*result.probability);
  }
  if (verdict.holds) return "meets the SLO";
  for (const TargetMargin& margin : verdict.margins) {
    if (margin.what != verdict.binding) continue;
    return fmt::format("{} {} of {}", margin.what, duration(margin.achieved_s),
                       duration(margin.limit_s));
  }
  return verdict.binding;
}

std::vector<std::string> causes_of(const RankedPlan& one) {
  std::vector<std::string> lines;
  for (const PlanCause& cause : one.causes) {
    if (!cause.flips_at) continue;
    lines.push_back(fmt::format("{}: {:+.1f} standard deviations alone would reverse the verdict.",
                                cause.name, *cause.flips_at));
  }
  return lines;
}

std::string as_margin(double margin) { return fmt::format("{:+.0f} %", 100 * margin); }

Table margin_table(const PlanResult& result) {
  Table table{
      .title = "", .columns = {{"Target", false}, {"Limit"}, {"Achieved"}, {"Margin"}}, .rows = {}};
  for (const TargetMargin& margin : result.verdict.margins) {
    table.rows.push_back({margin.what, duration(margin.limit_s), duration(margin.achieved_s),
                          as_margin(margin.margin)});
  }
  return table;
}

const char* reason_text(ShapeOutcome outcome) {
  switch (outcome) {
    case ShapeOutcome::cannot_run:
      return "cannot run: the model or the engine does not support the combination";
    case ShapeOutcome::does_not_fit:
      return "does not fit in memory";
    case ShapeOutcome::too_slow:
      return "misses the SLO even unloaded (bound)";
    case ShapeOutcome::beyond_limits:
      return "needs more than the limits allow (bound)";
    case ShapeOutcome::searched:
      return "not decided";
    case ShapeOutcome::more_expensive:
      return "costs more than the ranked deployments, or has less margin";
    case ShapeOutcome::misses:
      return "misses the SLO even with the most units that the limits allow (simulated)";
    case ShapeOutcome::ranked:
      break;
  }
  return "ranked";
}

std::string dollars(double value) { return "$" + fixed(value, 2); }

}  // namespace roofcast
