#include "roofcast/answer_head.hpp"

#include "base/version.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

AnswerHead answer_head(const std::string& command) {
  return {.schema_version = kOutputSchemaVersion, .tool_version = kVersion, .command = command};
}

}  // namespace roofcast
