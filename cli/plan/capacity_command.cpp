// roofcast capacity: the largest load that a deployment carries within its SLO; stores the run.
#include <optional>
#include <ostream>
#include <utility>
#include <variant>

#include "cli/default_store.hpp"
#include "cli/options/flag_options.hpp"
#include "cli/options/from_command.hpp"
#include "cli/options/option_groups.hpp"
#include "cli/progress.hpp"
#include "cli/spelling.hpp"
#include "reports/answers/answer_documents.hpp"
#include "roofcast/arguments.hpp"
#include "roofcast/capacity.hpp"
#include "roofcast/capacity_table.hpp"
#include "roofcast/store_rows.hpp"

namespace roofcast {
namespace {

struct CapacityCommandOptions {
  CapacityArguments asked{};
  std::string from_command{};  // the command that starts the engine; empty: only flags
  StoreOptions store{};
};

/// The flags of a machine, with several tensor-parallel degrees as capacity takes them.
Flags<CapacityArguments> flags_of_machines() {
  Flags<CapacityArguments> flags;
  append(flags, machine_flags(),
         [](CapacityArguments& a) -> DeploymentOptions& { return a.load.options.deployment; });
  take_several_machines(flags, &CapacityArguments::sizes);
  return flags;
}

Usage capacity_usage(CapacityCommandOptions& target) {
  Usage usage{.synopsis = "roofcast capacity [SCENARIO.json] [options]",
              .example =
                  "roofcast capacity --model llama-3.1-8b --gpu h100 --request-rate 10 "
                  "--slo p95:ttft:500ms",
              .options = option_group("Capacity"),
              .unlisted = {},
              .positional = {}};
  add_scenario_file(usage, target.asked.load.scenario);
  add_flags(usage.options, capacity_flags(), target.asked.capacity);
  add_store_options(usage.options, target.store);
  static const Flags<CapacityArguments> machines = flags_of_machines();
  auto& [deployment, cluster, workload, pricing] = target.asked.load.options;
  usage.options.add(flag_options("Model and GPUs", machines, target.asked))
      .add(synthetic_options(workload))
      .add(trace_options(workload))
      .add(objective_options(workload))
      .add(cluster_options(cluster));
  usage.unlisted.add(from_command_option(target.from_command))
      .add(engine_options(deployment))
      .add(load_shape_options(workload.shape))
      .add(trace_form_options(workload))
      .add(pricing_options(pricing))
      .add(scheduler_options(deployment))
      .add(feature_options(deployment.overrides));
  usage.more = "More: --from-cmd LINE, --price h100=2.49, engine knobs, load shapes";
  return usage;
}

/// Opened before the work: an unwritable file should not cost the simulations.
void open(std::optional<Store>& store, const StoreOptions& options, CommandContext& context) {
  if (can_store(options, context.err)) store.emplace(options.path, Store::Mode::write);
}

void keep(Store& store, const Run& run, const Json& answer, const CapacityCommandOptions& options,
          CommandContext& context) {
  const auto ids = store.add_answer({&run, 1}, answer.dump());
  context.err << "run " << ids.front() << " stored in " << options.store.path << "\n";
}

int print_table(const CapacityTableQuestion& question, const CapacityCommandOptions& options,
                OutputFormat format, CommandContext& context) {
  std::optional<Store> store;
  open(store, options.store, context);
  const CapacityTableAnswer answer = [&] {
    ProgressBar bar(context.err, "searches");
    return capacity_table(
        question, [&](std::int64_t done, std::int64_t total) { return bar.show(done, total); });
  }();
  if (store)
    keep(*store, capacity_table_row(answer, context.command_line), to_json(answer), options,
         context);
  print(capacity_table_document(answer), format, context);
  return code_of(is_yes(answer));
}

}  // namespace

int run_capacity(CommandContext& context) {
  CapacityCommandOptions options;
  const auto common = parse(context, capacity_usage(options));
  if (!common) return kExitDone;
  LoadArguments& load = options.asked.load;
  take_from_command(load.served, options.from_command, context.err);
  note_version(load.options.deployment.engine.empty() ? load.served : load.options.deployment,
               context.err);
  const auto asked = any_question_of(options.asked);
  if (const auto* comparison = std::get_if<CapacityTableQuestion>(&asked)) {
    return print_table(*comparison, options, common->output, context);
  }
  const auto& question = std::get<CapacityQuestion>(asked);
  LoadStudy study = capacity_study(question);
  std::optional<Store> store;
  if (study.run.refusal.empty()) open(store, options.store, context);
  const CapacityAnswer answer = [&] {
    ProgressBar bar(context.err, "simulations");
    return capacity(
        question, std::move(study),
        [&](std::int64_t done, std::int64_t total) { return bar.show(done, total); },
        [&] { return bar.interrupted(); });
  }();
  if (store)
    keep(*store, capacity_row(answer, context.command_line), to_json(answer), options, context);
  print(capacity_document(answer), common->output, context);
  return code_of(is_yes(answer));
}

}  // namespace roofcast
