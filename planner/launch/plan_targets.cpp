#include "planner/launch/plan_targets.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "planner/launch/plan_launch.hpp"
#include "planner/launch/shell_text.hpp"

namespace roofcast {
namespace {

enum class Vendor { nvidia, amd, other };

Vendor vendor_of(const Gpu& gpu) {
  if (is_cpu(gpu)) return Vendor::other;
  return gpu.vendor == "NVIDIA" ? Vendor::nvidia
         : gpu.vendor == "AMD"  ? Vendor::amd
                                : Vendor::other;
}

/// GPU resource names of the vendors' device plugins, https://github.com/NVIDIA/k8s-device-plugin
/// and https://github.com/ROCm/k8s-device-plugin.
const char* resource_of(Vendor vendor) {
  return vendor == Vendor::amd ? "amd.com/gpu" : "nvidia.com/gpu";
}

/// The engine's official image; nullopt if there is none for this vendor.
std::optional<std::string> image_of(ServeEngine engine, const std::string& preset, Vendor vendor) {
  const ServeFlags& table = serve_flags(engine);
  if (vendor == Vendor::other) return std::nullopt;
  const std::string_view image = vendor == Vendor::amd ? table.amd_image : table.nvidia_image;
  if (image.empty()) return std::nullopt;
  const std::size_t dash = preset.find('-');
  const bool tagged = vendor == Vendor::nvidia && table.tags_releases && dash != std::string::npos;
  return fmt::format("{}:{}", image, tagged ? "v" + preset.substr(dash + 1) + ".0" : "latest");
}

// Set explicitly for all three engines.
constexpr int kPort = 8000;

/// A Kubernetes name: lower case, digits and dashes, at most 50 characters (RFC 1123 allows 63, and
/// pod names add a suffix).
std::string label_of(const std::string& text) {
  constexpr std::size_t kLongest = 50;
  std::string label = slug(text.substr(text.find_last_of('/') + 1)).substr(0, kLongest);
  while (!label.empty() && label.back() == '-') label.pop_back();
  return label.empty() ? "model" : label;
}

/// Every line indented by `spaces`, as in a YAML block scalar.
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
              {resource}: {gpus}
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

std::string kubernetes_text(const PlanCatalogue& catalogue, const Shape& shape, std::int64_t units,
                            const std::string& headline) {
  const Gpu& gpu = catalogue.gpus.at(shape.gpu).gpu;
  const std::string& preset = catalogue.engines.at(shape.engine).preset;
  const ServeLine line = serve_line_of(catalogue, shape).value();
  const Vendor vendor = vendor_of(gpu);
  std::string command = line.text;
  while (!command.empty() && command.back() == '\n') command.pop_back();
  command += fmt::format(" --host 0.0.0.0 --port {}", kPort);
  constexpr std::size_t kIndent = 14;
  std::string text = fmt::format("# {}\n", headline);
  for (const std::string& note : line.notes) text += fmt::format("# {}\n", note);
  text += fmt::format("# Nodes with {}\n", gpu.display_name);
  const std::string image = image_of(*serve_engine_of(preset), preset, vendor).value();
  return text + fmt::format(fmt::runtime(kManifest),
                            fmt::arg("name", label_of(catalogue.base.model)),
                            fmt::arg("replicas", units), fmt::arg("image", image),
                            fmt::arg("line", indented(command, kIndent)), fmt::arg("port", kPort),
                            fmt::arg("resource", resource_of(vendor)),
                            fmt::arg("gpus", shape.parallel.gpus()));
}

// ---- targets of vLLM alone

/// A shape's servers: what all targets fill in.
struct ServerParts {
  std::string name{};               // label
  std::string checkpoint{};         // "meta-llama/Llama-3.1-8B"
  std::vector<std::string> args{};  // after `vllm serve MODEL`
  std::string image{};
  std::string resource{};  // "nvidia.com/gpu"
  int gpus = 1;
  std::string comments{};  // lines with '#'
};

ServerParts parts_of(const PlanCatalogue& catalogue, const Shape& shape,
                     const std::string& headline) {
  const Gpu& gpu = catalogue.gpus.at(shape.gpu).gpu;
  const std::string& preset = catalogue.engines.at(shape.engine).preset;
  const ServeLine line = serve_line_of(catalogue, shape).value();
  const std::vector<std::string> words = read_shell(line.text).commands.back().words;
  ServerParts parts{.name = label_of(catalogue.base.model),
                    .image = image_of(*serve_engine_of(preset), preset, vendor_of(gpu)).value(),
                    .resource = resource_of(vendor_of(gpu)),
                    .gpus = shape.parallel.gpus(),
                    .comments = fmt::format("# {}\n", headline)};
  constexpr std::size_t kProgram = 2;  // vllm serve
  if (words.size() > kProgram) parts.checkpoint = words[kProgram];
  if (words.size() > kProgram) parts.args.assign(words.begin() + kProgram + 1, words.end());
  for (const std::string& note : line.notes) parts.comments += fmt::format("# {}\n", note);
  parts.comments += fmt::format("# Nodes with {}\n", gpu.display_name);
  return parts;
}

/// A text as YAML writes it on one line: JSON strings are YAML.
std::string yaml_text(const std::string& text) { return nlohmann::json(text).dump(); }

/// "- X" lines.
std::string listed(const std::vector<std::string>& items, std::size_t spaces) {
  std::string lines;
  for (const std::string& item : items) {
    lines += fmt::format("{}- {}\n", std::string(spaces, ' '), yaml_text(item));
  }
  return lines;
}

std::string joined_words(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_quoted(word);
  return line;
}

/// K and V go from prefill to decode servers through NIXL, whose servers of both kinds are set up
/// alike (docs.vllm.ai, "NixlConnector Usage Guide").
const std::vector<std::string> kTransferArgs = {
    "--kv-transfer-config", R"({"kv_connector":"NixlConnector","kv_role":"kv_both"})"};

std::vector<std::string> args_of(const ServerParts& parts, bool apart) {
  std::vector<std::string> args = parts.args;
  if (apart) args.insert(args.end(), kTransferArgs.begin(), kTransferArgs.end());
  return args;
}

/// The pod template of KServe: its container `main` runs vLLM, which takes further flags from
/// VLLM_ADDITIONAL_ARGS (kserve/kserve, sample single-node-gpu of llmisvc).
std::string kserve_template(const ServerParts& parts, bool apart, std::size_t spaces) {
  const std::string args = joined_words(args_of(parts, apart));
  std::string text = "template:\n  containers:\n    - name: main\n";
  if (!args.empty()) {
    text += fmt::format("      env:\n        - name: VLLM_ADDITIONAL_ARGS\n          value: {}\n",
                        yaml_text(args));
  }
  text += fmt::format(
      "      resources:\n        limits:\n          {0}: \"{1}\"\n        requests:\n          "
      "{0}: "
      "\"{1}\"\n",
      parts.resource, parts.gpus);
  return indented(text, spaces);
}

/// kserve/kserve, config/crd/full/llmisvc/serving.kserve.io_llminferenceservices.yaml, v1alpha2.
std::string kserve_text(const ServerParts& parts, const Shape& shape, std::int64_t units) {
  const bool apart = shape.split.apart();
  std::string text = parts.comments + fmt::format(R"(apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata:
  name: {}
spec:
  model:
    uri: {}
    name: {}
  replicas: {}
  router:
    scheduler: {{}}
    route: {{}}
    gateway: {{}}
)",
                                                  parts.name, yaml_text("hf://" + parts.checkpoint),
                                                  yaml_text(parts.checkpoint),
                                                  apart ? units * shape.split.decode : units);
  text += kserve_template(parts, apart, 2);
  if (apart) {
    text += fmt::format("  prefill:\n    replicas: {}\n", units * shape.split.prefill);
    text += kserve_template(parts, apart, 4);
  }
  return text;
}

/// One role of the chart's values.
std::string llm_d_role(const ServerParts& parts, const Shape& shape, const char* role,
                       std::int64_t replicas, bool behind_proxy) {
  std::vector<std::string> args = args_of(parts, shape.split.apart());
  // The chart writes the degree from `parallelism` itself.
  for (auto at = args.begin(); at != args.end();) {
    const bool is_degree = *at == "--tensor-parallel-size" && at + 1 != args.end();
    at = is_degree ? args.erase(at, at + 2) : at + 1;
  }
  std::string text = fmt::format(
      "{}:\n  create: true\n  replicas: {}\n  parallelism:\n    tensor: {}\n  containers:\n    - "
      "name: "
      "vllm\n      image: {}\n      modelCommand: vllmServe\n",
      role, replicas, shape.parallel.tensor, yaml_text(parts.image));
  if (!args.empty()) text += "      args:\n" + listed(args, 8);
  text += fmt::format(
      "      ports:\n        - containerPort: {}\n          name: metrics\n      resources:\n      "
      "  "
      "limits:\n          {}: \"{}\"\n      mountModelVolume: true\n",
      behind_proxy ? 8200 : kPort, parts.resource, parts.gpus);
  return text;
}

/// llm-d-incubation/llm-d-modelservice, charts/llm-d-modelservice/values.yaml and its schema. The
/// routing proxy is what hands K and V over; without separate pools servers answer themselves.
std::string llm_d_text(const ServerParts& parts, const Shape& shape, std::int64_t units,
                       bool is_amd) {
  const bool apart = shape.split.apart();
  std::string text = parts.comments;
  text += "# helm install NAME llm-d-modelservice/llm-d-modelservice -f THIS_FILE\n";
  text += fmt::format(R"(modelArtifacts:
  name: {}
  uri: {}
  size: 500Gi
accelerator:
  type: {}
routing:
  servicePort: {}
  proxy:
    enabled: {}
)",
                      yaml_text(parts.checkpoint), yaml_text("hf://" + parts.checkpoint),
                      is_amd ? "amd" : "nvidia", kPort, apart);
  text += llm_d_role(parts, shape, "decode", apart ? units * shape.split.decode : units, apart);
  if (apart) return text + llm_d_role(parts, shape, "prefill", units * shape.split.prefill, false);
  return text + "prefill:\n  create: false\n";
}

