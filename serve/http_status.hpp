// Status codes of HTTP by their names in RFC 9110, section 15.
#pragma once

namespace roofcast::http_status {

inline constexpr int kContinue = 100;
inline constexpr int kOk = 200;
inline constexpr int kSeeOther = 303;
inline constexpr int kBadRequest = 400;
inline constexpr int kUnauthorized = 401;
inline constexpr int kForbidden = 403;
inline constexpr int kNotFound = 404;
inline constexpr int kMethodNotAllowed = 405;
inline constexpr int kConflict = 409;
inline constexpr int kLengthRequired = 411;
inline constexpr int kContentTooLarge = 413;
inline constexpr int kUriTooLong = 414;
inline constexpr int kUnsupportedMediaType = 415;
inline constexpr int kUnprocessableContent = 422;
inline constexpr int kInternalServerError = 500;
inline constexpr int kServiceUnavailable = 503;
inline constexpr int kGatewayTimeout = 504;

}  // namespace roofcast::http_status
