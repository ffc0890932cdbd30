#include "base/io/output_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/error.hpp"

namespace roofcast {
namespace {

namespace fs = std::filesystem;

/// The same file, or the same path if it does not exist yet.
bool same_file(const std::string& one, const std::string& other) {
  std::error_code failure;
  if (fs::equivalent(one, other, failure)) return true;
  const fs::path first = fs::weakly_canonical(fs::absolute(one, failure), failure);
  const fs::path second = fs::weakly_canonical(fs::absolute(other, failure), failure);
  return !failure && first == second;
}

/// Throws Error with the system's reason if the text could not be written completely.
void write_file(const fs::path& file, const std::string& text, const std::string& shown) {
  errno = 0;
  std::ofstream out(file, std::ios::trunc);
  out << text;
  out.close();
  if (out) return;
  const std::string why = errno == 0 ? "" : " (" + std::generic_category().message(errno) + ")";
  throw Error(shown + ": cannot be written" + why);
}

}  // namespace

void check_writable(const std::string& path) {
  const bool existed = fs::exists(path);
  if (!std::ofstream(path, std::ios::app)) throw Error(path + ": cannot be written");
  if (!existed) fs::remove(path);
}

void write_whole(const std::string& path, const std::string& text) {
  std::error_code failure;
  const bool exists = fs::exists(path, failure);
  // Pipes and devices are written directly.
  if (exists && !fs::is_regular_file(path, failure)) return write_file(path, text, path);
  const fs::path target = exists ? fs::canonical(path) : fs::path(path);  // behind a link
  fs::path beside = target;
  beside += ".part";
  try {
    write_file(beside, text, path);
    fs::rename(beside, target);
  } catch (...) {
    fs::remove(beside, failure);
    throw;
  }
}

void check_not_among(const std::string& path, const std::string& flag,
                     const std::vector<std::string>& kept) {
  for (const std::string& file : kept) {
    if (file.empty() || !same_file(path, file)) continue;
    throw UsageError(fmt::format("{}: would overwrite '{}', which this run uses", flag, path));
  }
}

}  // namespace roofcast
