// roofcast capacity: the most load that a deployment carries within its SLO; kept in the store.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>

#include "cli/options/from_command.hpp"
#include "cli/plan/capacity_command_options.hpp"
#include "cli/plan/capacity_document.hpp"
#include "cli/progress.hpp"
#include "planner/evaluate_all.hpp"

namespace roofcast {
namespace {

CapacityAnswer answer_with_progress(LoadStudy study, const CapacityOptions& options,
                                    Execution& execution, const CommandContext& context) {
  // What a question usually takes; a bar that is a little off beats none.
  constexpr std::int64_t kUsual = 60;
  constexpr std::int64_t kUsualExplained = 120;
  ProgressBar bar(context, "simulations");
  execution.threads = available_threads();
  execution.progress = [&](std::int64_t done) {
    return bar.show(done, std::max(done, options.request.explain ? kUsualExplained : kUsual));
  };
  execution.stopped = [&] { return bar.interrupted(); };
  CapacityAnswer answer = answer_capacity(std::move(study), options.request, execution);
  execution.progress = {};
  execution.stopped = {};
  return answer;
}

}  // namespace

int run_capacity(CommandContext& context) {
  CapacityOptions options;
  const auto common = parse(context, capacity_usage(options));
  if (!common) return kExitDone;
  take_from_command(options.simulate.deployment, options.simulate.from_command, context.err);
  LoadStudy study = capacity_study(options);
  if (!study.run.refusal.empty()) {
    write(capacity_refusal(study), common->output, context.out);
    return kExitNo;
  }
  // Opened before the work: a file that cannot be written should not cost the simulations.
  std::optional<Store> store;
  if (options.simulate.store) store.emplace(options.simulate.store_path, Store::Mode::write);
  Execution execution;
  const CapacityAnswer answer = answer_with_progress(std::move(study), options, execution, context);
  if (store) {
    const auto id = store->add(capacity_row(answer, context.command_line));
    context.err << "run " << id << " kept in " << options.simulate.store_path << "\n";
  }
  std::optional<GrowthQuestion> growth;
  if (options.growth) growth = GrowthQuestion{*options.growth, options.from};
  write(capacity_document(answer, growth, execution.simulations), common->output, context.out);
  return holds(answer) ? kExitDone : kExitNo;
}

}  // namespace roofcast
