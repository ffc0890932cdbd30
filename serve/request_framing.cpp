#include "serve/request_framing.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string_view>

#include "base/quantity.hpp"
#include "serve/http_status.hpp"

namespace roofcast {
namespace {

/// Digits alone: "+5", "5 " and "5, 5" mean different lengths to different readers.
std::optional<std::uint64_t> length_in(const std::string& text) {
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), [](char letter) {
    return letter >= '0' && letter <= '9';
  });
  if (!digits) return std::nullopt;
  // A number beyond 64 bits is still a length: one that is too large.
  return to_number<std::uint64_t>(text).value_or(UINT64_MAX);
}

std::optional<FramingRefusal> length_refusal(const RequestFraming& framing,
                                             std::size_t largest_body) {
  const auto length = length_in(framing.lengths.front());
  if (!length)
    return FramingRefusal{http_status::kBadRequest, "Content-Length: expected a number of bytes"};
  if (framing.method != "POST" && *length > 0) {
    return FramingRefusal{http_status::kBadRequest, "a question without a body is expected here"};
  }
  if (*length > largest_body)
    return FramingRefusal{http_status::kContentTooLarge, "the question is too large"};
  return std::nullopt;
}

}  // namespace

std::optional<FramingRefusal> framing_refusal(const RequestFraming& framing,
                                              std::size_t largest_body) {
  const bool posts = framing.method == "POST";
  if (!posts && framing.method != "GET" && framing.method != "HEAD") {
    return FramingRefusal{http_status::kMethodNotAllowed, "expected GET, HEAD or POST"};
  }
  if (framing.lengths.size() + framing.encodings.size() > 1) {
    return FramingRefusal{http_status::kBadRequest, "the request states its length twice"};
  }
  if (!framing.lengths.empty()) return length_refusal(framing, largest_body);
  if (framing.encodings.empty()) {
    if (!posts) return std::nullopt;
    return FramingRefusal{http_status::kLengthRequired, "Content-Length is missing"};
  }
  if (!posts)
    return FramingRefusal{http_status::kBadRequest, "a question without a body is expected here"};
  // The sizes of pieces can be written in ways that readers differ about ("0x2", "+2").
  return FramingRefusal{http_status::kLengthRequired,
                        "expected Content-Length, not Transfer-Encoding"};
}

HeadLines::Found HeadLines::take(char letter) {
  if (after_return_ != (letter == '\n')) return Found::unclear;
  after_return_ = letter == '\r';
  if (letter == '\r') return take_return();
  if (letter == '\n') return take_line_end();
  ++line_bytes_;
  if (part_ == Part::name) return take_name(letter);
  return std::iscntrl(static_cast<unsigned char>(letter)) != 0 && letter != '\t' ? Found::unclear
                                                                                 : Found::more;
}

/// A line that ends within the name of a field is malformed.
HeadLines::Found HeadLines::take_return() const {
  return part_ == Part::name && line_bytes_ > 0 ? Found::unclear : Found::more;
}

HeadLines::Found HeadLines::take_line_end() {
  if (line_bytes_ == 0) return Found::end;
  part_ = Part::name;
  line_bytes_ = 0;
  return Found::more;
}

/// A token of RFC 9110, section 5.6.2, up to its colon, without blanks in, before or after it.
HeadLines::Found HeadLines::take_name(char letter) {
  if (letter == ':') {
    part_ = Part::value;
    return line_bytes_ > 1 ? Found::more : Found::unclear;
  }
  constexpr std::string_view kAlso = "!#$%&'*+-.^_`|~";
  const bool is_plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
                        kAlso.find(letter) != std::string_view::npos;
  return is_plain ? Found::more : Found::unclear;
}

}  // namespace roofcast
