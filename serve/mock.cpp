#include "serve/mock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/fnv1a.hpp"
#include "base/io/bounded_json.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "serve/access.hpp"
#include "serve/http_server.hpp"
#include "serve/http_status.hpp"
#include "serve/mock_metrics.hpp"

namespace roofcast {
namespace {

// vLLM's default for completions (CompletionRequest.max_tokens).
constexpr std::int64_t kDefaultCompletion = 16;
constexpr std::int64_t kMaxChoices = 128;

constexpr std::string_view kPaths[] = {"/v1/chat/completions",
                                       "/v1/completions",
                                       "/v1/models",
                                       "/metrics",
                                       "/version",
                                       "/health",
                                       "/ping"};

/// A question as both routes understand it.
struct MockAsked {
  bool chat = false;
  bool stream = false;
  bool stream_usage = false;
  bool ignores_end = false;
  std::int64_t prompt_tokens = 0;
  std::optional<std::int64_t> max_tokens{};
  std::int64_t choices = 1;
  std::int64_t priority = 0;
  std::uint64_t shared_content = 0;  // of its system messages
  std::int64_t shared_tokens = 0;
};

/// A refusal in the form of vLLM's ErrorResponse (vllm/entrypoints/openai/engine/protocol.py).
struct Refused {
  int status = http_status::kBadRequest;
  std::string message{};
  std::string type = "BadRequestError";
  std::optional<std::string> parameter{};
};

Json error_json(const Refused& refused) {
  return {{"error",
           {{"message", refused.message},
            {"type", refused.type},
            {"param", refused.parameter ? Json(*refused.parameter) : Json()},
            {"code", refused.status}}}};
}

class RefusedError : public Error {
 public:
  explicit RefusedError(Refused refused) : Error(refused.message), refused_(std::move(refused)) {}
  const Refused& refused() const { return refused_; }

 private:
  Refused refused_;
};

[[noreturn]] void refuse(const std::string& parameter, const std::string& message) {
  throw RefusedError({.message = message, .parameter = parameter});
}

/// A body of the wrong shape, as validation_exception_handler of
/// vllm/entrypoints/openai/server_utils.py answers it: it names no parameter but those of vLLM's
/// own checks.
[[noreturn]] void refuse_shape(const std::string& message,
                               std::optional<std::string> parameter = {}) {
  throw RefusedError(
      {.message = message, .type = "Bad Request", .parameter = std::move(parameter)});
}

/// New tokens of one of an answer's choices.
struct TokenUpdate {
  std::size_t choice = 0;
  LiveTokens tokens{};
};

/// Updates from the engine on an answer's choices, for the thread that writes the answer.
class TokenQueue {
 public:
  void push(const TokenUpdate& update) {
    {
      const std::lock_guard lock(mutex_);
      updates_.push_back(update);
    }
    changed_.notify_one();
  }
  /// The next update; nullopt if none arrives within `timeout`.
  std::optional<TokenUpdate> pop(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [this] { return !updates_.empty(); })) {
      return std::nullopt;
    }
    const TokenUpdate update = updates_.front();
    updates_.pop_front();
    return update;
  }

 private:
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::deque<TokenUpdate> updates_{};
};

/// One word per token.
std::string filler(std::int64_t from, std::int64_t to) {
  static const std::vector<std::string> kWords = {
      " the", " time",      " to", " first", " token",    " and", " then", " gaps",
      " as",  " simulated", " by", " a",     " roofline", ",",    " in"};
  std::string text;
  for (std::int64_t i = from; i < to; ++i) {
    text += kWords[static_cast<std::size_t>(i) % kWords.size()];
  }
  return text;
}

