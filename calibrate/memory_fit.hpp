// Constants of an engine's memory rule from its start-up logs: pure, one preset at a time. What is
// fitted and why: model/engines/engine_presets.cpp; the formulas: model/memory/activation_peak.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/memory/activation_peak.hpp"

namespace roofcast {

/// What one start-up printed, with what its configuration lets the formulas work from.
struct StartUpLog {
  ActivationShape shape{};
  std::optional<Bytes> activation{};
  std::optional<Bytes> non_torch{};
  std::optional<Bytes> graphs{};
  std::int64_t stage_layers = 0;
  bool several_gpus = false;  // TP > 1
};

/// Least squares through the origin of the sampler pass over the logs that it sets: those whose
/// sampler peak by `first_guess` is above their forward peak and the compile scratch. Images are
/// profiled differently from version to version, so multimodal models are left out. Nothing when
/// no log is left.
std::optional<double> fit_logits_bytes(std::span<const StartUpLog> logs,
                                       const MemoryConstants& first_guess);

struct ForwardFit {
  double intermediate = 0;
  double hidden = 0;
};

/// Live elements per token of the forward pass, from logs that it sets (at least two).
ForwardFit fit_forward(std::span<const StartUpLog> logs);

/// Mean activation of the logs that neither pass by `constants` explains: the compile scratch.
/// A log belongs to them when both passes stay under `constants.compile_peak`.
std::optional<Bytes> fit_compile_peak(std::span<const StartUpLog> logs,
                                      const MemoryConstants& constants);

/// Mean of the non-torch memory of starts on one GPU, or of starts on several.
std::optional<Bytes> fit_non_torch(std::span<const StartUpLog> logs, bool several_gpus);

struct GraphFit {
  Bytes base{};
  Bytes per_layer{};
};

/// CUDA-graph memory as a fixed part and a part per layer (at least two logs).
GraphFit fit_graphs(std::span<const StartUpLog> logs);

}  // namespace roofcast
