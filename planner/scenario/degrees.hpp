// The degrees of parallelism, listed once: what is done to each of them is a loop over this list.
#pragma once

#include <string_view>

#include "planner/scenario/resolve_deployment.hpp"

namespace roofcast {

/// Calls visit(flag, &Parallelism::member, &ParallelismOptions::member) for every degree. The key
/// of a flag has '_' in place of '-'.
template <class Visit>
void visit_degrees(Visit visit) {
  using P = Parallelism;
  using Given = ParallelismOptions;
  visit(std::string_view("tensor-parallel-size"), &P::tensor, &Given::tensor);
  visit(std::string_view("pipeline-parallel-size"), &P::pipeline, &Given::pipeline);
  visit(std::string_view("data-parallel-size"), &P::data, &Given::data);
  visit(std::string_view("prefill-context-parallel-size"), &P::context, &Given::context);
  visit(std::string_view("enable-expert-parallel"), &P::expert_parallel, &Given::expert_parallel);
}

/// The flag of the first degree that is given; empty if none is.
inline std::string_view first_given(const ParallelismOptions& parallel) {
  std::string_view first;
  visit_degrees([&](std::string_view flag, auto, auto given) {
    if (first.empty() && parallel.*given) first = flag;
  });
  return first;
}

}  // namespace roofcast
