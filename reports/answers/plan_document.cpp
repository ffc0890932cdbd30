#include <utility>

#include "reports/answers/answer_documents.hpp"
#include "reports/answers/plan_sections.hpp"
#include "roofcast/plan.hpp"

namespace roofcast {

Document plan_document(const PlanAnswer& answer) {
  Document document{.machine = to_json(answer), .sections = plan_sections(answer)};
  if (auto launch = launch_section(answer)) document.sections.push_back(std::move(*launch));
  return document;
}

}  // namespace roofcast
