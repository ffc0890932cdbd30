// Messages of the protocol, as a client sends them, and what it is answered.
#include "serve/mcp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace roofcast::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ApiLimits unhurried_limits() {
  ApiLimits limits;
  limits.longest_run = limits.longest_search = limits.patience = std::chrono::minutes(10);
  return limits;
}

/// All answers to the messages, after every call has ended.
std::vector<Json> answers_to(const std::vector<std::string>& messages,
                             const ApiLimits& limits = unhurried_limits()) {
  std::vector<Json> answers;
  Api api(limits, "no-such-store.db");
  Mcp mcp(api, [&](const Json& message) { answers.push_back(message); });
  for (const std::string& message : messages) mcp.receive(message);
  mcp.wait();
  return answers;
}

Json answer_to(const std::string& message) {
  const auto answers = answers_to({message});
  EXPECT_EQ(answers.size(), 1u) << message;
  return answers.empty() ? Json() : answers.front();
}

std::string call(int id, const std::string& tool, const std::string& arguments) {
  return R"({"jsonrpc": "2.0", "id": )" + std::to_string(id) +
         R"(, "method": "tools/call", "params": {"name": ")" + tool + R"(", "arguments": )" +
         arguments + "}}";
}

std::string text_in(const Json& answer) { return answer["result"]["content"][0].value("text", ""); }

std::string initialize(const std::string& revision) {
  return R"({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": ")" +
         revision +
         R"(", "capabilities": {"sampling": {}}, "clientInfo": {"name": "test", "version": "1"}}})";
}

TEST(Mcp, AgreesOnTheClientsRevisionAndOffersTheNewestForAnUnknownOne) {
  for (const char* revision : {"2025-06-18", "2025-03-26", "2024-11-05"}) {
    EXPECT_EQ(answer_to(initialize(revision))["result"]["protocolVersion"], revision);
  }
  const Json unknown = answer_to(initialize("1999-01-01"))["result"];
  EXPECT_EQ(unknown["protocolVersion"], "2025-11-25");
  EXPECT_EQ(unknown["serverInfo"]["name"], "roofcast");
  EXPECT_TRUE(unknown["capabilities"].contains("tools"));
}

TEST(Mcp, AnswersPingsAndNoNotification) {
  EXPECT_EQ(answer_to(R"({"jsonrpc": "2.0", "id": "a", "method": "ping"})").dump(),
            R"({"jsonrpc":"2.0","id":"a","result":{}})");
  EXPECT_TRUE(answers_to({R"({"jsonrpc": "2.0", "method": "notifications/initialized"})"}).empty());
}

TEST(Mcp, ListsTheTenToolsWithSchemasOfTheirArguments) {
  const Json tools = answer_to(R"({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})");
  std::vector<std::string> names;
  for (const Json& tool : tools["result"]["tools"]) {
    names.push_back(tool["name"]);
    EXPECT_EQ(tool["inputSchema"]["type"], "object");
    EXPECT_FALSE(tool.value("description", "").empty());
  }
  EXPECT_THAT(names, ElementsAre("models", "gpus", "memory", "estimate", "simulate", "capacity",
                                 "plan", "whatif", "compare", "runs"));
  const Json& simulate = tools["result"]["tools"][4]["inputSchema"]["properties"];
  EXPECT_TRUE(simulate.contains("max_num_seqs"));  // a knob of the table
  EXPECT_TRUE(simulate.contains("trace"));         // a trace of the store
  EXPECT_FALSE(simulate.contains("scenario"));     // names a file
  EXPECT_EQ(simulate["slo"]["type"][0], "array");
}

TEST(Mcp, SizesSimulatesPlansAndSaysWhatAChangeDoes) {
  const std::string load =
      R"("model": "llama-3.1-8b", "request_rate": 4, "num_prompts": 50, "input_len": 500,
         "output_len": 50, "slo": ["p95:ttft:500ms", "p95:tpot:50ms"])";
  const auto answers = answers_to(
      {call(1, "memory", R"({"model": "llama-3.1-8b", "gpu": "h100"})"),
       call(2, "simulate", "{" + load + R"(, "gpu": "h100"})"),
       call(3, "plan", "{" + load + R"(, "gpu": "h100,l40s", "search": ["tp=1"]})"),
       call(4, "whatif", "{" + load + R"(, "gpu": "h100", "vary": ["gpu=l40s"], "seeds": 2})")});
  ASSERT_EQ(answers.size(), 4u);
  std::map<int, std::string> texts;
  for (const Json& answer : answers) {
    EXPECT_EQ(answer["result"]["isError"], false) << answer.dump();
    texts[answer["id"]] = text_in(answer);
  }
  EXPECT_THAT(texts[1], HasSubstr("KV blocks hold"));
  EXPECT_THAT(texts[2], HasSubstr("The SLO is met"));
  EXPECT_THAT(texts[3], HasSubstr("vllm serve"));
  EXPECT_THAT(texts[4], HasSubstr("l40s"));
}

