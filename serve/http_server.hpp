// The HTTP library's server with a bounded number of connections, each with time limits
// (connection_stream.hpp): no client can block it for longer than those.
#pragma once

#include <httplib.h>

#include <atomic>
#include <functional>
#include <thread>

#include "serve/serve_options.hpp"

namespace roofcast {

/// Call within a handler. Returns a function that says whether the client has closed the
/// connection; it may be called from any thread until the handler returns, and checks at most every
/// 50 ms.
std::function<bool()> client_gone();

class HttpServer final : public httplib::Server {
 public:
  explicit HttpServer(const ConnectionLimits& limits);

  /// Returns the port. Throws Error if it is in use or `host` is not an address of this machine.
  int bind(const std::string& host, int port);

  /// Answers until stop_running(), then closes all connections.
  void run();

  /// From any thread.
  void stop_running();

 private:
  bool process_and_close_socket(socket_t socket) override;

  const ConnectionLimits limits_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> waiting_{0};  // connections without a thread
  std::thread::id accepting_{};
};

}  // namespace roofcast
