// roofcast serve, from its module: the HTTP library brings OpenSSL, whose start costs more
// processor time than most answers.
#include <filesystem>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "base/io/shared_library.hpp"
#include "cli/command.hpp"

namespace roofcast {

int run_serve(CommandContext& context) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (failed) throw Error("roofcast serve: /proc is not mounted, so its module cannot be found");
  const std::string module =
      (program.parent_path().parent_path() / "lib" / "roofcast" / "serve.so").string();
  if (!fs::exists(module, failed)) {
    throw Error(module + ": is not there; `roofcast serve` is installed as bin/roofcast and " +
                "lib/roofcast/serve.so");
  }
  return SharedLibrary(module).function<int(CommandContext&)>("roofcast_run_serve")(context);
}

}  // namespace roofcast
