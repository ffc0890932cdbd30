// Options of `roofcast serve`, and what it allows. Defaults are for one team's machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "roofcast/stored_traces.hpp"

namespace roofcast {

/// A hardware profile that questions may name in addition to the built-in ones.
struct OfferedProfile {
  std::string name{};  // as the profile states it
  std::string path{};
};

/// A trace of the store that questions may name.
struct OfferedTrace {
  std::int64_t requests = 0;
  std::shared_ptr<const std::string> bytes{};  // of its file
};

/// Limits on what one question may ask for and cost.
struct ApiLimits {
  std::int64_t max_requests = 20'000;  // of a simulation
  std::int64_t max_tokens = 100'000;   // of the staircase, timed one by one
  std::int64_t max_replicas = 1'000;   // of a pool; each takes memory
  // Every running sequence lists the blocks of the prefix that it shares with others: with blocks
  // of one token, these two limits amount to some hundred MiB.
  std::int64_t max_sequences = 4'096;       // at once in an engine
  std::int64_t max_prefix_tokens = 16'384;  // of a system prompt
  std::int64_t max_variants = 100;          // simulations of a what-if, combinations of a plan
  bool saves = true;                        // whether runs can be saved: the store is writable
  std::chrono::milliseconds longest_run{10'000};
  std::chrono::milliseconds longest_search{60'000};  // of a plan, a what-if or a capacity
  int runs_at_once = 1;
  int searches_at_once = 1;  // beside them
  std::vector<OfferedProfile> profiles{};
  /// The trace of that name; set by Api, which has the store.
  std::function<std::optional<OfferedTrace>(const std::string& name)> trace{};
  std::int64_t max_turns = 100;  // of a session
  TraceLimits traces{};          // of one that is given to the store
  std::size_t max_traces = 50;   // in the store
  int runs_waiting = 64;         // more are turned away
  /// How long one of them waits: longer than `longest_run`, so that a page that saves a run while
  /// its own figures are drawn is not turned away.
  std::chrono::milliseconds patience{12'000};
};

/// Limits of connections.
struct ConnectionLimits {
  std::size_t largest_body = std::size_t{64} << 10;
  std::size_t largest_trace = std::size_t{4} << 20;     // body of POST /api/traces
  std::size_t largest_head = std::size_t{16} << 10;     // request line and header fields
  std::chrono::milliseconds longest_request{10'000};    // from its first byte to its last
  std::chrono::milliseconds request_under_load{2'000};  // the same while other connections wait
  std::chrono::milliseconds longest_answer{30'000};
  std::chrono::milliseconds longest_idle{10'000};
  int requests_each = 1'000;  // of one connection
  int at_once = 96;           // connections, each with a thread
  int waiting = 256;          // for a thread; more are turned away
};

struct ServeOptions {
  std::string host = "127.0.0.1";
  int port = 8090;  // 0: any that is free
  std::string store = "roofcast.db";
  std::string token;  // empty: none is required
  ApiLimits api{};
  ConnectionLimits connections{};
};

}  // namespace roofcast
