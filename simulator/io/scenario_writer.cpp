// Writes a scenario as JSON: keys in the order of the documentation, without unset ones.
#include <nlohmann/json.hpp>

#include "simulator/io/optional_keys.hpp"
#include "simulator/io/scenario_cluster.hpp"
#include "simulator/io/scenario_reader.hpp"
#include "simulator/io/synthetic_reader.hpp"

namespace roofcast {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json parallel_json(const Parallelism& parallel) {
  return {{"tensor", parallel.tensor},
          {"pipeline", parallel.pipeline},
          {"data", parallel.data},
          {"expert", parallel.expert_parallel}};
}

namespace {

Json workload_json(const SyntheticWorkload& workload) { return synthetic_json(workload); }

Json columns_json(const TraceColumnNames& names) {
  Json json = Json::object();
  auto put_name = [&](const char* key, const std::string& name) {
    if (!name.empty()) json[key] = name;
  };
  put_name("time", names.time);
  put_name("input", names.input);
  put_name("output", names.output);
  put_name("class", names.slo_class);
  put_name("priority", names.priority);
  put_name("session", names.session);
  put_name("delay", names.delay);
  put_name("hash_ids", names.hash_ids);
  return json;
}

Json workload_json(const TraceWorkload& workload) {
  Json json = {{"type", "trace"}, {"path", workload.path}};
  if (workload.format != TraceFormat::automatic) json["format"] = name_of(workload.format);
  const Json columns = columns_json(workload.columns);
  if (!columns.empty()) json["columns"] = columns;
  if (workload.time_unit) json["time_unit"] = name_of(*workload.time_unit);
  put(json, "trace_block_size", workload.block_size);
  json["max_requests"] = workload.max_requests;
  json["time_scale"] = workload.time_scale;
  put(json, "rate_scale", workload.rate_scale);
  put(json, "request_rate", workload.request_rate);
  json["skip_bad_rows"] = workload.skip_bad_rows;
  if (workload.drop_failed) json["drop_failed"] = true;
  return json;
}

Json targets_json(const std::vector<PercentileTarget>& targets) {
  Json json = Json::array();
  for (const PercentileTarget& target : targets) {
    json.push_back({{"metric", name_of(target.metric)},
                    {"percentile", target.percentile},
                    {"limit_s", target.limit.value}});
  }
  return json;
}

Json slo_json(const Slo& slo) {
  Json json = Json::object();
  for (const GoodputLimit& limit : slo.goodput) {
    json["goodput"].push_back({{"metric", name_of(limit.metric)}, {"limit_s", limit.limit.value}});
  }
  if (!slo.targets.empty()) json["targets"] = targets_json(slo.targets);
  for (const SloClass& slo_class : slo.classes) {
    json["classes"].push_back({{"name", slo_class.name},
                               {"share", slo_class.share},
                               {"targets", targets_json(slo_class.targets)}});
  }
  return json;
}

}  // namespace

std::string to_json(const Scenario& scenario) {
  Json json;
  json["schema_version"] = 1;
  if (!scenario.name.empty()) json["name"] = scenario.name;
  json["model"] = scenario.model;
  json["gpu"] = scenario.gpu;
  json["engine"] = scenario.engine;
  put(json, "quantization", scenario.weight_format);
  json["parallel"] = parallel_json(scenario.parallel);
  const Json options = engine_options_json(scenario.overrides);
  if (!options.empty()) json["engine_options"] = options;
  if (scenario.cluster) json["cluster"] = cluster_json(*scenario.cluster);
  json["workload"] =
      std::visit([](const auto& workload) { return workload_json(workload); }, scenario.workload);
  put(json, "max_concurrency", scenario.max_concurrency);
  const Json slo = slo_json(scenario.slo);
  if (!slo.empty()) json["slo"] = slo;
  json["seed"] = scenario.seed;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace roofcast
