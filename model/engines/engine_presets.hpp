// The presets as a table: what each engine does by default in each span of versions. Internal to
// model/engines/engine*.cpp, the memory rule and operators; users see engine_presets() and
// resolve_engine().
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/engines/engine.hpp"

namespace roofcast {

/// Defaults of one engine over one span of versions.
struct PresetDefaults {
  EnginePreset preset{};
  MemoryRule memory_rule = MemoryRule::vllm;
  SchedulerKind scheduler = SchedulerKind::vllm_v1;
  double utilization = 0.90;
  std::int64_t block_size = 16;
  bool chunked_prefill = true;
  bool async_scheduling = true;
  bool reserve_full_sequence = true;
  ChunkedLayers chunked_layers = ChunkedLayers::apart;
  int first_minor = 0;  // vLLM 0.x: the first x that behaves like this preset
  Bytes overhead{};     // textbook rule: per GPU
  bool prefix_caching = true;
  /// Records each step at its exact size, and states its own host time in the hardware profile.
  bool own_engine = false;
  bool exact_graphs = false;     // Engine::exact_graphs
  bool eager_prefill = false;    // Engine::eager_prefill
  std::string kernel_library{};  // Engine::kernel_library
  OneShotAllReduce one_shot{};
  MemoryConstants memory{};
  bool sorts_logits = false;  // for top-p
  HostOverhead host{};
  /// With several ranks: what each step adds to HostOverhead::step_base and ::per_sequence.
  Seconds ranks_step{};
  Seconds ranks_per_sequence{};
};

/// Kernel library of the engines that TensorRT-LLM built.
inline constexpr std::string_view kTensorrtEngines = "tensorrt";

/// Every preset, newest of each engine first.
const std::vector<PresetDefaults>& preset_table();

/// The preset that `name` means ("vllm", "vLLM-0.16.0", "trt-llm", ...). A vLLM version between
/// presets takes the one whose behaviour it shares; see the cut-offs in engine_presets.cpp. Throws
/// Error with the nearest names.
const PresetDefaults& find_preset(std::string_view name);

/// Decode batch sizes for which the engine captures CUDA graphs, ascending, none above `largest`.
std::vector<std::int64_t> capture_sizes(const PresetDefaults& preset, std::int64_t largest);

}  // namespace roofcast
