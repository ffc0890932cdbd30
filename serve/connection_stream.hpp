// A client's connection as the HTTP library reads and writes it, with an end to everything: bytes
// of a request, time of a request, time of an answer, time between the two.
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
  /// `crowded` tells whether others wait for a place. Closes `socket` when it goes.
  ConnectionStream(socket_t socket, const ConnectionLimits& limits, std::function<bool()> crowded);
  ~ConnectionStream() override;
  ConnectionStream(const ConnectionStream&) = delete;
  ConnectionStream& operator=(const ConnectionStream&) = delete;

  /// Waits for the first byte of a request; false when there is none within the idle time, others
  /// wait for the place, or `stopping` says so. From here on the request has its own limits.
  bool next_request(const std::function<bool()>& stopping);

  /// Whether the last answer said that the connection ends with it.
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
  std::size_t begin_ = 0, end_ = 0;  // of what was received and not yet read
  bool said_close_ = false;
  std::size_t bytes_left_ = 0;  // that the head, and after it the body, may still have
  bool in_head_ = true;
  HeadLines head_{};
  Clock::time_point request_began_{};
  Clock::time_point answer_ends_ = Clock::time_point::max();  // set by its first byte
};

}  // namespace roofcast
