#include "roofcast/simulation_json.hpp"

#include <utility>

#include "planner/cost.hpp"
#include "roofcast/deployment_description.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/pool_description.hpp"
#include "simulator/io/scenario_reader.hpp"
#include "simulator/results/figures.hpp"
#include "simulator/results/verdict.hpp"

namespace roofcast {
namespace {

Json distribution_json(const Distribution& d) {
  Json json{{"count", d.count}};
  for (const DistributionStatistic& statistic : kDistributionStatistics) {
    json[statistic.name] = d.*statistic.value;
  }
  json["exact"] = d.exact;
  return json;
}

Json optional_json(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

/// What is said of all requests and of each stage alike.
void add_load(Json& json, const LoadResult& result) {
  json["requests_completed"] = result.completed;
  json["requests_rejected"] = result.rejected;
  json["requests_lost"] = result.lost;
  json["makespan_s"] = result.makespan.value;
  json["request_rate_per_s"] = result.request_rate_per_s;
  json["offered_rate_per_s"] = result.offered_rate_per_s;
  json["input_tokens_per_s"] = result.input_tokens_per_s;
  json["output_tokens_per_s"] = result.output_tokens_per_s;
  for (const LatencyFigure& latency : kLatencyFigures) {
    json[latency.name] = distribution_json(result.*latency.distribution);
  }
  json["goodput_per_s"] = optional_json(result.goodput_per_s);
  json["goodput_share"] = optional_json(result.goodput_share);
}

Json stages_json(const SimulationResult& result) {
  Json stages = Json::array();
  for (const StageResult& stage : result.stages) {
    Json json = {{"name", stage.name}};
    add_load(json, stage);
    stages.push_back(std::move(json));
  }
  return stages;
}

/// A verdict, which a run that was stopped has not.
Json unless_stopped(const SimulationResult& result, bool verdict) {
  return result.stopped ? Json(nullptr) : Json(verdict);
}

Json slo_json(const SimulationResult& result) {
  Json targets = Json::array();
  for (const TargetOutcome& outcome : result.slo) {
    const bool measured = outcome.achieved > 0;
    targets.push_back({{"class", outcome.slo_class},
                       {"metric", name_of(outcome.target.metric)},
                       {"percentile", outcome.target.percentile},
                       {"limit_s", outcome.target.limit.value},
                       {"achieved_s", measured ? Json(outcome.achieved) : Json(nullptr)},
                       {"attainment", outcome.attainment},
                       {"exact", outcome.exact},
                       {"met", unless_stopped(result, outcome.met)}});
  }
  return {{"met", unless_stopped(result, judge(result).holds)}, {"targets", std::move(targets)}};
}

Json engine_json(const EngineUse& use) {
  return {{"steps", use.steps},
          {"prefill_tokens", use.prefill_tokens},
          {"recomputed_tokens", use.recomputed_tokens},
          {"decode_tokens", use.decode_tokens},
          {"preemptions", use.preemptions},
          {"prefix_query_tokens", use.prefix_queries},
          {"prefix_hit_tokens", use.prefix_hits},
          {"offload_hit_tokens", use.offload_hits},
          {"mean_acceptance_length", use.mean_acceptance_length},
          {"draft_acceptance", use.draft_acceptance},
          {"kv_use_mean", use.mean_kv_use},
          {"kv_use_peak", use.peak_kv_use},
          {"running_mean", use.mean_running},
          {"running_peak", use.peak_running},
          {"waiting_mean", use.mean_waiting},
          {"waiting_peak", use.peak_waiting},
          {"busy_share", use.busy_share}};
}

Json replicas_json(const SimulationResult& result) {
  Json replicas = Json::array();
  for (const ReplicaResult& replica : result.replicas) {
    replicas.push_back({{"pool", replica.pool},
                        {"index", replica.index},
                        {"paid_s", replica.paid.value},
                        {"requests_served", replica.served},
                        {"requests_completed", replica.completed},
                        {"requests_lost", replica.lost},
                        {"engine", engine_json(replica.use)}});
  }
  return replicas;
}

/// What was asked: of pools that differ, what they have in common and each by itself.
Json inputs_json(const SimulationRun& run) {
  const PoolRun& first = run.pools.front();
  Json inputs{{"model", first.deployment.model.name}};
  if (are_alike(run.pools)) {
    inputs = describe(first.deployment);
    inputs["profile_hash"] = first.profile_hash;
  }
  inputs["pools"] = pools_json(run.pools);
  inputs["scenario"] = Json::parse(to_json(run.scenario));
  return inputs;
}

Json head(const SimulationRun& run) {
  Json json = envelope("simulate", inputs_json(run));
  json["fits"] = run.refusal.empty();
  return json;
}

/// Null where a GPU has no price, or nothing was generated.
void add_cost(Json& json, const SimulationRun& run) {
  const auto cost = cost_of(run.pools, run.result);
  json["cost_usd_per_h"] = cost ? Json(cost->per_hour.value) : Json(nullptr);
  const bool has_rate = cost && cost->dollars_per_million_output_tokens;
  json["cost_usd_per_million_output_tokens"] =
      has_rate ? Json(*cost->dollars_per_million_output_tokens) : Json(nullptr);
}

}  // namespace

Json refusal_json(const SimulationRun& run) {
  Json json = head(run);
  json["reason"] = run.refusal;
  return json;
}

Json simulation_json(const SimulationRun& run) {
  const SimulationResult& result = run.result;
  Json json = head(run);
  json["workload"] = {{"description", run.workload.description},
                      {"requests", run.workload.requests.size()},
                      {"requests_unreported", result.unreported},
                      {"rows_skipped", run.workload.rows_skipped},
                      {"notes", run.workload.notes}};
  add_load(json, result);
  json["preemptions"] = result.use.preemptions;
  json["slo"] = slo_json(result);
  json["saturation"] = {{"saturated", unless_stopped(result, result.saturation.saturated)},
                        {"reason", result.saturation.reason},
                        {"queueing_share", result.saturation.queueing_share}};
  json["engine"] = engine_json(result.use);
  json["engine"]["kv_blocks"] =
      are_alike(run.pools) ? Json(run.pools.front().plan.kv_blocks) : Json(nullptr);
  json["stages"] = stages_json(result);
  json["replicas"] = replicas_json(result);
  json["unserved"] = result.notes;
  json["notes"] = run.notes;
  add_cost(json, run);
  return json;
}

}  // namespace roofcast
