// Start-up logs of vLLM and SGLang: how the server split the GPU's memory. Releases word the lines
// differently; each phrase below is followed by its number. Wordings: vLLM V0 up to 0.9 ("model
// weights take 14.99GiB; non_torch_memory takes ..."), V1 ("Model loading took", "Available KV
// cache memory", with DEBUG "Total non KV cache memory: ...; torch peak memory increase: ..."),
// SGLang ("KV Cache is allocated. #tokens: ..."). All are GiB, even if written GB.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/io/line_reader.hpp"
#include "base/quantity.hpp"
#include "base/units.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/setting_keys.hpp"
#include "reports/importers/text_formats.hpp"

namespace roofcast {
namespace {

/// Which rank's value counts: the minimum for the cache, which all ranks must hold, and the maximum
/// for everything else.
enum class Rank { min, max };

struct Phrase {
  std::string_view text, metric;
  Rank rank = Rank::max;
};

constexpr std::array kPhrases = {
    Phrase{"Model loading took ", "weights_bytes"},
    Phrase{"Loading model weights took ", "weights_bytes"},
    Phrase{"model weights take ", "weights_bytes"},
    Phrase{"weights memory: ", "weights_bytes"},
    Phrase{"torch peak memory increase: ", "activation_bytes"},
    Phrase{"PyTorch activation peak memory takes ", "activation_bytes"},
    Phrase{"non-torch forward increase memory: ", "non_torch_bytes"},
    Phrase{"non_torch_memory takes ", "non_torch_bytes"},
    Phrase{"Available KV cache memory: ", "kv_bytes", Rank::min},
    Phrase{"reserved for KV Cache is ", "kv_bytes", Rank::min},
    Phrase{"total_gpu_memory (", "memory_visible_bytes"},
    Phrase{"GPU KV cache size: ", "kv_tokens", Rank::min},
    Phrase{"KV Cache is allocated. #tokens: ", "kv_tokens", Rank::min},
    Phrase{"max_total_num_tokens=", "kv_tokens", Rank::min},
    Phrase{"# GPU blocks: ", "kv_blocks", Rank::min},
    Phrase{"# CUDA blocks: ", "kv_blocks", Rank::min},
    Phrase{"# cuda blocks: ", "kv_blocks", Rank::min},
    Phrase{"num_gpu_blocks is: ", "kv_blocks", Rank::min},
    Phrase{"secs, took ", "cuda_graph_bytes"},
    Phrase{"Estimated CUDA graph memory: ", "cuda_graph_estimate_bytes"},
    Phrase{"tokens per request: ", "concurrency_at_max_model_len", Rank::min},
};

// SGLang's lines hold several numbers; which metrics they are depends on how the line starts.
struct NumberInLine {
  std::string_view line, text, metric;
};
constexpr std::array kInLines = {
    NumberInLine{"Load weight end", "mem usage=", "weights_bytes"},
    NumberInLine{"Capture cuda graph end", "mem usage=", "cuda_graph_bytes"},
    NumberInLine{"KV Cache is allocated", "K size: ", "k_cache_bytes"},
    NumberInLine{"KV Cache is allocated", "V size: ", "v_cache_bytes"},
};

struct SettingPhrase {
  std::string_view text, key;
};

constexpr std::array kStartUpSettings = {
    SettingPhrase{"tensor_parallel_size=", "tp"},
    SettingPhrase{"pipeline_parallel_size=", "pp"},
    SettingPhrase{"data_parallel_size=", "dp"},
    SettingPhrase{"tp_size=", "tp"},
    SettingPhrase{"pp_size=", "pp"},
    SettingPhrase{"dp_size=", "dp"},
    SettingPhrase{"enable_dp_attention=", "enable_dp_attention"},
    SettingPhrase{" model='", "model"},
    SettingPhrase{"model_path='", "model"},
    SettingPhrase{"quantization='", "quantization"},
    SettingPhrase{"quantization=", "quantization"},
    SettingPhrase{"vLLM API server version ", "engine_version"},
    SettingPhrase{"LLM engine (v", "engine_version"},
    SettingPhrase{"max_seq_len=", "max_model_len"},
    SettingPhrase{"kv_cache_dtype=", "kv_cache_dtype"},
    SettingPhrase{"enforce_eager=", "enforce_eager"},
    SettingPhrase{"gpu_memory_utilization=", "gpu_memory_utilization"},
    SettingPhrase{"gpu_memory_utilization (", "gpu_memory_utilization"},
    SettingPhrase{"mem_fraction_static=", "mem_fraction_static"},
    SettingPhrase{"Requested memory: ", "gpu_memory_utilization"},
};

/// The number at the start of a text, with or without thousands separators, in bytes if a unit
/// follows.
std::optional<double> leading_number(std::string_view text) {
  std::string digits;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (c == ',' && end + 1 < text.size() &&
        std::isdigit(static_cast<unsigned char>(text[end + 1]))) {
      continue;
    }
    const bool part =
        std::isdigit(static_cast<unsigned char>(c)) || c == '.' || (c == '-' && digits.empty());
    if (!part) break;
    digits += c;
  }
  if (digits.ends_with('.')) digits.pop_back();  // end of a sentence
  auto number = number_in(std::string_view(digits));
  std::string_view unit = text.substr(end);
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  if (number && (unit.starts_with("GiB") || unit.starts_with("GB"))) *number *= kGiB;
  if (number && (unit.starts_with("MiB") || unit.starts_with("MB"))) *number *= kMiB;
  return number;
}

std::optional<std::string_view> after(std::string_view line, std::string_view phrase) {
  const std::size_t found = line.find(phrase);
  if (found == std::string_view::npos) return std::nullopt;
  return line.substr(found + phrase.size());
}

void keep(MeasuredRun& run, std::string_view metric, double value, Rank rank) {
  if (!std::isfinite(value)) return;
  for (MetricRow& row : run.metrics) {
    if (row.name != metric) continue;
    row.value = rank == Rank::min ? std::min(row.value, value) : std::max(row.value, value);
    return;
  }
  add_metric(run, metric, "value", value);
}

void read_numbers(MeasuredRun& run, std::string_view line) {
  for (const Phrase& phrase : kPhrases) {
    const auto rest = after(line, phrase.text);
    const auto number = rest ? leading_number(*rest) : std::nullopt;
    if (number) keep(run, phrase.metric, *number, phrase.rank);
  }
  for (const NumberInLine& place : kInLines) {
    const auto rest =
        line.find(place.line) == std::string_view::npos ? std::nullopt : after(line, place.text);
    const auto number = rest ? leading_number(*rest) : std::nullopt;
    if (number) keep(run, place.metric, *number, Rank::max);
  }
}

void read_start_up_setting(MeasuredRun& run, std::string_view line) {
  MeasuredSetting& setting = run.setting;
  for (const SettingPhrase& phrase : kStartUpSettings) {
    const auto rest = after(line, phrase.text);
    if (!rest) continue;
    const std::string value(rest->substr(0, rest->find_first_of("',) \t\"")));
    if (value.empty() || value == "None") continue;
    if (setting.other.contains(std::string(phrase.key)))
      continue;  // the first line that states it counts
    const bool number = phrase.key == "tp" || phrase.key == "pp" || phrase.key == "dp";
    if (number && !number_in(std::string_view(value))) continue;
    set_from_key(setting, phrase.key, nlohmann::json(value), run.origin);
  }
  if (setting.engine.empty() && line.find("vLLM") != std::string_view::npos)
    setting.engine = "vllm";
  if (setting.engine.empty() && line.find("LLM engine (v") != std::string_view::npos) {
    setting.engine = "vllm";
  }
  if (setting.engine.empty() && (line.find("ServerArgs(") != std::string_view::npos ||
                                 line.find("KV Cache is allocated") != std::string_view::npos)) {
    setting.engine = "sglang";
  }
}

bool sizes_cache(const MeasuredRun& run) {
  return find_metric(run, "kv_tokens", "value") || find_metric(run, "kv_blocks", "value");
}

bool starts_engine(std::string_view line) {
  return line.find("LLM engine (v") != std::string_view::npos ||
         line.find("server_args=ServerArgs(") != std::string_view::npos;
}

/// Adds up K and V if the log states them separately, and resolves a tensor degree that counts
/// data-parallel ranks.
void finish(MeasuredRun& run) {
  const auto k = find_metric(run, "k_cache_bytes", "value");
  const auto v = find_metric(run, "v_cache_bytes", "value");
  if (k && v) add_metric(run, "kv_bytes", "value", *k + *v);
  if (run.setting.engine == "sglang") share_attention(run.setting, run.origin);
}

}  // namespace