TEST(Mcp, GivesTheDocumentWhereItIsAskedForJson) {
  const Json answer =
      answer_to(call(1, "memory", R"({"model": "llama-3.1-8b", "gpu": "h100", "json": true})"));
  EXPECT_EQ(Json::parse(text_in(answer))["command"], "memory");
}

TEST(Mcp, AMistakeInArgumentsIsAnAnswerThatTheAgentCanRead) {
  const Json answer =
      answer_to(call(1, "memory", R"({"model": "llama-3.1-8b", "gpu": "h100", "max_num_seq": 3})"));
  EXPECT_EQ(answer["result"]["isError"], true);
  EXPECT_THAT(text_in(answer), HasSubstr("did you mean 'max_num_seqs'?"));
}

TEST(Mcp, LimitsAreThoseOfTheWebServer) {
  const Json load = answer_to(
      call(1, "simulate", R"({"model": "llama-3.1-8b", "gpu": "h100", "num_prompts": 1000000})"));
  EXPECT_THAT(text_in(load), HasSubstr("this server allows 20000 requests"));
  for (const char* arguments : {R"({"model": "./config.json", "gpu": "h100"})",
                                R"({"model": "llama-3.1-8b", "gpu": "h100", "trace": "a.csv"})"}) {
    EXPECT_EQ(answer_to(call(1, "simulate", arguments))["result"]["isError"], true) << arguments;
  }
  const std::string vary = R"({"model": "llama-3.1-8b", "gpu": "h100", "vary": [")";
  for (const char* knob : {"gpu=./my-gpu.json", "engine=../engine.json", "trace=a.csv",
                           "num_prompts=*100", "max_num_seqs=100000", "request_rate=1-200+1"}) {
    EXPECT_EQ(answer_to(call(1, "whatif", vary + knob + "\"]}"))["result"]["isError"], true)
        << knob;
  }
  for (
      const char* arguments :
      {R"({"model": "llama-3.1-8b", "gpu": "h100,./my-gpu.json", "slo": "p95:ttft:1s"})",
       R"({"model": "llama-3.1-8b", "gpu": "h100", "slo": "p95:ttft:1s", "search": "engine=./e.json"})",
       R"({"model": "llama-3.1-8b", "gpu": "h100", "slo": "p95:ttft:1s", "max_replicas": 100000})"}) {
    EXPECT_EQ(answer_to(call(1, "plan", arguments))["result"]["isError"], true) << arguments;
  }
}

TEST(Mcp, MessagesThatAreNotRequestsGetTheErrorsOfJsonRpc) {
  const auto code_of = [](const std::string& message) {
    return answer_to(message)["error"]["code"].get<int>();
  };
  EXPECT_EQ(code_of("{"), -32700);
  EXPECT_EQ(code_of("[]"), -32600);
  EXPECT_EQ(code_of(R"({"id": 1, "method": "ping"})"), -32600);
  EXPECT_EQ(code_of(R"({"jsonrpc": "2.0", "id": null, "method": "ping"})"), -32600);
  EXPECT_EQ(code_of(R"({"jsonrpc": "2.0", "id": 1, "method": "resources/list"})"), -32601);
  EXPECT_EQ(code_of(call(1, "rm", "{}")), -32602);
  EXPECT_EQ(code_of(call(1, "memory", "[]")), -32602);
}

TEST(Mcp, ABatchIsAnsweredMessageByMessage) {
  const auto answers = answers_to({R"([{"jsonrpc": "2.0", "id": 1, "method": "ping"},
                                      {"jsonrpc": "2.0", "id": 2, "method": "ping"}])"});
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1]["id"], 2);
}

TEST(Mcp, ACancelledCallIsNotAnswered) {
  const auto answers = answers_to(
      {call(
           7, "capacity",
           R"({"model": "llama-3.1-8b", "gpu": "h100", "num_prompts": 20000, "request_rate": 10})"),
       R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})"});
  EXPECT_TRUE(answers.empty());
}

}  // namespace
}  // namespace roofcast::test
