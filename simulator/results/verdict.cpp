#include "simulator/results/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.hpp"
#include "base/wording.hpp"

namespace roofcast {
namespace {

/// Results use "all" for targets that apply to every class.
std::string_view of_class(const TargetOutcome& outcome) {
  return outcome.slo_class == "all" ? std::string_view{} : outcome.slo_class;
}

TargetMargin margin_of(const TargetOutcome& outcome) {
  const PercentileTarget& target = outcome.target;
  TargetMargin margin{.what = name_of(target, of_class(outcome)),
                      .limit_s = target.limit.value,
                      .achieved_s = outcome.achieved,
                      .margin = (target.limit.value - outcome.achieved) / target.limit.value};
  // `achieved` covers completed requests only; the percentile fell on an unserved one.
  if (!outcome.met && margin.margin >= 0) margin.margin = kMarginWithoutService;
  return margin;
}

/// Keeps the smallest margin and what it is of.
void consider(SloVerdict& verdict, double margin, Binding binding) {
  if (margin >= verdict.worst_margin) return;
  verdict.worst_margin = margin;
  verdict.binding = binding;
  if (binding == Binding::target) verdict.binding_target = verdict.margins.size() - 1;
}

void judge_goodput(SloVerdict& verdict, const SloRequirement& requirement) {
  if (!requirement.min_goodput_share) return;
  if (!verdict.goodput_share) {
    throw Error("a minimum goodput share requires goodput limits (`goodput`)");
  }
  const double min = *requirement.min_goodput_share;
  consider(verdict, (*verdict.goodput_share - min) / std::max(min, 1e-9), Binding::goodput);
}

/// The reason that rules out every requirement, whatever the latencies.
std::optional<Binding> no_service(const SimulationResult& result) {
  if (result.stopped) return Binding::stopped;
  if (result.completed == 0) return Binding::nothing_served;
  if (result.saturation.saturated) return Binding::saturated;
  return std::nullopt;
}

void take_saturation(SloVerdict& verdict, const SaturationVerdict& saturation) {
  verdict.finding = saturation.finding;
  verdict.counts = saturation.counts;
}

std::string undecided_share(const std::string& what, const ConfidenceInterval& share) {
  return fmt::format("undecided: {:.1f} to {:.1f} % of the requests are within {}", 100 * share.low,
                     100 * share.high, what);
}

/// Whether a target is missed that no steady state to come can meet: the engine starts empty, and
/// without prefixes that have yet to be cached latencies only grow until it is filled.
bool is_missed_anyway(const SimulationResult& result, const SloRequirement& requirement) {
  // A preempted request finds its own blocks again.
  if (!requirement.sample || result.use.prefix_hits > result.use.recomputed_tokens) return false;
  return std::ranges::any_of(result.slo, [](const TargetOutcome& outcome) {
    return outcome.decided && outcome.share && !outcome.met;
  });
}

/// Says what chance leaves open of targets and goodput, empty if nothing; nullopt if one is
/// certainly missed, whatever else is open.
std::optional<std::string> undecided_targets(const SimulationResult& result,
                                             const SloRequirement& requirement,
                                             const SloVerdict& verdict) {
  std::string reason;
  const auto doubt = [&](const std::string& why) {
    if (reason.empty()) reason = why;
  };
  for (std::size_t i = 0; requirement.sample && i < result.slo.size(); ++i) {
    const TargetOutcome& outcome = result.slo[i];
    if (outcome.decided && result.saturation.filled && !outcome.met) return std::nullopt;
    if (outcome.decided && result.saturation.filled) continue;
    if (outcome.decided) {
      doubt(fmt::format("undecided: {} are too few to reach a steady state",
                        counted(outcome.requests, "request")));
    } else if (outcome.share) {
      doubt(
          undecided_share(fmt::format("the limit of {}", verdict.margins[i].what), *outcome.share));
    } else {
      doubt(fmt::format("undecided: {} are too few for {} of a longer run",
                        counted(outcome.requests, "request"), verdict.margins[i].what));
    }
  }
  if (requirement.sample && requirement.min_goodput_share) {
    const std::optional<ConfidenceInterval>& share = result.goodput_interval;
    const double min = *requirement.min_goodput_share;
    if (share && share->high < min) return std::nullopt;
    if (share && share->low <= min && min < 1) {
      doubt(undecided_share("all goodput limits", *share));
    }
  }
  return reason;
}

/// No effect if the verdict stands.
void add_undecided(SloVerdict& verdict, const SimulationResult& result,
                   const SloRequirement& requirement) {
  const std::optional<std::string> targets = undecided_targets(result, requirement, verdict);
  if (!targets) return;
  if (result.saturation.undecided) {
    take_saturation(verdict, result.saturation);
  } else {
    verdict.finding = *targets;
  }
  verdict.undecided = !verdict.finding.empty();
  verdict.missed_anyway = verdict.undecided && is_missed_anyway(result, requirement);
}

}  // namespace

SloVerdict judge(const SimulationResult& result, const SloRequirement& requirement) {
  SloVerdict verdict{.saturated = result.saturation.saturated,
                     .unserved = result.rejected + result.lost + result.unfinished,
                     .worst_margin = std::numeric_limits<double>::infinity(),
                     .goodput_share = result.goodput_share};
  if (result.rejected > 0 && !result.notes.empty()) verdict.unserved_why = result.notes.front();
  for (const TargetOutcome& outcome : result.slo) {
    verdict.margins.push_back(margin_of(outcome));
    consider(verdict, verdict.margins.back().margin, Binding::target);
  }
  judge_goodput(verdict, requirement);
  // Even if every target is met with room to spare, a margin is at most the whole limit (1).
  verdict.worst_margin = std::min(verdict.worst_margin, 1.0);
  if (const auto ruled_out = no_service(result)) {
    verdict.worst_margin = std::min(verdict.worst_margin, kMarginWithoutService);
    verdict.binding = *ruled_out;
    if (ruled_out == Binding::saturated) take_saturation(verdict, result.saturation);
  } else {
    add_undecided(verdict, result, requirement);
  }
  if (requirement.must_stand && verdict.undecided && verdict.worst_margin >= 0) {
    verdict.worst_margin = std::min(verdict.worst_margin, kMarginUndecided);
    verdict.binding = Binding::undecided;
  }
  verdict.holds = verdict.worst_margin >= 0;
  return verdict;
}

SloVerdict judge(const SimulationResult& result) { return judge(result, result.requirement); }

bool is_undecided(const SloVerdict& verdict) { return verdict.binding == Binding::undecided; }

std::string reason_of(const SloVerdict& verdict) {
  return verdict.finding + (verdict.counts.empty() ? "" : " (" + verdict.counts + ")");
}

std::optional<std::string> missed_by_unserved(const SloVerdict& verdict) {
  if (verdict.binding != Binding::target) return std::nullopt;
  const TargetMargin& margin = verdict.margins[verdict.binding_target];
  if (margin.margin >= 0 || margin.achieved_s > margin.limit_s) return std::nullopt;
  std::string words =
      fmt::format("{} is missed because {} {} not served", margin.what,
                  counted(verdict.unserved, "request"), verdict.unserved == 1 ? "is" : "are");
  if (verdict.unserved_why) words += fmt::format(" ({})", *verdict.unserved_why);
  return words;
}

std::string binding_words(const SloVerdict& verdict) {
  switch (verdict.binding) {
    case Binding::none:
      return {};
    case Binding::target:
      return verdict.margins[verdict.binding_target].what;
    case Binding::goodput:
      return "goodput";
    case Binding::saturated:
    case Binding::undecided:
      return reason_of(verdict);
    case Binding::nothing_served:
      return "nothing is served";
    case Binding::stopped:
      break;
  }
  return "stopped early";
}

std::string why_not(const SloVerdict& verdict) {
  if (verdict.holds) return {};
  const auto missed = std::count_if(verdict.margins.begin(), verdict.margins.end(),
                                    [](const TargetMargin& margin) { return margin.margin < 0; });
  if (missed > 0) {
    return fmt::format("{} of {} missed", missed, counted(std::ssize(verdict.margins), "target"));
  }
  if (is_undecided(verdict)) return reason_of(verdict);
  if (verdict.saturated) return "saturated, so latencies grow for as long as the load lasts";
  return binding_words(verdict);
}

}  // namespace roofcast
