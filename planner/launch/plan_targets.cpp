#include "planner/launch/plan_targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/quantity.hpp"
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

// Set explicitly for all engines.
constexpr int kPort = 8000;

/// " --host 0.0.0.0 --port 8000", as the preset's engine spells it.
std::string address_of(const std::string& preset) {
  return fmt::format(" --host 0.0.0.0 {} {}", serve_flags(*serve_engine_of(preset)).port, kPort);
}

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
  command += address_of(preset);
  constexpr std::size_t kIndent = 14;
  std::string text = fmt::format("# {}\n", headline);
  for (const std::string& note : line.notes) text += fmt::format("# {}\n", note);
  text += fmt::format("# Nodes with {}\n", gpu.display_name);
  const std::string image = image_of(*serve_engine_of(preset), preset, vendor).value();
  return text + fmt::format(fmt::runtime(kManifest),
                            fmt::arg("name", label_of(catalogue.base.deployment.model)),
                            fmt::arg("replicas", units), fmt::arg("image", image),
                            fmt::arg("line", indented(command, kIndent)), fmt::arg("port", kPort),
                            fmt::arg("resource", resource_of(vendor)),
                            fmt::arg("gpus", shape.parallel.gpus()));
}

// ---- targets of vLLM alone

/// One line, whatever a model's or a profile's name holds.
std::string comment(std::string text) {
  std::ranges::replace_if(
      text, [](char letter) { return letter >= 0 && letter < ' '; }, ' ');
  return "# " + text + "\n";
}

/// A shape's servers: what all targets fill in.
struct ServerParts {
  std::string name{};               // label
  std::string checkpoint{};         // "meta-llama/Llama-3.1-8B"
  std::vector<std::string> args{};  // after `vllm serve MODEL`
  std::string image{};              // empty: there is none, or none is needed
  std::string resource{};           // "nvidia.com/gpu"
  int gpus = 1;
  std::string comments{};  // lines with '#'
};

ServerParts parts_of(const PlanCatalogue& catalogue, const Shape& shape,
                     const std::string& headline) {
  const Gpu& gpu = catalogue.gpus.at(shape.gpu).gpu;
  const std::string& preset = catalogue.engines.at(shape.engine).preset;
  const ServeLine line = serve_line_of(catalogue, shape).value();
  const std::vector<std::string> words = read_shell(line.text).commands.back().words;
  ServerParts parts{
      .name = label_of(catalogue.base.deployment.model),
      .image = image_of(*serve_engine_of(preset), preset, vendor_of(gpu)).value_or(""),
      .resource = resource_of(vendor_of(gpu)),
      .gpus = shape.parallel.gpus(),
      .comments = comment(headline)};
  constexpr std::size_t kProgram = 2;  // vllm serve
  if (words.size() > kProgram) parts.checkpoint = words[kProgram];
  if (words.size() > kProgram) parts.args.assign(words.begin() + kProgram + 1, words.end());
  for (const std::string& note : line.notes) parts.comments += comment(note);
  parts.comments += comment("Nodes with " + gpu.display_name);
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

/// Dynamo's image must be tagged by a release, which admission reads (runtimeVersionOverride
/// otherwise): the one of its examples at commit 04521f47.
constexpr const char* kDynamoImage = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.1";

/// A component of a graph: its container `main`, with `body` of further keys.
std::string dynamo_component(const char* name, const char* type, std::int64_t replicas,
                             const std::string& body) {
  return fmt::format(R"(    - name: {}
      type: {}
      replicas: {}
      podTemplate:
        spec:
          containers:
            - name: main
              image: {}
)",
                     name, type, replicas, kDynamoImage) +
         indented(body, 14);
}

/// A worker of Dynamo. Its vLLM takes vLLM's flags.
std::string dynamo_worker(const ServerParts& parts, const char* name, const char* type,
                          std::int64_t replicas, bool apart) {
  std::vector<std::string> args = {"--model", parts.checkpoint};
  const std::vector<std::string> flags = args_of(parts, apart);
  args.insert(args.end(), flags.begin(), flags.end());
  if (apart) args.insert(args.end(), {"--disaggregation-mode", type});
  return dynamo_component(name, type, replicas,
                          fmt::format(R"(command: ["python3", "-m", "dynamo.vllm"]
args:
{}envFrom:
  - secretRef:
      name: hf-token-secret
resources:
  limits:
    {}: "{}"
)",
                                      listed(args, 2), parts.resource, parts.gpus));
}

