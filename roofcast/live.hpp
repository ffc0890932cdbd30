// A simulated engine in real time: requests arrive when they are submitted, and their tokens come
// when the simulated steps end by the wall clock. For clients, gateways and autoscalers that want
// an endpoint and have no GPU (serve/mock.hpp puts it on HTTP).
//
//   LiveEngine engine(scenario_of(arguments));
//   engine.submit({.input_tokens = 500, .output_tokens = 100},
//                 [](const LiveTokens& tokens) { std::cout << tokens.emitted << '\n'; });
//
// The schedule is the simulator's: a step starts where the one before it ended, however late this
// machine notices; only arrivals depend on the clock. One replica of one pool, without
// data-parallel ranks, failures or adapters.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "simulator/scenario.hpp"
#include "simulator/time.hpp"

namespace roofcast {

struct LiveRequest {
  std::int64_t input_tokens = 1;
  std::int64_t output_tokens = 1;  // generated
  std::int64_t max_tokens = 0;     // declared, at least output_tokens; 0: none
  std::int64_t priority = 0;       // smaller first, for engines that order by it
  /// The first `shared_tokens` of the prompt are those of every request with the same
  /// `shared_content`, for prefix caching.
  std::uint64_t shared_content = 0;
  std::int64_t shared_tokens = 0;
};

/// Progress of a request. Times are since it was submitted.
struct LiveTokens {
  std::int64_t emitted = 0;  // in all, at the client
  bool finished = false;
  std::int64_t cached_tokens = 0;  // of the prompt; set from the first token on
  Nanoseconds queued = 0;          // until its first step
  Nanoseconds first_token = 0;
  Nanoseconds latest = 0;  // the newest token by the simulated schedule
};

/// Levels now and sums since the start, under the meaning of vLLM's metrics.
struct LiveFigures {
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  double kv_cache_use = 0;  // 0 to 1
  std::int64_t preemptions = 0;
  std::int64_t prefix_queries = 0;  // tokens
  std::int64_t prefix_hits = 0;
};

/// Facts of the deployment.
struct LiveFacts {
  std::string model{};
  std::string headline{};  // "llama-3.1-8b on NVIDIA H100 SXM, vllm-0.19"
  std::int64_t max_model_len = 0;
  std::int64_t kv_blocks = 0;
  std::int64_t block_tokens = 0;
};

/// Thread-safe.
class LiveEngine {
 public:
  using Id = std::int64_t;
  /// Called on the engine's thread, in order; must not call the engine.
  using OnTokens = std::function<void(const LiveTokens&)>;

  /// Throws Error if the scenario cannot run: unreadable, too large, or several replicas or pools.
  explicit LiveEngine(const Scenario& scenario);
  /// Ends at once; running requests get no more calls.
  ~LiveEngine();
  LiveEngine(const LiveEngine&) = delete;
  LiveEngine& operator=(const LiveEngine&) = delete;

  const LiveFacts& facts() const;

  /// Throws Error if the request is longer than max_model_len, or for more than kMaxLive requests
  /// at once.
  Id submit(const LiveRequest& request, OnTokens on_tokens);

  /// The request ends with its next token, and `on_tokens` is no longer called.
  void cancel(Id id);

  LiveFigures figures() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Maximum requests in a LiveEngine at once.
inline constexpr std::int64_t kMaxLive = 8192;

}  // namespace roofcast
