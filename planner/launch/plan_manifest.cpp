#include "planner/launch/plan_manifest.hpp"

#include <fmt/format.h>

#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "planner/launch/plan_launch.hpp"

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

}  // namespace

std::optional<std::string> manifest_problem(const PlanCatalogue& catalogue, const Shape& shape) {
  const Gpu& gpu = catalogue.gpus.at(shape.gpu).gpu;
  const std::string& preset = catalogue.engines.at(shape.engine).preset;
  const std::optional<ServeEngine> engine = serve_engine_of(preset);
  if (!engine) return "its engine is not a server";
  if (shape.split.apart()) return "it has separate prefill and decode pools";
  if (shape.parallel.gpus() > gpu.gpus_per_node) return "a replica spans several nodes";
  if (!image_of(*engine, preset, vendor_of(gpu))) {
    return fmt::format("no container image of {} is known for it", preset);
  }
  return std::nullopt;
}

void check_manifest_possible(const PlanCatalogue& catalogue, const SearchSpace& space) {
  std::string problem;
  for (Shape& shape : shapes_of(space)) {
    const auto found = manifest_problem(catalogue, shape);
    if (!found) return;
    shape.gpu_title = catalogue.gpus.at(shape.gpu).gpu.display_name;
    if (problem.empty()) problem = fmt::format("{}: {}", short_name(shape), *found);
  }
  throw UsageError(
      fmt::format("--kubernetes: no searched deployment is a plain Deployment ({})", problem));
}

std::string kubernetes_manifest(const PlanCatalogue& catalogue, const Shape& shape,
                                std::int64_t units, const std::string& headline) {
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

}  // namespace roofcast
