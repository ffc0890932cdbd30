// Status codes of HTTP by their names in RFC 9110, section 15.
#pragma once

namespace roofcast::http_status {

constexpr int kContinue = 100;
constexpr int kOk = 200;
constexpr int kBadRequest = 400;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kMethodNotAllowed = 405;
constexpr int kLengthRequired = 411;
constexpr int kContentTooLarge = 413;
constexpr int kUriTooLong = 414;
constexpr int kUnsupportedMediaType = 415;
constexpr int kUnprocessableContent = 422;
constexpr int kInternalServerError = 500;
constexpr int kServiceUnavailable = 503;
constexpr int kGatewayTimeout = 504;

}  // namespace roofcast::http_status
