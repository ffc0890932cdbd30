#include "cli/shell/option_values.hpp"

#include <array>
#include <string_view>

#include "model/architecture/requantise.hpp"
#include "model/engines/host_terms.hpp"
#include "model/engines/knobs.hpp"
#include "reports/importers/importer.hpp"
#include "roofcast/learn.hpp"
#include "simulator/cluster/kv_link.hpp"
#include "simulator/cluster/router.hpp"

namespace roofcast {
namespace {

using Values = std::vector<std::string>;

/// Values of options whose parsers have no list.
struct FixedValues {
  std::string_view option;
  std::array<std::string_view, 5> values;  // unused entries are empty
};
constexpr std::array kFixed = {
    FixedValues{"dtype", {"auto", "bf16", "fp16", "fp32"}},
    FixedValues{"solve", {"batch", "context", "tp", "utilization", "max_num_seqs"}},
    FixedValues{"objective", {"cost", "gpus", "power"}},
    FixedValues{"pricing", {"on-demand", "reserved", "spot", "owned"}},
    FixedValues{"output", {"table", "json", "jsonl", "csv", "md"}},
    FixedValues{"color", {"auto", "always", "never"}},
    FixedValues{"device", {"cpu", "cuda"}},
    FixedValues{"ramp-up-strategy", {"linear", "exponential"}},
    FixedValues{"range-ratio-style", {"vllm", "sglang"}},
    FixedValues{"trace-format", {"auto", "csv", "jsonl", "bench"}},
    FixedValues{"trace-time-unit", {"s", "ms", "us", "ns"}},
};

/// Values of a knob with a fixed list.
Values knob_values(const EngineKnob& knob) {
  Values names(knob.choice.names.begin(), knob.choice.names.end());
  if (knob.choice.auto_unsets) names.insert(names.begin(), "auto");
  return names;
}

Values link_names() {
  Values names;
  for (const KvLink& link : kv_link_presets()) names.push_back(link.name);
  return names;
}

Values term_names() {
  Values names;
  for (const HostTerm& term : host_terms()) names.emplace_back(term.name);
  return names;
}

Values router_names() {
  const auto names = router_policy_names();
  return {names.begin(), names.end()};
}

}  // namespace

std::vector<std::string> option_values(const std::string& option) {
  if (option == "quantization") return weight_format_names();
  if (option == "router") return router_names();
  if (option == "kv-link") return link_names();
  if (option == "format") return measured_formats();
  if (option == "step") return lesson_step_keys();
  if (option == "terms") return term_names();
  if (const EngineKnob* knob = find_knob_by_flag(option)) return knob_values(*knob);
  Values values;
  for (const FixedValues& one : kFixed) {
    if (one.option != option) continue;
    for (const std::string_view value : one.values) {
      if (!value.empty()) values.emplace_back(value);
    }
  }
  return values;
}

}  // namespace roofcast
