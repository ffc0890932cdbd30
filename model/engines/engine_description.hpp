// A serving engine as one file describes it: names, versions, defaults, checks. Internal to
// model/engines; users see engine_presets() and resolve_engine(). A new engine is such a file and a
// row of engine_descriptions().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.hpp"
#include "model/engines/engine.hpp"

namespace roofcast {

constexpr Bytes gib(double value) { return Bytes{value * kGiB}; }

/// A user's name for an engine, in lower case and with no separators except the version's dots:
/// "vLLM-0.19.1" is {"vllm", "0.19.1"}.
struct EngineName {
  std::string engine{};
  std::string version{};  // may be empty
};

inline constexpr std::string_view kNightly = "nightly";  // a version later than any preset's

EngineName parse_engine_name(std::string_view name);

/// A year that stands for a version: "2025".
struct EngineYear {
  std::string_view year{};
  std::string_view preset{};
};

struct EngineDescription {
  std::vector<std::string_view> names{};  // as EngineName::engine
  std::vector<EnginePreset> presets{};    // newest first
  std::vector<EngineYear> years{};
  /// The last y of 0.x.y with the newest preset's last_compared x that its values are from; unset:
  /// any.
  std::optional<int> last_patch{};
  /// The preset that a name means, whose engine is one of `names`; null if its version is unknown.
  const EnginePreset* (*find)(const EngineDescription&, const EngineName&) = nullptr;
};

const EngineDescription& vllm_description();
const EngineDescription& sglang_description();
const EngineDescription& tensorrt_llm_description();
const EngineDescription& atom_description();
const EngineDescription& own_description();

/// All engines, in the order in which messages list their presets.
std::span<const EngineDescription* const> engine_descriptions();

/// Null if no preset has exactly this name.
const EnginePreset* preset_named(const EngineDescription& engine, std::string_view name);

/// The preset that a name with one of the engine's names means; null if there is none.
const EnginePreset* preset_meant(const EngineDescription& engine, const EngineName& name);

/// Whether a name's version is one, or "nightly", and not a year.
bool states_version(const EngineDescription& engine, const std::string& version);

/// The preset that covers a version, counted as minor_version() does; null if all are later.
const EnginePreset* preset_of_minor(const EngineDescription& engine, int minor);

/// The x of "0.x" or "0.x.y", 100 + x of "1.x", and so on, for "1" the last that it may be, 199;
/// nullopt if the text is not a version.
std::optional<int> minor_version(const std::string& version);

/// The y of "0.x.y"; nullopt if the text does not state it, which means the newest.
std::optional<int> patch_version(const std::string& version);

/// The least CUDA compute capability, times ten, with which an engine runs weights in a format.
struct LeastCapability {
  std::string_view format{};  // WeightFormat::name
  int capability = 0;
};

/// Throws UsageError if the model has weights in one of these formats and the GPU falls short of
/// its capability. GPUs without a CUDA compute capability pass.
void check_weight_formats(const EngineSetting& setting, std::span<const LeastCapability> least);

/// Whether layers keep windows that TensorRT-LLM's max_attention_window can list: compressed caches
/// and those beside recurrent states have layouts of their own.
bool has_listable_windows(const Transformer& model);

/// Whether the GPU's host is a Grace CPU.
bool has_grace_host(const Gpu& gpu);

/// Batch sizes for which decode graphs are captured: `first`, first + step, ... up to `last`.
struct GraphSizes {
  std::int64_t first = 0, last = 0, step = 1;
};

/// Their union up to `largest`, ascending. Precondition: they ascend.
std::vector<std::int64_t> graph_sizes(std::span<const GraphSizes> sizes, std::int64_t largest);

/// The largest batch to capture that was given: cuda_graph_max_bs or the largest of
/// cuda_graph_batch_sizes. Throws UsageError if they contradict each other.
std::optional<std::int64_t> largest_graph_given(const EngineOverrides& given);

/// Whether the version 0.x.y that was asked for is older than 0.`first`; without y it is not.
bool is_before(const EngineSetting& setting, std::pair<int, int> first);

/// Sets the captured sizes to those given, or these. Throws UsageError if some are given and graphs
/// are off.
void set_graph_sizes(Engine& engine, const EngineOverrides& given,
                     std::vector<std::int64_t> by_default);

/// Host time of engines about which nothing else is known.
HostOverhead plain_host();

// Host time of vLLM, for the loops of own.cpp that share it, and of 0.14 to 0.16, for ATOM.
HostOverhead host_of_vllm();
HostOverhead host_of_vllm_over_http();
/// Outside PyTorch in vLLM 0.10 to 0.16 (vllm.cpp has the sources), on one GPU and on several; of
/// ATOM up to 0.1.1, too.
inline constexpr Bytes kVllmNonTorchSingle = gib(0.109);
inline constexpr Bytes kVllmNonTorchMulti = gib(0.55);
/// Default batch of the API server on a large GPU (EngineArgs.get_batch_defaults in
/// vllm/engine/arg_utils.py); Engine's own members have that on others.
inline constexpr BatchSizes kVllmLargeBatch{.max_num_seqs = 1024, .max_num_batched_tokens = 8192};
void resolve_vllm_batch(Engine& engine, const EngineSetting& setting);
/// Captures sizes 1, 2, 4, 8 and so on by 8; from 256 on by `step`.
void resolve_vllm_graphs(Engine& engine, const EngineSetting& setting, std::int64_t step);

}  // namespace roofcast
