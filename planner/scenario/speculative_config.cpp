#include "planner/scenario/speculative_config.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/text.hpp"

namespace roofcast {

std::optional<DraftMethod> SpeculativeConfig::modelled() const {
  if (method.empty()) {
    if (model.empty()) return std::nullopt;
    if (model == "ngram" || model == "[ngram]") return DraftMethod::ngram;
    const std::string name = lower(model);
    const bool eagle =
        name.find("eagle-") != std::string::npos || name.find("eagle3") != std::string::npos;
    return eagle ? DraftMethod::eagle : DraftMethod::draft_model;
  }
  if (method.ends_with("mtp")) return DraftMethod::mtp;
  return parse_draft_method(method);
}

SpeculativeConfig parse_speculative_config(const std::string& text, const std::string& flag) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) {
    throw UsageError(
        fmt::format("{}: '{}' is not JSON such as {{\"method\": \"eagle\", "
                    "\"num_speculative_tokens\": 3}}",
                    flag, shown(text)));
  }
  SpeculativeConfig config;
  const auto text_of = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  config.method = text_of("method");
  config.model = text_of("model");
  const auto tokens = json.find("num_speculative_tokens");
  if (tokens != json.end() && !tokens->is_null()) {
    if (!tokens->is_number_integer()) {
      throw UsageError(fmt::format("{}: \"num_speculative_tokens\" is {}, expected a whole number",
                                   flag, shown(tokens->dump())));
    }
    config.num_speculative_tokens = tokens->get<std::int64_t>();
  }
  return config;
}

}  // namespace roofcast
