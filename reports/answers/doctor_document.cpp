#include <fmt/format.h>

#include <algorithm>

#include "reports/answers/answer_documents.hpp"
#include "roofcast/doctor.hpp"

namespace roofcast {
namespace {

const char* word_of(FindingState state) {
  switch (state) {
    case FindingState::good:
      return "good";
    case FindingState::missing:
      return "missing";
    case FindingState::broken:
      return "BROKEN";
  }
  return "";
}

}  // namespace

Document doctor_document(const DoctorAnswer& answer) {
  Section section{.heading = "roofcast " + answer.head.tool_version, .lines = {}, .table = {}};
  section.lines.emplace_back(is_yes(answer) ? "Nothing is broken." : "Something is broken.");
  section.table.columns = {{"Subject", false}, {"State", false}, {"Found", false}, {"Hint", false}};
  for (const Finding& finding : answer.findings) {
    section.table.rows.push_back(
        {finding.subject, word_of(finding.state), finding.found, finding.advice.value_or("")});
  }
  return {.machine = to_json(answer), .sections = {std::move(section)}};
}

}  // namespace roofcast
