// The published schema and the reader must agree.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "simulator/io/engine_options.hpp"
#include "simulator/io/scenario_members.hpp"
#include "simulator/io/scenario_reader.hpp"

namespace roofcast::test {
namespace {

using Json = nlohmann::json;

Json schema() {
  std::ifstream file(ROOFCAST_SOURCE_DIR "/simulator/io/scenario.schema.json");
  return Json::parse(file);
}

/// One object of a scenario: its place in the schema, the keys that the reader accepts, and a
/// scenario containing such an object.
struct Part {
  const char* name;
  Json::json_pointer pointer;
  std::vector<const char*> keys;
  std::function<Json(const Json&)> around;
};

Json base() { return {{"model", "m"}, {"gpu", "g"}, {"workload", {{"type", "synthetic"}}}}; }

Json base_with(const char* key, const Json& value) {
  Json json = base();
  json[key] = value;
  return json;
}

Json synthetic_with(const char* key, const Json& value) {
  return base_with("workload", {{"type", "synthetic"}, {key, value}});
}

Json cluster_with(const char* key, const Json& value) {
  return base_with("cluster", {{key, value}});
}

std::vector<Part> parts() {
  using Pointer = Json::json_pointer;
  using scenario_json::keys_of;
  const auto option_keys = engine_option_keys();
  const std::vector<PoolScenario> pools;
  const std::vector<SloClass> classes;
  const auto merged = [](const Json& object) {
    Json json = base();
    json.update(object);
    return json;
  };
  return {
      {"top", Pointer(""), keys_of<Scenario>(), merged},
      {"parallel", Pointer("/properties/parallel"), keys_of<Parallelism>(),
       [](const Json& o) { return base_with("parallel", o); }},
      {"engine_options",
       Pointer("/properties/engine_options"),
       {option_keys.begin(), option_keys.end()},
       [](const Json& o) { return base_with("engine_options", o); }},
      {"synthetic", Pointer("/properties/workload/oneOf/0"), keys_of<SyntheticWorkload>(),
       [](const Json& o) { return base_with("workload", o); }},
      {"ramp_up", Pointer("/properties/workload/oneOf/0/properties/ramp_up"), keys_of<RampUp>(),
       [](const Json& o) { return synthetic_with("ramp_up", o); }},
      {"stages", Pointer("/properties/workload/oneOf/0/properties/stages/items"),
       keys_of<RateStage>(),
       [](const Json& o) { return synthetic_with("stages", Json::array({o})); }},
      {"cycle", Pointer("/properties/workload/oneOf/0/properties/cycle/items"),
       keys_of<RateStage>(scenario_json::PhaseMembers{}),
       [](const Json& o) { return synthetic_with("cycle", Json::array({o})); }},
      {"diurnal", Pointer("/properties/workload/oneOf/0/properties/diurnal"),
       keys_of<DiurnalRate>(), [](const Json& o) { return synthetic_with("diurnal", o); }},
      {"range_ratio", Pointer("/properties/workload/oneOf/0/properties/range_ratio/oneOf/1"),
       keys_of<RangeRatio>(scenario_json::Ratios::Each{}),
       [](const Json& o) { return synthetic_with("range_ratio", o); }},
      {"shared_prefix", Pointer("/properties/workload/oneOf/0/properties/shared_prefix"),
       keys_of<SharedPrefix>(), [](const Json& o) { return synthetic_with("shared_prefix", o); }},
      {"sessions", Pointer("/properties/workload/oneOf/0/properties/sessions"), keys_of<Sessions>(),
       [](const Json& o) { return synthetic_with("sessions", o); }},
      {"cluster", Pointer("/properties/cluster"), keys_of<ClusterScenario>(),
       [](const Json& o) { return base_with("cluster", o); }},
      {"pools", Pointer("/properties/cluster/properties/pools/items"),
       keys_of<PoolScenario>(scenario_json::PoolMembers{pools}),
       [](const Json& o) { return cluster_with("pools", Json::array({o})); }},
      {"autoscaling", Pointer("/properties/cluster/properties/pools/items/properties/autoscaling"),
       keys_of<Autoscaling>(),
       [](const Json& o) {
         return cluster_with("pools", Json::array({{{"autoscaling", o}}}));
       }},
      {"kv_link", Pointer("/properties/cluster/properties/kv_link"), keys_of<KvLink>(),
       [](const Json& o) { return cluster_with("kv_link", o); }},
      {"failures", Pointer("/properties/cluster/properties/failures/items"),
       keys_of<Failure>(scenario_json::FailureMembers{pools}),
       [](const Json& o) { return cluster_with("failures", Json::array({o})); }},
      {"trace", Pointer("/properties/workload/oneOf/1"), keys_of<TraceWorkload>(),
       [](const Json& o) { return base_with("workload", o); }},
      {"trace columns", Pointer("/properties/workload/oneOf/1/properties/columns"),
       keys_of<TraceColumnNames>(),
       [](const Json& o) {
         return base_with("workload", {{"type", "trace"}, {"path", "t.csv"}, {"columns", o}});
       }},
      {"slo", Pointer("/properties/slo"), keys_of<Slo>(),
       [](const Json& o) { return base_with("slo", o); }},
      {"goodput", Pointer("/properties/slo/properties/goodput/items"), keys_of<GoodputLimit>(),
       [](const Json& o) {
         return base_with("slo", {{"goodput", Json::array({o})}});
       }},
      {"class", Pointer("/properties/slo/properties/classes/items"),
       keys_of<SloClass>(scenario_json::ClassMembers{classes}),
       [](const Json& o) {
         return base_with("slo", {{"classes", Json::array({o})}});
       }},
      {"target", Pointer("/properties/slo/properties/classes/items/properties/targets/items"),
       keys_of<PercentileTarget>(),
       [](const Json& o) {
         return base_with(
             "slo", {{"classes", Json::array({{{"name", "c"}, {"targets", Json::array({o})}}})}});
       }},
  };
}

/// The keys required always, and those required with `given`, each with its first example.
Json required_with(const std::string& given, const Json& description) {
  Json keys = description.value("required", Json::array());
  const Json beside = description.value("dependentRequired", Json::object());
  if (beside.contains(given)) keys.insert(keys.end(), beside[given].begin(), beside[given].end());
  Json object = Json::object();
  for (const auto& key : keys) {
    const Json& property = description["properties"][key.get<std::string>()];
    if (property.contains("examples")) object[key.get<std::string>()] = property["examples"][0];
  }
  return object;
}

TEST(ScenarioSchema, NamesTheDefaultEngine) {
  EXPECT_EQ(schema()["properties"]["engine"]["default"], kDefaultEngine);
}

TEST(ScenarioSchema, HasExactlyTheKeysOfTheReader) {
  const Json all = schema();
  for (const Part& part : parts()) {
    std::set<std::string> described;
    for (const auto& item : all[part.pointer]["properties"].items()) described.insert(item.key());
    EXPECT_EQ(described, std::set<std::string>(part.keys.begin(), part.keys.end())) << part.name;
    EXPECT_EQ(all[part.pointer]["additionalProperties"], false) << part.name;
  }
}

/// The file in three parts: before engine_options, engine_options, after it.
struct SchemaText {
  std::string before, options, after;
};

SchemaText split_schema() {
  std::ifstream file(ROOFCAST_SOURCE_DIR "/simulator/io/scenario.schema.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string key = "\n    \"engine_options\": ";
  const std::size_t begin = text.find(key) + key.size();
  const std::size_t end = text.find("\n    }", begin) + std::string("\n    }").size();
  return {text.substr(0, begin), text.substr(begin, end - begin), text.substr(end)};
}

/// engine_options are generated from the table of knobs: with ROOFCAST_REWRITE=1 in the environment
/// this test rewrites them.
TEST(ScenarioSchema, EngineOptionsAreTheTableOfKnobs) {
  const SchemaText text = split_schema();
  std::string generated = engine_options_schema().dump(2);
  for (std::size_t at = 0; (at = generated.find('\n', at)) != std::string::npos; at += 5) {
    generated.insert(at + 1, 4, ' ');
  }
  if (std::getenv("ROOFCAST_REWRITE") != nullptr) {
    std::ofstream(ROOFCAST_SOURCE_DIR "/simulator/io/scenario.schema.json")
        << text.before << generated << text.after;
  }
  EXPECT_EQ(split_schema().options, generated);
}

TEST(ScenarioSchema, DescribesEveryKey) {
  const Json all = schema();
  for (const Part& part : parts()) {
    for (const auto& item : all[part.pointer]["properties"].items()) {
      EXPECT_TRUE(item.value().contains("description")) << part.name << '.' << item.key();
    }
  }
}

TEST(ScenarioSchema, EveryExampleIsReadAndComesBack) {
  const Json all = schema();
  for (const Part& part : parts()) {
    const Json& description = all[part.pointer];
    for (const auto& item : description["properties"].items()) {
      const bool nested = !item.value().contains("examples");
      if (nested) continue;
      for (const Json& example : item.value()["examples"]) {
        Json object = required_with(item.key(), description);
        object[item.key()] = example;
        const Json scenario = part.around(object);
        SCOPED_TRACE(scenario.dump());
        ASSERT_NO_THROW(parse_scenario(scenario.dump(), "schema"));
        if (item.key() == "$schema") continue;  // for editors only
        // A value that was read is written again: the key is not just tolerated.
        const Json written = Json::parse(to_json(parse_scenario(scenario.dump(), "schema")));
        EXPECT_NE(written.dump().find(Json(item.key()).dump() + ":" + example.dump()),
                  std::string::npos)
            << written.dump();
      }
    }
  }
}

TEST(ScenarioSchema, EveryScalarKeyHasAnExample) {
  const Json all = schema();
  for (const Part& part : parts()) {
    for (const auto& item : all[part.pointer]["properties"].items()) {
      const Json& property = item.value();
      const bool container = item.key() == "workload" || property.value("type", "") == "object" ||
                             property.value("type", "") == "array";
      EXPECT_TRUE(container || property.contains("examples")) << part.name << '.' << item.key();
    }
  }
}

}  // namespace
}  // namespace roofcast::test
