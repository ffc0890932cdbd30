// The one exception type for bad input and failed calls. A bug is an assert; a legitimate "no"
// (does not fit, target not met) is a value. main() catches, prints one line and exits.
#pragma once

#include <stdexcept>
#include <string>

namespace roofcast {

/// Says what went wrong, where (file and key, line, or the call's text) and what was expected,
/// in one line without a trailing full stop. Exit code 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The command line itself is wrong: unknown option, missing value, contradictory flags. Exit
/// code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

}  // namespace roofcast
