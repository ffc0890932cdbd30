// Access checks: local host names, tokens, the origin of a page that posts. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace roofcast {

/// 127.0.0.0/8, ::1 or localhost: only reachable from this machine.
bool is_loopback(std::string_view host);

/// "[::1]:8090" to "::1", "localhost" to "localhost": the host of a Host header, lower case.
std::string host_of(std::string_view authority);

/// The token of an Authorization header with the scheme "Bearer" in any case (RFC 9110, section
/// 11.1); empty for other schemes.
std::string_view bearer_token(std::string_view header);

/// Whether a page from `origin` ("http://127.0.0.1:8090") was served under `authority`, the Host
/// header of its request.
bool is_same_origin(std::string_view origin, std::string_view authority);

/// Takes the same time for every `given` of the same length, so that timing reveals nothing about
/// the token.
bool is_token(std::string_view given, std::string_view token);

/// The value of cookie `name` in a Cookie header; empty if there is none.
std::string cookie_named(std::string_view name, std::string_view header);

/// Throws UsageError unless `token` is 16 to 200 letters, digits and "-._~", which a header, a
/// cookie and a link all hold.
void check_token(const std::string& token);

}  // namespace roofcast