/// 3.0 counts as 3, as in vLLM's pydantic.
std::int64_t whole(const Json& body, const char* key, std::int64_t fallback, std::int64_t min,
                   std::int64_t max) {
  if (!body.contains(key) || body[key].is_null()) return fallback;
  Json value = body[key];
  if (value.is_number_float()) {
    constexpr double kBeyond = 0x1p63;
    const double number = value.get<double>();
    if (std::trunc(number) == number && std::abs(number) < kBeyond) {
      value = static_cast<std::int64_t>(number);
    }
  }
  if (!value.is_number_integer()) refuse_shape(fmt::format("{} must be a whole number", key));
  const bool is_above = value.is_number_unsigned()
                            ? std::cmp_greater(value.get<std::uint64_t>(), max)
                            : value.get<std::int64_t>() > max;
  if (is_above) refuse(key, fmt::format("{} must be at most {}, got {}.", key, max, value.dump()));
  if (value.get<std::int64_t>() < min) {
    refuse(key, fmt::format("{} must be at least {}, got {}.", key, min, value.dump()));
  }
  return value.get<std::int64_t>();
}

/// Ranges of what decides which token is drawn, which the mock need not know beyond that
/// (vllm/sampling_params.py, SamplingParams._verify_args).
void check_sampling(const Json& body) {
  struct Bounds {
    const char* key;
    double low, high;
    bool above_low;
    const char* rule;
  };
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  static constexpr Bounds kBounds[] = {
      {"temperature", 0, kInfinite, false, "non-negative"},
      {"top_p", 0, 1, true, "in (0, 1]"},
      {"min_p", 0, 1, false, "in [0, 1]"},
      {"presence_penalty", -2, 2, false, "in [-2, 2]"},
      {"frequency_penalty", -2, 2, false, "in [-2, 2]"},
      {"repetition_penalty", 0, kInfinite, true, "greater than zero"}};
  for (const Bounds& bounds : kBounds) {
    if (!body.contains(bounds.key) || body[bounds.key].is_null()) continue;
    const Json& value = body[bounds.key];
    if (!value.is_number()) refuse_shape(fmt::format("{} must be a number", bounds.key));
    const double number = value.get<double>();
    if (number >= bounds.low && number <= bounds.high &&
        !(bounds.above_low && number == bounds.low)) {
      continue;
    }
    // vLLM has a float here, also of an integer: "-1.0".
    refuse(bounds.key,
           fmt::format("{} must be {}, got {}.", bounds.key, bounds.rule, Json(number).dump()));
  }
}

bool are_token_ids(const Json& list) {
  return list.is_array() && !list.empty() &&
         std::ranges::all_of(list, [](const Json& id) { return id.is_number_unsigned(); });
}

bool truth(const Json& body, const char* key) {
  if (!body.contains(key) || body[key].is_null()) return false;
  if (!body[key].is_boolean()) refuse_shape(fmt::format("{} must be true or false", key));
  return body[key].get<bool>();
}

/// The text of a message: a string, or a list of parts of which texts count.
std::string text_of_content(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) return text;
  for (const Json& part : content) {
    if (part.is_object() && part.contains("text") && part["text"].is_string()) {
      text += part["text"].get<std::string>();
    }
  }
  return text;
}

std::int64_t now_in_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void send_json(httplib::Response& response, int status, const Json& body) {
  response.status = status;
  response.set_content(body.dump(-1, ' ', false, Json::error_handler_t::replace),
                       "application/json");
}

}  // namespace

struct MockServer::Impl {
  Impl(LiveEngine& live, MockOptions given)
      : engine(live),
        options(std::move(given)),
        name(options.served_name.empty() ? live.facts().model : options.served_name),
        created(now_in_seconds()),
        metrics(name, live.facts()) {}

  /// One choice of an answer: a request of the engine.
  struct Choice {
    LiveEngine::Id id = 0;
    std::int64_t output = 0;
    std::string reason{};
    LiveTokens latest{};
  };

  /// An answer that is being given.
  struct Answer {
    MockAsked asked{};
    std::string id{};
    std::int64_t created = 0;
    std::vector<Choice> choices{};
    bool has_begun = false;
    std::shared_ptr<TokenQueue> updates =
        std::make_shared<TokenQueue>();  // the engine may outlive this
  };

