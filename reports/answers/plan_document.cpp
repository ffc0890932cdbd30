#include "reports/answers/answer_documents.hpp"
#include "reports/answers/plan_sections.hpp"
#include "roofcast/plan.hpp"

namespace roofcast {

Document plan_document(const PlanAnswer& answer) {
  Document document{.machine = to_json(answer), .sections = plan_sections(answer)};
  if (!answer.ranked.empty()) {
    document.sections.push_back(
        {.heading = "How to start the first", .lines = answer.ranked.front().launch, .table = {}});
  }
  return document;
}

}  // namespace roofcast
