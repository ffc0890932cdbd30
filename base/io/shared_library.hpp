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
  /// Throws Error "FILE cannot be opened: REASON".
  explicit SharedLibrary(const std::string& file);

  /// The function `name`, with the type that the library's header declares. Throws Error if the
  /// library does not have it.
  template <class Function>
  Function* function(const char* name) const {
    static_assert(std::is_function_v<Function>);
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  std::string file_;
  std::shared_ptr<void> handle_;
};

}  // namespace roofcast
