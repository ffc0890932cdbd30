// A client's connection for the HTTP library, with a limit on everything: bytes and time of a
// request, time of an answer, idle time between them.
#pragma once

#include <httplib.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "serve/request_framing.hpp"
#include "serve/serve_options.hpp"

namespace roofcast {

class ConnectionStream final : public httplib::Stream {
 public:
  /// `crowded` says whether other connections wait for a thread. The destructor closes `socket`.
  ConnectionStream(socket_t socket, const ConnectionLimits& limits, std::function<bool()> crowded);
  ~ConnectionStream() override;
  ConnectionStream(const ConnectionStream&) = delete;
  ConnectionStream& operator=(const ConnectionStream&) = delete;

  /// Waits for the first byte of a request, from which on the limits of a request apply. False if
  /// none arrives within the idle time, if other connections wait, or once `stopping` returns true.
  bool next_request(const std::function<bool()>& stopping);

  /// Whether the last answer announced the end of the connection.
  bool said_close() const { return said_close_; }

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* target, size_t size) override;
  ssize_t write(const char* text, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kBufferBytes = 4096;

  bool fill();  // false at the end, an error or a limit
  void count_head(std::string_view read);
  Clock::time_point end_of_request() const;

  socket_t socket_;
  const ConnectionLimits limits_;
  std::function<bool()> crowded_;
  std::array<char, kBufferBytes> buffer_{};
  std::size_t begin_ = 0, end_ = 0;  // of bytes received but not yet read
  bool said_close_ = false;
  std::size_t bytes_left_ = 0;  // that the head, then the body, may still have
  bool in_head_ = true;
  HeadLines head_{};
  Clock::time_point request_began_{};
  Clock::time_point answer_ends_ = Clock::time_point::max();  // set by its first byte
};

}  // namespace roofcast
