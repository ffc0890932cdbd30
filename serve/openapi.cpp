#include "serve/openapi.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/version.hpp"
#include "roofcast/compare.hpp"
#include "roofcast/glossary.hpp"
#include "roofcast/gpus.hpp"
#include "roofcast/models.hpp"
#include "serve/api.hpp"
#include "serve/questions.hpp"

namespace roofcast {
namespace {

struct Question {
  const char* name = "";  // in the path, and "simulate" for its arguments
  const char* summary = "";
  Json answer{};
};

Json any_of(Json one, Json other) {
  return {{"anyOf", Json::array({std::move(one), std::move(other)})}};
}

std::vector<Question> questions() {
  return {{"memory", "Whether a model fits: GPU memory term by term", memory_answer_schema()},
          {"estimate", "What a token costs, of one batch or several",
           any_of(estimate_answer_schema(), batches_answer_schema())},
          {"staircase", "What a KV cache saves", staircase_answer_schema()},
          {"learn", "The lesson for a deployment", lesson_answer_schema()},
          {"sampling", "Temperature, top-k and top-p on a small distribution",
           sampling_answer_schema()},
          {"simulate", "Whether a load meets its SLO; not stored", simulation_answer_schema()},
          {"capacity", "The highest load within the SLO, or a table of it over several GPUs",
           any_of(capacity_answer_schema(), capacity_table_answer_schema())},
          {"plan", "The cheapest deployment that meets the SLO", plan_answer_schema()},
          {"whatif", "The effect of changes", what_if_answer_schema()}};
}

Json json_content(Json schema) { return {{"application/json", {{"schema", std::move(schema)}}}}; }

Json reference(const std::string& name) { return {{"$ref", "#/components/schemas/" + name}}; }

Json failure(const char* description) {
  return {{"description", description}, {"content", json_content(reference("Error"))}};
}

/// The ways in which every request may be refused.
Json with_failures(Json success, bool has_body) {
  Json responses = {{"200", std::move(success)}};
  if (has_body) {
    responses["400"] = failure("a key is unknown, or its value out of range or not allowed here");
    responses["413"] = failure("the body is too large");
    responses["422"] = failure("the question is well formed but cannot be answered");
    responses["504"] = failure("took longer than the server allows");
  }
  responses["401"] = failure("no token, or a wrong one");
  responses["403"] = failure("a request of another site's page");
  responses["404"] = failure("no such route or run");
  responses["503"] = failure("busy or stopping: try again");
  return responses;
}

Json answer_of(Json document) {
  return {{"type", "object"},
          {"properties",
           {{"code",
             {{"type", "integer"},
              {"enum", {0, 3}},
              {"description", "exit code of the command: 3 is a no"}}},
            {"document", std::move(document)}}},
          {"required", {"code", "document"}}};
}

std::string title_case(std::string name) {
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

Json post(const std::string& id, const std::string& summary, Json body, Json answer) {
  return {{"operationId", id},
          {"summary", summary},
          {"requestBody", {{"required", true}, {"content", json_content(std::move(body))}}},
          {"responses", with_failures({{"description", "the answer"},
                                       {"content", json_content(std::move(answer))}},
                                      true)}};
}

Json get(const std::string& id, const std::string& summary, Json answer) {
  return {{"operationId", id},
          {"summary", summary},
          {"responses", with_failures({{"description", "the answer"},
                                       {"content", json_content(std::move(answer))}},
                                      false)}};
}

Json object_of(const std::vector<std::pair<const char*, Json>>& properties) {
  Json schema = {{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
  for (const auto& [key, value] : properties) {
    schema["properties"][key] = value;
    schema["required"].push_back(key);
  }
  return schema;
}

Json list_of_objects() { return {{"type", "array"}, {"items", {{"type", "object"}}}}; }

Json trace_schema() {
  return object_of({{"name", {{"type", "string"}}},
                    {"created_at", {{"type", "string"}}},
                    {"requests", {{"type", "integer"}}},
                    {"duration_s", {{"type", "number"}}}});
}

void add_gets(Json& paths) {
  paths["/api/models"]["get"] =
      get("listModels", "The catalogue of models", reference("ModelsAnswer"));
  paths["/api/gpus"]["get"] = get("listGpus", "The hardware profiles", reference("GpusAnswer"));
  paths["/api/engines"]["get"] =
      get("listEngines", "The engine presets", object_of({{"engines", list_of_objects()}}));
  paths["/api/glossary"]["get"] =
      get("glossary", "Every term in a sentence", reference("GlossaryAnswer"));
  paths["/api/limits"]["get"] = get("limits", "What this server allows",
                                    object_of({{"requests", {{"type", "integer"}}},
                                               {"small_load", {{"type", "integer"}}},
                                               {"tokens", {{"type", "integer"}}},
                                               {"saves", {{"type", "boolean"}}},
                                               {"run_s", {{"type", "number"}}},
                                               {"search_s", {{"type", "number"}}}}));
  paths["/api/runs"]["get"] =
      get("listRuns", "The newest stored runs",
          object_of({{"runs", list_of_objects()}, {"runs_total", {{"type", "integer"}}}}));
  paths["/api/traces"]["get"] =
      get("listTraces", "The traces of the store",
          object_of({{"traces", {{"type", "array"}, {"items", trace_schema()}}}}));
  Json run = get("getRun", "A stored run in full", answer_of({{"type", "object"}}));
  run["parameters"] = Json::array({{{"name", "id"},
                                    {"in", "path"},
                                    {"required", true},
                                    {"schema", {{"type", "integer"}, {"minimum", 1}}}}});
  paths["/api/runs/{id}"]["get"] = run;
  Json progress = get("getProgress",
                      "How far a plan, what-if or capacity is whose request named itself in the "
                      "header Roofcast-Progress; nothing if there is none",
                      object_of({{"what", {{"type", "string"}}},
                                 {"done", {{"type", "integer"}}},
                                 {"total", {{"type", "integer"}, {"description", "may grow"}}}}));
  progress["parameters"] = Json::array(
      {{{"name", "name"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}}});
  paths["/api/progress/{name}"]["get"] = progress;
  paths["/api/openapi.json"]["get"] = get("openapi", "This description", {{"type", "object"}});
  run["operationId"] = "getReport";
  run["summary"] = "The report of a stored run as a page";
  run["responses"]["200"] = {{"description", "one self-contained file"},
                             {"content", {{"text/html", {{"schema", {{"type", "string"}}}}}}}};
  paths["/report/{id}"]["get"] = run;
}

}  // namespace

Json openapi(const ApiLimits& limits, bool needs_token) {
  Json paths = Json::object();
  Json schemas = Json::object();
  for (Question& question : questions()) {
    const std::string name = question.name, title = title_case(name);
    schemas[title + "Question"] = arguments_schema(offered_arguments(name));
    schemas[title + "Answer"] = std::move(question.answer);
    paths["/api/" + name]["post"] = post(name, question.summary, reference(title + "Question"),
                                         answer_of(reference(title + "Answer")));
  }
  schemas["ModelsAnswer"] = model_list_answer_schema();
  schemas["GpusAnswer"] = gpu_list_answer_schema();
  schemas["GlossaryAnswer"] = glossary_answer_schema();
  schemas["CompareAnswer"] = compare_answer_schema();
  schemas["Error"] = object_of({{"error", {{"type", "string"}, {"description", "one line"}}}});
  const Json ids =
      object_of({{"runs", {{"type", "array"}, {"items", {{"type", "integer"}}}, {"minItems", 2}}}});
  paths["/api/compare"]["post"] =
      post("compare", "Stored runs, metric by metric", ids, answer_of(reference("CompareAnswer")));
  Json saved = answer_of(reference("SimulateAnswer"));
  saved["properties"]["run"] = {{"type", "integer"}, {"description", "id in the store"}};
  paths["/api/runs"]["post"] =
      post("saveRun", "A simulation that is stored", reference("SimulateQuestion"), saved);
  const Json id = {{"type", "integer"}, {"minimum", 1}};
  const Json named = {{"type", "string"}};
  const Json nothing = {{"type", "object"}, {"additionalProperties", false}};
  paths["/api/runs/name"]["post"] = post("nameRun", "Names a run; an empty name removes it",
                                         object_of({{"id", id}, {"name", named}}), nothing);
  paths["/api/runs/delete"]["post"] =
      post("deleteRun", "Deletes a run for good", object_of({{"id", id}}), nothing);
  paths["/api/traces/delete"]["post"] =
      post("deleteTrace", "Deletes a trace for good", object_of({{"name", named}}), nothing);
  Json added =
      post("addTrace", "Keeps a trace, which questions then name", Json::object(), trace_schema());
  added["requestBody"]["content"] = {
      {"application/octet-stream", {{"schema", {{"type", "string"}, {"format", "binary"}}}}}};
  added["parameters"] = Json::array(
      {{{"name", "name"}, {"in", "query"}, {"required", true}, {"schema", named}},
       {{"name", "replace"},
        {"in", "query"},
        {"description", "true: replaces a trace of that name, which is a 409 otherwise"},
        {"schema", {{"type", "boolean"}, {"default", false}}}}});
  added["responses"]["409"] = failure("the store has a trace of that name");
  paths["/api/traces"]["post"] = added;
  for (const Api::Question& question : Api::questions()) {
    if (question.figures == nullptr) continue;
    const std::string name(question.name);
    Json answer = question.only_figures ? object_of({{"figures", Json::object()}})
                                        : answer_of(reference(title_case(name) + "Answer"));
    answer["properties"]["figures"] = list_of_objects();  // of an answer none where nothing fits
    paths["/api/figures/" + name]["post"] =
        post(name + "Figures", "Figures for a page to draw",
             name == "compare" ? ids : reference(title_case(name) + "Question"), answer);
  }
  add_gets(paths);
  Json document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Roofcast"},
        {"version", kVersion},
        {"summary", "Capacity planning for serving large language models"},
        {"description",
         fmt::format("Keys of a question are flags of the command line, or their aliases, with '_' "
                     "or '-'. A simulation has at most {} requests and takes at most {:g} s, a "
                     "search {:g} s.",
                     limits.max_requests, std::chrono::duration<double>(limits.longest_run).count(),
                     std::chrono::duration<double>(limits.longest_search).count())},
        {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
      {"servers", Json::array({{{"url", "/"}}})},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", std::move(schemas)},
        {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
  document["security"] = needs_token ? Json::array({{{"token", Json::array()}}}) : Json::array();
  return document;
}

}  // namespace roofcast
