#include "serve/access.hpp"

#include <algorithm>
#include <cctype>

#include "base/error.hpp"
#include "base/text.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kMinToken = 16;
constexpr std::size_t kMaxToken = 200;

/// 127.0.0.0/8; not "127.0.0.1.example.org".
bool is_loopback_v4(std::string_view host) {
  return host.starts_with("127.") && std::count(host.begin(), host.end(), '.') == 3 &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

std::string_view bearer_token(std::string_view header) {
  constexpr std::string_view kBearer = "bearer ";
  if (lower(header.substr(0, kBearer.size())) != kBearer) return {};
  return trimmed(header.substr(kBearer.size()));
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || is_loopback_v4(host);
}

std::string host_of(std::string_view authority) {
  if (authority.starts_with('[')) return lower(authority.substr(1, authority.find(']') - 1));
  return lower(authority.substr(0, authority.find(':')));
}

bool is_same_origin(std::string_view origin, std::string_view authority) {
  const auto scheme_end = origin.find("://");
  if (scheme_end == std::string_view::npos) return false;  // "null": a file or a sandboxed frame
  const std::string_view scheme = origin.substr(0, scheme_end);
  if (scheme != "http" && scheme != "https") return false;  // https: behind a proxy
  return lower(origin.substr(scheme_end + 3)) == lower(authority);
}

bool is_token(std::string_view given, std::string_view token) {
  if (token.empty()) return false;
  unsigned difference = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference |=
        static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(token[i % token.size()]);
  }
  return difference == 0;
}

std::string cookie_named(std::string_view name, std::string_view header) {
  for (const std::string_view part : split(header, ';')) {
    const std::string_view pair = trimmed(part);
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos || pair.substr(0, equals) != name) continue;
    return std::string(pair.substr(equals + 1));
  }
  return {};
}

void check_token(const std::string& token) {
  const bool plain = std::all_of(token.begin(), token.end(), [](unsigned char letter) {
    return std::isalnum(letter) != 0 ||
           std::string_view("-._~").find(static_cast<char>(letter)) != std::string_view::npos;
  });
  if (plain && token.size() >= kMinToken && token.size() <= kMaxToken) return;
  throw UsageError(
      "--token: expected 16 to 200 letters, digits and -._~ (openssl rand -hex 16 makes one)");
}

}  // namespace roofcast
