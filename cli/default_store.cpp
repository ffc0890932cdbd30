#include "cli/default_store.hpp"

#include <unistd.h>

#include <filesystem>
#include <ostream>

namespace roofcast {

bool can_be_kept_in(const std::string& path, std::ostream& err) {
  const bool exists = std::filesystem::exists(path);
  if (path != kDefaultStore || access(exists ? path.c_str() : ".", W_OK) == 0) return true;
  err << "nothing is kept: " << path << " cannot be written in this folder (--store FILE keeps it "
      << "elsewhere, --no-store keeps nothing)\n";
  return false;
}

}  // namespace roofcast
