#include "model/engine_eras.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>

#include "model/error.hpp"
#include "model/suggest.hpp"

namespace roofcast {
namespace {

/// vLLM versions before 0.8 ran the V0 engine by default, which has another scheduler and another
/// memory profile.
constexpr int kFirstMinorOfVllmV1 = 8;

/// The start-up memory profile of one era. `logits_bytes` is the peak of the dummy sampler pass per
/// (max_num_seqs * vocabulary) element.
MemoryConstants vllm_memory(double logits_bytes, double single_gib, double multi_gib,
                            bool subtracts_graphs) {
  return {.logits_bytes = logits_bytes,
          .non_torch_single = Bytes{single_gib * kGiB},
          .non_torch_multi = Bytes{multi_gib * kGiB},
          .subtracts_graphs = subtracts_graphs,
          .source = "vLLM start-up logs"};
}

/// Cut-offs of the vLLM eras, by what changed:
///  0.8 - 0.16: sampler sorts the logits (38 bytes per element); scheduling is synchronous; a
///              request is admitted when its first chunk fits.
///  0.17 - 0.20: sampler without the sort (15 bytes); asynchronous scheduling; a request is
///              admitted when its whole sequence fits. Its knobs are those that a vLLM 0.19.0 run
///              printed at start-up (configuration dump of a run on an RTX 4090).
///  0.21 on:    an estimate of CUDA-graph memory is taken from the KV budget (default since 0.21.0
///              by the engine's own log message); utilisation 0.92.
/// The scheduling changes are dated to within a few versions only.
std::vector<EraDefaults> make_table() {
  return {
      {.era = {"vllm-0.29", "vLLM 0.21 and later (2026): CUDA graphs counted, utilisation 0.92"},
       .utilization = 0.92,
       .first_minor = 21,
       .memory = vllm_memory(11.0, 0.25, 1.3, true)},
      {.era = {"vllm-0.19", "vLLM 0.17 to 0.20: asynchronous scheduling, whole-prompt admission"},
       .first_minor = 17,
       .memory = vllm_memory(14.9, 0.25, 2.1, false)},
      {.era = {"vllm-0.11", "vLLM V1 up to 0.16 (2025): synchronous, first-chunk admission"},
       .async_scheduling = false,
       .reserve_full_sequence = false,
       .first_minor = 0,
       .memory = vllm_memory(38.5, 0.13, 0.55, false)},
      {.era = {"sglang", "SGLang: token pages, prefill first, static memory fraction"},
       .memory_rule = MemoryRule::sglang,
       .scheduler = SchedulerKind::sglang,
       .block_size = 1},
      {.era = {"trtllm", "TensorRT-LLM: no-evict scheduler, fraction of the free memory"},
       .memory_rule = MemoryRule::tensorrt_llm,
       .scheduler = SchedulerKind::tensorrt_llm,
       .block_size = 32,
       .chunked_prefill = false},
      {.era = {"textbook", "no engine: memory - weights - a fixed overhead, all left to KV"},
       .memory_rule = MemoryRule::textbook,
       .utilization = 1.0,
       .block_size = 1,
       .overhead = Bytes{1.5e9}},  // assumption: the 3 GB for two GPUs of the widely read example
  };
}

/// Lower case without separators other than the version's dots: "TensorRT_LLM" -> "tensorrtllm".
std::string normalised(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == ' ') continue;
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

/// Engine word and version of a normalised name: "vllm0.19.1" -> {"vllm", "0.19.1"}.
struct NameParts {
  std::string engine;
  std::string version;
};

NameParts split_version(const std::string& text) {
  const auto digit = text.find_first_of("0123456789");
  if (digit == std::string::npos) return {text, ""};
  std::string engine = text.substr(0, digit);
  if (!engine.empty() && engine.back() == 'v' && engine != "v") engine.pop_back();
  return {engine, text.substr(digit)};
}

/// The x of "0.x" or "0.x.y"; nothing when the text is not a version 0.x.
std::optional<int> minor_version(const std::string& version) {
  if (version.rfind("0.", 0) != 0) return std::nullopt;
  int minor = 0;
  const char* end = version.data() + version.size();
  const auto [rest, failed] = std::from_chars(version.data() + 2, end, minor);
  if (failed != std::errc{} || (rest != end && *rest != '.')) return std::nullopt;
  return minor;
}

const EraDefaults* era_named(std::string_view name) {
  for (const EraDefaults& era : era_table()) {
    if (era.era.name == name) return &era;
  }
  return nullptr;
}

/// The vLLM era of a version text; null when the text is not a version.
const EraDefaults* vllm_era(const std::string& version) {
  if (version.empty()) return era_named("vllm-0.19");
  if (version == "2025") return era_named("vllm-0.11");
  if (version == "2026") return era_named("vllm-0.29");
  const std::optional<int> minor = minor_version(version);
  if (!minor) return nullptr;
  if (*minor < kFirstMinorOfVllmV1) {
    throw Error(fmt::format(
        "engine 'vllm-{}': versions before 0.{} ran the V0 engine, which is not modelled; the "
        "oldest is vllm-0.11",
        version, kFirstMinorOfVllmV1));
  }
  for (const EraDefaults& era : era_table()) {
    if (era.memory_rule == MemoryRule::vllm && *minor >= era.first_minor) return &era;
  }
  return nullptr;
}

[[noreturn]] void throw_unknown(std::string_view name) {
  std::vector<std::string> names{"vllm"};
  std::string listed;
  for (const EraDefaults& era : era_table()) {
    names.push_back(era.era.name);
    listed += (listed.empty() ? "" : ", ") + era.era.name;
  }
  throw Error(fmt::format("unknown engine '{}'{}; expected one of: {}", name,
                          did_you_mean(name, names), listed));
}

}  // namespace

const std::vector<EraDefaults>& era_table() {
  static const std::vector<EraDefaults> table = make_table();
  return table;
}

const EraDefaults& find_era(std::string_view name) {
  const NameParts parts = split_version(normalised(name));
  const EraDefaults* found = nullptr;
  if (parts.engine == "vllm") {
    found = vllm_era(parts.version);
  } else if (parts.engine == "sglang" || parts.engine == "sgl") {
    found = era_named("sglang");
  } else if (parts.engine == "trtllm" || parts.engine == "tensorrtllm") {
    found = era_named("trtllm");
  } else if (parts.engine == "textbook" && parts.version.empty()) {
    found = era_named("textbook");
  }
  if (found == nullptr) throw_unknown(name);
  return *found;
}

std::vector<std::int64_t> capture_sizes(const EraDefaults& era, std::int64_t largest) {
  // TensorRT-LLM runs a batch that was not captured without padding it (padding is an option).
  if (era.scheduler == SchedulerKind::tensorrt_llm) return {};
  std::vector<std::int64_t> sizes;
  const auto add = [&](std::int64_t first, std::int64_t last, std::int64_t step) {
    for (std::int64_t size = first; size <= std::min(last, largest); size += step) {
      sizes.push_back(size);
    }
  };
  add(1, 1, 1);
  add(2, 4, 2);
  if (era.scheduler == SchedulerKind::sglang) {
    // 1, 2, 4, 8, 12, 16..256 by 8, 272..496 by 16, 512.. by 32 (SGLang server_args)
    add(8, 12, 4);
    add(16, 256, 8);
    add(272, 496, 16);
    add(512, largest, 32);
  } else if (!era.async_scheduling) {
    add(8, largest, 8);  // vLLM up to 0.16: 67 sizes to 512
  } else {
    add(8, 248, 8);  // vLLM 0.19: 51 sizes to 512, as a start-up dump prints them
    add(256, largest, 16);
  }
  return sizes;
}

}  // namespace roofcast
