#include "kernels/cuda/loaded_library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace roofcast::kernels::cuda {
namespace {

namespace fs = std::filesystem;

constexpr auto kToolkitFolder = "/usr/local/cuda/lib64";

/// The folders in `parent` whose name starts with `start`, sorted by name.
std::vector<fs::path> folders_in(const fs::path& parent, const std::string& start) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, error)) {
    const bool named = entry.path().filename().string().starts_with(start);
    if (named && entry.is_directory(error)) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::vector<fs::path> wheel_folders(const std::string& python_prefix) {
  std::vector<fs::path> folders;
  if (python_prefix.empty()) return folders;
  for (const fs::path& python : folders_in(fs::path(python_prefix) / "lib", "python3.")) {
    for (const fs::path& wheel : folders_in(python / "site-packages" / "nvidia", "")) {
      folders.push_back(wheel / "lib");
    }
  }
  return folders;
}

std::vector<fs::path> given_folders(const std::string& list) {
  std::vector<fs::path> folders;
  std::istringstream stream(list);
  for (std::string folder; std::getline(stream, folder, ':');) {
    if (!folder.empty()) folders.emplace_back(folder);
  }
  return folders;
}

std::string last_dl_error() {
  const char* text = dlerror();
  return text == nullptr ? "unknown error" : text;
}

}  // namespace

LibraryName cublaslt_name() {
  return {.name = "cuBLASLt", .files = {"libcublasLt.so.13", "libcublasLt.so.12"}};
}
LibraryName cudnn_name() { return {.name = "cuDNN", .files = {"libcudnn.so.9"}}; }
LibraryName nccl_name() { return {.name = "NCCL", .files = {"libnccl.so.2"}}; }
LibraryName nvml_name() { return {.name = "NVML", .files = {"libnvidia-ml.so.1"}}; }

std::vector<std::string> library_candidates(const LibraryName& library,
                                            const LibraryPlaces& places) {
  std::vector<std::string> candidates;
  const auto add_existing = [&](const std::vector<fs::path>& folders) {
    for (const fs::path& folder : folders) {
      for (const std::string& file : library.files) {
        std::error_code error;
        if (fs::exists(folder / file, error)) candidates.push_back((folder / file).string());
      }
    }
  };
  add_existing(given_folders(places.folders));
  candidates.insert(candidates.end(), library.files.begin(), library.files.end());
  add_existing({kToolkitFolder});
  add_existing(wheel_folders(places.python_prefix));
  return candidates;
}

LoadedLibrary::LoadedLibrary(const LibraryName& library, const LibraryPlaces& places)
    : name_(library.name) {
  std::string reason;
  for (const std::string& candidate : library_candidates(library, places)) {
    void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle != nullptr) {
      path_ = candidate;
      handle_ = {handle, [](void* opened) { dlclose(opened); }};
      return;
    }
    // For a file that exists, the reason is more informative than for a bare name that is not
    // found.
    const std::string text = last_dl_error();
    if (reason.empty() || candidate.find('/') != std::string::npos) reason = text;
  }
  throw std::runtime_error(name_ + " could not be opened: " + reason);
}

void* LoadedLibrary::symbol(const char* name) const {
  void* address = dlsym(handle_.get(), name);
  if (address == nullptr) {
    throw std::runtime_error(name_ + " (" + path_ + ") has no function " + name);
  }
  return address;
}

}  // namespace roofcast::kernels::cuda
