#include "planner/launch/plan_launch.hpp"

#include <fmt/format.h>

#include "base/wording.hpp"
#include "model/architecture/experts.hpp"
#include "planner/launch/checkpoint_name.hpp"

namespace roofcast {
namespace {

/// Only degrees other than 1 need a flag.
ParallelismOptions parallelism_options(const Parallelism& parallel) {
  ParallelismOptions given;
  visit_degrees([&](std::string_view, auto degree, auto option) {
    if (parallel.*degree != Parallelism{}.*degree) given.*option = parallel.*degree;
  });
  return given;
}

}  // namespace

std::optional<ServeLine> serve_line_of(const PlanCatalogue& catalogue, const Shape& shape) {
  const std::string& preset = catalogue.engines.at(shape.engine).preset;
  if (!serve_engine_of(preset)) return std::nullopt;
  DeploymentOptions options = options_of(shape);
  options.model = checkpoint_name(catalogue.base.deployment.model);
  options.engine = preset;
  options.parallel = parallelism_options(shape.parallel);
  const Transformer& model = catalogue.models.at(shape.weight_format.value_or(""));
  return serve_command_line(options, has_experts(model));
}

std::vector<std::string> launch_lines(const PlanCatalogue& catalogue, const Shape& shape,
                                      std::int64_t units) {
  const std::optional<ServeLine> line = serve_line_of(catalogue, shape);
  if (!line) return {fmt::format("{} is not a server and cannot be started", shape.engine)};
  std::vector<std::string> lines;
  if (shape.split.apart()) {
    lines.push_back(fmt::format(
        "{} for prefill and {} for decode, each:", counted(units * shape.split.prefill, "server"),
        counted(units * shape.split.decode, "server")));
  } else {
    lines.push_back(counted(units, "server") + (units > 1 ? ", each:" : ":"));
  }
  lines.push_back(line->text);
  lines.insert(lines.end(), line->notes.begin(), line->notes.end());
  if (shape.split.apart()) {
    lines.emplace_back(
        "configure the transfer of K and V between them yourself (--kv-transfer-config ...)");
  }
  return lines;
}

}  // namespace roofcast