  std::int64_t tokens_in(std::size_t bytes) const {
    return std::max<std::int64_t>(
        1, std::llround(std::ceil(static_cast<double>(bytes) / options.bytes_per_token)));
  }

  void read_messages(const Json& body, MockAsked& asked) const {
    if (!body.contains("messages") || !body["messages"].is_array() || body["messages"].empty()) {
      refuse_shape("messages must be a list of at least one message");
    }
    std::size_t bytes = 0;
    std::string system;
    for (const Json& message : body["messages"]) {
      if (!message.is_object() || !message.contains("role")) {
        refuse_shape("each message needs a role and content");
      }
      const std::string text =
          message.contains("content") ? text_of_content(message["content"]) : "";
      bytes += text.size();
      if (message["role"] == "system" && system.size() == bytes - text.size()) system += text;
    }
    asked.prompt_tokens = tokens_in(bytes);
    if (system.empty()) return;
    asked.shared_content = fnv1a(system);
    asked.shared_tokens = std::min(tokens_in(system.size()), asked.prompt_tokens);
  }

  void read_prompt(const Json& body, MockAsked& asked) const {
    if (!body.contains("prompt") || body["prompt"].is_null() || body["prompt"] == "") {
      refuse_shape("Either prompt or prompt_embeds must be provided and non-empty.");
    }
    const Json& given = body["prompt"];
    const bool is_list_of_one =
        given.is_array() && given.size() == 1 && (given[0].is_string() || given[0].is_array());
    const Json& prompt = is_list_of_one ? given[0] : given;
    if (prompt.is_string()) {
      asked.prompt_tokens = tokens_in(prompt.get_ref<const std::string&>().size());
    } else if (are_token_ids(prompt)) {
      asked.prompt_tokens = std::ssize(prompt);
    } else {
      refuse_shape("prompt must be a text or a list of token ids; one per request here");
    }
  }

  MockAsked read(const std::string& text, bool chat) const {
    Json body;
    try {
      body = parse_bounded<Json>(text, "the request", RepeatedKeys::refused);
    } catch (const std::exception& error) {
      refuse_shape(fmt::format("the request is not JSON: {}", error.what()));
    }
    if (!body.is_object()) refuse_shape("expected a JSON object");
    if (body.contains("model") && body["model"] != name) {
      const std::string given =
          body["model"].is_string() ? body["model"].get<std::string>() : body["model"].dump();
      throw RefusedError({.status = http_status::kNotFound,
                          .message = fmt::format("The model `{}` does not exist.", given),
                          .type = "NotFoundError",
                          .parameter = "model"});
    }
    MockAsked asked{
        .chat = chat, .stream = truth(body, "stream"), .ignores_end = truth(body, "ignore_eos")};
    if (body.contains("stream_options") && body["stream_options"].is_object()) {
      if (!asked.stream) {
        refuse_shape("Stream options can only be defined when `stream=True`.", "stream_options");
      }
      asked.stream_usage = truth(body["stream_options"], "include_usage");
    }
    if (chat) {
      read_messages(body, asked);
    } else {
      read_prompt(body, asked);
    }
    constexpr std::int64_t kMaxInteger = 1'000'000'000;
    const char* key =
        body.contains("max_completion_tokens") ? "max_completion_tokens" : "max_tokens";
    const std::int64_t given = whole(body, key, 0, 1, kMaxInteger);
    if (given > 0) asked.max_tokens = given;
    if (!asked.max_tokens && !chat) asked.max_tokens = kDefaultCompletion;
    asked.choices = whole(body, "n", 1, 1, kMaxChoices);
    asked.priority = whole(body, "priority", 0, -kMaxInteger, kMaxInteger);
    check_sampling(body);
    check_length(asked);
    return asked;
  }

