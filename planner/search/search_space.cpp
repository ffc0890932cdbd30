#include "planner/search/search_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/joined.hpp"
#include "base/quantity.hpp"
#include "base/text.hpp"

namespace roofcast {
namespace {

constexpr const char* kUnset = "default";

[[noreturn]] void refuse(const std::string& key, const std::string& value,
                         const std::string& expected) {
  throw UsageError(
      fmt::format("`search` {}: '{}' given, expected {}", key, shown(value), expected));
}

std::int64_t count_of(const std::string& key, const std::string& text, std::int64_t max) {
  const auto count = to_number<std::int64_t>(text);
  if (!count || *count < 1 || *count > max) {
    refuse(key, text, fmt::format("a whole number from 1 to {}", max));
  }
  return *count;
}

int degree_of(const std::string& key, const std::string& text) {
  return static_cast<int>(count_of(key, text, kMaxDegree));
}

std::optional<std::int64_t> knob_of(const std::string& key, const std::string& text) {
  if (text == kUnset) return std::nullopt;
  return count_of(key, text, kMaxEngineCount);
}

bool switch_of(const std::string& key, const std::string& text) {
  if (const auto on = switch_named(text)) return *on;
  refuse(key, text, "on or off");
}

std::optional<DType> cache_of(const std::string& key, const std::string& text) {
  if (text == kUnset || text == "auto") return std::nullopt;
  const auto dtype = parse_dtype(text);
  if (!dtype) refuse(key, text, "default, bf16, fp16 or fp8");
  return dtype;
}

/// Removing the draft tokens ("0", or "default") also removes the settings of drafts.
void take_drafts(Shape& shape, const std::string& key, const std::string& value) {
  EngineOverrides& knobs = shape.overrides;
  knobs.num_speculative_tokens.reset();
  if (value != "0") knobs.num_speculative_tokens = knob_of(key, value);
  if (knobs.num_speculative_tokens) return;
  knobs.speculative_method.reset();
  knobs.acceptance_rate.reset();
  knobs.acceptance_by_position.reset();
  knobs.acceptance_deviation.reset();
  knobs.draft_pass_time.reset();
}

/// "1:2"; "together" for replicas that do both.
PoolSplit split_of(const std::string& key, const std::string& text) {
  if (text == "together") return {};
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) refuse(key, text, "together or PREFILL:DECODE such as 1:2");
  return {.prefill = degree_of(key, text.substr(0, colon)),
          .decode = degree_of(key, text.substr(colon + 1))};
}

using Apply = void (*)(Shape&, const std::string& key, const std::string& value);

struct SearchedKnob {
  std::string_view key;
  std::string_view short_key;
  Apply apply;
};

// In the order in which shapes vary, slowest first.
constexpr std::array kKnobs = {
    SearchedKnob{
        "engine", "",
        [](Shape& shape, const std::string&, const std::string& value) { shape.engine = value; }},
    SearchedKnob{"tensor_parallel_size", "tp",
                 [](Shape& shape, const std::string& key, const std::string& value) {
                   shape.parallel.tensor = degree_of(key, value);
                 }},
    SearchedKnob{"pipeline_parallel_size", "pp",
                 [](Shape& shape, const std::string& key, const std::string& value) {
                   shape.parallel.pipeline = degree_of(key, value);
                 }},
    SearchedKnob{"data_parallel_size", "dp",
                 [](Shape& shape, const std::string& key, const std::string& value) {
                   shape.parallel.data = degree_of(key, value);
                 }},
    SearchedKnob{"enable_expert_parallel", "ep",
                 [](Shape& shape, const std::string& key, const std::string& value) {
                   shape.parallel.expert_parallel = switch_of(key, value);
                 }},
    SearchedKnob{"pools", "",
                 [](Shape& shape, const std::string& key, const std::string& value) {
                   shape.split = split_of(key, value);
                 }},
    SearchedKnob{"quantization", "weights",
                 [](Shape& shape, const std::string&, const std::string& value) {
                   shape.weight_format.reset();
                   if (value != kUnset) shape.weight_format = value;
                 }},
    SearchedKnob{"kv_cache_dtype", "kv",
                 [](Shape& shape, const std::string& key, const std::string& value) {
                   shape.overrides.kv_cache_dtype = cache_of(key, value);
                 }},
    SearchedKnob{"max_model_len", "",
                 [](Shape& shape, const std::string& key, const std::string& value) {
                   shape.overrides.fit_model_len = value == "auto";
                   shape.overrides.max_model_len.reset();
                   if (value != "auto") shape.overrides.max_model_len = knob_of(key, value);
                 }},
    SearchedKnob{"max_num_seqs", "",
                 [](Shape& shape, const std::string& key, const std::string& value) {
                   shape.overrides.max_num_seqs = knob_of(key, value);
                 }},
    SearchedKnob{"max_num_batched_tokens", "",
                 [](Shape& shape, const std::string& key, const std::string& value) {
                   shape.overrides.max_num_batched_tokens = knob_of(key, value);
                 }},
    SearchedKnob{"enable_chunked_prefill", "",
                 [](Shape& shape, const std::string& key, const std::string& value) {
                   shape.overrides.enable_chunked_prefill = switch_of(key, value);
                 }},
    SearchedKnob{"enable_prefix_caching", "",
                 [](Shape& shape, const std::string& key, const std::string& value) {
                   shape.overrides.enable_prefix_caching = switch_of(key, value);
                 }},
    SearchedKnob{"num_speculative_tokens", "", take_drafts},
};

/// Index in the table; nullopt for an unknown key.
std::optional<std::size_t> knob_index(std::string key) {
  std::replace(key.begin(), key.end(), '-', '_');
  for (std::size_t i = 0; i < kKnobs.size(); ++i) {
    if (kKnobs[i].key == key || (!kKnobs[i].short_key.empty() && kKnobs[i].short_key == key)) {
      return i;
    }
  }
  return std::nullopt;
}

const SearchedKnob& knob_named(const std::string& key) { return kKnobs[*knob_index(key)]; }

}  // namespace

