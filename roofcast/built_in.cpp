#include "roofcast/built_in.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/io/shown.hpp"
#include "base/suggest.hpp"
#include "model/engines/engine.hpp"
#include "model/io/engine_profile.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"

namespace roofcast {
namespace {

void check_model(const std::string& model) {
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : catalogue()) names.push_back(entry.name);
  if (std::ranges::find(names, model) == names.end()) {
    throw UsageError(
        fmt::format("model: no built-in model '{}'{}", shown(model), did_you_mean(model, names)));
  }
  std::error_code ignored;
  if (std::filesystem::exists(model, ignored)) {  // it would be read in place of the catalogue's
    throw UsageError(fmt::format(
        "model: a file or folder named '{}' in the current folder hides the model", model));
  }
}

void check_name(const char* key, const std::string& name, bool is_path) {
  if (!is_path && !name.starts_with('-') && !name.starts_with('.')) return;
  throw UsageError(
      fmt::format("{}: '{}' given, expected a built-in name, not a file", key, shown(name)));
}

}  // namespace

std::vector<EngineListEntry> list_engines() {
  std::vector<EngineListEntry> engines;
  for (const EnginePreset& preset : engine_presets()) {
    engines.push_back({preset.name, preset.summary, preset.name == kDefaultEngine});
  }
  return engines;
}

void check_built_in(const DeploymentOptions& options) {
  if (!options.model.empty()) check_model(options.model);
  if (!options.gpu.empty()) check_name("gpu", options.gpu, is_profile_path(options.gpu));
  if (!options.engine.empty()) {
    check_name("engine", options.engine, is_engine_profile_path(options.engine));
  }
}

}  // namespace roofcast