/// A worker of Dynamo. Its vLLM takes vLLM's flags.
std::string dynamo_worker(const ServerParts& parts, const char* name, const char* kind,
                          std::int64_t replicas) {
  std::vector<std::string> args = {"--model", parts.checkpoint};
  args.insert(args.end(), parts.args.begin(), parts.args.end());
  std::string text = fmt::format("    {}:\n      componentType: worker\n", name);
  if (kind != nullptr) {
    text += fmt::format("      subComponentType: {}\n", kind);
    args.push_back(fmt::format("--is-{}-worker", kind));
  }
  text += fmt::format(
      "      replicas: {}\n      envFromSecret: hf-token-secret\n      resources:\n        "
      "limits:\n    "
      "      gpu: \"{}\"\n      extraPodSpec:\n        mainContainer:\n          image: "
      "nvcr.io/nvidia/ai-dynamo/vllm-runtime:my-tag\n          command:\n            - python3\n   "
      "     "
      "    - -m\n            - dynamo.vllm\n          args:\n",
      replicas, parts.gpus);
  return text + listed(args, 12);
}

/// The resource of https://github.com/ai-dynamo/dynamo, operator and examples of its vLLM backend.
std::string dynamo_text(const ServerParts& parts, const Shape& shape, std::int64_t units) {
  std::string text = parts.comments;
  text += "# Replace my-tag with the release of Dynamo\n";
  text += fmt::format(R"(apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: {}
spec:
  services:
    Frontend:
      componentType: frontend
      replicas: 1
      extraPodSpec:
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:my-tag
)",
                      parts.name);
  if (!shape.split.apart()) return text + dynamo_worker(parts, "VllmWorker", nullptr, units);
  text += dynamo_worker(parts, "VllmDecodeWorker", "decode", units * shape.split.decode);
  return text + dynamo_worker(parts, "VllmPrefillWorker", "prefill", units * shape.split.prefill);
}

