// Loads shared libraries at run time, so that one program starts on a machine without them and
// reports what is missing.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace roofcast::kernels::cuda {

/// The name of a library and its files.
struct LibraryName {
  std::string name;                // for messages: "cuBLASLt"
  std::vector<std::string> files;  // "libcublasLt.so.13", preferred first
};

/// NVIDIA's libraries that are opened at run time, in the versions whose functions are called.
LibraryName cublaslt_name();
LibraryName cudnn_name();
LibraryName nccl_name();
LibraryName nvml_name();

/// Where to look in addition to the loader's own path.
struct LibraryPlaces {
  /// Folders separated by colons, searched first; usually the value of an environment variable that
  /// main() read.
  std::string folders{};
  /// A Python environment with NVIDIA's wheels: PREFIX/lib/python3.*/site-packages/nvidia/*/lib.
  std::string python_prefix{};
};

/// The candidates, in this order: the given folders, the loader's own path, /usr/local/cuda/lib64,
/// the Python environment. Files in folders are listed only if they exist.
std::vector<std::string> library_candidates(const LibraryName& library,
                                            const LibraryPlaces& places);

/// An open library, shared by copies. It is never unloaded: CUDA's libraries register with the
/// driver and do not support unloading.
class LoadedLibrary {
 public:
  /// Opens the first candidate that loads. Throws a one-line std::runtime_error if none does.
  LoadedLibrary(const LibraryName& library, const LibraryPlaces& places);

  /// The function `name`, with the type declared in the library's header. Throws std::runtime_error
  /// if the library does not have it.
  template <class Function>
  Function* function(const char* name) const {
    static_assert(std::is_function_v<Function>);
    return reinterpret_cast<Function*>(symbol(name));
  }

  /// The file that was opened, as it was requested.
  const std::string& path() const { return path_; }

 private:
  void* symbol(const char* name) const;

  std::string name_;
  std::string path_;
  std::shared_ptr<void> handle_;
};

}  // namespace roofcast::kernels::cuda
