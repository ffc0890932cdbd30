#include "serve/mcp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/version.hpp"
#include "serve/questions.hpp"

namespace roofcast {
namespace {

// Error codes of JSON-RPC 2.0 (jsonrpc.org/specification, section 5.1).
constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kMethodNotFound = -32601;
constexpr int kInvalidParams = -32602;
constexpr int kInternalError = -32603;

/// Newest first: a client that asks for another gets the newest, and may then disconnect.
constexpr std::array<std::string_view, 4> kRevisions = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                        "2024-11-05"};
constexpr std::size_t kMaxCalls = 16;  // at once

struct Tool {
  std::string_view name{};
  std::string_view title{};
  std::string_view description{};
};

constexpr std::array<Tool, 10> kTools = {{
    {"models", "Models",
     "The catalogue of models, or one in full: parameters, weights, KV bytes per token, FLOPs."},
    {"gpus", "GPUs",
     "The GPUs, or one in full: memory, dense peaks, bandwidth, links, price per hour."},
    {"memory", "Does it fit?",
     "Whether a model fits on a GPU by the serving engine's own rule, term by term, and how many "
     "tokens of KV cache and sequences; what would make it fit. Needs model and gpu."},
    {"estimate", "What does a token cost?",
     "Prefill and decode time of a batch from the roofline, with uncertainty and what binds. Needs "
     "model and gpu."},
    {"simulate", "Does a load meet its SLO?",
     "Simulates a load through the engine's scheduler: TTFT, TPOT, ITL, E2E percentiles, "
     "throughput, cost, whether the SLO is met. Needs model, gpu and a load (request_rate, "
     "input_len, output_len); slo such as [\"p95:ttft:500ms\"]."},
    {"capacity", "How much load?",
     "The highest load of a deployment within its SLO, its uncertainty and what limits it."},
    {"plan", "What to buy?",
     "The cheapest deployment that meets the SLO: gpu lists candidates (h100,l40s, or any); the "
     "answer has the command that starts the best one."},
    {"whatif", "What would a change do?",
     "Varies knobs of a simulated load (vary: [\"gpu=l40s,h200\", \"tp=1,2\"]) and says which "
     "differences are significant."},
    {"compare", "Compare stored runs", "Metric by metric, each run beside the first."},
    {"runs", "Stored runs", "The newest stored runs, or one in full by its id."},
}};

Json ids_schema() {
  return {{"type", "object"},
          {"properties",
           {{"runs",
             {{"type", "array"},
              {"items", {{"type", "integer"}, {"minimum", 1}}},
              {"minItems", 2},
              {"description", "ids of stored runs, the one to compare with first"}}}}},
          {"required", {"runs"}},
          {"additionalProperties", false}};
}

Json id_schema() {
  return {{"type", "object"},
          {"properties",
           {{"id", {{"type", "integer"}, {"minimum", 1}, {"description", "of one run"}}}}},
          {"additionalProperties", false}};
}

Json input_schema(const std::string& name) {
  Json schema = name == "compare" ? ids_schema()
                : name == "runs"  ? id_schema()
                                  : arguments_schema(offered_arguments(name));
  schema["properties"]["json"] = {
      {"type", "boolean"},
      {"description", "the whole answer as JSON instead of text: long, SI units in the keys"}};
  return schema;
}

Json result_message(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json error_message(const Json& id, int code, const std::string& message) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}};
}

Json content(const std::string& text, bool is_error) {
  return {{"content", Json::array({{{"type", "text"}, {"text", text}}})}, {"isError", is_error}};
}

Json initialized(const Json& parameters) {
  std::string_view revision = kRevisions.front();
  if (parameters.is_object() && parameters.contains("protocolVersion") &&
      parameters["protocolVersion"].is_string()) {
    const auto asked = parameters["protocolVersion"].get<std::string>();
    const auto found = std::ranges::find(kRevisions, asked);
    if (found != kRevisions.end()) revision = *found;
  }
  return {
      {"protocolVersion", std::string(revision)},
      {"capabilities", {{"tools", {{"listChanged", false}}}}},
      {"serverInfo", {{"name", "roofcast"}, {"title", "Roofcast"}, {"version", kVersion}}},
      {"instructions",
       "Capacity planning for serving large language models: what fits on a GPU, what a token "
       "costs, whether a load meets its SLO, what to buy. Predictions, computed offline; values "
       "take units (\"16k\", \"500ms\", \"40GB\", \"lognormal:800:0.9\"). Start with memory, "
       "then simulate; plan finds the cheapest deployment."}};
}

bool is_tool(const std::string& name) {
  return std::ranges::find(kTools, name, &Tool::name) != kTools.end();
}

/// A request's id is a string or a number (JSON-RPC 2.0, section 4; MCP forbids null).
bool is_id(const Json& id) { return id.is_string() || id.is_number(); }

}  // namespace

