#include "roofcast/capacity_json.hpp"

#include <utility>

#include "cli/plan/limits_section.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/pool_description.hpp"
#include "simulator/io/scenario_reader.hpp"

namespace roofcast {
namespace {

Json optional_json(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

const char* load_key(const LoadStudy& study) {
  return study.kind == LoadKind::rate ? "rate_per_s" : "concurrency";
}

Json latency_json(const Distribution& d) {
  Json json{{"mean", d.mean}};
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    if (statistic.percent) json[statistic.name] = d.*statistic.value;
  }
  return json;
}

Json point_json(const LoadStudy& study, const LoadPoint& point) {
  const SloVerdict& verdict = point.verdict;
  return {{load_key(study), point.load},
          {"offered_rate_per_s", point.offered_rate_per_s},
          {"request_rate_per_s", point.request_rate_per_s},
          {"output_tokens_per_s", point.output_tokens_per_s},
          {"ttft_s", latency_json(point.ttft)},
          {"tpot_s", latency_json(point.tpot)},
          {"e2e_s", latency_json(point.e2e)},
          {"running_mean", point.use.mean_running},
          {"kv_use_peak", point.use.peak_kv_use},
          {"preemptions", point.use.preemptions},
          {"holds", verdict.holds},
          {"saturated", verdict.saturated},
          {"requests_unserved", verdict.unserved},
          {"worst_margin", verdict.worst_margin},
          {"binding", verdict.binding},
          {"goodput_share", optional_json(verdict.goodput_share)}};
}

Json points_json(const LoadStudy& study, const std::vector<LoadPoint>& points) {
  Json list = Json::array();
  for (const LoadPoint& point : points) list.push_back(point_json(study, point));
  return list;
}

Json asked_json(const CapacityAnswer& answer) {
  if (!answer.asked) return nullptr;
  Json json = point_json(answer.study, *answer.asked);
  json["probability"] = answer.confidence->probability;
  json["causes"] = Json::array();
  for (const Cause& cause : answer.confidence->causes) {
    json["causes"].push_back(
        {{"name", cause.name}, {"flips_at_standard_deviations", optional_json(cause.flips_at)}});
  }
  return json;
}

Json growth_json(const CapacityAnswer& answer, const GrowthQuestion& question) {
  const GrowthEnd end = end_of_growth(headroom_of(answer).value_or(0), question);
  return {{"rate", question.growth.rate},
          {"period", question.growth.period},
          {"periods_until_it_fails", optional_json(end.periods)},
          {"date", end.date ? Json(*end.date) : Json(nullptr)}};
}

Json limits_at_capacity_json(const CapacityAnswer& answer) {
  Json json = limits_json(answer.limits);
  json[load_key(answer.study)] = answer.limit_load;
  for (std::size_t i = 0; i < answer.relaxed.size(); ++i) {
    json["limits"][i]["relaxed_capacity"] = optional_json(answer.relaxed[i].load);
  }
  return json;
}

Json lost_json(const CapacityAnswer& answer) {
  Json list = Json::array();
  for (const LostReplica& lost : answer.lost) {
    list.push_back({{"pool", lost.pool},
                    {"replicas_left", lost.left},
                    {"capacity", optional_json(lost.capacity.load)},
                    {"asked", lost.asked ? point_json(answer.study, *lost.asked) : Json(nullptr)}});
  }
  return list;
}

Json head(const LoadStudy& study) {
  const SimulationRun& run = study.run;
  Json inputs = {{"model", run.pools.front().deployment.model.name},
                 {"pools", pools_json(run.pools)},
                 {"least_goodput_share", optional_json(study.requirement.min_goodput_share)},
                 {"scenario", Json::parse(to_json(run.scenario))}};
  Json json = envelope("capacity", std::move(inputs));
  json["fits"] = run.refusal.empty();
  return json;
}

}  // namespace

Json capacity_json(const CapacityAnswer& answer, const std::optional<GrowthQuestion>& growth,
                   std::int64_t simulations) {
  Json json = head(answer.study);
  json["load"] = load_key(answer.study);
  json["holds"] = holds(answer);
  json["capacity"] = optional_json(answer.capacity.load);
  json["capacity_low"] = optional_json(answer.low);
  json["capacity_high"] = optional_json(answer.high);
  json["bounded"] = answer.capacity.bounded;
  json["monotone"] = answer.capacity.monotone;
  json["asked"] = asked_json(answer);
  json["headroom"] = optional_json(headroom_of(answer));
  json["growth"] = growth ? growth_json(answer, *growth) : Json(nullptr);
  json["curve"] = points_json(answer.study, answer.curve);
  json["points"] = points_json(answer.study, answer.capacity.points);
  json["limits"] = limits_at_capacity_json(answer);
  json["one_replica_lost"] = lost_json(answer);
  json["requests"] = answer.study.run.workload.requests.size();
  json["simulations"] = simulations;
  return json;
}

Json capacity_refusal_json(const LoadStudy& study) {
  Json json = head(study);
  json["reason"] = study.run.refusal;
  return json;
}

}  // namespace roofcast
