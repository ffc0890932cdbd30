#include "model/io/model_parts.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace roofcast {

namespace {

constexpr std::array<std::string_view, 8> kContextFields = {
    "max_position_embeddings", "n_positions",         "max_seq_len",    "seq_length",
    "model_max_length",        "max_sequence_length", "max_seq_length", "seq_len"};

std::optional<std::int64_t> smallest_field(const Fields& config) {
  std::optional<std::int64_t> smallest;
  for (const std::string_view name : kContextFields) {
    const auto length = config.count({name}, kLongestContext);
    if (length && *length > 0) smallest = std::min(smallest.value_or(*length), *length);
  }
  return smallest;
}

struct Scaled {
  double length = 0;
  double factor = 1;
};

void apply(const Fields& rope, Scaled& scaled) {
  const std::string type = rope.text({"rope_type", "type"});
  if (type == "llama3" || type == "longrope" || type == "su") return;
  scaled.factor = rope.number({"factor"}).value_or(scaled.factor);
  if (!(scaled.factor > 0 && scaled.factor <= 1e6)) {
    rope.fail("factor", "must be above 0 and at most 1000000");
  }
  if (type != "yarn" && type != "deepseek_yarn") return;
  const auto original = rope.count({"original_max_position_embeddings"}, kLongestContext);
  if (original && *original > 0) scaled.length = static_cast<double>(*original);
}

}  // namespace

std::int64_t longest_context(const Fields& config, std::string_view model_type) {
  const auto stated = smallest_field(config);
  if (!stated) return 0;
  Scaled scaled{.length = static_cast<double>(*stated)};
  const bool after_scaling = model_type.find("gemma3") != std::string_view::npos;
  const auto rope = config.object(config.has("rope_scaling") ? "rope_scaling" : "rope_parameters");
  if (!rope || after_scaling) return *stated;
  // transformers v5 may state separate parameters per layer type.
  const auto per_type = rope->members();
  if (per_type.empty()) {
    apply(*rope, scaled);
  } else {
    for (const auto& [type, parameters] : per_type) apply(parameters, scaled);
  }
  const double extended = scaled.length * scaled.factor;
  return static_cast<std::int64_t>(std::min(extended, static_cast<double>(kLongestContext)));
}

}  // namespace roofcast