  void check_length(const MockAsked& asked) const {
    const std::int64_t longest = engine.facts().max_model_len;
    const std::int64_t output = asked.max_tokens.value_or(0);
    // A prompt must leave room for a token (vllm/v1/engine/input_processor.py).
    if (asked.prompt_tokens + std::max<std::int64_t>(output, 1) <= longest) return;
    refuse(
        "input_tokens",
        fmt::format("This model's maximum context length is {} tokens. However, you requested {} "
                    "output tokens and your prompt contains at least {} input tokens, for a total "
                    "of at least {} tokens. Please reduce the length of the input prompt or the "
                    "number of requested output tokens.",
                    longest, output, asked.prompt_tokens, asked.prompt_tokens + output));
  }

  /// Draws lengths and hands all choices to the engine.
  std::shared_ptr<Answer> start(const MockAsked& asked) {
    auto answer = std::make_shared<Answer>();
    answer->asked = asked;
    answer->created = now_in_seconds();
    answer->id = fmt::format("{}-{:032x}", asked.chat ? "chatcmpl" : "cmpl", ++last_answer);
    const std::int64_t room = engine.facts().max_model_len - asked.prompt_tokens;
    const std::int64_t most = std::min(asked.max_tokens.value_or(room), room);
    for (std::int64_t i = 0; i < asked.choices; ++i) {
      Choice choice{.output = most, .reason = "length"};
      if (options.draw_output && !asked.ignores_end) {
        const std::lock_guard lock(mutex);
        const std::int64_t drawn = std::max<std::int64_t>(1, options.draw_output());
        if (drawn < most) {
          choice.output = drawn;
          choice.reason = "stop";
        }
      }
      choice.id =
          engine.submit({.input_tokens = asked.prompt_tokens,
                         .output_tokens = choice.output,
                         .max_tokens = asked.max_tokens.value_or(0),
                         .priority = asked.priority,
                         .shared_content = asked.shared_content,
                         .shared_tokens = asked.shared_tokens},
                        [updates = answer->updates, i](const LiveTokens& tokens) {
                          updates->push({.choice = static_cast<std::size_t>(i), .tokens = tokens});
                        });
      answer->choices.push_back(std::move(choice));
    }
    return answer;
  }

  /// Waits for an update of any choice and counts its tokens; returns which choice and how many
  /// tokens it had before, nullopt if none arrives within kPollInterval.
  std::optional<std::pair<std::size_t, std::int64_t>> advance(Answer& answer) {
    constexpr std::chrono::milliseconds kPollInterval{100};
    const auto update = answer.updates->pop(kPollInterval);
    if (!update) return std::nullopt;
    Choice& choice = answer.choices[update->choice];
    const std::int64_t before = choice.latest.emitted;
    const std::lock_guard lock(mutex);
    metrics.add_tokens(choice.latest, update->tokens, answer.asked.prompt_tokens);
    if (update->tokens.finished) {
      metrics.add_finished(update->tokens, answer.asked.prompt_tokens, choice.reason);
    }
    choice.latest = update->tokens;
    return std::pair{update->choice, before};
  }

  static bool is_whole(const Answer& answer) {
    return std::ranges::all_of(answer.choices,
                               [](const Choice& one) { return one.latest.finished; });
  }

  void give_up(Answer& answer) {
    for (Choice& choice : answer.choices) {
      if (choice.latest.finished) continue;
      engine.cancel(choice.id);
      const std::lock_guard lock(mutex);
      metrics.add_finished(choice.latest, answer.asked.prompt_tokens, "abort");
      choice.latest.finished = true;
    }
  }

  Json usage_of(const Answer& answer) const {
    std::int64_t output = 0, cached = 0;
    for (const Choice& choice : answer.choices) {
      output += choice.latest.emitted;
      cached = std::max(cached, choice.latest.cached_tokens);
    }
    Json usage = {{"prompt_tokens", answer.asked.prompt_tokens},
                  {"total_tokens", answer.asked.prompt_tokens + output},
                  {"completion_tokens", output}};
    usage["prompt_tokens_details"] = cached > 0 ? Json{{"cached_tokens", cached}} : Json();
    return usage;
  }

