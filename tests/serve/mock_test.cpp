// The mock endpoint as a client sees it: streams, usage, stop reasons, errors, metrics.
#include "serve/mock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "base/json.hpp"
#include "serve/http_server.hpp"
#include "serve/mock_metrics.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;

/// A mock of GPT-2 on an H100, on a free port of this machine.
class Endpoint {
 public:
  explicit Endpoint(MockOptions options = {})
      : engine_({.deployment = {.model = "gpt2", .gpu = "h100"}}),
        server_(ConnectionLimits{}),
        port_(server_.bind("127.0.0.1", 0)),
        mock_(engine_, std::move(options)) {
    mock_.add_routes(server_);
    thread_ = std::thread([this] { server_.run(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~Endpoint() {
    mock_.stop();
    server_.stop_running();
    thread_.join();
  }

  httplib::Result post(const char* path, const Json& body, const httplib::Headers& headers = {}) {
    httplib::Client client("127.0.0.1", port_);
    return client.Post(path, headers, body.dump(), "application/json");
  }
  httplib::Result post_as(const char* type, const char* path, const Json& body) {
    httplib::Client client("127.0.0.1", port_);
    return client.Post(path, body.dump(), type);
  }
  httplib::Result get(const char* path) {
    httplib::Client client("127.0.0.1", port_);
    return client.Get(path);
  }

 private:
  LiveEngine engine_;
  HttpServer server_;
  int port_;
  MockServer mock_;
  std::thread thread_{};
};

Json chat(std::int64_t max_tokens, Json more = Json::object()) {
  Json body = {{"model", "gpt2"},
               {"messages", Json::array({{{"role", "user"}, {"content", "12345678"}}})},
               {"max_tokens", max_tokens}};
  body.update(more);
  return body;
}

/// The JSON of every "data:" line but the last, which must be [DONE].
std::vector<Json> events_in(const std::string& stream) {
  std::vector<Json> events;
  static const std::regex line("data: (.*)\n\n");
  bool done = false;
  for (std::sregex_iterator it(stream.begin(), stream.end(), line), end; it != end; ++it) {
    EXPECT_FALSE(done) << "after [DONE]: " << it->str();
    done = it->str(1) == "[DONE]";
    if (!done) events.push_back(Json::parse(it->str(1)));
  }
  EXPECT_TRUE(done);
  return events;
}

TEST(Mock, StreamsAChunkATokenThenUsageThenDone) {
  Endpoint endpoint;
  const auto answer =
      endpoint.post("/v1/chat/completions",
                    chat(5, {{"stream", true}, {"stream_options", {{"include_usage", true}}}}));
  ASSERT_EQ(answer->status, 200);
  EXPECT_THAT(answer->get_header_value("Content-Type"), HasSubstr("text/event-stream"));
  const std::vector<Json> events = events_in(answer->body);
  ASSERT_EQ(events.size(), 7u);  // the role, five tokens, the usage
  EXPECT_EQ(events[0]["object"], "chat.completion.chunk");
  EXPECT_EQ(events[0]["choices"][0]["delta"], (Json{{"role", "assistant"}, {"content", ""}}));
  EXPECT_FALSE(events[1]["choices"][0]["delta"].contains("role"));
  EXPECT_TRUE(events[4]["choices"][0]["finish_reason"].is_null());
  EXPECT_EQ(events[5]["choices"][0]["finish_reason"], "length");
  EXPECT_TRUE(events[6]["choices"].empty());
  // 8 bytes at 4 a token.
  EXPECT_EQ(events[6]["usage"]["prompt_tokens"], 2);
  EXPECT_EQ(events[6]["usage"]["completion_tokens"], 5);
  EXPECT_EQ(events[6]["usage"]["total_tokens"], 7);
}

TEST(Mock, AnswersWholeWithoutAStream) {
  Endpoint endpoint;
  const auto answer = endpoint.post("/v1/chat/completions", chat(3, {{"n", 2}}));
  ASSERT_EQ(answer->status, 200);
  const Json body = Json::parse(answer->body);
  EXPECT_EQ(body["object"], "chat.completion");
  ASSERT_EQ(body["choices"].size(), 2u);
  EXPECT_EQ(body["choices"][1]["message"]["role"], "assistant");
  EXPECT_EQ(body["usage"]["completion_tokens"], 6);
}

TEST(Mock, CompletionsCountTokenIdsAndStopAtSixteenTokens) {
  Endpoint endpoint;
  const auto answer = endpoint.post("/v1/completions", {{"model", "gpt2"}, {"prompt", {5, 6, 7}}});
  ASSERT_EQ(answer->status, 200);
  const Json body = Json::parse(answer->body);
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(body["usage"]["completion_tokens"], 16);  // vLLM's default max_tokens
  EXPECT_FALSE(body["choices"][0]["text"].get<std::string>().empty());
}

TEST(Mock, StopsWhereItsLengthEndsUnlessTheEndIsIgnored) {
  Endpoint endpoint({.draw_output = [] { return std::int64_t{4}; }});
  const Json stopped = Json::parse(endpoint.post("/v1/chat/completions", chat(9))->body);
  EXPECT_EQ(stopped["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(stopped["usage"]["completion_tokens"], 4);
  const Json shorter = Json::parse(endpoint.post("/v1/chat/completions", chat(3))->body);
  EXPECT_EQ(shorter["choices"][0]["finish_reason"], "length");
  const Json ignored =
      Json::parse(endpoint.post("/v1/chat/completions", chat(9, {{"ignore_eos", true}}))->body);
  EXPECT_EQ(ignored["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(ignored["usage"]["completion_tokens"], 9);
}

TEST(Mock, ErrorsHaveTheFormOfVllms) {
  Endpoint endpoint;
  const auto error_of = [&](const char* path, const Json& body) {
    const auto answer = endpoint.post(path, body);
    Json error = Json::parse(answer->body)["error"];
    EXPECT_EQ(error["code"], answer->status);
    return error;
  };
  const Json model = error_of("/v1/chat/completions", chat(3, {{"model", "gpt5"}}));
  EXPECT_EQ(model["code"], 404);
  EXPECT_EQ(model["type"], "NotFoundError");
  EXPECT_EQ(model["message"], "The model `gpt5` does not exist.");
  const Json longer = error_of("/v1/chat/completions", chat(2000));
  EXPECT_EQ(longer["code"], 400);
  EXPECT_EQ(longer["type"], "BadRequestError");
  EXPECT_THAT(longer["message"].get<std::string>(),
              HasSubstr("maximum context length is 1024 tokens. However, you requested 2000 output "
                        "tokens and your prompt contains at least 2 input tokens"));
  const Json none = error_of("/v1/chat/completions", chat(0));
  EXPECT_EQ(none["type"], "BadRequestError");
  EXPECT_EQ(none["message"], "max_tokens must be at least 1, got 0.");
  EXPECT_EQ(none["param"], "max_tokens");
}

TEST(Mock, AFloatWithoutFractionIsAWholeNumber) {
  Endpoint endpoint;
  const auto answer =
      endpoint.post("/v1/chat/completions", chat(1, {{"max_tokens", 3.0}, {"ignore_eos", true}}));
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(Json::parse(answer->body)["usage"]["completion_tokens"], 3);
}

// vLLM's FastAPI refuses bodies of the wrong shape before its own code sees them.
TEST(Mock, BodiesOfTheWrongShapeAreBadRequests) {
  Endpoint endpoint;
  const std::vector<std::pair<const char*, Json>> wrong = {
      {"/v1/chat/completions", {{"messages", Json::array()}}},
      {"/v1/chat/completions", {{"messages", "hello"}}},
      {"/v1/chat/completions", chat(1, {{"max_tokens", "many"}})},
      {"/v1/chat/completions", chat(1, {{"max_tokens", 2.5}})},
      {"/v1/chat/completions", chat(1, {{"temperature", "hot"}})},
      {"/v1/completions", Json::object()},
      {"/v1/completions", {{"prompt", ""}}},
      {"/v1/completions", {{"prompt", {1, 2, "x"}}}},
      {"/v1/completions", {{"prompt", {1, -2}}}},
      {"/v1/completions", Json::array({1})}};
  for (const auto& [path, body] : wrong) {
    const auto answer = endpoint.post(path, body);
    const Json error = Json::parse(answer->body)["error"];
    EXPECT_EQ(answer->status, 400) << body;
    EXPECT_EQ(error["type"], "Bad Request") << body;
    EXPECT_TRUE(error["param"].is_null()) << body;
  }
  const Json options = Json::parse(
      endpoint.post("/v1/chat/completions", chat(1, {{"stream_options", Json::object()}}))->body);
  EXPECT_EQ(options["error"]["param"], "stream_options");
}

TEST(Mock, SamplingOutOfRangeIsRefused) {
  Endpoint endpoint;
  const auto message_of = [&](const char* key, const Json& value) {
    const auto answer = endpoint.post("/v1/chat/completions", chat(1, {{key, value}}));
    if (answer->status == 200) return std::string();
    const Json error = Json::parse(answer->body)["error"];
    EXPECT_EQ(error["param"], key);
    EXPECT_EQ(error["type"], "BadRequestError");
    return error["message"].get<std::string>();
  };
  EXPECT_EQ(message_of("temperature", -1.0), "temperature must be non-negative, got -1.0.");
  EXPECT_EQ(message_of("temperature", -1), "temperature must be non-negative, got -1.0.");
  EXPECT_EQ(message_of("temperature", 0), "");
  EXPECT_EQ(message_of("top_p", 0), "top_p must be in (0, 1], got 0.0.");
  EXPECT_EQ(message_of("top_p", 1), "");
  EXPECT_EQ(message_of("frequency_penalty", 2.5), "frequency_penalty must be in [-2, 2], got 2.5.");
}

TEST(Mock, OnlyJsonIsRead) {
  Endpoint endpoint;
  const auto answer = endpoint.post_as("text/plain", "/v1/chat/completions", chat(1));
  EXPECT_EQ(answer->status, 400);
  EXPECT_THAT(answer->body, HasSubstr("Unsupported Media Type"));
  EXPECT_EQ(
      endpoint.post_as("Application/JSON; charset=utf-8", "/v1/chat/completions", chat(1))->status,
      200);
}

TEST(Mock, PathsAndMethodsThatDoNotExistAreToldAsByFastApi) {
  Endpoint endpoint;
  const auto nothing = endpoint.post("/v1/nothing", Json::object());
  EXPECT_EQ(nothing->status, 404);
  EXPECT_EQ(Json::parse(nothing->body), (Json{{"detail", "Not Found"}}));
  const auto got = endpoint.get("/v1/completions");
  EXPECT_EQ(got->status, 405);
  EXPECT_EQ(Json::parse(got->body), (Json{{"detail", "Method Not Allowed"}}));
}

TEST(Mock, AKeyIsAskedForBelowV1Alone) {
  Endpoint endpoint({.token = "0123456789abcdef"});
  EXPECT_EQ(endpoint.post("/v1/chat/completions", chat(1))->status, 401);
  EXPECT_EQ(
      endpoint
          .post("/v1/chat/completions", chat(1), {{"Authorization", "Bearer 0123456789abcdef"}})
          ->status,
      200);
  EXPECT_EQ(endpoint.get("/health")->status, 200);
}

TEST(Mock, MetricsHaveVllmsNamesAndCountWhatWasServed) {
  Endpoint endpoint;
  endpoint.post("/v1/chat/completions", chat(5));
  endpoint.post("/v1/completions", {{"prompt", {1, 2, 3, 4}}, {"max_tokens", 2}});
  const std::string page = endpoint.get("/metrics")->body;
  const std::string labels = R"({engine="0",model_name="gpt2")";
  for (const std::string& line :
       {"vllm:prompt_tokens_total" + labels + "} 6",
        "vllm:generation_tokens_total" + labels + "} 7",
        "vllm:request_success_total" + labels + R"(,finished_reason="length"} 2)",
        "vllm:time_to_first_token_seconds_count" + labels + "} 2",
        "vllm:inter_token_latency_seconds_count" + labels + "} 5",  // 4 gaps and 1
        "vllm:num_requests_running" + labels + "} 0"}) {
    EXPECT_THAT(page, HasSubstr(line + "\n"));
  }
  EXPECT_THAT(page, HasSubstr("vllm:kv_cache_usage_perc"));
}

TEST(Mock, NamesTheModelAndItsLength) {
  Endpoint endpoint({.served_name = "served"});
  const Json models = Json::parse(endpoint.get("/v1/models")->body);
  EXPECT_EQ(models["data"][0]["id"], "served");
  EXPECT_EQ(models["data"][0]["max_model_len"], 1024);
}

TEST(MetricHistogram, CountsUpToEachBound) {
  MetricHistogram histogram({1, 2});
  for (const double value : {0.5, 1.0, 1.5, 3.0}) histogram.observe(value);
  EXPECT_EQ(histogram.text("h", "a=\"b\""),
            "# HELP h h\n# TYPE h histogram\nh_bucket{a=\"b\",le=\"1\"} 2\n"
            "h_bucket{a=\"b\",le=\"2\"} 3\nh_bucket{a=\"b\",le=\"+Inf\"} 4\nh_count{a=\"b\"} 4\n"
            "h_sum{a=\"b\"} 6\n");
  EXPECT_THAT(bounds_1_2_5(100), testing::ElementsAre(1, 2, 5, 10, 20, 50, 100));
}

}  // namespace
}  // namespace roofcast::test
