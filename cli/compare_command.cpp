// roofcast compare RUN RUN ...: runs of the store, metric by metric, each compared with the first.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "cli/compare_document.hpp"
#include "cli/options/arguments.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kMaxRuns = 50;  // more columns are unreadable

Run run_of(const Store& store, const std::string& path, std::int64_t id) {
  auto run = store.run(id);
  if (run) return *std::move(run);
  throw Error(fmt::format("{}: no run {} (roofcast runs --store {} lists them)", path, id, path));
}

void check_count(std::size_t count) {
  if (count >= 2 && count <= kMaxRuns) return;
  throw UsageError(fmt::format("compare needs 2 to {} runs, not {} (roofcast runs lists them)",
                               kMaxRuns, count));
}

}  // namespace

int run_compare(CommandContext& context) {
  std::string path = "roofcast.db";
  std::vector<std::int64_t> ids;
  Usage usage{.synopsis = "roofcast compare RUN RUN ... [--store FILE]",
              .example = "roofcast compare 1 2 --store roofcast.db",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()("run", po::value(&ids)->value_name("ID"),
                              "runs of the store; each is compared with the first")(
      "store", po::value(&path)->value_name("FILE"), "the SQLite store (default roofcast.db)");
  usage.positional.add("run", -1);
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  check_count(ids.size());
  const Store store(path, Store::Mode::read);
  std::vector<Run> runs;
  for (const std::int64_t id : ids) runs.push_back(run_of(store, path, id));
  write(compare_document(runs, path), common->output, context.out);
  return kExitDone;
}

}  // namespace roofcast
