// The server over real connections: who is let in, what is sent along, what ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <thread>

#include "base/error.hpp"
#include "serve/http_server.hpp"
#include "serve/routes.hpp"
#include "tests/support/run_command.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr const char* kToken = "0123456789abcdef";
constexpr const char* kJson = "application/json";

/// A server on a free port of this machine while it lives.
class RunningServer {
 public:
  explicit RunningServer(ServeOptions options = {})
      : api_(options.api, "none.db"), server_(options.connections) {
    port = server_.bind("127.0.0.1", 0);
    add_routes(server_, api_, options);
    thread_ = std::thread([this] { server_.run(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~RunningServer() {
    api_.stop();
    server_.stop_running();
    thread_.join();
  }

  httplib::Client client() const { return httplib::Client("127.0.0.1", port); }

  int port = 0;

 private:
  Api api_;
  HttpServer server_;
  std::thread thread_;
};

ServeOptions few_places() {
  ServeOptions options;
  options.connections.at_once = 2;
  return options;
}

/// A connection of which the test says every byte.
class RawConnection {
 public:
  explicit RawConnection(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~RawConnection() { ::close(socket_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  void send(const std::string& text) const {
    ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
  }

  /// Until the server closes.
  std::string rest() const {
    std::string text;
    char part[4096];
    for (ssize_t got; (got = ::recv(socket_, part, sizeof part, 0)) > 0;) text.append(part, got);
    return text;
  }

 private:
  int socket_;
};

TEST(Server, AnswersQuestionsWithHeadersThatProtect) {
  const RunningServer server(few_places());
  auto client = server.client();
  const auto answer =
      client.Post("/api/memory", R"({"model": "llama-3.1-8b", "gpu": "h100"})", kJson);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_THAT(answer->body, HasSubstr("\"fits\":true"));
  EXPECT_THAT(answer->get_header_value("Content-Security-Policy"), HasSubstr("default-src 'none'"));
  EXPECT_EQ(answer->get_header_value("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(answer->get_header_value("Referrer-Policy"), "no-referrer");
  EXPECT_EQ(answer->get_header_value("Cache-Control"), "no-store");
}

TEST(Server, AnswersOnlyToTheNamesOfItsMachine) {
  const RunningServer server(few_places());
  auto client = server.client();
  EXPECT_EQ(client.Get("/api/limits", {{"Host", "evil.example.org"}})->status, 403);
  EXPECT_EQ(client.Get("/api/limits", {{"Host", "localhost:9999"}})->status, 200);
}

TEST(Server, PagesOfOthersMayNotAsk) {
  const RunningServer server(few_places());
  auto client = server.client();
  const auto status = [&](const httplib::Headers& headers, const char* type) {
    return client.Post("/api/memory", headers, R"({"model": "llama-3.1-8b", "gpu": "h100"})", type)
        ->status;
  };
  EXPECT_EQ(status({{"Origin", "http://evil.example.org"}}, kJson), 403);
  EXPECT_EQ(status({{"Origin", "null"}}, kJson), 403);
  EXPECT_EQ(status({{"Sec-Fetch-Site", "cross-site"}}, kJson), 403);
  EXPECT_EQ(status({}, "text/plain"), 415);
  EXPECT_EQ(status({{"Origin", "http://127.0.0.1:" + std::to_string(server.port)}}, kJson), 200);
}

TEST(Server, ATokenIsAskedOfEverything) {
  ServeOptions options = few_places();
  options.token = kToken;
  const RunningServer server(options);
  auto client = server.client();
  EXPECT_EQ(client.Get("/")->status, 401);
  EXPECT_EQ(client.Get("/api/limits")->status, 401);
  EXPECT_EQ(client.Post("/api/memory", "{}", kJson)->status, 401);
  EXPECT_EQ(client.Get("/api/limits", {{"Authorization", "Bearer wrong"}})->status, 401);
  EXPECT_EQ(client.Get("/api/limits?token=" + std::string(kToken))->status, 401);  // the page alone
  const httplib::Headers bearer = {{"Authorization", "Bearer " + std::string(kToken)}};
  EXPECT_EQ(client.Get("/api/limits", bearer)->status, 200);
}

TEST(Server, TheLinkWithTheTokenLeavesACookieAndAnAddressWithoutIt) {
  ServeOptions options = few_places();
  options.token = kToken;
  const RunningServer server(options);
  auto client = server.client();
  EXPECT_EQ(client.Get("/?token=wrong")->status, 401);
  const auto answer = client.Get("/?token=" + std::string(kToken));
  EXPECT_EQ(answer->status, 303);
  EXPECT_EQ(answer->get_header_value("Location"), "/");
  const std::string cookie = answer->get_header_value("Set-Cookie");
  EXPECT_THAT(cookie, HasSubstr("HttpOnly"));
  const httplib::Headers headers = {{"Cookie", cookie.substr(0, cookie.find(';'))}};
  EXPECT_EQ(client.Get("/api/limits", headers)->status, 200);
}

TEST(Server, LargeQuestionsAreRefusedWithALine) {
  const RunningServer server(few_places());
  auto client = server.client();
  const auto answer = client.Post("/api/memory", std::string(70'000, ' '), kJson);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 413);
  EXPECT_THAT(answer->body, HasSubstr("\"error\""));
}

TEST(Server, PackedBodiesAreNotUnpacked) {
  const RunningServer server(few_places());
  auto client = server.client();
  const httplib::Headers packed = {{"Content-Encoding", "br"}};
  EXPECT_EQ(client.Post("/api/memory", packed, "{}", kJson)->status, 400);  // no --model
}

TEST(Server, WhatIsNoHttpIsRefused) {
  const RunningServer server(few_places());
  for (const char* text :
       {"GARBAGE\r\n\r\n", "GET /\r\n\r\n", "\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"}) {
    const RawConnection raw(server.port);
    raw.send(text);
    EXPECT_THAT(raw.rest(), testing::Not(HasSubstr(" 200 "))) << text;
  }
}

/// One answer, and a connection that ends with it.
void expect_one_answer(const std::string& received, const std::string& status) {
  EXPECT_THAT(received, testing::StartsWith("HTTP/1.1 " + status));
  EXPECT_THAT(received, HasSubstr("Connection: close"));
  EXPECT_EQ(received.find("HTTP/1.1", 1), std::string::npos) << received;
}

TEST(Server, ABodyIsNeverTakenForAnotherRequest) {
  const RunningServer server(few_places());
  const std::string hidden = "GET /api/limits HTTP/1.1\r\nHost: localhost\r\n\r\n";
  // The last four are not a length to the HTTP library, but are one to some proxies.
  for (const std::string field :
       {"Content-Length: 45", "Transfer-Encoding: chunked", "Content-Length : 45",
        "Content-Length: 45\nX: y", "X: a\r\n Content-Length: 45", "X: a\rContent-Length: 45"}) {
    const RawConnection raw(server.port);
    raw.send("GET /api/limits HTTP/1.1\r\nHost: localhost\r\n" + field + "\r\n\r\n" + hidden);
    expect_one_answer(raw.rest(), "400");
  }
}

TEST(Server, PiecesOfABodyAreNotTaken) {
  const RunningServer server(few_places());
  const RawConnection raw(server.port);
  raw.send(
      "POST /api/memory HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n");
  expect_one_answer(raw.rest(), "411");
}

TEST(Server, WhatIsAnnouncedTooLargeIsRefusedAtOnce) {
  const RunningServer server(few_places());
  const auto asked = [&](const std::string& fields) {
    const RawConnection raw(server.port);
    raw.send("POST /api/memory HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n\r\n{");
    return raw.rest();  // were it waited for, only the limit of a request's time would end this
  };
  const auto started = std::chrono::steady_clock::now();
  expect_one_answer(asked("Content-Length: 70000"), "413");
  expect_one_answer(asked("Content-Length: -1"), "400");
  expect_one_answer(asked("Content-Length: 200000\r\nExpect: 100-continue"), "413");
  EXPECT_LT(std::chrono::steady_clock::now() - started, ConnectionLimits{}.longest_request);
}

TEST(Server, AHeadHasItsOwnLimit) {
  const RunningServer server(few_places());
  const auto asked = [&](int fields) {
    const RawConnection raw(server.port);
    std::string head = "GET /api/limits HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    for (int i = 0; i < fields; ++i) head += "X-Field: " + std::string(1000, 'a') + "\r\n";
    raw.send(head + "\r\n");
    return raw.rest();
  };
  EXPECT_THAT(asked(10), HasSubstr(" 200 "));
  EXPECT_THAT(asked(30), testing::Not(HasSubstr(" 200 ")));  // 30 KB where 16 KiB are allowed
}

TEST(Server, HeadsWithoutEndAreCutOff) {
  const RunningServer server(few_places());
  const RawConnection raw(server.port);
  raw.send("GET / HTTP/1.1\r\n" + std::string(100'000, 'a'));
  EXPECT_THAT(raw.rest(), testing::Not(HasSubstr(" 200 ")));
}

TEST(Server, SlowClientsLoseTheirPlaceToThoseWhoWait) {
  ServeOptions options = few_places();
  options.connections.request_under_load = 100ms;
  const RunningServer server(options);
  const RawConnection one(server.port);
  const RawConnection two(server.port);
  one.send("GET / HT");
  two.send("POST /api/memory HTTP/1.1\r\nContent-Length: 1000\r\n\r\n{");
  auto client = server.client();
  client.set_read_timeout(5s);  // the default of a whole request is 10 s
  const auto answer = client.Get("/api/limits");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
}

TEST(Server, StopsWhileClientsHoldConnections) {
  const auto server = std::make_unique<RunningServer>(few_places());
  const RawConnection idle(server->port);
  SUCCEED();  // the destructor joins: a hang would be the failure
}

TEST(Server, APortInUseIsOneClearLine) {
  HttpServer first(ConnectionLimits{.at_once = 1});
  HttpServer second(ConnectionLimits{.at_once = 1});
  const int port = first.bind("127.0.0.1", 0);
  EXPECT_THAT([&] { second.bind("127.0.0.1", port); },
              testing::ThrowsMessage<Error>(HasSubstr("is in use")));
}

TEST(ServeCommand, NeedsATokenWhereOthersCanReachIt) {
  const CommandResult open = run_command("serve --host 0.0.0.0 --port 0");
  EXPECT_EQ(open.exit_code, 2);
  EXPECT_THAT(open.err, HasSubstr("--token is required"));
  const CommandResult weak = run_command("serve --host 0.0.0.0 --port 0 --token secret");
  EXPECT_EQ(weak.exit_code, 2);
  EXPECT_THAT(weak.err, HasSubstr("16 to 200"));
}

TEST(Server, AClientThatIsGoneIsSeen) {
  HttpServer server{{}};
  std::atomic<bool> started{false};
  std::atomic<bool> seen{false};
  server.Get("/wait", [&](const httplib::Request&, httplib::Response&) {
    const auto gone = client_gone();
    EXPECT_FALSE(gone());
    started = true;
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!gone() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    seen = gone();
  });
  const int port = server.bind("127.0.0.1", 0);
  std::thread running([&] { server.run(); });
  while (!server.is_running()) std::this_thread::yield();
  {
    const RawConnection client(port);
    client.send("GET /wait HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    while (!started) std::this_thread::yield();
  }
  server.stop_running();
  running.join();  // after the handler
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace roofcast::test
