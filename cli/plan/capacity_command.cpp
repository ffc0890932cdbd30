// roofcast capacity: the largest load that a deployment carries within its SLO; stores the run.
#include <optional>
#include <ostream>
#include <utility>

#include "cli/default_store.hpp"
#include "cli/options/flag_options.hpp"
#include "cli/options/from_command.hpp"
#include "cli/options/simulate_command_options.hpp"
#include "cli/progress.hpp"
#include "cli/spelling.hpp"
#include "reports/pages/answer_documents.hpp"
#include "roofcast/capacity.hpp"
#include "roofcast/capacity_table.hpp"
#include "roofcast/search_flags.hpp"
#include "roofcast/simulate.hpp"
#include "roofcast/store_rows.hpp"

namespace roofcast {
namespace {

struct CapacityCommandOptions {
  SimulateOptions simulate{};
  CapacityOptions capacity{};
  std::string sizes{};  // of --tensor-parallel-size, if several: "auto", "1,2,4"
};

/// The flags of a machine, with several tensor-parallel degrees as capacity takes them.
Flags<CapacityCommandOptions> flags_of_machines() {
  Flags<CapacityCommandOptions> flags;
  append(flags, machine_flags(),
         [](CapacityCommandOptions& o) -> DeploymentOptions& { return o.simulate.deployment; });
  take_several_machines(flags, &CapacityCommandOptions::sizes);
  return flags;
}

po::options_description capacity_options(CapacityCommandOptions& target) {
  po::options_description options = option_group("Capacity");
  SimulateOptions& simulate = target.simulate;
  options.add_options()("scenario", po::value(&simulate.scenario_path)->value_name("FILE"),
                        "scenario file; flags override it");
  add_flags(options, capacity_flags(), target.capacity);
  options.add_options()("store", po::value(&simulate.store_path)->value_name("FILE"),
                        "the SQLite store (default roofcast.db)")(
      "no-store", po::bool_switch()->notifier([&simulate](bool off) { simulate.store = !off; }),
      "do not store the run");
  return options;
}

Usage capacity_usage(CapacityCommandOptions& target) {
  SimulateOptions& simulate = target.simulate;
  Usage usage{.synopsis = "roofcast capacity [SCENARIO.json] [options]",
              .example =
                  "roofcast capacity --model llama-3.1-8b --gpu h100 --request-rate 10 "
                  "--slo p95:ttft:500ms",
              .options = capacity_options(target),
              .unlisted = {},
              .positional = {}};
  static const Flags<CapacityCommandOptions> machines = flags_of_machines();
  usage.options.add(flag_options("Model and GPUs", machines, target))
      .add(synthetic_options(simulate.workload))
      .add(trace_options(simulate.workload))
      .add(objective_options(simulate.workload))
      .add(cluster_options(simulate.cluster));
  usage.unlisted.add(from_command_option(simulate.from_command))
      .add(engine_options(simulate.deployment))
      .add(load_shape_options(simulate.workload.shape))
      .add(trace_form_options(simulate.workload))
      .add(pricing_options(simulate.pricing))
      .add(scheduler_options(simulate.deployment))
      .add(feature_options(simulate.deployment.overrides));
  usage.more = "More: --from-cmd LINE, engine knobs, load shapes, trace formats";
  usage.positional.add("scenario", 1);
  return usage;
}

/// Opened before the work: an unwritable file should not cost the simulations.
void open(std::optional<Store>& store, const SimulateOptions& options, CommandContext& context) {
  if (!options.store || !can_be_kept_in(options.store_path, context.err)) return;
  store.emplace(options.store_path, Store::Mode::write);
}

void keep(Store& store, const Run& run, const Json& answer, const CapacityCommandOptions& options,
          CommandContext& context) {
  const auto ids = store.add_answer({&run, 1}, answer.dump());
  context.err << "run " << ids.front() << " stored in " << options.simulate.store_path << "\n";
}

int print_table(const CapacityCommandOptions& options, const ScenarioOptions& given,
                OutputFormat format, CommandContext& context) {
  const CapacityTableQuestion question =
      capacity_table_question(simulate_scenario(options.simulate), given, options.capacity,
                              options.sizes, has_free_length(options.simulate));
  std::optional<Store> store;
  open(store, options.simulate, context);
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
  const ScenarioOptions given = scenario_options(options.simulate);
  take_from_command(options.simulate.deployment, options.simulate.from_command, context.err);
  note_version(options.simulate.deployment, context.err);
  if (compares_machines(options.simulate.deployment.gpu, options.sizes)) {
    return print_table(options, given, common->output, context);
  }
  const CapacityQuestion question =
      capacity_question(simulate_scenario(options.simulate), given, options.capacity,
                        has_free_length(options.simulate));
  LoadStudy study = capacity_study(question);
  std::optional<Store> store;
  if (study.run.refusal.empty()) open(store, options.simulate, context);
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
