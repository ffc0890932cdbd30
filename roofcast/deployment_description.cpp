#include "roofcast/deployment_description.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <variant>

#include "model/engines/knobs.hpp"

namespace roofcast {
namespace {

void describe_features(const Engine& engine, Json& json) {
  if (const Speculation& speculation = engine.speculation; speculation.on()) {
    json["speculation"] = {{"method", name_of(speculation.method)},
                           {"num_speculative_tokens", speculation.draft_tokens},
                           {"acceptance_by_position", speculation.acceptance},
                           {"draft_pass_s", speculation.draft_pass.value}};
  }
  if (const KvOffloading& offloading = engine.kv_offloading; offloading.on()) {
    json["kv_offloading"] = {{"size_bytes", offloading.size.value},
                             {"bandwidth_bytes_per_s", offloading.bandwidth.value},
                             {"latency_s", offloading.latency.value}};
  }
}

/// Knobs of vLLM's scheduler are stated for every engine, as what they amount to: off. Those of
/// SGLang and TensorRT-LLM have no such value for another.
bool is_described(const EngineKnob& knob, const Engine& engine) {
  return knob.owner == KnobOwner::vllm_scheduler ||
         owns(knob.owner, engine.scheduler, engine.memory_rule);
}

}  // namespace

Json describe(const Deployment& deployment) {
  const Engine& engine = deployment.engine;
  const Parallelism& parallel = deployment.parallel;
  Json json;
  json["model"] = deployment.model.name;
  json["gpu"] = deployment.gpu.name;
  json["parallel"] = {{"tensor", parallel.tensor},
                      {"pipeline", parallel.pipeline},
                      {"data", parallel.data},
                      {"expert", parallel.expert_parallel}};
  json["engine"] = {{"name", engine.name}};
  for (const EngineKnob& knob : engine_knobs()) {
    if (knob.resolved == nullptr || !is_described(knob, engine)) continue;
    json["engine"][knob.key] =
        std::visit([](const auto& value) { return Json(value); }, knob.resolved(engine));
  }
  describe_features(engine, json["engine"]);
  return json;
}

std::string placement(const Deployment& deployment) {
  const Parallelism& parallel = deployment.parallel;
  std::string text = deployment.gpu.display_name;
  if (parallel.gpus() > 1) {
    std::string degrees;
    auto degree = [&](const char* name, int value) {
      if (value > 1) degrees += fmt::format("{}{} {}", degrees.empty() ? "" : ", ", name, value);
    };
    degree("TP", parallel.tensor);
    degree("PP", parallel.pipeline);
    degree("DP", parallel.data);
    text = fmt::format("{}x {} ({}{})", parallel.gpus(), text, degrees,
                       parallel.expert_parallel ? ", EP" : "");
  }
  return text + ", " + deployment.engine.name;
}

std::string headline(const Deployment& deployment) {
  return deployment.model.name + " on " + placement(deployment);
}

}  // namespace roofcast
