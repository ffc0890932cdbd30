// The HTTP library's server with places that are counted and connections that end
// (connection_stream.hpp): no client can hold it up for longer than the limits say.
#pragma once

#include <httplib.h>

#include <atomic>
#include <functional>
#include <thread>

#include "serve/serve_options.hpp"

namespace roofcast {

/// Call within a handler: returns a function that tells, from any thread until the handler returns,
/// whether the client has closed the connection. Checks at most every 50 ms.
std::function<bool()> client_gone();

class HttpServer final : public httplib::Server {
 public:
  explicit HttpServer(const ConnectionLimits& limits);

  /// Throws Error in one line: the port is in use, the host is not this machine's ... Returns the
  /// port.
  int bind(const std::string& host, int port);

  /// Answers until stop(); then ends the connections.
  void run();

  /// From any thread.
  void stop_running();

 private:
  bool process_and_close_socket(socket_t socket) override;

  const ConnectionLimits limits_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> waiting_{0};  // connections without a place
  std::thread::id accepting_{};
};

}  // namespace roofcast
