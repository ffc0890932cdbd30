// roofcast compare RUN RUN ...: runs of the store, metric by metric, each compared with the first.
#include <string>
#include <vector>

#include "cli/default_store.hpp"
#include "cli/options/arguments.hpp"
#include "cli/spelling.hpp"
#include "reports/answers/answer_documents.hpp"
#include "roofcast/compare.hpp"
#include "roofcast/stored_runs.hpp"

namespace roofcast {

int run_compare(CommandContext& context) {
  std::string path = kDefaultStore;
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
  check_compared(ids.size());
  const Store store(path, Store::Mode::read);
  CompareQuestion question{.store = path};
  for (const std::int64_t id : ids) question.runs.push_back(stored_run(store, path, id));
  print(compare_document(compare(question)), common->output, context);
  return kExitDone;
}

}  // namespace roofcast
