#include "cli/program_build.hpp"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <span>

#include "base/hash_mix.hpp"
#include "base/version.hpp"

namespace roofcast {
namespace {

/// Linux shows every process its own file here, even if it has been replaced since.
constexpr const char* kProgramFile = "/proc/self/exe";

using Words = std::array<std::uint64_t, 8192>;  // read per call

/// The file that this code was loaded from: the program, or the extension module of Python.
struct LoadedFile {
  std::string path = kProgramFile;
  /// End of the loaded part. What follows (debug information) is many times as large and has no
  /// effect.
  std::uint64_t end = 0;
};

/// For dl_iterate_phdr: fills the LoadedFile if the object has this function.
int find_loaded(dl_phdr_info* info, std::size_t /*size*/, void* found) {
  const auto here = reinterpret_cast<std::uintptr_t>(&find_loaded);
  auto& file = *static_cast<LoadedFile*>(found);
  std::uint64_t end = 0;
  bool is_ours = false;
  for (const auto& segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    is_ours = is_ours || (here >= begin && here < begin + segment.p_memsz);
    end = std::max<std::uint64_t>(end, segment.p_offset + segment.p_filesz);
  }
  if (!is_ours) return 0;
  file.end = end;
  if (info->dlpi_name != nullptr && *info->dlpi_name != '\0') file.path = info->dlpi_name;
  return 1;  // stop
}

}  // namespace

std::string program_build() {
  LoadedFile loaded;
  dl_iterate_phdr(find_loaded, &loaded);
  std::ifstream file(loaded.path, std::ios::binary);
  if (!file) return kVersion;
  std::uint64_t left = loaded.end;
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
