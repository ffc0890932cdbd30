#include "reports/answers/answer_documents.hpp"

#include "reports/answers/capacity_sections.hpp"
#include "reports/answers/limits_section.hpp"
#include "reports/answers/simulation_sections.hpp"
#include "roofcast/capacity.hpp"
#include "roofcast/simulate.hpp"

namespace roofcast {

Document simulation_document(const SimulationAnswer& answer) {
  Document document{.machine = to_json(answer), .sections = simulation_sections(answer)};
  if (answer.limits) document.sections.push_back(limits_section(*answer.limits));
  if (answer.limits && answer.limits->advice) {
    document.sections.push_back(advice_section(*answer.limits));
  } else if (!answer.advice.empty()) {
    document.sections.push_back({.heading = "What to do", .lines = answer.advice, .table = {}});
  }
  return document;
}

Document capacity_document(const CapacityAnswer& answer) {
  return {.machine = to_json(answer), .sections = capacity_sections(answer)};
}

}  // namespace roofcast
