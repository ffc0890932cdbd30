#include "cli/program_build.hpp"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <span>

#include "base/hash_mix.hpp"
#include "base/version.hpp"

namespace roofcast {
namespace {

/// Linux shows every process its own file here, even if it has been replaced since.
constexpr const char* kProgramFile = "/proc/self/exe";

using Words = std::array<std::uint64_t, 8192>;  // read per call

/// For dl_iterate_phdr: the end of the loaded part of the file. What follows (debug information) is
/// many times as large and has no effect.
int find_end_of_loaded(dl_phdr_info* info, std::size_t /*size*/, void* end) {
  for (const auto& segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    if (segment.p_type != PT_LOAD) continue;
    auto& furthest = *static_cast<std::uint64_t*>(end);
    furthest = std::max<std::uint64_t>(furthest, segment.p_offset + segment.p_filesz);
  }
  return 1;  // stop: the program comes first, then its libraries
}

}  // namespace

std::string program_build() {
  std::ifstream file(kProgramFile, std::ios::binary);
  if (!file) return kVersion;
  std::uint64_t left = 0;
  dl_iterate_phdr(find_end_of_loaded, &left);
  std::uint64_t hash = left;
  while (left > 0) {
    Words words{};  // zeros after the end
    const std::uint64_t wanted = std::min<std::uint64_t>(left, sizeof(words));
    file.read(reinterpret_cast<char*>(words.data()), static_cast<std::streamsize>(wanted));
    if (!file) return kVersion;
    for (const std::uint64_t word : words) hash = hash_mix(hash, word);
    left -= wanted;
  }
  return fmt::format("{} {:016x}", kVersion, hash);
}

}  // namespace roofcast
