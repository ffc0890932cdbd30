// The description of the API names what the API takes.
#include "serve/openapi.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "serve/api.hpp"
#include "serve/questions.hpp"

namespace roofcast::test {
namespace {

void collect_references(const Json& json, std::set<std::string>& references) {
  if (json.is_object() && json.contains("$ref")) references.insert(json["$ref"]);
  for (const auto& item : json.items()) {
    if (item.value().is_structured()) collect_references(item.value(), references);
  }
}

TEST(OpenApi, EveryReferenceHasItsSchema) {
  const Json document = openapi({}, false);
  std::set<std::string> references;
  collect_references(document, references);
  EXPECT_GT(references.size(), 15u);
  for (const std::string& reference : references) {
    ASSERT_EQ(reference.front(), '#') << reference;
    EXPECT_TRUE(document.contains(Json::json_pointer(reference.substr(1)))) << reference;
  }
}

TEST(OpenApi, EveryPostIsAnsweredByTheApi) {
  const Json document = openapi({}, false);
  Api api({}, "no-such-store.db");
  for (const auto& path : document["paths"].items()) {
    if (!path.value().contains("post")) continue;
    const std::string name = path.key().substr(std::string("/api/").size());
    constexpr std::string_view kFigures = "figures/";
    const std::string question = "{\"no_such_key\": 1}";
    const auto ask = [&] {
      if (name == "runs/name") return api.name_run(question);
      if (name == "runs/delete") return api.delete_run(question);
      if (name == "traces/delete") return api.delete_trace(question);
      if (name == "traces") return api.add_trace("", question);
      if (name.starts_with(kFigures)) return api.figures(name.substr(kFigures.size()), question);
      return api.command(name, question);
    };
    const ApiAnswer answer = ask();
    EXPECT_NE(answer.status, http_status::kNotFound) << name;
  }
}

TEST(OpenApi, FiguresHaveTheKeysOfTheirDescription) {
  const Json document = openapi({}, false);
  Api api({}, "no-such-store.db");
  const std::string machine = R"("model": "llama-3.1-8b", "gpu": "h100")";
  for (const auto& [name, question] :
       {std::pair<std::string, std::string>{"sampling", "{}"},
        {"staircase", "{" + machine + R"(, "prompt": 10, "generate": 5})"},
        {"simulate", "{" + machine + R"(, "num_prompts": 20, "request_rate": 5})"}}) {
    const Json& schema = document["paths"]["/api/figures/" + name]["post"]["responses"]["200"]
                                 ["content"]["application/json"]["schema"];
    std::set<std::string> described, given;
    for (const auto& key : schema["properties"].items()) described.insert(key.key());
    const Json body = api.figures(name, question).body;
    for (const auto& key : body.items()) given.insert(key.key());
    EXPECT_EQ(given, described) << name;
  }
}

TEST(OpenApi, KeysOfAQuestionAreThoseThatItTakes) {
  const Json document = openapi({}, false);
  const Json& keys = document["components"]["schemas"]["SimulateQuestion"]["properties"];
  EXPECT_EQ(keys.size(), offered_arguments("simulate").size());
  EXPECT_TRUE(keys.contains("kv_cache_dtype"));
  EXPECT_FALSE(keys.contains("scenario"));
}

// A list where the command line has commas between values; one value where it has one.
TEST(OpenApi, SaysWhereListsAreTaken) {
  const Json schemas = openapi({}, false)["components"]["schemas"];
  const auto types = [&](const char* question, const char* key) {
    return schemas[question]["properties"][key]["type"].get<std::vector<std::string>>();
  };
  for (const auto& [question, key] : {std::pair{"PlanQuestion", "gpu"},
                                      {"PlanQuestion", "price"},
                                      {"EstimateQuestion", "batch"},
                                      {"EstimateQuestion", "input_len"},
                                      {"SimulateQuestion", "slo"}}) {
    EXPECT_THAT(types(question, key), testing::Contains("array")) << question << " " << key;
  }
  for (const auto& [question, key] :
       {std::pair{"SimulateQuestion", "gpu"}, {"SimulateQuestion", "max_num_seqs"}}) {
    EXPECT_THAT(types(question, key), testing::Not(testing::Contains("array")))
        << question << " " << key;
  }
}

TEST(OpenApi, StatesTheLimitsAndWhetherATokenIsNeeded) {
  ApiLimits limits;
  limits.max_requests = 123;
  EXPECT_THAT(openapi(limits, true)["info"].value("description", ""),
              testing::HasSubstr("at most 123 requests"));
  EXPECT_EQ(openapi(limits, true)["security"].size(), 1u);
  EXPECT_TRUE(openapi(limits, false)["security"].empty());
}

}  // namespace
}  // namespace roofcast::test
