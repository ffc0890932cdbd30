// roofcast mcp: answers an agent's tool calls over standard input and output.
#include <iostream>
#include <ostream>
#include <string>

#include "cli/default_store.hpp"
#include "cli/options/arguments.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/flags/flag_values.hpp"
#include "serve/api.hpp"
#include "serve/mcp.hpp"

namespace roofcast {
namespace {

Usage mcp_usage(ApiLimits& limits, std::string& store) {
  Usage usage{.synopsis = "roofcast mcp [--store FILE] [options]",
              .example = "roofcast mcp --store roofcast.db",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()("store", po::value(&store)->value_name("FILE"),
                              "the SQLite store that runs and compare read (default roofcast.db)")(
      "max-requests",
      converted(limits.max_requests, "--max-requests", parse_positive)->value_name("N"),
      "maximum requests per simulation (default 20000)");
  return usage;
}

}  // namespace

int run_mcp(CommandContext& context) {
  ApiLimits limits{.saves = false};
  limits.runs_at_once = available_threads();
  std::string store = kDefaultStore;
  const auto common = parse(context, mcp_usage(limits, store));
  if (!common) return kExitDone;
  Api api(limits, store);
  Mcp mcp(api, [&](const Json& message) {
    context.out << message.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n"
                << std::flush;
  });
  for (std::string line; std::getline(std::cin, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) mcp.receive(line);
  }
  mcp.wait();
  return kExitDone;
}

}  // namespace roofcast
