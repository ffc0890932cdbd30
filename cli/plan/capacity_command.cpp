// roofcast capacity: the largest load that a deployment carries within its SLO; stores the run.
#include <optional>
#include <ostream>
#include <utility>

#include "cli/options/from_command.hpp"
#include "cli/plan/capacity_command_options.hpp"
#include "cli/progress.hpp"
#include "reports/pages/capacity_sections.hpp"
#include "roofcast/store_rows.hpp"

namespace roofcast {

int run_capacity(CommandContext& context) {
  CapacityOptions options;
  const auto common = parse(context, capacity_usage(options));
  if (!common) return kExitDone;
  take_from_command(options.simulate.deployment, options.simulate.from_command, context.err);
  const CapacityQuestion question = capacity_question(options);
  LoadStudy study = capacity_study(question);
  // Opened before the work: an unwritable file should not cost the simulations.
  std::optional<Store> store;
  if (options.simulate.store && study.run.refusal.empty()) {
    store.emplace(options.simulate.store_path, Store::Mode::write);
  }
  const CapacityAnswer answer = [&] {
    ProgressBar bar(context, "simulations");
    return capacity(
        question, std::move(study),
        [&](std::int64_t done, std::int64_t total) { return bar.show(done, total); },
        [&] { return bar.interrupted(); });
  }();
  if (store) {
    const auto id = store->add(capacity_row(answer, context.command_line));
    context.err << "run " << id << " stored in " << options.simulate.store_path << "\n";
  }
  write({.machine = to_json(answer), .sections = capacity_sections(answer)}, common->output,
        context.out);
  return answer.holds ? kExitDone : kExitNo;
}

}  // namespace roofcast
