// Questions and answers as texts: what can be handed to another process, and kept.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace roofcast {

/// Answers a question. The same text always gets the same answer, byte for byte, in every process;
/// called from several threads at once.
using Evaluator = std::function<std::string(const std::string& question)>;

/// A question with its answer.
struct AnsweredQuestion {
  std::string question{};
  std::string answer{};
};

/// An evaluation that came to its end.
struct FinishedEvaluation {
  std::int64_t id = 0;   // as it was begun under
  std::string answer{};  // or why there is none
  bool failed = false;   // the evaluator threw
};

/// What `evaluate` answers, or what it throws, as text.
FinishedEvaluation evaluated(const Evaluator& evaluate, std::int64_t id,
                             const std::string& question);

}  // namespace roofcast
