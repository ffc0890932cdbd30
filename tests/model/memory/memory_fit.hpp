// Fits the constants of an engine's memory rule to its start-up logs: pure, one preset at a time.
// What is fitted and why: model/engines/vllm.cpp; formulas:
// model/memory/activation_peak.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/memory/activation_peak.hpp"

namespace roofcast {

/// Values printed at one start-up, with the configuration that the formulas need.
struct StartUpLog {
  ActivationShape shape{};
  std::optional<Bytes> activation{};
  std::optional<Bytes> non_torch{};
  std::optional<Bytes> graphs{};
  std::int64_t stage_layers = 0;
  bool several_gpus = false;  // TP > 1
};

/// Bytes of the sampler pass by least squares through the origin, over the logs in which that pass
/// sets the peak: those whose sampler peak by `first_guess` exceeds their forward peak and the
/// compile scratch. Leaves out multimodal models, as profiling of images differs between versions.
/// Returns nullopt if no log is left.
std::optional<double> fit_logits_bytes(std::span<const StartUpLog> logs,
                                       const MemoryConstants& first_guess);

struct ForwardFit {
  double intermediate = 0;
  double hidden = 0;
};

/// Live elements per token of the forward pass, from the logs in which it sets the peak (at least
/// two).
ForwardFit fit_forward(std::span<const StartUpLog> logs);

/// Mean activation of the logs that neither pass explains by `constants`: the compile scratch. Uses
/// logs in which both passes stay below `constants.compile_peak`.
std::optional<Bytes> fit_compile_peak(std::span<const StartUpLog> logs,
                                      const MemoryConstants& constants);

/// Mean non-torch memory of starts on one GPU, or of starts on several.
std::optional<Bytes> fit_non_torch(std::span<const StartUpLog> logs, bool several_gpus);

struct GraphFit {
  Bytes base{};
  Bytes per_layer{};
};

/// CUDA-graph memory as a fixed part plus a part per layer (at least two logs).
GraphFit fit_graphs(std::span<const StartUpLog> logs);

}  // namespace roofcast
