// The Model Context Protocol, by which agents call tools: JSON-RPC 2.0 messages in, messages out, a
// line each over stdio (cli/mcp_command.cpp). Revisions 2024-11-05 to 2025-11-25
// (modelcontextprotocol.io/specification); of the capabilities only tools. A tool is a question of
// the web API under the same limits, its schema made from the same tables; its answer is the text
// that the command prints, or with "json": true the document.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/json.hpp"
#include "serve/api.hpp"

namespace roofcast {

/// The tools as `tools/list` gives them: name, title, description, inputSchema, annotations.
Json mcp_tools();

/// Thread-safe; calls of tools run beside each other and can be cancelled.
class Mcp {
 public:
  /// `emit` gets one message at a time, from any thread.
  Mcp(Api& api, std::function<void(const Json&)> emit);
  /// Waits for running calls.
  ~Mcp();
  Mcp(const Mcp&) = delete;
  Mcp& operator=(const Mcp&) = delete;

  /// One message, or a batch of them (a list, as revision 2025-03-26 has it), as text.
  void receive(const std::string& text);

  /// Returns once no call runs.
  void wait();

 private:
  /// A call of a tool that runs.
  struct Call {
    std::string id{};  // as JSON text
    std::atomic<bool> cancelled{false};
    std::atomic<bool> ended{false};
    std::thread thread{};
  };

  void receive_message(const Json& message);
  void answer_request(const std::string& method, const Json& id, const Json& parameters);
  void start_call(const Json& id, const Json& parameters);
  void cancel(const Json& parameters);
  void forget_ended();
  void send(const Json& message);

  Api& api_;
  std::function<void(const Json&)> emit_;
  std::mutex emitting_{};
  std::mutex calling_{};
  std::list<Call> calls_{};
};

}  // namespace roofcast
