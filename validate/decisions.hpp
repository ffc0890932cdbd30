// The worth of a choice by predictions: of deployments that were all measured, the one predicted to
// be best compared with the one that measured best. Pure arithmetic.
//
// A question is one model under one load on one kind of GPU, with a limit on TPOT; or the same on
// all kinds of GPU, by tokens per dollar; or a saturated load, which has no limit. It counts if two
// deployments or more were measured for it and one of them at least meets the limit. Deployments
// differ in engine, number format, parallelism or speculative decoding; each was measured at
// several numbers of requests in flight, its points. The best of a deployment under a limit is the
// most output tokens per second and GPU (or dollar) of its points whose TPOT meets the limit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error_cause.hpp"
#include "validate/ledger.hpp"

namespace roofcast {

/// Limits on TPOT that are asked of every question, in seconds.
inline constexpr double kTpotLimits[] = {0.010, 0.015, 0.020, 0.030, 0.040, 0.060, 0.100};

/// A measured run and its prediction.
struct DecisionRun {
  std::string question{};    // model and load
  std::string gpu{};         // hardware profile
  std::string deployment{};  // what the user chooses
  std::string point{};       // requests in flight; of several runs of a point the newest counts
  std::string date{};
  double measured_tpot = 0;  // seconds; both are 0 for a saturated load
  double predicted_tpot = 0;
  double measured_rate = 0;  // output tokens per second and GPU
  double predicted_rate = 0;
  std::string engine{};              // "sglang", without its version
  std::vector<ErrorCause> causes{};  // of the predicted step times' error
};

/// The alternatives of a question, and by what it chooses.
enum class ChoiceOf {
  layout,         // deployments on one kind of GPU, by tokens per GPU
  gpu,            // deployments on all kinds, by tokens per GPU; saturated loads only
  gpu_per_dollar  // deployments on all kinds of known price, by tokens per dollar
};

const char* name_of(ChoiceOf choice);

/// One question and its answer.
struct Decision {
  ChoiceOf choice = ChoiceOf::layout;
  std::string question{};
  std::string gpu{};                   // only for ChoiceOf::layout
  std::optional<double> tpot_limit{};  // seconds; unset: saturated
  std::string chosen{};                // deployment (on GPU) that is predicted to be the best
  std::string best{};                  // that was measured to be the best
  std::int64_t alternatives = 0;       // deployments measured
  /// 1 - (best measured of the chosen) / (best measured of all); 1 if the chosen one cannot meet
  /// the limit.
  double regret = 0;
  /// Predicted probability that the chosen one meets the limit and is within kGoodChoice of the
  /// best (planner/verdict/choice_confidence.hpp); unset where nothing says how far predictions
  /// err.
  std::optional<double> probability{};
  bool promised = false;  // the chosen deployment is predicted to meet the limit
  bool broken = false;    // its predicted best point misses the limit by more than kBrokenBy
  /// Pairs of alternatives whose measured bests differ by more than kOrderedFrom of the larger, and
  /// those that are ordered right.
  std::int64_t pairs = 0;
  std::int64_t ordered = 0;
  // Counts over all pairs, for Kendall's tau-b: same order, other order, equal on one side only.
  std::int64_t concordant = 0;
  std::int64_t discordant = 0;
  std::int64_t tied_measured = 0;
  std::int64_t tied_predicted = 0;
};

inline constexpr double kBrokenBy = 0.05;
inline constexpr double kOrderedFrom = 0.05;

/// Decisions of one kind together.
struct DecisionSummary {
  ChoiceOf choice = ChoiceOf::layout;
  bool saturated = false;
  std::string gpu{};  // empty: all
  std::int64_t questions = 0;
  double regret = 0;  // mean
  double largest_regret = 0;
  std::int64_t unmet = 0;  // questions whose chosen deployment cannot meet the limit
  std::int64_t promised = 0;
  std::int64_t broken = 0;
  std::int64_t pairs = 0;
  std::optional<double> ordered{};  // share of the pairs; unset: there are none
  /// Kendall's tau-b over the pairs of all questions; unset if one side is tied throughout.
  std::optional<double> kendall{};
};

/// Runs of the cases with a prediction. TPOT is the median, or the mean where no median was
/// measured; tokens per second follow from it, TTFT and the requests in flight, or are the run's
/// own where these are not known. Without TPOT a load is saturated. A label `deployment` names the
/// alternative, else engine, format, parallelism and drafts do; a label `date` orders runs of the
/// same point.
std::vector<DecisionRun> decision_runs(const std::vector<ComparedCase>& cases);

/// All questions that the runs answer; `prices`: dollars per GPU and hour by profile, of which
/// those without one take no part in ChoiceOf::gpu_per_dollar. In the order of the runs' questions.
std::vector<Decision> decisions_of(std::span<const DecisionRun> runs,
                                   const std::map<std::string, double>& prices);

/// One line for each kind of choice, and for layouts also one for each GPU.
std::vector<DecisionSummary> summaries_of(std::span<const Decision> decisions);

}  // namespace roofcast
