// The first fields of every answer's JSON.
#pragma once

#include <string>

#include "base/json.hpp"

namespace roofcast {

/// Version of the JSON that commands print; raised when a key changes meaning or is removed.
inline constexpr int kOutputSchemaVersion = 1;

/// An answer's verdict for scripts: the program's exit code, `code` of the API and of Python.
inline constexpr int kCodeYes = 0;
inline constexpr int kCodeNo = 3;  // does not fit, SLO not met, nothing found
constexpr int code_of(bool yes) { return yes ? kCodeYes : kCodeNo; }

/// The first fields of every answer; `inputs` follows.
struct AnswerHead {
  int schema_version = kOutputSchemaVersion;
  std::string tool_version{};
  std::string command{};
};

template <class Visitor>
void members(Visitor& visit, AnswerHead& head) {
  visit("schema_version", head.schema_version,
        "of this document; increased when a key changes meaning or is removed");
  visit("tool_version", head.tool_version, "of the program that produced the answer");
  visit("command", head.command, "the question: memory, estimate, ...");
}

/// Inputs of a question that takes none.
struct NoInputs {};

template <class Visitor>
void members(Visitor&, NoInputs&) {}

/// The head of an answer by this build.
AnswerHead answer_head(const std::string& command);

/// Throws Error if the document answers another command or has another version.
void check_head(const AnswerHead& head, const std::string& command);

/// The head and `inputs` as JSON; results follow at the same level.
Json envelope(const std::string& command, Json inputs);

}  // namespace roofcast
