#include "planner/launch/checkpoint_name.hpp"

#include <algorithm>

#include "model/io/model_reader.hpp"

namespace roofcast {

std::string checkpoint_name(const std::string& model) {
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.name != model) continue;
    const auto repository =
        std::find_if(entry.aliases.begin(), entry.aliases.end(),
                     [](const std::string& alias) { return alias.find('/') != std::string::npos; });
    return repository == entry.aliases.end() ? model : *repository;
  }
  return model;
}

}  // namespace roofcast
