#include "cli/plan_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <variant>

#include "model/error.hpp"
#include "planner/launch/checkpoint_name.hpp"
#include "planner/launch/serve_command_line.hpp"
#include "simulator/wording.hpp"

namespace roofcast {
namespace {

/// Images as their makers name them; of vLLM also by the era's version.
/// https://docs.vllm.ai/en/stable/deployment/docker.html, https://hub.docker.com/r/lmsysorg/sglang,
/// https://catalog.ngc.nvidia.com (tensorrt-llm/release).
std::string image_of(ServeEngine engine, const std::string& era) {
  switch (engine) {
    case ServeEngine::sglang:
      return "lmsysorg/sglang:latest";
    case ServeEngine::tensorrt_llm:
      return "nvcr.io/nvidia/tensorrt-llm/release:latest";
    case ServeEngine::vllm:
      break;
  }
  const std::size_t dash = era.find("vllm-");
  return dash == 0 ? fmt::format("vllm/vllm-openai:v{}.0", era.substr(5))
                   : "vllm/vllm-openai:latest";
}

// What all three serve on when they are told to; outside of the container alike.
constexpr int kPort = 8000;

/// Only what is not 1 needs a flag.
ParallelismOptions degrees_of(const Parallelism& parallel) {
  ParallelismOptions given;
  if (parallel.tensor > 1) given.tensor = parallel.tensor;
  if (parallel.pipeline > 1) given.pipeline = parallel.pipeline;
  if (parallel.data > 1) given.data = parallel.data;
  if (parallel.expert_parallel) given.expert_parallel = true;
  return given;
}

std::optional<ServeLine> line_of(const PlanReport& report, const Shape& shape) {
  const std::string& era = report.catalogue.engines.at(shape.engine).era;
  if (!serve_engine_of(era)) return std::nullopt;
  const Scenario scenario = scenario_of(report.catalogue.base, {.shape = shape, .units = 1});
  DeploymentOptions options = deployment_options(scenario, pools_of(scenario).front());
  options.engine = era;
  options.model = checkpoint_name(options.model);
  options.parallel = degrees_of(shape.parallel);
  const Transformer& model = report.catalogue.models.at(shape.weight_format.value_or(""));
  const bool has_experts =
      std::any_of(model.layers.begin(), model.layers.end(),
                  [](const Layer& layer) { return std::holds_alternative<MoeFfn>(layer.ffn); });
  return serve_command_line(options, has_experts);
}

/// As Kubernetes names things: lower case, digits and dashes, at most 50 characters (RFC 1123 has
/// 63, of which a Deployment's pods take some).
std::string label_of(const std::string& text) {
  constexpr std::size_t kLongest = 50;
  std::string label;
  for (const char letter : text.substr(text.find_last_of('/') + 1)) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool plain = std::isalnum(byte) != 0 && byte < 0x80;
    if (plain) {
      label += static_cast<char>(std::tolower(byte));
    } else if (!label.empty() && label.back() != '-') {
      label += '-';
    }
  }
  label = label.substr(0, kLongest);
  while (!label.empty() && label.back() == '-') label.pop_back();
  return label.empty() ? "model" : label;
}

/// Every line that much to the right, as a YAML block scalar has them.
std::string indented(const std::string& text, std::size_t spaces) {
  std::istringstream stream(text);
  std::string out;
  for (std::string line; std::getline(stream, line);) {
    out += std::string(spaces, ' ') + line + "\n";
  }
  return out;
}

constexpr const char* kManifest = R"(apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
spec:
  replicas: {replicas}
  selector:
    matchLabels:
      app: {name}
  template:
    metadata:
      labels:
        app: {name}
    spec:
      containers:
        - name: server
          image: {image}
          command: ["/bin/sh", "-c"]
          args:
            - |
{line}          ports:
            - containerPort: {port}
          resources:
            limits:
              nvidia.com/gpu: {gpus}
          readinessProbe:
            httpGet:
              path: /health
              port: {port}
            periodSeconds: 10
            failureThreshold: 180
          volumeMounts:
            - name: shm
              mountPath: /dev/shm
      volumes:
        - name: shm
          emptyDir:
            medium: Memory
---
apiVersion: v1
kind: Service
metadata:
  name: {name}
spec:
  selector:
    app: {name}
  ports:
    - port: {port}
      targetPort: {port}
)";

}  // namespace

std::vector<std::string> launch_lines(const PlanReport& report, const RankedCandidate& one) {
  const Shape& shape = report.answer.shapes[one.shape].shape;
  const std::optional<ServeLine> line = line_of(report, shape);
  if (!line) return {fmt::format("{} is no server: nothing starts it", shape.engine)};
  std::vector<std::string> lines;
  if (shape.split.apart()) {
    lines.push_back(fmt::format("{} for prompts and {} for decoding, each:",
                                counted(one.units * shape.split.prefill, "server"),
                                counted(one.units * shape.split.decode, "server")));
  } else {
    lines.push_back(counted(one.units, "server") + (one.units > 1 ? ", each:" : ":"));
  }
  lines.push_back(line->text);
  lines.insert(lines.end(), line->notes.begin(), line->notes.end());
  if (shape.split.apart()) {
    lines.emplace_back("how K and V move between them (--kv-transfer-config ...) is left to you");
  }
  return lines;
}

std::string kubernetes_manifest(const PlanReport& report, const RankedCandidate& one) {
  const Shape& shape = report.answer.shapes[one.shape].shape;
  const Gpu& gpu = report.catalogue.gpus.at(shape.gpu).gpu;
  const std::optional<ServeLine> line = line_of(report, shape);
  const int gpus = shape.parallel.gpus();
  const char* problem = !line                      ? "its engine has no server"
                        : shape.split.apart()      ? "it has pools for prompts and for decoding"
                        : gpus > gpu.gpus_per_node ? "a replica spans several nodes"
                                                   : nullptr;
  if (problem != nullptr) {
    throw UsageError(fmt::format("--kubernetes: {} is no plain Deployment: {}",
                                 short_name(Candidate{.shape = shape, .units = 1}), problem));
  }
  const std::string& era = report.catalogue.engines.at(shape.engine).era;
  std::string command = line->text;
  while (!command.empty() && command.back() == '\n') command.pop_back();
  command += fmt::format(" --host 0.0.0.0 --port {}", kPort);
  constexpr std::size_t kIndent = 14;
  std::string text = fmt::format("# {}\n", plan_headline(report));
  for (const std::string& note : line->notes) text += fmt::format("# {}\n", note);
  text += fmt::format("# Nodes with {}\n", gpu.display_name);
  return text + fmt::format(fmt::runtime(kManifest),
                            fmt::arg("name", label_of(report.catalogue.base.model)),
                            fmt::arg("replicas", one.units),
                            fmt::arg("image", image_of(*serve_engine_of(era), era)),
                            fmt::arg("line", indented(command, kIndent)), fmt::arg("port", kPort),
                            fmt::arg("gpus", gpus));
}

}  // namespace roofcast
