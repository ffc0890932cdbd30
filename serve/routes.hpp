// Routes requests to answers, and rejects invalid ones before any work.
#pragma once

#include "serve/api.hpp"
#include "serve/http_server.hpp"

namespace roofcast {

/// `api` must outlive `server`.
void add_routes(HttpServer& server, Api& api, const ServeOptions& options);

}  // namespace roofcast
