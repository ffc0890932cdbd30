// Where a request ends. If a server and the proxy before it disagree on that, part of a body can be
// passed off as another request ("request smuggling"), so anything but the one plain form is
// refused and the connection closed. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "serve/http_status.hpp"

namespace roofcast {

/// Fields of the head; each as often as it occurs.
struct RequestFraming {
  std::string method{};
  std::vector<std::string> lengths{};    // Content-Length
  std::vector<std::string> encodings{};  // Transfer-Encoding
};

struct FramingRefusal {
  int status = http_status::kBadRequest;
  const char* line = "";
};

/// Nullopt if the request can be read. RFC 9112, sections 6.1 to 6.3 and 11.2.
std::optional<FramingRefusal> framing_refusal(const RequestFraming& framing,
                                              std::size_t largest_body);

/// Checks the lines of a request's head, letter by letter. The HTTP library skips lines that do not
/// end in CR LF, and takes "Content-Length " for a field of another name; a proxy may read either
/// as a length. RFC 9112, sections 2.2, 5.1 and 5.2.
class HeadLines {
 public:
  enum class Found { more, end, unclear };
  Found take(char letter);

 private:
  enum class Part { request, name, value };  // of a line
  Found take_return() const;
  Found take_line_end();
  Found take_name(char letter);

  Part part_ = Part::request;
  std::size_t line_bytes_ = 0;  // so far, without its end
  bool after_return_ = false;
};

}  // namespace roofcast
