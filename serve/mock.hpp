// A mock of vLLM's server: OpenAI's chat and text completions, streamed with the simulated engine's
// times to the first token and gaps in real time (roofcast/live.hpp), and vLLM's metrics. Answers,
// stop reasons, usage and errors have the form of vLLM's (vllm/entrypoints/openai/), so that
// clients, gateways and autoscalers can be tried without a GPU. The text is filler.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "roofcast/live.hpp"

namespace roofcast {

class HttpServer;

struct MockOptions {
  std::string served_name{};  // in answers; empty: the model's
  /// Draws the tokens after which a request that does not ignore its end stops ("stop"), unless its
  /// max_tokens are fewer ("length"). Called under a lock. Empty: exactly max_tokens.
  std::function<std::int64_t()> draw_output{};
  /// Bytes of a prompt that count as a token: there is no tokenizer. Token ids count exactly.
  double bytes_per_token = 4;
  std::string token{};  // that /v1/ requires; empty: none
};

/// Thread-safe. `engine` must outlive it, and it the server.
class MockServer {
 public:
  MockServer(LiveEngine& engine, MockOptions options);
  ~MockServer();
  MockServer(const MockServer&) = delete;
  MockServer& operator=(const MockServer&) = delete;

  /// POST /v1/chat/completions and /v1/completions; GET /v1/models, /health, /ping, /version and
  /// /metrics.
  void add_routes(HttpServer& server);

  /// Open answers end soon.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace roofcast
