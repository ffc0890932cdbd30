// The one exception type for bad input and failed calls. A bug is an assert; a legitimate "no"
// (does not fit, target not met) is a value. main() catches, prints one line and exits.
#pragma once

#include <stdexcept>
#include <string>

namespace roofcast {

/// Says what went wrong, where (file and key, line, or the call's text) and what was expected,
/// in one line without a trailing full stop. Exit code 1: what a
/// file or another program says is wrong, or a call failed.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bad input of the user: an unknown option or name, a missing value, contradictory flags, a
/// value that the model or the engine does not take. Exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

}  // namespace roofcast
