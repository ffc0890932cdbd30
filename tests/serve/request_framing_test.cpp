// How a request says where it ends: RFC 9112, sections 6.1 to 6.3 and 11.2.
#include "serve/request_framing.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace roofcast::test {
namespace {

constexpr std::size_t kLargest = 65'536;

/// 0: read on.
int status_of(const RequestFraming& framing) {
  const auto no = framing_refusal(framing, kLargest);
  return no ? no->status : 0;
}

TEST(RequestFraming, OneLengthIsRead) {
  EXPECT_EQ(status_of({.method = "GET"}), 0);
  EXPECT_EQ(status_of({.method = "HEAD"}), 0);
  EXPECT_EQ(status_of({.method = "GET", .lengths = {"0"}}), 0);
  EXPECT_EQ(status_of({.method = "POST", .lengths = {"65536"}}), 0);
}

TEST(RequestFraming, AQuestionWithoutABodyHasNone) {
  EXPECT_EQ(status_of({.method = "GET", .lengths = {"40"}}), 400);
  EXPECT_EQ(status_of({.method = "HEAD", .encodings = {"chunked"}}), 400);
}

TEST(RequestFraming, TwoEndsAreRefused) {
  EXPECT_EQ(status_of({.method = "POST", .lengths = {"5"}, .encodings = {"chunked"}}), 400);
  EXPECT_EQ(status_of({.method = "POST", .lengths = {"5", "5"}}), 400);
  EXPECT_EQ(status_of({.method = "POST", .encodings = {"chunked", "chunked"}}), 400);
}

TEST(RequestFraming, ALengthIsDigitsAlone) {
  for (const char* length : {"-1", "+5", "5 ", "", "0x10", "5, 5", "1e3"}) {
    EXPECT_EQ(status_of({.method = "POST", .lengths = {length}}), 400) << length;
  }
}

TEST(RequestFraming, WhatIsTooLargeIsRefusedByItsAnnouncement) {
  EXPECT_EQ(status_of({.method = "POST", .lengths = {"65537"}}), 413);
  EXPECT_EQ(status_of({.method = "POST", .lengths = {"99999999999999999999999999"}}), 413);
}

TEST(RequestFraming, WhatHasNoEndIsRefused) {
  EXPECT_EQ(status_of({.method = "POST"}), 411);
  EXPECT_EQ(status_of({.method = "POST", .encodings = {"chunked"}}), 411);
  EXPECT_EQ(status_of({.method = "POST", .encodings = {"gzip, chunked"}}), 411);
}

TEST(RequestFraming, OtherMethodsAreNotAnswered) {
  for (const char* method : {"PUT", "DELETE", "OPTIONS", "TRACE", "get", ""}) {
    EXPECT_EQ(status_of({.method = method}), 405) << method;
  }
}

/// The result for a head, which may be followed by more; `more`: neither its end nor a fault.
HeadLines::Found found_in(std::string_view head) {
  HeadLines lines;
  for (const char letter : head) {
    const auto found = lines.take(letter);
    if (found != HeadLines::Found::more) return found;
  }
  return HeadLines::Found::more;
}

TEST(HeadLines, AnEmptyLineIsTheEnd) {
  constexpr std::string_view kHead =
      "GET /api/limits HTTP/1.1\r\nHost: localhost\r\nX-Empty:\r\nX-Tab: a\tb\xc3\xa9\r\n\r\n";
  EXPECT_EQ(found_in(kHead), HeadLines::Found::end);
  EXPECT_EQ(found_in(kHead.substr(0, kHead.size() - 1)), HeadLines::Found::more);
}

TEST(HeadLines, WhatReadersDifferAboutIsUnclear) {
  const std::string line = "GET / HTTP/1.1\r\n";
  for (const std::string field :
       {"Content-Length : 45", "Content-Length\t: 45", " Content-Length: 45",
        "X: a\r\n Content-Length: 45", "Content-Length: 45\nX: y", "X: a\rContent-Length: 45",
        ": 45", "Content-Length", "Content(Length): 45", "X: \x01", "X: \x7f"}) {
    EXPECT_EQ(found_in(line + field + "\r\n\r\n"), HeadLines::Found::unclear) << field;
  }
  EXPECT_EQ(found_in(line + std::string("Content-Length\0: 45\r\n\r\n", 23)),
            HeadLines::Found::unclear);
  EXPECT_EQ(found_in("GET / HTTP/1.1\nHost: localhost\n\n"), HeadLines::Found::unclear);
}

}  // namespace
}  // namespace roofcast::test
