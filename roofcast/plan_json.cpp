#include "roofcast/plan_json.hpp"

#include <map>
#include <utility>

#include "cli/plan/limits_section.hpp"
#include "planner/launch/plan_launch.hpp"
#include "roofcast/envelope.hpp"
#include "simulator/io/scenario_reader.hpp"

namespace roofcast {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kMillion = 1e6;

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json shape_json(const Shape& shape) {
  Json json = {{"gpu", shape.gpu}, {"name", short_name(shape)}};
  // As a scenario says it: degrees, format, engine and knobs.
  Json scenario = Json::parse(to_json(scenario_of({}, {.shape = shape, .units = 1})));
  for (const char* key : {"engine", "quantization", "parallel", "engine_options", "cluster"}) {
    if (scenario.contains(key)) json[key] = scenario[key];
  }
  return json;
}

Json verdict_json(const CandidateFigures& figures) {
  Json margins = Json::array();
  for (const TargetMargin& margin : figures.verdict.margins) {
    margins.push_back({{"target", margin.what},
                       {"limit_s", margin.limit_s},
                       {"achieved_s", margin.achieved_s},
                       {"margin", margin.margin}});
  }
  return {{"holds", figures.verdict.holds},
          {"saturated", figures.verdict.saturated},
          {"unserved", figures.verdict.unserved},
          {"binding", figures.verdict.binding},
          {"margin", figures.verdict.worst_margin},
          {"targets", std::move(margins)},
          {"goodput_share", or_null(figures.verdict.goodput_share)},
          {"requests", figures.requests},
          {"request_rate_per_s", figures.request_rate_per_s},
          {"output_tokens_per_s", figures.output_tokens_per_s},
          {"ttft_p95_s", figures.ttft_p95_s},
          {"tpot_p95_s", figures.tpot_p95_s},
          {"e2e_p95_s", figures.e2e_p95_s},
          {"mean_kv_use", figures.mean_kv_use},
          {"busy_share", figures.busy_share}};
}

Json tried_json(const PlanAnswer& answer, const TriedCandidate& tried) {
  return {{"title", title_of(answer, tried)},
          {"deployment", shape_json(answer.shapes[tried.shape].shape)},
          {"units", tried.units},
          {"result", verdict_json(tried.figures)}};
}

Json finalist_json(const FinalistFigures& finalist) {
  Json causes = Json::array();
  for (const Cause& cause : finalist.confidence.causes) {
    causes.push_back({{"cause", cause.name}, {"flips_at_deviations", or_null(cause.flips_at)}});
  }
  return {{"probability", finalist.confidence.probability},
          {"causes", std::move(causes)},
          {"capacity_factor", or_null(finalist.capacity_factor)},
          {"capacity_bounded", finalist.capacity_bounded},
          {"capacity_monotone", finalist.capacity_monotone},
          {"capacity_rate_per_s", finalist.capacity_rate_per_s},
          {"capacity_requests_needed", finalist.capacity_requests_needed}};
}

Json ranked_json(const PlanReport& report, const RankedCandidate& one) {
  Json json = tried_json(report.answer, one);
  json["gpus"] = one.needs.gpus;
  json["cost_usd_per_h"] = or_null(one.needs.cost_per_hour);
  json["usd_per_million_output_tokens"] = or_null(dollars_per_million_output_tokens(one));
  json["power_w"] = or_null(one.needs.power_w);
  json["pareto"] = one.pareto;
  json.update(finalist_json(one.finalist));
  json["launch"] = launch_lines(report, one);
  return json;
}

Json losers_json(const PlanAnswer& answer) {
  Json rejected = Json::array();
  for (const NearestRejected& loser : answer.rejected) {
    const PlannedShape& planned = answer.shapes[loser.shape];
    Json one = {{"gpu", planned.shape.gpu},
                {"shape", shape_json(planned.shape)},
                {"fate", name_of(planned.outcome)},
                {"why", planned.why}};
    if (loser.tried) {
      one["units"] = loser.tried->units;
      one["result"] = verdict_json(loser.tried->figures);
    }
    rejected.push_back(std::move(one));
  }
  return rejected;
}

}  // namespace

std::string title_of(const PlanAnswer& answer, const TriedCandidate& tried) {
  const Shape& shape = answer.shapes[tried.shape].shape;
  const std::string knobs = knobs_of(shape);
  return short_name(Candidate{.shape = shape, .units = static_cast<std::int32_t>(tried.units)}) +
         (knobs.empty() ? "" : " (" + knobs + ")");
}

std::optional<double> dollars_per_million_output_tokens(const RankedCandidate& one) {
  const double per_hour = one.figures.output_tokens_per_s * kSecondsPerHour;
  if (!one.needs.cost_per_hour || per_hour <= 0) return std::nullopt;
  return *one.needs.cost_per_hour / per_hour * kMillion;
}

Json plan_inputs(const PlanQuestion& question, const PlanCatalogue& catalogue) {
  Json search;
  for (const Knob& knob : question.space.dimensions) search[knob.key] = knob.values;
  return {{"scenario", Json::parse(to_json(catalogue.base))},
          {"gpus", question.space.gpus},
          {"search", std::move(search)},
          {"objective", name_of(question.objective)},
          {"most_replicas", question.space.max_units},
          {"budget_usd_per_h", or_null(question.limits.budget_per_hour)},
          {"power_w", or_null(question.limits.power_w)},
          {"available", question.limits.available},
          {"price_usd_per_gpu_h", question.limits.prices},
          {"goodput_share", or_null(question.requirement.min_goodput_share)},
          {"least_probability", or_null(question.min_probability)},
          {"top", question.keep}};
}

Json plan_json(const PlanReport& report) {
  const PlanAnswer& answer = report.answer;
  Json json = envelope("plan", plan_inputs(report.question, report.catalogue));
  json["holds"] = answer.stopped ? Json(nullptr) : Json(!answer.ranked.empty());
  json["stopped"] = answer.stopped;
  json["answer"] = plan_headline(report);
  json["ranked"] = Json::array();
  for (const RankedCandidate& one : answer.ranked) {
    json["ranked"].push_back(ranked_json(report, one));
  }
  json["closest"] = Json::array();
  for (const TriedCandidate& tried : answer.closest) {
    Json one = tried_json(answer, tried);
    if (tried.figures.probability) one["probability"] = *tried.figures.probability;
    json["closest"].push_back(std::move(one));
  }
  json["losers"] = losers_json(answer);
  std::map<ShapeOutcome, std::int64_t> outcomes;
  for (const PlannedShape& planned : answer.shapes) ++outcomes[planned.outcome];
  for (const auto& [outcome, count] : outcomes)
    json["shapes"][std::string(name_of(outcome))] = count;
  if (report.limits) json["limits"] = limits_json(report.limits->report);
  json["candidates"] = answer.candidates;
  json["simulations"] = answer.simulations;
  json["finalist_simulations"] = answer.finalist_simulations;
  return json;
}

}  // namespace roofcast
