#include "simulator/deployment_options.hpp"

#include "model/engines/knobs.hpp"

namespace roofcast {

void lay_over(DeploymentOptions& options, const DeploymentOptions& given) {
  if (!given.model.empty()) options.model = given.model;
  if (!given.gpu.empty()) options.gpu = given.gpu;
  if (!given.engine.empty()) options.engine = given.engine;
  if (given.weight_format) options.weight_format = given.weight_format;
  visit_degrees([&](std::string_view, auto, auto degree) {
    if (given.parallel.*degree) options.parallel.*degree = given.parallel.*degree;
  });
  take_overrides(options.overrides, given.overrides);
}

}  // namespace roofcast
