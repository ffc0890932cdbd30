#include "base/io/shared_library.hpp"

#include <dlfcn.h>

#include "base/error.hpp"

namespace roofcast {

SharedLibrary::SharedLibrary(const std::string& file, Scope scope) : file_(file) {
  // Never unloaded: GObject's types, for one, stay registered.
  const int visible = scope == Scope::global ? RTLD_GLOBAL : RTLD_LOCAL;
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_NODELETE | visible);
  if (handle == nullptr) {
    const char* why = dlerror();
    throw Error(file + " cannot be opened: " + (why == nullptr ? "unknown reason" : why));
  }
  handle_ = {handle, [](void* opened) { dlclose(opened); }};
}

void* SharedLibrary::symbol(const char* name) const {
  void* address = dlsym(handle_.get(), name);
  if (address == nullptr) throw Error(file_ + " has no " + name);
  return address;
}

}  // namespace roofcast
