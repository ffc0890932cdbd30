// Whether a simulated load meets its SLO, by what margin, and which target is closest to failing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/results/result.hpp"

namespace roofcast {

/// One percentile target of the SLO with the value achieved.
struct TargetMargin {
  std::string what{};  // "p95 TTFT", "p95 TTFT of chat"
  double limit_s = 0;
  double achieved_s = 0;  // 0 if nothing was measured
  double margin = 0;      // (limit - achieved) / limit; negative exactly if the target is missed
};

/// The deciding part of a verdict: the requirement closest to failing or failing by most, or what
/// rules out every one.
enum class Binding {
  none,            // it holds without requirements
  target,          // SloVerdict::binding_target
  goodput,         // the required goodput share
  saturated,       // the load has to keep up and does not
  undecided,       // the verdict must stand and does not
  nothing_served,  // no request was
  stopped          // the run was, by the user
};

struct SloVerdict {
  /// All requirements are met, the load does not saturate and at least one request is served.
  bool holds = false;
  bool saturated = false;  // then no requirement counts as met
  bool undecided = false;  // a longer run might give another verdict
  /// If undecided: only whether the backlog grows is open, and a target is missed either way, since
  /// an engine that starts empty and has no prefixes to warm up only becomes slower.
  bool missed_anyway = false;
  /// If undecided, or if `binding` is `saturated`: why in words, "undecided: 93.1 to 96.2 % of the
  /// requests are within the limit of p95 TTFT", and the counts behind it, which may be empty.
  std::string finding{};
  std::string counts{};
  std::int64_t unserved = 0;  // rejected, lost or unfinished; targets count them as late
  std::optional<std::string> unserved_why{};  // of rejected ones, the first reason in words
  std::vector<TargetMargin> margins{};
  Binding binding = Binding::none;
  std::size_t binding_target = 0;  // index into `margins` if `binding` is `target`
  double worst_margin = 0;         // the smallest margin; negative exactly if it does not hold
  std::optional<double> goodput_share{};
};

/// Margin where no latency applies: a percentile that falls on unserved requests, or a load beyond
/// saturation, whose latencies only reflect how long the run was. Equals that of a latency of twice
/// the limit.
inline constexpr double kMarginWithoutService = -1;

/// Margin of a load that must stand and is undecided: just not enough.
inline constexpr double kMarginUndecided = -1e-9;

/// The only place that decides whether a result meets its SLO: its targets, and a goodput share if
/// one is required. Without either, a result holds that serves at least one request and keeps up
/// with the load; beyond saturation none holds, since latencies grow for as long as the load lasts.
/// A stopped run does not hold. Throws Error if a goodput share is required of a
/// result without goodput limits.
SloVerdict judge(const SimulationResult& result, const SloRequirement& requirement);

/// With the requirement under which the result was judged first.
SloVerdict judge(const SimulationResult& result);

/// Neither holds nor certainly fails: it does not hold only because a longer run might say
/// otherwise.
bool is_undecided(const SloVerdict& verdict);

/// The finding with its counts, "saturated: the backlog grows ... (the last 900 requests ...)";
/// empty if there is none.
std::string reason_of(const SloVerdict& verdict);

/// The binding requirement in words: "p95 TTFT", "goodput", "nothing is served", or reason_of() if
/// it is saturated or undecided. Empty if it holds without requirements.
std::string binding_words(const SloVerdict& verdict);

/// If the binding target is missed although those who are served are within it: "p95 TTFT is missed
/// because 206 requests are not served (206 requests rejected: ...)".
std::optional<std::string> missed_by_unserved(const SloVerdict& verdict);

/// Says in words why it does not hold: "1 of 2 targets missed", "saturated, so latencies grow for
/// as long as the load lasts". Empty if it holds.
std::string why_not(const SloVerdict& verdict);

}  // namespace roofcast
