// How an answer is read from its JSON. Internal to roofcast/.
#pragma once

#include "base/record.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

/// The answer that to_json wrote. Throws Error naming the key and what was expected, also if it is
/// that of another command or version.
template <class Answer>
Answer answer_from_json(const Json& json, const char* command) {
  check_head(record_from_json<AnswerHead>(json), command);
  return record_from_json<Answer>(json);
}

}  // namespace roofcast