// ---- compose

/// The compose specification (compose-spec/compose-spec, spec.md and deploy.md): a service a
/// replica, each with GPUs and a port of its own. AMD's GPUs are devices of the host (ROCm's
/// documentation of containers).
std::string compose_text(const PlanCatalogue& catalogue, const Shape& shape, std::int64_t units,
                         const std::string& headline) {
  const Gpu& gpu = catalogue.gpus.at(shape.gpu).gpu;
  const std::string& preset = catalogue.engines.at(shape.engine).preset;
  const ServeLine line = serve_line_of(catalogue, shape).value();
  const Vendor vendor = vendor_of(gpu);
  const std::string image = image_of(*serve_engine_of(preset), preset, vendor).value();
  std::string command = line.text;
  while (!command.empty() && command.back() == '\n') command.pop_back();
  command += fmt::format(" --host 0.0.0.0 --port {}", kPort);
  std::string text = fmt::format("# {}\n", headline);
  for (const std::string& note : line.notes) text += fmt::format("# {}\n", note);
  text += fmt::format("# A machine with {}x {}\nservices:\n", units * shape.parallel.gpus(),
                      gpu.display_name);
  for (std::int64_t i = 0; i < units; ++i) {
    text += fmt::format(
        "  server-{}:\n    image: {}\n    entrypoint: [\"/bin/sh\", \"-c\"]\n    command:\n      - "
        "|\n{}"
        "    ports:\n      - \"{}:{}\"\n    ipc: host\n",
        i, yaml_text(image), indented(command, 8), kPort + i, kPort);
    std::vector<std::string> ids;
    for (int g = 0; g < shape.parallel.gpus(); ++g) {
      ids.push_back(yaml_text(std::to_string(i * shape.parallel.gpus() + g)));
    }
    std::string list;
    for (const std::string& id : ids) list += (list.empty() ? "" : ", ") + id;
    if (vendor == Vendor::amd) {
      std::string bare = list;
      std::erase(bare, '"');
      text += fmt::format(
          "    devices:\n      - /dev/kfd\n      - /dev/dri\n    environment:\n      "
          "HIP_VISIBLE_DEVICES: "
          "{}\n",
          yaml_text(bare));
      continue;
    }
    text += fmt::format(
        "    deploy:\n      resources:\n        reservations:\n          devices:\n            - "
        "driver: "
        "nvidia\n              device_ids: [{}]\n              capabilities: [gpu]\n",
        list);
  }
  return text;
}

