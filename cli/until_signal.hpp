// A server that runs until Ctrl-C or SIGTERM.
#pragma once

#include <functional>

#include "serve/http_server.hpp"

namespace roofcast {

/// Signals are blocked in every thread and received here, so that no request has to handle the end
/// of the server. `stop` is called before the connections are closed.
void answer_until_signal(HttpServer& server, const std::function<void()>& stop);

}  // namespace roofcast