/// The operator's API v1beta1 of ai-dynamo/dynamo (v1alpha1 is deprecated), and the examples of its
/// vLLM backend.
std::string dynamo_text(const ServerParts& parts, const Shape& shape, std::int64_t units) {
  std::string text = parts.comments;
  text += "# The image's tag is a release of Dynamo: it decides the version of vLLM\n";
  text += fmt::format(R"(apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: {}
spec:
  backendFramework: vllm
  components:
)",
                      parts.name);
  text += dynamo_component("Frontend", "frontend", 1, "");
  if (!shape.split.apart())
    return text + dynamo_worker(parts, "VllmWorker", "worker", units, false);
  text += dynamo_worker(parts, "VllmDecodeWorker", "decode", units * shape.split.decode, true);
  return text +
         dynamo_worker(parts, "VllmPrefillWorker", "prefill", units * shape.split.prefill, true);
}

// ---- vLLM's own files

/// The file of `vllm serve --config`: flags without their dashes as keys, true for one without a
/// value (docs.vllm.ai, "Configuration file"); also what vLLM's recipes write as
/// recommended-config.yml after a sweep.
std::string vllm_config_text(const ServerParts& parts) {
  std::string text = parts.comments + "# vllm serve --config THIS_FILE\n";
  text += fmt::format("model: {}\n", yaml_text(parts.checkpoint));
  for (std::size_t i = 0; i < parts.args.size(); ++i) {
    const std::string key = parts.args[i].substr(parts.args[i].find_first_not_of('-'));
    std::vector<std::string> values;
    while (i + 1 < parts.args.size() && !parts.args[i + 1].starts_with("--")) {
      const std::string& value = parts.args[++i];
      values.push_back(to_number<double>(value) ? value : yaml_text(value));
    }
    if (values.empty()) {
      text += key + ": true\n";
    } else if (values.size() == 1) {
      text += fmt::format("{}: {}\n", key, values.front());
    } else {
      text += fmt::format("{}: [{}]\n", key, fmt::join(values, ", "));
    }
  }
  return text;
}

struct MeanRequest {
  double input = 0, output = 0;  // tokens
  bool varies = false;           // lengths differ
  double rate = 0;               // arrivals per second; 0: all at once
};

/// Mean lengths and rate of the load that was simulated; the rate as asked for where it is steady.
MeanRequest mean_request(const PlanCatalogue& catalogue) {
  MeanRequest mean;
  const std::vector<Request>& all = catalogue.workload.requests;
  for (const Request& request : all) {
    mean.input += static_cast<double>(request.input_tokens);
    mean.output += static_cast<double>(request.output_tokens);
    mean.varies = mean.varies || request.input_tokens != all.front().input_tokens ||
                  request.output_tokens != all.front().output_tokens;
  }
  const auto count = static_cast<double>(all.size());
  mean.input /= count;
  mean.output /= count;
  const auto* drawn = std::get_if<SyntheticWorkload>(&catalogue.base.workload);
  if (drawn != nullptr && std::holds_alternative<SteadyRate>(drawn->pattern)) {
    if (std::isfinite(drawn->request_rate)) mean.rate = drawn->request_rate;
    return mean;
  }
  const double span = to_seconds(all.back().arrival - all.front().arrival).value;
  if (span > 0) mean.rate = (count - 1) / span;
  return mean;
}

/// Says what the load has that `vllm bench serve` does not send.
std::optional<std::string> bench_problem(const Workload& workload) {
  for (const Request& request : workload.requests) {
    if (request.follows != kNoRequest) return "its load has conversations";
    if (request.adapter >= 0) return "its load has LoRA adapters";
    if (request.images > 0) return "its load has images";
  }
  return std::nullopt;
}

/// "ttft:500 tpot:50", limits in milliseconds as `vllm bench serve --goodput` takes them, of the
/// metrics that it knows; empty if there are none.
std::string goodput_flag(const Slo& slo) {
  std::string limits;
  const auto add = [&](LatencyMetric metric, Seconds limit) {
    const char* name = metric == LatencyMetric::ttft   ? "ttft"
                       : metric == LatencyMetric::tpot ? "tpot"
                       : metric == LatencyMetric::e2e  ? "e2el"
                                                       : nullptr;
    if (name == nullptr || limits.find(fmt::format(" {}:", name)) != std::string::npos) return;
    limits += fmt::format(" {}:{:g}", name, 1e3 * limit.value);
  };
  for (const GoodputLimit& limit : slo.goodput) add(limit.metric, limit.limit);
  for (const PercentileTarget& target : slo.targets) add(target.metric, target.limit);
  return limits.empty() ? "" : " --goodput" + limits;
}

/// One server's knobs around the plan's, by name (ParameterSweep.read_from_dict of
/// vllm/benchmarks/sweep/param_sweep.py).
nlohmann::ordered_json sweep_servers(const Engine& engine) {
  nlohmann::ordered_json servers = {{"planned", nlohmann::ordered_json::object()}};
  const std::int64_t seqs = engine.max_num_seqs;
  const std::int64_t tokens = engine.max_num_batched_tokens;
  if (seqs > 1) servers["half-seqs"] = {{"max_num_seqs", seqs / 2}};
  if (2 * seqs <= tokens) servers["twice-seqs"] = {{"max_num_seqs", 2 * seqs}};
  if (tokens / 2 >= seqs) servers["half-batch"] = {{"max_num_batched_tokens", tokens / 2}};
  servers["twice-batch"] = {{"max_num_batched_tokens", 2 * tokens}};
  return servers;
}

