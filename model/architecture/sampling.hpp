// How the next token is chosen, in the detail that affects its time. Requests without sampling
// parameters use the model's generation_config.json (vLLM's --generation-config auto).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace roofcast {

enum class SamplingKind {
  plain,    // greedy, or temperature only
  top_p,    // from the most likely tokens: top-p, with or without top-k
  penalty,  // top-p plus a repetition, presence or frequency penalty
};

std::vector<std::string_view> sampling_names();
std::string_view name_of(SamplingKind sampling);
std::optional<SamplingKind> parse_sampling(std::string_view text);

}  // namespace roofcast
