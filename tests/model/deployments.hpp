// Deployments for tests of the memory plan, whose GPUs have only a memory size.
#pragma once

#include <string>
#include <utility>

#include "model/deployment.hpp"

namespace roofcast::test {

/// A GPU of which only name and memory matter. `visible_gib`: memory as reported by the driver.
inline Gpu gpu_of(const std::string& name, double visible_gib) {
  Gpu gpu;
  gpu.name = name;
  gpu.display_name = name;
  gpu.compute_capability = "9.0";  // no CPU
  gpu.memory = Bytes{visible_gib * kGiB};
  gpu.memory_visible = Bytes{visible_gib * kGiB};
  return gpu;
}

inline Gpu h100() { return gpu_of("nvidia-h100-sxm", 79.19); }

/// As reported by the driver in the vLLM 0.19 reference run.
inline Gpu rtx_4090() {
  Gpu gpu = gpu_of("nvidia-rtx-4090", 0.0);
  gpu.memory = Bytes{24e9};
  gpu.memory_visible = Bytes{25'250'627'584.0};
  return gpu;
}

/// 80 GB as sold, which the textbook rule uses.
inline Gpu a100_80gb() {
  Gpu gpu = gpu_of("nvidia-a100-sxm-80gb", 79.15);
  gpu.memory = Bytes{80e9};
  return gpu;
}

/// AMD's, 288 GB, as ATOM needs one.
inline Gpu mi355x() {
  Gpu gpu = gpu_of("amd-mi355x", 268.2);
  gpu.vendor = "AMD";
  gpu.compute_capability = "gfx950";
  return gpu;
}

inline Deployment deploy(Transformer model, Gpu gpu, const std::string& preset,
                         const EngineOverrides& overrides = {}, const Parallelism& parallel = {}) {
  Engine engine = resolve_engine(preset, overrides, model, gpu, parallel);
  return {.model = std::move(model),
          .gpu = std::move(gpu),
          .parallel = parallel,
          .engine = std::move(engine)};
}

}  // namespace roofcast::test
