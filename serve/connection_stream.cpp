#include "serve/connection_stream.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace roofcast {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxHead = 2048;  // of an answer
constexpr auto kPollInterval = 50ms;    // between checks of what may end a wait

/// Whether `events` occur before `end`; waits for kPollInterval at most.
bool ready(socket_t socket, short events, Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  if (left <= 0ms) return false;
  pollfd asked{.fd = socket, .events = events, .revents = 0};
  return poll(&asked, 1,
              static_cast<int>(std::min<std::chrono::milliseconds>(left, kPollInterval).count())) >
         0;
}

/// Reads and drops what still arrives for a moment: closing a socket with unread bytes resets the
/// connection, and the client would lose an answer that it has not read yet.
void drain(socket_t socket) {
  constexpr auto kLongest = 300ms;
  constexpr std::size_t kMaxBytes = std::size_t{4} << 20;
  shutdown(socket, SHUT_WR);
  std::array<char, 16384> dropped{};
  std::size_t total = 0;
  const auto end = Clock::now() + kLongest;
  while (total < kMaxBytes && Clock::now() < end) {
    if (!ready(socket, POLLIN, end)) continue;
    const ssize_t got = recv(socket, dropped.data(), dropped.size(), MSG_DONTWAIT);
    if (got <= 0) return;
    total += static_cast<std::size_t>(got);
  }
}

}  // namespace

ConnectionStream::ConnectionStream(socket_t socket, const ConnectionLimits& limits,
                                   std::function<bool()> crowded)
    : socket_(socket), limits_(limits), crowded_(std::move(crowded)) {}

ConnectionStream::~ConnectionStream() {
  drain(socket_);
  close(socket_);
}

bool ConnectionStream::next_request(const std::function<bool()>& stopping) {
  bytes_left_ = limits_.largest_head;
  in_head_ = true;
  head_ = {};
  answer_ends_ = Clock::time_point::max();
  said_close_ = false;
  const auto end = Clock::now() + limits_.longest_idle;
  while (begin_ == end_) {
    if (stopping() || Clock::now() >= end) return false;
    request_began_ = Clock::now();
    if (ready(socket_, POLLIN, end)) break;
    if (crowded_()) return false;
  }
  request_began_ = Clock::now();
  return true;
}

ConnectionStream::Clock::time_point ConnectionStream::end_of_request() const {
  return request_began_ + (crowded_() ? limits_.request_under_load : limits_.longest_request);
}

bool ConnectionStream::fill() {
  while (Clock::now() < end_of_request()) {
    if (!ready(socket_, POLLIN, end_of_request())) continue;
    const ssize_t got = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) return false;
    begin_ = 0;
    end_ = static_cast<std::size_t>(got);
    return true;
  }
  return false;
}

bool ConnectionStream::is_readable() const {
  return begin_ < end_ || ready(socket_, POLLIN, end_of_request());
}

bool ConnectionStream::is_writable() const {
  const auto end = std::min(answer_ends_, Clock::now() + limits_.longest_answer);
  while (Clock::now() < end) {
    if (ready(socket_, POLLOUT, end)) return true;
  }
  return false;
}

/// The body's limit applies from the end of the head. After a line that a proxy may read
/// differently nothing more is read, so that the request is refused as incomplete.
void ConnectionStream::count_head(std::string_view read) {
  for (const char letter : read) {
    const HeadLines::Found found = head_.take(letter);
    if (found == HeadLines::Found::more) continue;
    in_head_ = false;
    bytes_left_ =
        found == HeadLines::Found::end ? std::max(limits_.largest_body, limits_.largest_trace) : 0;
    return;
  }
}

ssize_t ConnectionStream::read(char* target, size_t size) {
  if (bytes_left_ == 0) return -1;
  if (begin_ == end_ && !fill()) return -1;
  const std::size_t count = std::min({size, end_ - begin_, bytes_left_});
  std::memcpy(target, buffer_.data() + begin_, count);
  begin_ += count;
  bytes_left_ -= count;
  if (in_head_) count_head({target, count});
  return static_cast<ssize_t>(count);
}

ssize_t ConnectionStream::write(const char* text, size_t size) {
  constexpr std::string_view kGoOn = "HTTP/1.1 100 ";  // no answer yet
  const bool is_answer = !std::string_view(text, size).starts_with(kGoOn);
  if (is_answer && answer_ends_ == Clock::time_point::max()) {  // its head
    answer_ends_ = Clock::now() + limits_.longest_answer;
    const std::string_view head = std::string_view(text, size).substr(0, kMaxHead);
    said_close_ = head.find("\r\nConnection: close\r\n") != std::string_view::npos;
  }
  if (!is_writable()) return -1;
  return send(socket_, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Addresses of clients are not passed on: nothing logs them.
void ConnectionStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

void ConnectionStream::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace roofcast
