// roofcast serve, from its module: the HTTP library brings OpenSSL, whose start costs more
// processor time than most answers.
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/io/shared_library.hpp"
#include "build_id.hpp"
#include "cli/command.hpp"

namespace roofcast {
namespace {

/// Module and program share their structs, so another build's would crash.
SharedLibrary open_module(const std::string& module) {
  std::optional<SharedLibrary> library;
  try {
    library.emplace(module);
  } catch (const Error& error) {
    // "FILE cannot be opened: REASON"
    throw Error(fmt::format("{} (if it is of another build, install both together)", error.what()));
  }
  std::string reason;
  try {
    const std::string_view build = library->function<const char*()>("roofcast_serve_build")();
    if (build == kBuildId) return *std::move(library);
    reason = fmt::format("build {}, the program's is {}", build, kBuildId);
  } catch (const Error& error) {  // the module has no such function
    reason = error.what();
  }
  throw Error(
      fmt::format("{}: is not of the build of this program ({}); install bin/roofcast and "
                  "lib/roofcast/serve.so together",
                  module, reason));
}

}  // namespace

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
  return open_module(module).function<int(CommandContext&)>("roofcast_run_serve")(context);
}

}  // namespace roofcast
