#include "roofcast/plan_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <variant>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/wording.hpp"
#include "planner/scenario/prices.hpp"
#include "planner/what_if/hints.hpp"

namespace roofcast {
namespace {

/// "6 GPUs, 2,900 of 4,200 W, $21.00 per hour, $1.20 per million output tokens"
std::string price_of(const PlanProspects& one) {
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
std::string prospects_of(const PlanProspects& one) {
  std::string text = "meets the SLO with probability " + as_probability(one.confidence.probability);
  if (!one.capacity_factor) return text;
  // Rates that high need no decimals.
  const double rate = one.capacity_rate_per_s;
  constexpr double kWhole = 100;
  return fmt::format("{}; breaks {} {:.2f} times this load ({} requests/s{}){}", text,
                     one.capacity_bounded ? "beyond" : "not before", *one.capacity_factor,
                     fixed(rate, rate < kWhole ? 2 : 0),
                     breaks_on_few(one) ? "; too few requests to be sure of that rate" : "",
                     one.capacity_monotone ? "" : ", though some higher loads meet the SLO again");
}

std::string as_predicted(const RankedPlan& one) {
  return fmt::format("On the prediction alone, {} would be enough: {}; {}.", one.title,
                     price_of(one), prospects_of(one));
}

/// Says what the longest context that fits would save.
std::string shorter_context_text(const PlanAnswer& answer) {
  const RankedPlan& one = *answer.shorter_context;
  std::string text =
      fmt::format("A better deployment fits only with a shorter max_model_len: {}; {}; {}",
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

/// The nearest deployment whose step times rest on measurements, and its price where it is known;
/// empty if none was found.
std::string measured_alternative(const PlanAnswer& answer) {
  const auto priced = [](const std::string& title, const std::optional<double>& price) {
    return price ? fmt::format("{}, {} per hour", title, dollars(*price)) : title;
  };
  for (const RankedPlan& one : answer.ranked) {
    if (!rests_on_measurements(one.result.step_sources)) continue;
    return priced(one.title, one.cost.dollars_per_hour);
  }
  const RejectedPlan* nearest = nullptr;
  for (const RejectedPlan& one : answer.rejected) {
    if (!one.holds || !rests_on_measurements(one.result->step_sources)) continue;
    if (nearest == nullptr || one.beyond_first < nearest->beyond_first) nearest = &one;
  }
  if (nearest == nullptr) return "";
  std::optional<double> price = answer.ranked.front().cost.dollars_per_hour;
  // The search takes owned GPUs at their board limit, the price what they draw.
  const bool owned = answer.inputs.scenario.pricing.kind == PriceKind::owned;
  if (owned || answer.inputs.objective != PlanObjective::cost) price.reset();
  if (price) *price += nearest->beyond_first;
  return priced(nearest->title, price);
}

/// What to say of a first that rests on the datasheet; empty if it does not.
std::vector<std::string> datasheet_text(const PlanAnswer& answer) {
  const RankedPlan& best = answer.ranked.front();
  if (!rests_on_datasheet(best.result.step_sources)) return {};
  const std::string measured = measured_alternative(answer);
  return {fmt::format(
      "The first rests on datasheet figures ({}): its kernels were not timed. {}",
      step_source_words(best.result.step_sources, best.result.step_uncertainty),
      measured.empty()
          ? "No deployment that was found rests on measurements of its GPU."
          : fmt::format("The nearest that rests on measurements of its GPU: {}.", measured))};
}

/// What fewer bits per weight would save.
std::string cheaper_format_text(const PlanAnswer& answer) {
  const RankedPlan& one = *answer.cheaper_format;
  const std::string format = one.deployment.quantization.value_or("");
  std::string text =
      fmt::format("Not searched: {} weights (`quantization` {}): {}", format, format, one.title);
  const auto& price = one.cost.dollars_per_hour;
  const auto& first = answer.ranked.front().cost.dollars_per_hour;
  if (price && first) {
    text += fmt::format(", {} per hour instead of {}", dollars(*price), dollars(*first));
  }
  return text + "; " + prospects_of(one) + ". The quality of the answers is not judged.";
}

/// How the first does when lengths vary as in a real load.
std::string spread_lengths_text(const PlanAnswer& answer) {
  const SpreadLengths& spread = *answer.spread_lengths;
  const SloVerdict& verdict = spread.result.verdict;
  return fmt::format(
      "All requests are of one length here. With lengths spread about the same means "
      "(`input_len` {} `output_len` {}) the first {}.",
      spread.input, spread.output,
      verdict.holds
          ? fmt::format("meets the SLO, too (margin {})", as_percent(verdict.worst_margin, 0))
          : (is_undecided(verdict) ? "may miss it: " : "misses it: ") + miss_of(spread.result));
}

/// The busiest hour, and what a fleet that follows the load saves.
std::vector<std::string> hours_text(const PlanAnswer& answer) {
  const PlanHours& day = *answer.by_hour;
  const PlanHour& busiest = day.hours[day.busiest];
  std::int64_t requests = 0;
  for (const PlanHour& hour : day.hours) requests += hour.requests;
  const double mean = static_cast<double>(requests) / static_cast<double>(day.hours.size());
  std::vector<std::string> lines = {fmt::format(
      "Planned for the busiest of {}: the one from hour {} on, with {}, {:.2f} times the mean "
      "hour (`whole_trace` plans for all of them).",
      counted(std::ssize(day.hours), "hour"), day.busiest, counted(busiest.requests, "request"),
      static_cast<double>(busiest.requests) / mean)};
  if (answer.ranked.empty()) return lines;
  const RankedPlan& best = answer.ranked.front();
  std::string line = fmt::format(
      "Scaled hourly, with what an hour needs started one hour early, a fleet uses {:.1f} of {} "
      "on average",
      day.mean_units, counted(best.units, best.shape.split.apart() ? "copy" : "replica"));
  if (day.fixed_cost && day.following_cost && *day.fixed_cost > 0) {
    const double saved = *day.fixed_cost - *day.following_cost;
    line += fmt::format(": {} instead of {} over the trace, {} less", dollars(*day.following_cost),
                        dollars(*day.fixed_cost), as_percent(saved / *day.fixed_cost, 0));
  }
  lines.push_back(line + ".");
  if (const auto& run = day.autoscaled) {
    lines.push_back(fmt::format(
        "With an autoscaler by waiting requests (1 to {}, cold start {}), simulated over {} around "
        "the busiest ({}): {:.1f} replicas on average, {}.",
        counted(run->max_units, "replica"), as_time(Seconds{run->cold_start_s}),
        counted(run->hours, "hour"), counted(run->requests, "request"), run->mean_units,
        run->holds ? std::string("the SLO is met") : "the SLO is missed: " + run->binding));
  }
  return lines;
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

/// How a better choice would have differed.
const char* less_of(PlanObjective objective) {
  switch (objective) {
    case PlanObjective::cost:
      return "5 % cheaper";
    case PlanObjective::gpus:
      return "with 5 % fewer GPUs";
    case PlanObjective::power:
      break;
  }
  return "with 5 % less power";
}

/// How sure the choice is: that nothing less would do, or, where that is likelier than not, that it
/// would.
std::string choice_text(const PlanAnswer& answer) {
  constexpr double kEven = 0.5;
  const double right = *answer.choice_probability;
  const double holds = answer.ranked.front().confidence.probability;
  const char* less = less_of(answer.inputs.objective);
  const double other = holds - right;
  if (other <= kEven) {
    return fmt::format(
        "Probability {} that the first meets the SLO and nothing {} does, as far as predicted step "
        "times err.",
        as_probability(right), less);
  }
  const auto& least = answer.inputs.min_probability;
  return fmt::format(
      "Something {} would meet the SLO, too, with probability {}, as far as predicted step times "
      "err, but {}.",
      less, as_probability(other),
      least ? "none alone reaches the " + as_probability(*least) + " asked for"
            : "none does as predicted");
}

/// "2 replicas of 1x NVIDIA L40S for prompts of up to 1,024 tokens (71 % of requests) and ..."
std::string pools_text(const MixedPlan& mix) {
  std::string text;
  for (const MixedPool& pool : mix.pools) {
    text += fmt::format("{}{} for {} ({} of requests)", text.empty() ? "" : " and ", pool.title,
                        routed_text(pool), as_percent(pool.share, 0));
  }
  return text;
}

/// The pools of the mix, their price, prospects, and what they save.
std::vector<std::string> mix_parts(const PlanAnswer& answer) {
  const MixedPlan& mix = *answer.mixed;
  const bool by_class = mix.pools.front().classes.has_value();
  std::vector<std::string> parts = {
      fmt::format("{}, a mix behind a router by {}: {}", superlative(answer.inputs.objective),
                  by_class ? "request class" : "prompt length", pools_text(mix)),
      price_of(mix), prospects_of(mix)};
  if (mix.saved_per_h && *mix.saved_per_h > 0) {
    parts.push_back(fmt::format("saves {} per hour ({}) against one kind",
                                dollars(*mix.saved_per_h), as_percent(*mix.saved_share, 0)));
  }
  return parts;
}

/// The candidate of that rank, its price and prospects.
std::vector<std::string> ranked_parts(const PlanAnswer& answer, std::size_t rank) {
  const RankedPlan& one = answer.ranked[rank];
  const std::string first =
      fmt::format("{}{}", superlative(answer.inputs.objective), answer.mixed ? " of one kind" : "");
  std::vector<std::string> parts = {fmt::format("{}: {}", rank == 0 ? first : "Next", one.title),
                                    price_of(one), prospects_of(one)};
  if (one.longest_request) {
    parts.push_back(fmt::format("accepts requests of up to {}, which its KV cache holds",
                                counted(*one.longest_request, "token")));
  }
  return parts;
}

std::string sentence_of(const std::vector<std::string>& parts) { return joined(parts, "; ") + "."; }

/// The mix, or that there is none; empty if none was asked for.
std::vector<std::string> mix_text(const PlanAnswer& answer) {
  if (answer.no_mix) {
    return {fmt::format("No mix of pools behind a router is better: {}.", *answer.no_mix)};
  }
  if (!answer.mixed) return {};
  return {sentence_of(mix_parts(answer))};
}

std::vector<std::string> refusal(const PlanAnswer& answer) {
  std::vector<std::string> lines = mix_text(answer);
  if (answer.stopped) {
    lines.emplace_back("Interrupted before an answer was found.");
  } else {
    lines.emplace_back(answer.mixed ? "No deployment of one kind that was searched meets the SLO."
                                    : "No deployment that was searched meets the SLO.");
    if (answer.no_mix) std::rotate(lines.begin(), lines.end() - 1, lines.end());
    if (const auto& one = answer.contradiction; one && !answer.mixed) {
      lines.push_back(fmt::format(
          "The limits contradict the SLO: they rule out {}; the smallest of them, {}, {}.",
          counted(one->shapes, "shape"), one->nearest, one->why));
    }
  }
  // An answer that was read back has no more than the nearest of each GPU.
  for (const RejectedPlan& one : answer.rejected) {
    if (answer.contradiction || one.outcome != ShapeOutcome::beyond_limits || one.why.empty()) {
      continue;
    }
    lines.push_back(fmt::format("The limits rule out {}, which {}.", one.shape.name, one.why));
  }
  for (const PlanCandidate& one : answer.closest) {
    lines.push_back(fmt::format("{}: {}: {}.", answer.stopped ? "So far" : "Closest", one.title,
                                miss_of(one.result, answer.inputs.min_probability)));
  }
  if (answer.point_estimate) lines.push_back(as_predicted(*answer.point_estimate));
  if (answer.shorter_context) lines.push_back(shorter_context_text(answer));
  if (scatters_prefixes(answer.inputs.scenario, answer.inputs.max_replicas)) {
    lines.emplace_back(kScatteredPrefixes);
  }
  return lines;
}

}  // namespace

std::string routed_text(const MixedPool& pool) {
  if (pool.classes) return joined(*pool.classes, ", ");
  if (!pool.max_input_len) {
    return fmt::format("prompts from {} tokens on", with_separators(pool.min_input_len));
  }
  if (pool.min_input_len == 0) {
    return fmt::format("prompts of up to {} tokens", with_separators(*pool.max_input_len));
  }
  return fmt::format("prompts of {} to {} tokens", with_separators(pool.min_input_len),
                     with_separators(*pool.max_input_len));
}

Table pool_table(const MixedPlan& mix) {
  Table table{.title = "",
              .columns = {{"Pool", false},
                          {"Deployment", false},
                          {"GPUs"},
                          {"Requests", false},
                          {"Share"},
                          {"TTFT p95 (ms)"},
                          {"TPOT p95 (ms)"}},
              .rows = {}};
  for (const MixedPool& pool : mix.pools) {
    table.rows.push_back({pool.name, pool.title, printed::count(pool.gpus), routed_text(pool),
                          printed::percent(pool.share, 0), printed::fixed(1e3 * pool.ttft_p95_s, 0),
                          printed::fixed(1e3 * pool.tpot_p95_s, 1)});
  }
  return table;
}

std::vector<std::string> missed_by_pools(const MixedPlan& mix) {
  std::vector<std::string> lines;
  for (const MixedPool& pool : mix.pools) {
    for (const TargetMargin& target : pool.targets) {
      if (target.margin >= 0) continue;
      lines.push_back(fmt::format(
          "{} alone is {}, over the limit of {}, which covers all requests together; give the "
          "class targets of its own to hold it there, too.",
          target.what, as_time(Seconds{target.achieved_s}), as_time(Seconds{target.limit_s})));
    }
  }
  return lines;
}

std::vector<std::string> answer_parts(const PlanAnswer& answer) {
  if (answer.mixed) return mix_parts(answer);
  if (!answer.ranked.empty()) return ranked_parts(answer, 0);
  return {answer.headline};
}

std::vector<std::string> plan_sentences(const PlanAnswer& answer) {
  if (answer.ranked.empty()) return refusal(answer);
  std::vector<std::string> lines;
  if (answer.mixed) lines = mix_text(answer);
  for (std::size_t i = 0; i < std::min<std::size_t>(answer.ranked.size(), 2); ++i) {
    lines.push_back(sentence_of(ranked_parts(answer, i)));
  }
  if (const auto& why = answer.ranked.front().result.verdict.unserved_why) {
    lines.push_back(fmt::format("With the first, {}.", *why));
  }
  if (const std::string prices = words_of(answer.inputs.scenario.pricing); !prices.empty()) {
    lines.push_back("Prices: " + prices + ".");
  }
  if (answer.choice_probability) lines.push_back(choice_text(answer));
  std::ranges::move(datasheet_text(answer), std::back_inserter(lines));
  if (answer.no_mix) std::ranges::move(mix_text(answer), std::back_inserter(lines));
  if (answer.stopped) lines.emplace_back("The search for a mix of pools was interrupted.");
  if (answer.point_estimate) lines.push_back(as_predicted(*answer.point_estimate));
  if (answer.shorter_context) lines.push_back(shorter_context_text(answer));
  if (answer.cheaper_format) lines.push_back(cheaper_format_text(answer));
  if (answer.spread_lengths) lines.push_back(spread_lengths_text(answer));
  if (scatters_prefixes(answer.inputs.scenario, answer.inputs.max_replicas)) {
    lines.emplace_back(kScatteredPrefixes);
  }
  if (answer.by_hour) std::ranges::move(hours_text(answer), std::back_inserter(lines));
  if (answer.inputs.objective == PlanObjective::power) {
    lines.emplace_back(
        "Ranked by the watts that the boards may draw (their limit); what the load draws of them "
        "is in the table.");
  }
  if (const auto& least = answer.inputs.min_probability) {
    lines.push_back(fmt::format("Required probability: at least {}, given the uncertainty of {}.",
                                as_probability(*least), uncertain_input_names()));
  }
  return lines;
}

std::string miss_of(const CandidateFigures& result, const std::optional<double>& least) {
  const SloVerdict& verdict = result.verdict;
  if (verdict.holds && result.probability) {
    const bool is_bound = least && *result.probability < *least;
    return fmt::format("meets the SLO with probability {}{}", is_bound ? "at most " : "",
                       as_probability(*result.probability));
  }
  if (verdict.holds) return "meets the SLO";
  if (verdict.binding != Binding::target) return binding_words(verdict);
  if (const auto words = missed_by_unserved(verdict)) return *words;
  const TargetMargin& margin = verdict.margins[verdict.binding_target];
  return fmt::format("{} {} of {}", margin.what, as_time(Seconds{margin.achieved_s}),
                     as_time(Seconds{margin.limit_s}));
}

std::vector<std::string> causes_of(const RankedPlan& one) {
  std::vector<std::string> lines;
  for (const Cause& cause : one.confidence.causes) {
    if (!cause.flips_at) continue;
    lines.push_back(fmt::format("{}: {:+.1f} standard deviations alone would reverse the verdict.",
                                cause.name, *cause.flips_at));
  }
  return lines;
}

Table margin_table(const CandidateFigures& result) {
  Table table{
      .title = "", .columns = {{"Target", false}, {"Limit"}, {"Achieved"}, {"Margin"}}, .rows = {}};
  for (const TargetMargin& margin : result.verdict.margins) {
    table.rows.push_back({margin.what, printed::time(Seconds{margin.limit_s}),
                          printed::time(Seconds{margin.achieved_s}),
                          signed_percent(margin.margin, 0)});
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

std::string dollars(double value) { return "$" + amount(value, 2); }

}  // namespace roofcast
