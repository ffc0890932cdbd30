// Questions of Python: a name and keyword arguments as a JSON object in; the answer as JSON, as the
// sections that the program prints, and as figures out. Knows nothing of Python itself.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/progress.hpp"
#include "reports/document.hpp"
#include "reports/figures/figure.hpp"
#include "roofcast/question_json.hpp"

namespace roofcast::python {

struct NamedAnswer {
  int code = 0;  // the program's exit code: 0 yes, 3 no
  Document document{};
  /// Makes the figures; empty where an answer has none. May simulate again.
  std::function<std::vector<Figure>()> figures{};
  /// Writes a row per request, .csv or .jsonl; empty where there are none.
  std::function<void(const std::string& path)> write_requests{};
};

/// Calls to the caller while a question is answered. All may be empty. When `stopped` or `progress`
/// ended the work, the answer or the error that comes back means nothing.
struct Asking {
  Progress progress{};
  std::function<bool()> stopped{};  // called from several threads
  std::function<void(const std::string&)> tell{};
};

struct NamedQuestion {
  const char* name = "";          // "what_if"
  const char* summary = "";       // one line
  const char* answer_class = "";  // "WhatIfAnswer"
  std::vector<Argument> arguments{};
  Json (*answer_schema)() = nullptr;
  NamedAnswer (*ask)(const Json& arguments, const Asking& asking) = nullptr;
};

/// All of them, in the order in which documents list them.
std::span<const NamedQuestion> named_questions();

/// Throws Error as the question does, UsageError for unknown arguments.
NamedAnswer ask(const std::string& name, const Json& arguments, const Asking& asking = {});

}  // namespace roofcast::python
