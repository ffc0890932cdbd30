#include "planner/search/plan_digest.hpp"

#include <fmt/format.h>

#include "base/content_hash.hpp"
#include "model/io/engine_profile.hpp"
#include "planner/search/model_hash.hpp"
#include "simulator/io/scenario_reader.hpp"

namespace roofcast {
namespace {

// As in model_hash.cpp: a new member of a request or a span breaks the build here until it is
// hashed.

void add(ContentHash& hash, const Request& request) {
  const auto& [arrival, input_tokens, output_tokens, max_tokens, slo_class, images, image_tokens,
               priority, stage, output_continues_prompt, adapter, follows, contents_begin,
               contents_count, images_begin] = request;
  hash.add_all(arrival, input_tokens, output_tokens, max_tokens, slo_class, images, image_tokens,
               priority, stage, output_continues_prompt, adapter, follows, contents_begin,
               contents_count, images_begin);
}

void add(ContentHash& hash, const ContentSpan& span) {
  const auto& [content, tokens] = span;
  hash.add_all(content, tokens);
}

void add(ContentHash& hash, const Workload& workload) {
  hash.add(workload.requests.size());
  for (const Request& request : workload.requests) add(hash, request);
  hash.add(workload.contents.size());
  for (const ContentSpan& span : workload.contents) add(hash, span);
  hash.add(workload.stages.size());
  for (const LoadStage& stage : workload.stages) hash.add_all(stage.name, stage.reported);
  hash.add(workload.class_names.size());
  for (const std::string& name : workload.class_names) hash.add(name);
  hash.add(workload.recorded_limit);
}

/// Files, whose names do not change when their contents do.
void add_files(ContentHash& hash, const PlanCatalogue& catalogue) {
  hash.add_all(catalogue.gpus.size(), catalogue.engines.size(), catalogue.models.size());
  for (const auto& [name, profile] : catalogue.gpus) {
    hash.add_all(name, profile.hash);
    hash.add(profile.gpu.price ? profile.gpu.price->value : 0.0);
  }
  for (const auto& [name, engine] : catalogue.engines) {
    hash.add_all(name, engine.preset, engine.profile.has_value());
    if (engine.profile) hash.add(write_engine_profile(*engine.profile));
  }
  for (const auto& [format, model] : catalogue.models) {
    hash.add(format);
    add_model(hash, model);
  }
}

}  // namespace

std::string plan_digest(const PlanCatalogue& catalogue, const PlanTask& question,
                        const std::vector<PlannedShape>& shapes) {
  ContentHash asked;
  asked.add_all(question.program, to_json(catalogue.base), question.requirement.min_goodput_share,
                question.free_length, question.min_probability);
  for (const PlannedShape& planned : shapes) {
    asked.add(to_json(scenario_of({}, {.shape = planned.shape, .units = 1})));
  }
  ContentHash given;
  add_files(given, catalogue);
  add(given, catalogue.workload);
  return fmt::format("{:016x}{:016x}", asked.value, given.value);
}

}  // namespace roofcast