constexpr std::array<std::pair<LaunchTarget, const char*>, 5> kTargetNames = {
    {{LaunchTarget::kubernetes, "kubernetes"},
     {LaunchTarget::kserve, "kserve"},
     {LaunchTarget::llm_d, "llm-d"},
     {LaunchTarget::dynamo, "dynamo"},
     {LaunchTarget::compose, "compose"}}};

}  // namespace

std::optional<LaunchTarget> parse_launch_target(const std::string& name) {
  for (const auto& [target, text] : kTargetNames) {
    if (name == text) return target;
  }
  return std::nullopt;
}

const char* name_of(LaunchTarget target) {
  for (const auto& [one, text] : kTargetNames) {
    if (one == target) return text;
  }
  return "";
}

std::optional<std::string> target_problem(LaunchTarget target, const PlanCatalogue& catalogue,
                                          const Shape& shape) {
  const Gpu& gpu = catalogue.gpus.at(shape.gpu).gpu;
  const std::string& preset = catalogue.engines.at(shape.engine).preset;
  const std::optional<ServeEngine> engine = serve_engine_of(preset);
  const bool any_engine = target == LaunchTarget::kubernetes || target == LaunchTarget::compose;
  if (!engine) return "its engine is not a server";
  if (any_engine && shape.split.apart()) return "it has separate prefill and decode pools";
  if (shape.parallel.gpus() > gpu.gpus_per_node) return "a replica spans several nodes";
  if (!any_engine && !preset.starts_with("vllm")) {
    return fmt::format("{} is written for vLLM, not {}", name_of(target), preset);
  }
  const Vendor vendor = vendor_of(gpu);
  if (target == LaunchTarget::dynamo && vendor != Vendor::nvidia) {
    return "Dynamo has images for NVIDIA GPUs only";
  }
  if (!image_of(*engine, preset, vendor)) {
    return fmt::format("no container image of {} is known for it", preset);
  }
  return std::nullopt;
}

void check_target_possible(LaunchTarget target, const PlanCatalogue& catalogue,
                           const SearchSpace& space, const std::string& flag) {
  std::string problem;
  for (Shape& shape : shapes_of(space)) {
    const auto found = target_problem(target, catalogue, shape);
    if (!found) return;
    shape.gpu_title = catalogue.gpus.at(shape.gpu).gpu.display_name;
    if (problem.empty()) problem = fmt::format("{}: {}", short_name(shape), *found);
  }
  const char* what = target == LaunchTarget::kubernetes ? "is a plain Deployment" : "can be one";
  throw UsageError(fmt::format("{}: no searched deployment {} ({})", flag, what, problem));
}

std::string target_text(LaunchTarget target, const PlanCatalogue& catalogue, const Shape& shape,
                        std::int64_t units, const std::string& headline) {
  switch (target) {
    case LaunchTarget::kubernetes:
      return kubernetes_text(catalogue, shape, units, headline);
    case LaunchTarget::compose:
      return compose_text(catalogue, shape, units, headline);
    case LaunchTarget::kserve:
      return kserve_text(parts_of(catalogue, shape, headline), shape, units);
    case LaunchTarget::llm_d:
      return llm_d_text(parts_of(catalogue, shape, headline), shape, units,
                        vendor_of(catalogue.gpus.at(shape.gpu).gpu) == Vendor::amd);
    case LaunchTarget::dynamo:
      return dynamo_text(parts_of(catalogue, shape, headline), shape, units);
  }
  return "";
}

}  // namespace roofcast
