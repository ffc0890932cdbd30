#include "serve/routes.hpp"

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "reports/pages/html_text.hpp"
#include "serve/access.hpp"
#include "serve/http_status.hpp"
#include "serve/page.hpp"
#include "serve/request_framing.hpp"

namespace roofcast {
namespace {

using httplib::Request;
using httplib::Response;

constexpr std::size_t kMaxPath = 512;
constexpr const char* kTokenCookie = "roofcast_token";
constexpr const char* kProgressHeader = "Roofcast-Progress";
constexpr std::string_view kApi = "/api/";
constexpr std::string_view kReport = "/report/";
constexpr std::string_view kTraces = "/api/traces";  // the only route whose bodies are not JSON

/// Nothing from other origins, nothing inline, not within frames. Charts set style attributes.
constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

httplib::Headers protective_headers() {
  return {{"Content-Security-Policy", kContentPolicy},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

void send(const ApiAnswer& answer, Response& response) {
  response.status = answer.status;
  if (answer.is_busy) response.set_header("Retry-After", "1");
  response.set_content(answer.body.dump(-1, ' ', false, Json::error_handler_t::replace),
                       "application/json");
}

void refuse(int status, const std::string& line, Response& response) {
  send(api_error(status, line), response);
}

/// A page that says what is wrong and leads back, for a browser whose user followed a link; the
/// JSON of send() for every other client.
void send_to_reader(const ApiAnswer& answer, const Request& request, Response& response) {
  send(answer, response);
  const bool wants_page = request.get_header_value("Accept").find("text/html") != std::string::npos;
  if (!wants_page || !answer.body.contains("error")) return;
  const std::string why = html_escaped(answer.body["error"].get<std::string>());
  response.set_content(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Cannot be shown · Roofcast</title>\n<link rel=\"icon\" href=\"data:,\">\n<link "
      "rel=\"stylesheet\" href=\"/theme.css\">\n<link rel=\"stylesheet\" href=\"/app.css\">\n"
      "</head>\n<body>\n<main>\n<h1>This page cannot be shown</h1>\n<p>" +
          why +
          "</p>\n<p><a href=\"/\">To the deployment</a> · <a href=\"/#runs\">To the "
          "runs</a></p>\n</main>\n</body>\n</html>\n",
      "text/html; charset=utf-8");
}

std::vector<std::string> values_of(const Request& request, const char* name) {
  const auto [begin, end] = request.headers.equal_range(name);
  std::vector<std::string> values;
  for (auto field = begin; field != end; ++field) values.push_back(field->second);
  return values;
}

/// Refuses a request whose end is unclear and closes the connection: what follows it may not be
/// another request.
bool is_refused_by_framing(const Request& request, Response& response,
                           const ConnectionLimits& limits) {
  const std::size_t largest_body = request.method == "POST" && request.path == kTraces
                                       ? limits.largest_trace
                                       : limits.largest_body;
  const auto refusal = framing_refusal({.method = request.method,
                                        .lengths = values_of(request, "Content-Length"),
                                        .encodings = values_of(request, "Transfer-Encoding")},
                                       largest_body);
  if (!refusal) return false;
  refuse(refusal->status, refusal->line, response);
  response.set_header("Connection", "close");
  return true;
}

bool has_token(const Request& request, const std::string& token) {
  const std::string authorization = request.get_header_value("Authorization");
  if (const auto given = bearer_token(authorization); !given.empty()) return is_token(given, token);
  return is_token(cookie_named(kTokenCookie, request.get_header_value("Cookie")), token);
}

/// The link with ?token= sets a cookie and redirects, so that the token stays out of the address
/// bar and the history.
bool takes_token(const Request& request, Response& response, const std::string& token) {
  if (request.method != "GET" || request.path != "/" || !request.has_param("token")) return false;
  if (!is_token(request.get_param_value("token"), token)) return false;
  response.set_header("Set-Cookie",
                      std::string(kTokenCookie) + "=" + token + "; Path=/; HttpOnly; SameSite=Lax");
  response.set_redirect("/", http_status::kSeeOther);
  return true;
}

/// Against DNS rebinding: a site that a browser was made to take for this server has another name.
bool has_own_name(const Request& request, const ServeOptions& options) {
  if (!is_loopback(options.host)) return true;  // the token guards it
  return request.get_header_value_count("Host") == 1 &&
         is_loopback(host_of(request.get_header_value("Host")));
}

bool is_from_own_page(const Request& request) {
  const std::string site = request.get_header_value("Sec-Fetch-Site");
  if (!site.empty() && site != "same-origin" && site != "none") return false;
  if (!request.has_header("Origin")) return true;  // not a browser, or the address was typed
  return is_same_origin(request.get_header_value("Origin"), request.get_header_value("Host"));
}

/// The answer that refuses the request; status 0: it is accepted.
ApiAnswer refusal(const Request& request, const ServeOptions& options) {
  if (request.target.size() > kMaxPath)
    return api_error(http_status::kUriTooLong, "the URL is too long");
  if (!has_own_name(request, options)) {
    return api_error(http_status::kForbidden,
                     "this server only answers to the name of its own machine");
  }
  if (!options.token.empty() && !has_token(request, options.token)) {
    return api_error(
        http_status::kUnauthorized,
        "a token is required: open the link with ?token=, or send Authorization: Bearer");
  }
  if (request.method != "POST") return {.status = 0};
  if (!is_from_own_page(request))
    return api_error(http_status::kForbidden, "requests from other sites are not allowed");
  // No form of another site's page has these types.
  const std::string type = request.get_header_value("Content-Type");
  const char* expected = request.path == kTraces ? "application/octet-stream" : "application/json";
  if (!type.starts_with(expected)) {
    return api_error(http_status::kUnsupportedMediaType,
                     std::string("expected Content-Type: ") + expected);
  }
  return {.status = 0};
}

/// A report is one self-contained file.
void answer_report(const Request& request, Response& response, Api& api) {
  const std::string id = request.path.substr(kReport.size());
  constexpr const char* kReportPolicy =
      "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  std::string page;
  const ApiAnswer answer = api.report(id, page, client_gone());
  if (answer.status != http_status::kOk) return send_to_reader(answer, request, response);
  response.headers.erase("Content-Security-Policy");
  response.set_header("Content-Security-Policy", kReportPolicy);
  response.set_content(page, "text/html; charset=utf-8");
}

void answer_get(const Request& request, Response& response, Api& api) {
  if (std::string_view(request.path).starts_with(kApi)) {
    return send(api.get(request.path.substr(kApi.size()), client_gone()), response);
  }
  if (std::string_view(request.path).starts_with(kReport)) {
    return answer_report(request, response, api);
  }
  const PageFile file = page_file(request.path);
  if (file.text.empty()) {
    return send_to_reader(api_error(http_status::kNotFound, "not found"), request, response);
  }
  // Never cached: files of a newer program must not be mixed with those of an older one.
  response.headers.erase("Cache-Control");
  response.set_header("Cache-Control", "no-cache");
  response.set_content(file.text.data(), file.text.size(), std::string(file.type));
}

void answer_post(const Request& request, Response& response, Api& api,
                 const ServeOptions& options) {
  const ApiAnswer refused = refusal(request, options);
  if (refused.status != 0) return send(refused, response);
  if (!std::string_view(request.path).starts_with(kApi)) {
    return refuse(http_status::kNotFound, "not found", response);
  }
  const std::string what = request.path.substr(kApi.size());
  constexpr std::string_view kFigures = "figures/";
  if (what == "runs") return send(api.save(request.body, client_gone()), response);
  if (what == "runs/name") return send(api.name_run(request.body), response);
  if (what == "runs/delete") return send(api.delete_run(request.body), response);
  if (what == "traces/delete") return send(api.delete_trace(request.body), response);
  if (what == "traces") {
    return send(api.add_trace(request.get_param_value("name"), request.body,
                              request.get_param_value("replace") == "true", client_gone()),
                response);
  }
  if (std::string_view(what).starts_with(kFigures)) {
    return send(api.figures(what.substr(kFigures.size()), request.body, client_gone()), response);
  }
  send(api.command(what, request.body, client_gone(), request.get_header_value(kProgressHeader)),
       response);
}

/// The message for what the HTTP library itself refuses, which has none.
std::string words_for(int status) {
  if (status == http_status::kContentTooLarge) return "the request is too large";
  if (status == http_status::kUriTooLong) return "the URL is too long";
  return status < http_status::kInternalServerError ? "malformed request" : "internal server error";
}

}  // namespace

void add_routes(HttpServer& server, Api& api, const ServeOptions& options) {
  using Outcome = httplib::Server::HandlerResponse;
  server.set_default_headers(protective_headers());
  const ConnectionLimits& limits = options.connections;
  server.set_expect_100_continue_handler([limits](const Request& request, Response& response) {
    return is_refused_by_framing(request, response, limits) ? response.status
                                                            : http_status::kContinue;
  });
  server.set_pre_routing_handler([options](const Request& request, Response& response) {
    if (is_refused_by_framing(request, response, options.connections)) return Outcome::Handled;
    if (has_own_name(request, options) && takes_token(request, response, options.token)) {
      return Outcome::Handled;
    }
    // A POST is refused after its body was read, or the rest would be taken for another request.
    if (request.method != "GET" && request.method != "HEAD") return Outcome::Unhandled;
    const ApiAnswer refused = refusal(request, options);
    if (refused.status == 0) return Outcome::Unhandled;
    send(refused, response);
    return Outcome::Handled;
  });
  server.set_error_handler([](const Request&, Response& response) {
    if (!response.body.empty()) return;
    refuse(response.status, words_for(response.status), response);
    // It may not have been read completely, so what follows may not be another request.
    response.set_header("Connection", "close");
  });
  server.set_exception_handler([](const Request&, Response& response, const std::exception_ptr&) {
    refuse(http_status::kInternalServerError, "internal server error", response);
  });
  server.Get("/.*", [&api](const Request& request, Response& response) {
    answer_get(request, response, api);
  });
  server.Post("/.*", [&api, options](const Request& request, Response& response) {
    answer_post(request, response, api, options);
  });
}

}  // namespace roofcast
