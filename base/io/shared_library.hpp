// A library that is opened when it is first needed: most runs of the program do not need it, and
// opening it costs them milliseconds (librsvg brings 44 others).
#pragma once

#include <memory>
#include <string>
#include <type_traits>

namespace roofcast {

/// Open until it is destroyed; copies share it.
class SharedLibrary {
 public:
  /// Who finds its symbols: `global` for a library that opens parts of itself, which look for them.
  enum class Scope { local, global };

  /// Throws Error "FILE cannot be opened: REASON".
  explicit SharedLibrary(const std::string& file, Scope scope = Scope::local);

  /// The function `name`, with the type that the library's header declares. Throws Error if the
  /// library does not have it.
  template <class Function>
  Function* function(const char* name) const {
    static_assert(std::is_function_v<Function>);
    return reinterpret_cast<Function*>(symbol(name));
  }

  /// The object `name`, in the same way.
  template <class Object>
  Object* object(const char* name) const {
    return static_cast<Object*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  std::string file_;
  std::shared_ptr<void> handle_;
};

}  // namespace roofcast
