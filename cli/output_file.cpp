#include "cli/output_file.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "model/error.hpp"

namespace roofcast {
namespace {

namespace fs = std::filesystem;

/// The same file, or the same place where there is none yet.
bool same_file(const std::string& one, const std::string& other) {
  std::error_code failure;
  if (fs::equivalent(one, other, failure)) return true;
  const fs::path first = fs::weakly_canonical(fs::absolute(one, failure), failure);
  const fs::path second = fs::weakly_canonical(fs::absolute(other, failure), failure);
  return !failure && first == second;
}

}  // namespace

void check_writable(const std::string& path) {
  const bool existed = fs::exists(path);
  if (!std::ofstream(path, std::ios::app)) throw Error(path + ": cannot be written");
  if (!existed) fs::remove(path);
}

void check_not_among(const std::string& path, const std::string& flag,
                     const std::vector<std::string>& kept) {
  for (const std::string& file : kept) {
    if (file.empty() || !same_file(path, file)) continue;
    throw UsageError(flag + ": '" + path + "' would be written over, which this run uses");
  }
}

}  // namespace roofcast
