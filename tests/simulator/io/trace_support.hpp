// Traces in memory for tests.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "base/error.hpp"
#include "simulator/io/trace_reader.hpp"

namespace roofcast::test {

/// Reads a trace from text; messages name it t.jsonl.
inline Workload read_text(const std::string& text, TraceWorkload spec = {}) {
  if (spec.path.empty()) spec.path = "t.jsonl";
  std::istringstream bytes(text);
  return read_trace(spec, bytes);
}

/// The one-line error from reading the text; the test fails if there is none.
inline std::string error_in(const std::string& text, const TraceWorkload& spec = {}) {
  try {
    read_text(text, spec);
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "expected an Error for " << text.substr(0, 200);
  return "";
}

}  // namespace roofcast::test
