#include "cli/default_store.hpp"

#include <unistd.h>

#include <filesystem>
#include <ostream>
#include <system_error>

namespace roofcast {

bool can_be_kept_in(const std::string& path, std::ostream& err) {
  if (path != kDefaultStore) return true;
  std::error_code unknown;
  const bool exists = std::filesystem::exists(path, unknown);
  // SQLite writes its journal beside the file.
  if (access(".", W_OK) == 0 && (!exists || access(path.c_str(), W_OK) == 0)) return true;
  err << "not stored: " << path << " cannot be written in this folder (--store FILE stores it "
      << "elsewhere, --no-store avoids this note)\n";
  return false;
}

}  // namespace roofcast
