// Which request is answered how, and which is refused before anything is done for it.
#pragma once

#include "serve/api.hpp"
#include "serve/http_server.hpp"

namespace roofcast {

/// `api` must outlive `server`.
void add_routes(HttpServer& server, Api& api, const ServeOptions& options);

}  // namespace roofcast