Json mcp_tools() {
  Json tools = Json::array();
  for (const Tool& tool : kTools) {
    tools.push_back(
        {{"name", std::string(tool.name)},
         {"title", std::string(tool.title)},
         {"description", std::string(tool.description)},
         {"inputSchema", input_schema(std::string(tool.name))},
         {"annotations",
          {{"readOnlyHint", true}, {"idempotentHint", true}, {"openWorldHint", false}}}});
  }
  return tools;
}

Mcp::Mcp(Api& api, std::function<void(const Json&)> emit) : api_(api), emit_(std::move(emit)) {}

Mcp::~Mcp() { wait(); }

void Mcp::send(const Json& message) {
  const std::lock_guard lock(emitting_);
  emit_(message);
}

void Mcp::receive(const std::string& text) {
  Json messages;
  try {
    messages = parse_bounded<Json>(text, "the message", RepeatedKeys::refused);
  } catch (const std::exception& error) {
    return send(error_message(nullptr, kParseError, error.what()));
  }
  if (!messages.is_array()) return receive_message(messages);
  if (messages.empty()) {
    return send(error_message(nullptr, kInvalidRequest, "the batch is empty"));
  }
  for (const Json& message : messages) receive_message(message);
}

void Mcp::receive_message(const Json& message) {
  const bool is_call = message.is_object() && message.value("jsonrpc", Json()) == "2.0" &&
                       message.contains("method") && message["method"].is_string();
  if (!is_call) {
    // A client's answer to a request of ours: there are none.
    if (message.is_object() && (message.contains("result") || message.contains("error"))) return;
    return send(error_message(nullptr, kInvalidRequest,
                              "expected a JSON-RPC 2.0 request with `jsonrpc` and `method`"));
  }
  const auto method = message["method"].get<std::string>();
  const Json parameters = message.contains("params") ? message["params"] : Json::object();
  if (!message.contains("id")) {  // a notification, which has no answer
    if (method == "notifications/cancelled") cancel(parameters);
    return;
  }
  const Json& id = message["id"];
  if (!is_id(id)) {
    return send(error_message(nullptr, kInvalidRequest, "`id` is neither a string nor a number"));
  }
  answer_request(method, id, parameters);
}

void Mcp::answer_request(const std::string& method, const Json& id, const Json& parameters) {
  if (method == "initialize") return send(result_message(id, initialized(parameters)));
  if (method == "ping") return send(result_message(id, Json::object()));
  if (method == "tools/list") return send(result_message(id, {{"tools", mcp_tools()}}));
  if (method == "tools/call") return start_call(id, parameters);
  send(error_message(id, kMethodNotFound, fmt::format("unknown method '{}'", method)));
}

void Mcp::start_call(const Json& id, const Json& parameters) {
  if (!parameters.is_object() || !parameters.contains("name") || !parameters["name"].is_string()) {
    return send(error_message(id, kInvalidParams, "`name` of the tool is missing"));
  }
  const auto name = parameters["name"].get<std::string>();
  if (!is_tool(name)) {
    return send(error_message(id, kInvalidParams, fmt::format("unknown tool '{}'", name)));
  }
  Json arguments = parameters.contains("arguments") ? parameters["arguments"] : Json::object();
  if (!arguments.is_object()) {
    return send(error_message(id, kInvalidParams, "`arguments` are not an object"));
  }
  const bool as_json = arguments.contains("json") && arguments["json"] == true;
  arguments.erase("json");
  forget_ended();
  const std::lock_guard lock(calling_);
  if (calls_.size() >= kMaxCalls) {
    return send(error_message(id, kInternalError,
                              fmt::format("{} calls are running: try again later", kMaxCalls)));
  }
  Call& call = calls_.emplace_back();
  call.id = id.dump();
  call.thread = std::thread([this, &call, id, name, as_json, body = arguments.dump()] {
    const ApiAnswer answer = api_.command(name, body, [&] { return call.cancelled.load(); });
    if (!call.cancelled) {
      send(result_message(id, answer.status != http_status::kOk
                                  ? content(answer.body.value("error", "failed"), true)
                              : as_json ? content(answer.body["document"].dump(), false)
                                        : content(text_of(answer), false)));
    }
    call.ended = true;
  });
}

void Mcp::cancel(const Json& parameters) {
  if (!parameters.is_object() || !parameters.contains("requestId")) return;
  const std::string id = parameters["requestId"].dump();
  const std::lock_guard lock(calling_);
  for (Call& call : calls_) {
    if (call.id == id) call.cancelled = true;
  }
}

void Mcp::forget_ended() {
  const std::lock_guard lock(calling_);
  for (auto call = calls_.begin(); call != calls_.end();) {
    if (!call->ended) {
      ++call;
      continue;
    }
    call->thread.join();
    call = calls_.erase(call);
  }
}

void Mcp::wait() {
  for (Call& call : calls_) {
    if (call.thread.joinable()) call.thread.join();
  }
  calls_.clear();
}

}  // namespace roofcast