bool is_start_up_log(std::string_view head) {
  constexpr std::array<std::string_view, 10> kMarks = {
      "LLM engine (v",       "vLLM API server version ", "server_args=ServerArgs(",
      "Model loading took ", "model weights take ",      "Available KV cache memory: ",
      "GPU KV cache size: ", "KV Cache is allocated.",   "# GPU blocks: ",
      "# CUDA blocks: "};
  return std::any_of(kMarks.begin(), kMarks.end(), [&](std::string_view mark) {
    return head.find(mark) != std::string_view::npos;
  });
}

MeasuredRuns read_start_up_log(ByteSource& bytes, const ImportOptions&) {
  LineReader lines(bytes);
  MeasuredRuns runs;
  MeasuredRun run{.origin = bytes.name(), .format = "start-up-log"};
  std::string_view line;
  while (lines.next(line)) {
    // A server restarted with the same log file. Its ranks announce themselves before they size the
    // cache.
    if (starts_engine(line) && sizes_cache(run)) {
      runs.push_back(std::move(run));
      run = {.origin = fmt::format("{}, line {}", bytes.name(), lines.line_number()),
             .format = "start-up-log"};
    }
    read_start_up_setting(run, line);
    read_numbers(run, line);
  }
  if (!run.metrics.empty()) runs.push_back(std::move(run));
  if (runs.empty()) {
    throw Error(bytes.name() +
                ": contains nothing about memory, expected a vLLM or SGLang start-up log");
  }
  for (MeasuredRun& found : runs) finish(found);
  return runs;
}

}  // namespace roofcast