  Json head_of(const Answer& answer, bool chunk) const {
    const char* object = !answer.asked.chat ? "text_completion"
                         : chunk            ? "chat.completion.chunk"
                                            : "chat.completion";
    return {{"id", answer.id},
            {"object", object},
            {"created", answer.created},
            {"model", name},
            {"choices", Json::array()}};
  }

  /// The tokens of a choice from `from` on, as an element of "choices" of a chunk.
  Json chunk_of(const Answer& answer, std::size_t index, std::int64_t from) const {
    const Choice& choice = answer.choices[index];
    Json json = {{"index", index}};
    const std::string text = filler(from, choice.latest.emitted);
    if (answer.asked.chat) {
      json["delta"] = {{"content", text}};
    } else {
      json["text"] = text;
    }
    json["logprobs"] = nullptr;
    json["finish_reason"] = choice.latest.finished ? Json(choice.reason) : Json();
    json["stop_reason"] = nullptr;
    return json;
  }

  /// What vLLM sends of a chat before its first token: a chunk a choice with the role and no text
  /// (chat_completion_stream_generator of vllm/entrypoints/openai/chat_completion/serving.py).
  std::string beginning_of(const Answer& answer) const {
    std::string events;
    for (std::size_t i = 0; i < answer.choices.size(); ++i) {
      Json chunk = head_of(answer, true);
      chunk["choices"].push_back({{"index", i},
                                  {"delta", {{"role", "assistant"}, {"content", ""}}},
                                  {"logprobs", nullptr},
                                  {"finish_reason", nullptr}});
      events += event_of(chunk);
    }
    return events;
  }

  static std::string event_of(const Json& json) { return "data: " + json.dump() + "\n\n"; }

  void answer_whole(httplib::Response& response, const std::shared_ptr<Answer>& answer) {
    const auto gone = client_gone();
    while (!is_whole(*answer)) {
      if (!advance(*answer) && (stopping || gone())) return give_up(*answer);
    }
    Json body = head_of(*answer, false);
    for (std::size_t i = 0; i < answer->choices.size(); ++i) {
      const Choice& choice = answer->choices[i];
      Json json = {{"index", i}};
      const std::string text = filler(0, choice.latest.emitted);
      if (answer->asked.chat) {
        json["message"] = {{"role", "assistant"}, {"content", text}};
      } else {
        json["text"] = text;
      }
      json["logprobs"] = nullptr;
      json["finish_reason"] = choice.reason;
      json["stop_reason"] = nullptr;
      body["choices"].push_back(std::move(json));
    }
    body["usage"] = usage_of(*answer);
    send_json(response, http_status::kOk, body);
  }

  /// Sends what is new; true while the answer goes on.
  bool send_next(Answer& answer, httplib::DataSink& sink) {
    const auto advanced = advance(answer);
    if (!advanced) {
      if (!stopping && sink.is_writable()) return true;
      give_up(answer);
      return false;
    }
    Json chunk = head_of(answer, true);
    chunk["choices"].push_back(chunk_of(answer, advanced->first, advanced->second));
    std::string event;
    if (answer.asked.chat && !std::exchange(answer.has_begun, true)) event = beginning_of(answer);
    event += event_of(chunk);
    if (!sink.write(event.data(), event.size())) {
      give_up(answer);
      return false;
    }
    if (!is_whole(answer)) return true;
    std::string end;
    if (answer.asked.stream_usage) {
      Json last = head_of(answer, true);
      last["usage"] = usage_of(answer);
      end = event_of(last);
    }
    end += "data: [DONE]\n\n";
    sink.write(end.data(), end.size());
    sink.done();
    return true;
  }

  /// validate_json_request of vllm/entrypoints/openai/utils.py.
  static void check_media_type(const httplib::Request& request) {
    std::string type = request.get_header_value("Content-Type");
    type = type.substr(0, type.find(';'));
    if (lower(type) == "application/json") return;
    refuse_shape("Unsupported Media Type: Only 'application/json' is allowed");
  }

