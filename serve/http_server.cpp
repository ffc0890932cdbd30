#include "serve/http_server.hpp"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "serve/connection_stream.hpp"

namespace roofcast {
namespace {

/// Threads that each serve one connection at a time. A connection that finds the queue full runs in
/// the accepting thread, which turns it away.
class Places final : public httplib::TaskQueue {
 public:
  Places(const ConnectionLimits& limits, std::atomic<int>& waiting)
      : max_waiting_(limits.waiting), waiting_(waiting) {
    for (int i = 0; i < limits.at_once; ++i) threads_.emplace_back([this] { serve(); });
  }

  void enqueue(std::function<void()> connection) override {
    {
      const std::scoped_lock lock(mutex_);
      if (static_cast<int>(connections_.size()) < max_waiting_) {
        connections_.push_back(std::move(connection));
        connection = nullptr;
        count_waiting();
      }
    }
    if (connection) {
      connection();
    } else {
      arrived_.notify_one();
    }
  }

  void shutdown() override {
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    arrived_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void serve() {
    for (;;) {
      std::function<void()> connection;
      {
        std::unique_lock lock(mutex_);
        ++idle_;
        arrived_.wait(lock, [this] { return ended_ || !connections_.empty(); });
        --idle_;
        if (connections_.empty()) return;
        connection = std::move(connections_.front());
        connections_.pop_front();
        count_waiting();
      }
      connection();
    }
  }

  /// Does not count those that an idle thread is about to take. Precondition: the mutex is held.
  void count_waiting() { waiting_ = std::max(0, static_cast<int>(connections_.size()) - idle_); }

  const int max_waiting_;
  std::atomic<int>& waiting_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> connections_;
  std::vector<std::thread> threads_;
  int idle_ = 0;  // threads
  bool ended_ = false;
};

/// Does not wait for the request, which would block the accepting thread.
void turn_away(socket_t socket) {
  constexpr std::string_view kAnswer =
      "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
      "Connection: close\r\n\r\n";
  send(socket, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  close(socket);
}

/// The connection that this thread serves; -1 if none.
thread_local socket_t served = -1;

bool has_hung_up(socket_t socket) {
  pollfd asked{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return poll(&asked, 1, 0) > 0 && (asked.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace

std::function<bool()> client_gone() {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  struct Poll {
    std::atomic<Clock::rep> next{0};
    std::atomic<bool> gone{false};
  };
  return [socket = served, poll = std::make_shared<Poll>()] {
    constexpr Clock::duration kPollInterval = 50ms;
    const Clock::rep now = Clock::now().time_since_epoch().count();
    if (!poll->gone && now >= poll->next && socket >= 0) {
      poll->next = now + kPollInterval.count();
      if (has_hung_up(socket)) poll->gone = true;
    }
    return poll->gone.load();
  };
}

HttpServer::HttpServer(const ConnectionLimits& limits) : limits_(limits) {
  new_task_queue = [this] { return new Places(limits_, waiting_); };
  set_payload_max_length(std::max(limits.largest_body, limits.largest_trace));
  // Announced to clients; the limits are enforced below.
  set_keep_alive_max_count(static_cast<std::size_t>(limits.requests_each));
  set_keep_alive_timeout(
      std::chrono::duration_cast<std::chrono::seconds>(limits.longest_idle).count());
  // The library would share a port that another server listens on. Connections inherit TCP_NODELAY:
  // without it the second packet of a small answer waits some 40 ms for the client's delayed ACK.
  set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  });
}

int HttpServer::bind(const std::string& host, int port) {
  constexpr int kBacklog = 128;  // the library's 5 would make a burst of clients wait a second
  errno = 0;
  const int bound = port == 0 ? bind_to_any_port(host) : (bind_to_port(host, port) ? port : -1);
  if (bound > 0) {
    ::listen(svr_sock_, kBacklog);
    return bound;
  }
  const int why = errno;
  const bool in_use = why == EADDRINUSE;
  throw Error(fmt::format("cannot listen on {} port {}: {}", host, port,
                          in_use     ? "the port is in use (--port 0 picks a free one)"
                          : why != 0 ? std::strerror(why)
                                     : "no such host"));
}

void HttpServer::run() {
  accepting_ = std::this_thread::get_id();
  listen_after_bind();
}

void HttpServer::stop_running() {
  stopping_ = true;
  stop();
}

bool HttpServer::process_and_close_socket(socket_t socket) {
  if (std::this_thread::get_id() == accepting_) {
    turn_away(socket);
    return false;
  }
  served = socket;
  ConnectionStream stream(socket, limits_, [this] { return waiting_ > 0; });
  for (int left = limits_.requests_each; left > 0; --left) {
    if (!stream.next_request([this] { return stopping_.load(); })) return true;
    bool closed = false;
    const auto plain = [](httplib::Request& request) {
      request.ranges.clear();  // answers are always sent whole
      request.headers.erase("Range");
      request.headers.erase("Content-Encoding");  // a few bytes would unpack to gigabytes
      request.headers.erase("Accept-Encoding");
    };
    const bool answered = process_request(stream, left == 1 || stopping_, closed, plain);
    if (!answered || closed || stream.said_close()) return true;
  }
  return true;
}

}  // namespace roofcast
