// The table of presets: each engine's defaults in each range of versions. Internal to
// model/engines/engine*.cpp, the memory rule and operators; users see engine_presets() and
// resolve_engine().
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/engines/engine.hpp"

namespace roofcast {

/// Defaults of one engine in one range of versions.
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
  /// The project's own engine: records each step at its exact size; its host time is in the
  /// hardware profile.
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

/// Kernel library of compiled TensorRT-LLM engines.
inline constexpr std::string_view kTensorrtEngines = "tensorrt";

/// Every preset, newest of each engine first.
const std::vector<PresetDefaults>& preset_table();

/// The preset for `name` ("vllm", "vLLM-0.16.0", "trt-llm", ...). A vLLM version between presets
/// maps to the one whose behaviour it shares; see the version ranges in engine_presets.cpp. Throws
/// Error with the nearest names if there is none.
const PresetDefaults& find_preset(std::string_view name);

/// Decode batch sizes for which the engine captures CUDA graphs, ascending, up to `largest`.
std::vector<std::int64_t> capture_sizes(const PresetDefaults& preset, std::int64_t largest);

}  // namespace roofcast
