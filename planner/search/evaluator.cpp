#include "planner/search/evaluator.hpp"

#include <exception>
#include <new>

namespace roofcast {

FinishedEvaluation evaluated(const Evaluator& evaluate, std::int64_t id,
                             const std::string& question) {
  try {
    return {.id = id, .answer = evaluate(question)};
  } catch (const std::bad_alloc&) {
    return {.id = id, .answer = "out of memory; a smaller workload may do", .failed = true};
  } catch (const std::exception& error) {
    return {.id = id, .answer = error.what(), .failed = true};
  }
}

}  // namespace roofcast
