#include "planner/launch/checkpoint_name.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "model/io/model_reader.hpp"

namespace roofcast {

std::string checkpoint_name(const std::string& model) {
  if (model.find('/') != std::string::npos) return model;
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.name != model && std::ranges::find(entry.aliases, model) == entry.aliases.end()) {
      continue;
    }
    const auto same = [&](const std::string& alias) {
      const std::size_t slash = alias.find('/');
      return slash != std::string::npos && lower(alias.substr(slash + 1)) == lower(model);
    };
    const auto is_repository = [](const std::string& alias) {
      return alias.find('/') != std::string::npos;
    };
    auto repository = std::ranges::find_if(entry.aliases, same);
    if (repository == entry.aliases.end()) {
      repository = std::ranges::find_if(entry.aliases, is_repository);
    }
    return repository == entry.aliases.end() ? model : *repository;
  }
  return model;
}

}  // namespace roofcast