  void answer(const httplib::Request& request, httplib::Response& response, bool chat) {
    try {
      check_media_type(request);
      const auto given = start(read(request.body, chat));
      if (!given->asked.stream) return answer_whole(response, given);
      response.set_chunked_content_provider(
          "text/event-stream; charset=utf-8",
          [this, given](size_t, httplib::DataSink& sink) { return send_next(*given, sink); },
          [this, given](bool) { give_up(*given); });
    } catch (const RefusedError& error) {
      send_json(response, error.refused().status, error_json(error.refused()));
    } catch (const Error& error) {
      send_json(response, http_status::kServiceUnavailable,
                error_json({.status = http_status::kServiceUnavailable,
                            .message = error.what(),
                            .type = "ServiceUnavailableError"}));
    }
  }

  Json models() const {
    return {{"object", "list"},
            {"data", Json::array({{{"id", name},
                                   {"object", "model"},
                                   {"created", created},
                                   {"owned_by", "roofcast"},
                                   {"root", engine.facts().model},
                                   {"parent", nullptr},
                                   {"max_model_len", engine.facts().max_model_len}}})}};
  }

  std::string metrics_text() {
    const LiveFigures figures = engine.figures();
    const std::lock_guard lock(mutex);
    return metrics.text(figures);
  }

  LiveEngine& engine;
  MockOptions options;
  std::string name;
  std::int64_t created = 0;
  std::atomic<std::uint64_t> last_answer{0};
  std::atomic<bool> stopping{false};
  std::mutex mutex{};  // for the two below and draw_output
  MockMetrics metrics;
};

MockServer::MockServer(LiveEngine& engine, MockOptions options)
    : impl_(std::make_unique<Impl>(engine, std::move(options))) {}

MockServer::~MockServer() = default;

void MockServer::stop() { impl_->stopping = true; }

void MockServer::add_routes(HttpServer& server) {
  using httplib::Request;
  using httplib::Response;
  Impl* mock = impl_.get();
  server.set_pre_routing_handler([mock](const Request& request, Response& response) {
    using Outcome = httplib::Server::HandlerResponse;
    const std::string& token = mock->options.token;
    const bool is_open = !request.path.starts_with("/v1/");  // as vLLM's --api-key has it
    if (token.empty() || is_open ||
        is_token(bearer_token(request.get_header_value("Authorization")), token)) {
      return Outcome::Unhandled;
    }
    send_json(response, http_status::kUnauthorized, {{"error", "Unauthorized"}});
    return Outcome::Handled;
  });
  server.Post("/v1/chat/completions", [mock](const Request& request, Response& response) {
    mock->answer(request, response, true);
  });
  server.Post("/v1/completions", [mock](const Request& request, Response& response) {
    mock->answer(request, response, false);
  });
  server.Get("/v1/models", [mock](const Request&, Response& response) {
    send_json(response, http_status::kOk, mock->models());
  });
  server.Get("/metrics", [mock](const Request&, Response& response) {
    response.set_content(mock->metrics_text(), "text/plain; version=0.0.4; charset=utf-8");
  });
  server.Get("/version", [](const Request&, Response& response) {
    send_json(response, http_status::kOk, {{"version", fmt::format("roofcast-{}", kVersion)}});
  });
  const auto healthy = [](const Request&, Response& response) {
    response.status = http_status::kOk;
  };
  server.Get("/health", healthy);
  server.Get("/ping", healthy);
  // FastAPI's own answers to paths and methods that vLLM does not have.
  server.set_error_handler([](const Request& request, Response& response) {
    if (!response.body.empty() || response.status == http_status::kOk) return;
    if (response.status == http_status::kNotFound) {
      const bool is_known = std::ranges::find(kPaths, request.path) != std::end(kPaths);
      return send_json(response, is_known ? http_status::kMethodNotAllowed : http_status::kNotFound,
                       {{"detail", is_known ? "Method Not Allowed" : "Not Found"}});
    }
    send_json(response, response.status,
              error_json({.status = response.status, .message = "the request is malformed"}));
  });
}

}  // namespace roofcast
