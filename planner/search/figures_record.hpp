// The members of a candidate's figures, as the store and answers write and read them
// (base/record.hpp).
#pragma once

#include "planner/scenario/step_description.hpp"
#include "planner/search/candidate_figures.hpp"
#include "planner/verdict/confidence.hpp"
#include "simulator/results/verdict_record.hpp"

namespace roofcast {

template <class Visitor>
void members(Visitor& visit, PoolUtilisation& use) {
  visit("pool", use.pool, "name of the pool");
  visit("mfu", use.mfu, "FLOPs that the model needs, over those of the dense peak, 0 to 1");
  visit("mbu", use.mbu, "bytes of weights and KV cache, over those of the bandwidth, 0 to 1");
}

template <class Visitor>
void members(Visitor& visit, ErrorCause& cause) {
  visit("name", cause.name, "of the error");
  visit("deviation", cause.deviation, "relative, one standard deviation");
  visit("common_to", cause.common_to, "what has all of it in common, on whatever GPU");
}

template <class Visitor>
void members(Visitor& visit, Cause& cause) {
  visit("name", cause.name, "the uncertain input");
  visit("flips_at_standard_deviations", cause.flips_at,
        "standard deviations at which it alone reverses the verdict; null: more than 4");
}

template <class Visitor>
void members(Visitor& visit, CandidateFigures& figures) {
  members(visit, figures.verdict);
  visit("requests", figures.requests, "of the load");
  for (const TrialFigure& figure : kTrialFigures) {
    visit(figure.name, figures.*figure.value, figure.meaning);
  }
  visit("step_sources", figures.step_sources,
        "how step times are known: shares of the operators' time; of several pools the first's");
  visit("step_relative_uncertainty", figures.step_uncertainty,
        "of step times, one standard deviation; of several pools the first's");
}

/// What is known of an answer beyond one simulation of the load; its costs are listed apart.
template <class Visitor>
void members(Visitor& visit, FinalistFigures& figures) {
  visit("probability", figures.confidence.probability, "that the SLO is met");
  visit("causes", figures.confidence.causes, "inputs whose error could reverse the verdict");
  visit("capacity_factor", figures.capacity_factor,
        "multiple of the load that still meets the SLO; null: unknown");
  visit("capacity_bounded", figures.capacity_bounded, "false: the multiple is only a lower bound");
  visit("capacity_monotone", figures.capacity_monotone,
        "false if a higher load meets the SLO again");
  visit("capacity_rate_per_s", figures.capacity_rate_per_s, "arrivals at that load");
  visit("capacity_decided", figures.capacity_decided,
        "false: the requests are too few to be sure of it");
  visit("utilisation", figures.utilisation, "of each pool's GPUs while a step is in progress");
}

}  // namespace roofcast
