// What serves, by name: model, GPU, engine and knobs, each of which may be left open. One type for
// flags, scenarios and pools, and one rule by which one is laid over another.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/architecture/parallelism.hpp"
#include "model/engines/engine.hpp"

namespace roofcast {

/// Degrees as given; 1 by default.
struct ParallelismOptions {
  std::optional<int> tensor{};
  std::optional<int> pipeline{};
  std::optional<int> data{};
  std::optional<int> context{};
  std::optional<bool> expert_parallel{};

  bool operator==(const ParallelismOptions&) const = default;
};

/// What is left open follows what these are laid over: flags a scenario file, a pool its scenario;
/// then the defaults.
struct DeploymentOptions {
  std::string model{};   // catalogue name or path
  std::string gpu{};     // name in any usual spelling, or a profile's path
  std::string engine{};  // preset or the path of an engine profile; empty: kDefaultEngine
  std::optional<std::string> weight_format{};  // "fp8", "awq", ...; unset: the checkpoint's
  ParallelismOptions parallel{};
  EngineOverrides overrides{};
};

/// Overwrites each part of `options` that `given` has.
void lay_over(DeploymentOptions& options, const DeploymentOptions& given);

/// The engine as named, or the default.
inline std::string engine_name(const DeploymentOptions& options) {
  return options.engine.empty() ? kDefaultEngine : options.engine;
}

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

/// `parallel`, overridden by the degrees in `given`.
inline Parallelism with_given(Parallelism parallel, const ParallelismOptions& given) {
  visit_degrees([&](std::string_view, auto degree, auto option) {
    if (given.*option) parallel.*degree = *(given.*option);
  });
  return parallel;
}

/// All degrees, as given.
inline ParallelismOptions as_given(const Parallelism& parallel) {
  ParallelismOptions given;
  visit_degrees(
      [&](std::string_view, auto degree, auto option) { given.*option = parallel.*degree; });
  return given;
}

}  // namespace roofcast
