#include "cli/default_store.hpp"

#include <unistd.h>

#include <filesystem>
#include <ostream>
#include <system_error>

#include "base/error.hpp"

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

void add_store_options(po::options_description& options, StoreOptions& target, StoreHelp help) {
  options.add_options()("store", po::value(&target.path)->value_name("FILE"), help.path)(
      "no-store", po::bool_switch()->notifier([&target](bool off) { target.on = !off; }), help.off);
}

void add_keep_requests(po::options_description& options, StoreOptions& target, const char* help) {
  options.add_options()("keep-requests", po::bool_switch(&target.keep_requests), help);
}

void check(const StoreOptions& options) {
  if (options.on || !options.keep_requests) return;
  throw UsageError("--keep-requests and --no-store are mutually exclusive");
}

bool can_store(const StoreOptions& options, std::ostream& err) {
  return options.on && can_be_kept_in(options.path, err);
}

}  // namespace roofcast