/// One server's share of the planned load, and a fifth less and more. At least 200 requests, for
/// percentiles, and a minute of them.
nlohmann::ordered_json sweep_loads(const PlanCatalogue& catalogue, double rate,
                                   std::int64_t units) {
  const std::int64_t at_once = catalogue.base.max_concurrency.value_or(0);
  nlohmann::ordered_json loads = nlohmann::ordered_json::object();
  for (const auto& [name, share] : {std::pair{"planned", 1.0}, {"less", 0.8}, {"more", 1.2}}) {
    nlohmann::ordered_json& load = loads[name] = nlohmann::ordered_json::object();
    const double of_one = share / static_cast<double>(units);
    constexpr std::int64_t kFewest = 200;
    load["num_prompts"] = std::max(kFewest, static_cast<std::int64_t>(60 * rate * of_one));
    if (rate > 0) load["request_rate"] = rate * of_one;
    if (at_once > 0) {
      load["max_concurrency"] =
          std::max<std::int64_t>(1, std::llround(static_cast<double>(at_once) * of_one));
    }
  }
  return loads;
}

/// docs.vllm.ai, "Parameter Sweeps", and vllm/benchmarks/sweep/serve.py: every server against every
/// load, three runs each, results in a folder that `validate` reads.
std::string vllm_sweep_text(const PlanCatalogue& catalogue, const Shape& shape, std::int64_t units,
                            const ServerParts& parts) {
  const MeanRequest mean = mean_request(catalogue);
  const std::string serve =
      joined_words({"vllm", "serve", parts.checkpoint}) + " " + joined_words(parts.args);
  const std::string bench = fmt::format(
      "vllm bench serve --model {} --dataset-name random --random-input-len {} --random-output-len "
      "{} --ignore-eos{}",
      shell_quoted(parts.checkpoint), std::llround(mean.input), std::llround(mean.output),
      goodput_flag(catalogue.base.slo));
  std::string text = "#!/usr/bin/env bash\n" + parts.comments;
  text += "# What the plan says of one of its servers, measured: bash THIS_FILE [FOLDER], then\n";
  text += comment(fmt::format("  roofcast validate FOLDER/plan --model {} --gpu {} --tp {}",
                              shell_quoted(catalogue.base.deployment.model),
                              shell_quoted(shape.gpu), shape.parallel.tensor));
  if (mean.varies) text += "# The load's lengths vary; here all requests have the mean ones\n";
  return text + fmt::format(R"(set -euo pipefail
folder=${{1:-vllm-sweep}}
mkdir -p "$folder"
cat >"$folder/serve.json" <<'JSON'
{}
JSON
cat >"$folder/bench.json" <<'JSON'
{}
JSON
vllm bench sweep serve --serve-cmd {} \
  --bench-cmd {} \
  --serve-params "$folder/serve.json" --bench-params "$folder/bench.json" \
  --num-runs 3 --output-dir "$folder" --experiment-name plan
)",
                            sweep_servers(deploy(catalogue, shape).engine).dump(2),
                            sweep_loads(catalogue, mean.rate, units).dump(2), shell_quoted(serve),
                            shell_quoted(bench));
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
  command += address_of(preset);
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
    const std::string list = joined(ids);
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

constexpr std::array<std::pair<LaunchTarget, const char*>, 7> kTargetNames = {
    {{LaunchTarget::kubernetes, "kubernetes"},
     {LaunchTarget::kserve, "kserve"},
     {LaunchTarget::llm_d, "llm-d"},
     {LaunchTarget::dynamo, "dynamo"},
     {LaunchTarget::compose, "compose"},
     {LaunchTarget::vllm_config, "vllm-config"},
     {LaunchTarget::vllm_sweep, "vllm-sweep"}}};

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
  const bool one_server = target == LaunchTarget::vllm_config || target == LaunchTarget::vllm_sweep;
  if ((any_engine || one_server) && shape.split.apart()) {
    return "it has separate prefill and decode pools";
  }
  if (shape.parallel.gpus() > gpu.gpus_per_node) return "a replica spans several nodes";
  if (!any_engine && !preset.starts_with("vllm")) {
    return fmt::format("{} is written for vLLM, not {}", name_of(target), preset);
  }
  if (target == LaunchTarget::vllm_sweep) return bench_problem(catalogue.workload);
  if (one_server) return std::nullopt;
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
    case LaunchTarget::vllm_config:
      return vllm_config_text(parts_of(catalogue, shape, headline));
    case LaunchTarget::vllm_sweep:
      return vllm_sweep_text(catalogue, shape, units, parts_of(catalogue, shape, headline));
  }
  return "";
}

}  // namespace roofcast
