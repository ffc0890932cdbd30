#include "planner/search/evaluator.hpp"

#include <exception>
#include <new>

namespace roofcast {

FinishedEvaluation evaluated(const Evaluator& evaluate, std::int64_t id,
                             const FigureQuestion& question) {
  FinishedEvaluation one{.id = id};
  try {
    one.figures = evaluate(question);
  } catch (const std::bad_alloc&) {
    one.failed = true;
    one.failure = "out of memory; try a smaller workload";
  } catch (const std::exception& error) {
    one.failed = true;
    one.failure = error.what();
  }
  return one;
}

}  // namespace roofcast
