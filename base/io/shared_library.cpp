#include "base/io/shared_library.hpp"

#include <dlfcn.h>

#include "base/error.hpp"

namespace roofcast {

SharedLibrary::SharedLibrary(const std::string& file) : file_(file) {
  // Never unloaded: GObject's types, for one, stay registered.
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* why = dlerror();
    throw Error(file + " cannot be opened: " + (why == nullptr ? "unknown reason" : why));
  }
  handle_ = {handle, [](void* opened) { dlclose(opened); }};
}

void* SharedLibrary::symbol(const char* name) const {
  void* address = dlsym(handle_.get(), name);
  if (address == nullptr) throw Error(file_ + " has no function " + name);
  return address;
}

}  // namespace roofcast