std::string searchable_keys() {
  return joined(kKnobs, [](const SearchedKnob& knob) {
    return knob.short_key.empty() ? std::string(knob.key)
                                  : fmt::format("{} ({})", knob.key, knob.short_key);
  });
}

Knob parse_dimension(const std::string& text) {
  Knob knob = parse_knob(text, "`search`", kKnobForms);
  const auto index = knob_index(knob.key);
  if (!index) {
    throw UsageError(fmt::format("`search`: '{}' is not a knob that can be searched ({})",
                                 shown(knob.key), searchable_keys()));
  }
  knob.key = std::string(kKnobs[*index].key);
  for (const std::string& value : knob.values) {
    Shape unused;
    kKnobs[*index].apply(unused, knob.key, value);
  }
  return knob;
}

std::vector<Knob> completed(std::vector<Knob> dimensions, bool fixed_tensor) {
  const auto place = [](const Knob& one) { return *knob_index(one.key); };
  std::stable_sort(dimensions.begin(), dimensions.end(),
                   [&](const Knob& a, const Knob& b) { return place(a) < place(b); });
  const auto twice =
      std::adjacent_find(dimensions.begin(), dimensions.end(),
                         [](const Knob& a, const Knob& b) { return a.key == b.key; });
  if (twice != dimensions.end()) {
    throw UsageError(fmt::format("`search` {}: given twice", twice->key));
  }
  const Knob tensor{.key = "tensor_parallel_size", .values = {"1", "2", "4", "8"}};
  const auto after = std::find_if(dimensions.begin(), dimensions.end(),
                                  [&](const Knob& one) { return place(one) >= place(tensor); });
  const bool searched = after != dimensions.end() && after->key == tensor.key;
  if (!searched && !fixed_tensor) dimensions.insert(after, tensor);
  return dimensions;
}

std::vector<Shape> shapes_of(const SearchSpace& space) {
  auto count = std::ssize(space.gpus);
  for (const Knob& dimension : space.dimensions) {
    count *= std::ssize(dimension.values);
    if (count <= kMaxShapes) continue;
    throw UsageError(fmt::format("`search`: more than {} combinations", kMaxShapes));
  }
  std::vector<Shape> shapes;
  for (const std::string& gpu : space.gpus) {
    shapes.push_back(space.base);
    shapes.back().gpu = gpu;
  }
  for (const Knob& dimension : space.dimensions) {
    std::vector<Shape> varied;
    for (const Shape& shape : shapes) {
      for (const std::string& value : dimension.values) {
        varied.push_back(shape);
        knob_named(dimension.key).apply(varied.back(), dimension.key, value);
      }
    }
    shapes = std::move(varied);
  }
  return shapes;
}

}  // namespace roofcast
