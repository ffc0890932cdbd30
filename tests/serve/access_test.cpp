// Who may ask: hosts, origins, tokens and cookies.
#include "serve/access.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace roofcast::test {
namespace {

TEST(Access, LoopbackIsThisMachineByAddressAndName) {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
}

TEST(Access, NamesThatOnlyBeginLikeLoopbackAreOthers) {
  for (const char* host : {"127.0.0.1.example.org", "localhost.example.org", "0.0.0.0",
                           "::", "10.0.0.1", "", "127.evil.0.1"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

TEST(Access, HostIsTheAuthorityWithoutItsPort) {
  EXPECT_EQ(host_of("LocalHost:8090"), "localhost");
  EXPECT_EQ(host_of("[::1]:8090"), "::1");
  EXPECT_EQ(host_of("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(host_of(""), "");
  EXPECT_EQ(host_of("["), "");
}

TEST(Access, TheSchemeOfATokenIsReadInAnyCase) {
  for (const char* header : {"Bearer secret", "bearer secret", "BEARER  secret"}) {
    EXPECT_EQ(bearer_token(header), "secret") << header;
  }
  for (const char* header : {"Basic secret", "Bearer", "Bearersecret", ""}) {
    EXPECT_EQ(bearer_token(header), "") << header;
  }
}

TEST(Access, OriginIsTheSameWhenSchemeAndAuthorityAre) {
  EXPECT_TRUE(is_same_origin("http://127.0.0.1:8090", "127.0.0.1:8090"));
  EXPECT_TRUE(is_same_origin("https://plan.example.org", "plan.example.org"));
  EXPECT_FALSE(is_same_origin("http://127.0.0.1:8091", "127.0.0.1:8090"));
  EXPECT_FALSE(is_same_origin("http://evil.example.org", "127.0.0.1:8090"));
  EXPECT_FALSE(is_same_origin("null", "127.0.0.1:8090"));
  EXPECT_FALSE(is_same_origin("", ""));
}

TEST(Access, OnlyTheTokenItselfIsTheToken) {
  const std::string token = "0123456789abcdef";
  EXPECT_TRUE(is_token(token, token));
  EXPECT_FALSE(is_token("0123456789abcdeg", token));
  EXPECT_FALSE(is_token("0123456789abcde", token));
  EXPECT_FALSE(is_token(token + token, token));  // the token repeated
  EXPECT_FALSE(is_token("", token));
}

TEST(Access, AnEmptyTokenIsNobodys) { EXPECT_FALSE(is_token("", "")); }

TEST(Access, CookiesAreFoundByTheirWholeName) {
  EXPECT_EQ(cookie_named("a", "xa=1; a=2; b=3"), "2");
  EXPECT_EQ(cookie_named("a", "b=3"), "");
  EXPECT_EQ(cookie_named("a", "a"), "");
  EXPECT_EQ(cookie_named("a", ""), "");
  EXPECT_EQ(cookie_named("a", ";;; a=x=y"), "x=y");
}

TEST(Access, TokensAreLongAndFitAHeader) {
  EXPECT_NO_THROW(check_token("0123456789abcdef"));
  EXPECT_THROW(check_token("short"), UsageError);
  EXPECT_THROW(check_token("0123456789abcde;"), UsageError);
  EXPECT_THROW(check_token("0123456789abcde\r\nSet-Cookie: x"), UsageError);
  EXPECT_THROW(check_token(std::string(201, 'a')), UsageError);
}

}  // namespace
}  // namespace roofcast::test
