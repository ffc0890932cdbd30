// A build without the HTTP library.
#include "base/error.hpp"
#include "cli/options/arguments.hpp"

namespace roofcast {

int run_serve(CommandContext& context) {
  const Usage usage{.synopsis = "roofcast serve",
                    .example = "roofcast serve --port 8090",
                    .options = option_group("Options"),
                    .unlisted = {},
                    .positional = {}};
  if (!parse(context, usage)) return kExitDone;
  throw Error("this build has no web server: it was built without libcpp-httplib-dev");
}

}  // namespace roofcast
