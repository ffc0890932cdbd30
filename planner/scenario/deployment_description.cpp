#include "planner/scenario/deployment_description.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <variant>
#include <vector>

#include "base/record.hpp"
#include "base/text.hpp"
#include "model/engines/engine_version.hpp"
#include "model/engines/knobs.hpp"

namespace roofcast {
namespace {

void describe_features(const Engine& engine, Json& json) {
  if (!engine.max_attention_window.empty()) {
    json["max_attention_window"] = engine.max_attention_window;
  }
  if (const Speculation& speculation = engine.speculation; speculation.on()) {
    json["speculation"] = {
        {"method", name_of(speculation.method)},
        {"num_speculative_tokens", speculation.draft_tokens},
        {"acceptance_by_position", speculation.acceptance},
        {"draft_pass_s",
         speculation.timed_head ? Json(nullptr) : Json(speculation.draft_pass.value)}};
  }
  if (const KvOffloading& offloading = engine.kv_offloading; offloading.on()) {
    json["kv_offloading"] = {{"backend", name_of(offloading.backend)},
                             {"size_bytes", offloading.size.value},
                             {"bandwidth_bytes_per_s", offloading.bandwidth.value},
                             {"latency_s", offloading.latency.value}};
  }
}

/// Null if there is no such knob.
Json knob(const DeploymentInputs& inputs, const char* key) {
  if (!inputs.engine || !inputs.engine->is_object()) return nullptr;
  const auto found = inputs.engine->find(key);
  return found == inputs.engine->end() ? Json(nullptr) : *found;
}

std::string placement(const Parallelism& parallel, const std::string& gpu,
                      const std::string& engine) {
  std::string text = gpu;
  if (parallel.gpus() > 1) {
    std::vector<std::string> degrees;
    visit_short_degrees(parallel, [&](const char* name, int degree) {
      degrees.push_back(fmt::format("{} {}", name, degree));
    });
    if (parallel.expert_parallel) degrees.push_back("EP");
    text = fmt::format("{}x {} ({})", parallel.gpus(), text, joined(degrees));
  }
  return text + ", " + engine;
}

/// Knobs of vLLM's scheduler are shown for every engine, since for others they amount to "off".
/// Those of SGLang and TensorRT-LLM have no such value for other engines.
bool is_described(const EngineKnob& knob, const Engine& engine) {
  return knob.owner == KnobOwner::vllm_scheduler ||
         owns(knob.owner, engine.scheduler, engine.memory_rule);
}

Json describe(const Engine& engine) {
  Json json;
  json["name"] = engine.name;
  json["version"] = engine.version;
  for (const EngineKnob& knob : engine_knobs()) {
    if (knob.resolved == nullptr || !is_described(knob, engine)) continue;
    json[knob.key] =
        std::visit([](const auto& value) { return Json(value); }, knob.resolved(engine));
  }
  describe_features(engine, json);
  return json;
}

}  // namespace

DeploymentInputs inputs_of(const Deployment& deployment) {
  return {.model = deployment.model.name,
          .gpu = deployment.gpu.name,
          .parallel = deployment.parallel,
          .engine = std::make_shared<const Json>(describe(deployment.engine)),
          .gpu_display_name = deployment.gpu.display_name};
}

std::int64_t max_model_len(const DeploymentInputs& inputs) {
  std::int64_t tokens = 0;
  value_from_json(knob(inputs, "max_model_len"), tokens, "inputs.engine.max_model_len");
  return tokens;
}

std::string placement(const Deployment& deployment) {
  return placement(deployment.parallel, deployment.gpu.display_name,
                   engine_title(deployment.engine));
}

std::string headline(const Deployment& deployment) {
  return deployment.model.name + " on " + placement(deployment);
}

std::string headline(const DeploymentInputs& inputs) {
  const std::string& gpu = inputs.gpu_display_name.empty() ? inputs.gpu : inputs.gpu_display_name;
  std::string name;
  std::string version;
  value_from_json(knob(inputs, "name"), name, "inputs.engine.name");
  const Json stated = knob(inputs, "version");  // null in answers that earlier versions stored
  if (!stated.is_null()) value_from_json(stated, version, "inputs.engine.version");
  return inputs.model + " on " + placement(inputs.parallel, gpu, engine_title(name, version));
}

}  // namespace roofcast
