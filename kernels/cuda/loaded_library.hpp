// Shared libraries that are opened at run time, so that one program starts on a machine without
// them and says what it lacks.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace roofcast::kernels::cuda {

/// A library as it is asked for.
struct LibraryName {
  std::string name;                // for messages: "cuBLASLt"
  std::vector<std::string> files;  // "libcublasLt.so.13", the preferred one first
};

/// Where else than on the loader's own path to look.
struct LibraryPlaces {
  /// Folders separated by colons, looked at before all others; usually the value of an environment
  /// variable that main() read.
  std::string folders{};
  /// Of a Python environment with NVIDIA's wheels: PREFIX/lib/python3.*/site-packages/nvidia/*/lib.
  std::string python_prefix{};
};

/// What is tried, in this order: the given folders, the loader's own path, /usr/local/cuda/lib64,
/// the Python environment. Files in folders are listed only where they exist.
std::vector<std::string> library_candidates(const LibraryName& library,
                                            const LibraryPlaces& places);

/// An open library. Copies share it. It stays in memory when the last one goes: CUDA's libraries
/// register themselves with the driver and are not made to be unloaded.
class LoadedLibrary {
 public:
  /// The first candidate that opens. Throws std::runtime_error, one line, when none does.
  LoadedLibrary(const LibraryName& library, const LibraryPlaces& places);

  /// The function `name`, of the type that the library's header declares. Throws std::runtime_error
  /// when the library has none.
  template <class Function>
  Function* function(const char* name) const {
    static_assert(std::is_function_v<Function>);
    return reinterpret_cast<Function*>(symbol(name));
  }

  /// The file that was opened, as it was asked for.
  const std::string& path() const { return path_; }

 private:
  void* symbol(const char* name) const;

  std::string name_;
  std::string path_;
  std::shared_ptr<void> handle_;
};

}  // namespace roofcast::kernels::cuda
