// Checks what this machine and this build can answer, and what is missing: devices, libraries,
// hardware profiles, the store.
//
//   for (const Finding& finding : doctor({}).findings) std::cout << finding.found << '\n';
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

struct DoctorQuestion {
  std::string store{};  // path of the store; empty: none is looked at
  bool charts = false;  // whether the caller can draw them, and write them as PNG
  bool png = false;
};

/// missing: something that only some questions need. broken: something that fails in its current
/// state.
enum class FindingState { good, missing, broken };

struct Finding {
  std::string subject{};  // "GPU"
  FindingState state = FindingState::good;
  std::string found{};                  // in a few words
  std::optional<std::string> advice{};  // what to do about it, or what it is good for
};

struct DoctorInputs {
  std::optional<std::string> store{};
};

struct DoctorAnswer {
  AnswerHead head{};
  DoctorInputs inputs{};
  std::vector<Finding> findings{};
};

/// Opens devices for a moment and the store for reading; changes nothing.
DoctorAnswer doctor(const DoctorQuestion& question);

/// Whether nothing is broken.
bool is_yes(const DoctorAnswer& answer);

/// What `roofcast doctor -o json` prints.
Json to_json(const DoctorAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
DoctorAnswer doctor_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json doctor_answer_schema();

}  // namespace roofcast
