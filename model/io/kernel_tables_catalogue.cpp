// The kernel tables that are built into the program.
#include <algorithm>

#include "embedded_tables.hpp"
#include "model/io/kernel_tables_file.hpp"

namespace roofcast {

std::vector<std::string> kernel_table_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_tables()) names.emplace_back(file.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string_view built_in_table_bytes(const std::string& name) {
  for (const EmbeddedFile& file : embedded_tables()) {
    if (file.name == name) return file.text;
  }
  return {};
}

std::shared_ptr<const KernelTables> built_in_tables(const std::string& name) {
  static const std::vector<std::shared_ptr<const KernelTables>> all = [] {
    std::vector<std::shared_ptr<const KernelTables>> list;
    for (const EmbeddedFile& file : embedded_tables()) {
      list.push_back(read_kernel_tables(std::string(file.name), file.text));
    }
    return list;
  }();
  const auto found =
      std::ranges::find_if(all, [&](const auto& tables) { return tables->name() == name; });
  return found == all.end() ? nullptr : *found;
}

}  // namespace roofcast
