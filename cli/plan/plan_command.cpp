// roofcast plan: the cheapest deployments that hold the SLO; kept in the store while it searches.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/dates.hpp"
#include "base/error.hpp"
#include "base/version.hpp"
#include "cli/output_file.hpp"
#include "cli/plan/plan_document.hpp"
#include "cli/plan/plan_options.hpp"
#include "cli/plan/started_together.hpp"
#include "cli/program_build.hpp"
#include "cli/progress.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/launch/plan_manifest.hpp"
#include "planner/search/plan_digest.hpp"
#include "reports/store.hpp"
#include "roofcast/plan_json.hpp"
#include "simulator/io/scenario_workload.hpp"

namespace roofcast {
namespace {

/// The store's side of a plan.
struct PlanStore {
  Store store;
  std::int64_t id = 0;
};

RunRow plan_row(const PlanQuestion& question, const PlanCatalogue& catalogue,
                const std::string& command_line) {
  RunRow row;
  row.kind = "plan";
  row.created_at = utc_now();
  row.tool_version = kVersion;
  row.command_line = command_line;
  row.model = catalogue.base.model;
  row.scenario_json = plan_inputs(question, catalogue).dump();
  row.seed = question.base.seed;
  return row;
}

KeptAnswers kept_in(std::optional<PlanStore>& kept) {
  if (!kept) return {};
  PlanStore& plan = *kept;
  return {
      .find = [&plan](const std::string& text) { return plan.store.evaluation(kVersion, text); },
      .keep =
          [&plan](std::span<const AnsweredQuestion> answered) {
            std::vector<EvaluationRow> rows;
            for (const AnsweredQuestion& one : answered) {
              rows.push_back({.question = one.question, .answer = one.answer});
            }
            plan.store.add_evaluations(plan.id, rows);
          }};
}

/// What the list of runs shows, and the figures of the first.
void end_plan(PlanStore& plan, const PlanReport& report, const Document& document) {
  PlanEnd end{.summary = plan_headline(report), .answer_json = document.machine.dump()};
  std::vector<MetricRow> metrics = {
      {"simulations", "value", static_cast<double>(report.answer.simulations)}};
  if (!report.answer.ranked.empty()) {
    const RankedCandidate& best = report.answer.ranked.front();
    const Shape& shape = report.answer.shapes[best.shape].shape;
    end.gpu = shape.gpu;
    end.engine = shape.engine;
    end.profile_hash = report.catalogue.gpus.at(shape.gpu).hash;
    metrics.push_back({"gpus", "value", static_cast<double>(best.needs.gpus)});
    metrics.push_back({"probability", "value", best.finalist.confidence.probability});
    metrics.push_back({"ttft_s", "p95", best.figures.ttft_p95_s});
    metrics.push_back({"tpot_s", "p95", best.figures.tpot_p95_s});
    if (best.needs.cost_per_hour) {
      metrics.push_back({"cost_usd_per_h", "value", *best.needs.cost_per_hour});
    }
  }
  plan.store.end_plan(plan.id, end, metrics);
}

/// Where there is nothing to write, says why.
void write_manifest(const PlanReport& report, const std::string& path, std::ostream& err) {
  if (report.answer.ranked.empty()) {
    err << "--kubernetes: no manifest is written: nothing that was searched holds\n";
    return;
  }
  const RankedCandidate& best = report.answer.ranked.front();
  const Shape& shape = report.answer.shapes[best.shape].shape;
  if (const auto problem = manifest_problem(report.catalogue, shape)) {
    err << fmt::format("--kubernetes: no manifest is written: {} is no plain Deployment: {}\n",
                       short_name(shape), *problem);
    return;
  }
  write_whole(path, kubernetes_manifest(report, best));
}

/// Files that the plan reads, so that none is written over.
std::vector<std::string> files_used(const PlanOptions& options, const PlanQuestion& question) {
  std::vector<std::string> files = input_files(question.base);
  files.push_back(options.simulate.scenario_path);
  files.insert(files.end(), question.space.gpus.begin(), question.space.gpus.end());
  if (options.simulate.store) files.push_back(options.simulate.store_path);
  return files;
}

/// Nothing when the user interrupted it.
std::optional<std::vector<PlannedShape>> look_at_shapes(const PlanQuestion& question,
                                                        const PlanCatalogue& catalogue, int threads,
                                                        std::ostream& err) {
  ProgressBar bar(err, "placements");
  return plan_shapes(catalogue, question, threads,
                     [&](std::int64_t done, std::int64_t total) { return bar.show(done, total); });
}

/// The plan through threads and the store.
PlanAnswer answered(const PlanQuestion& question, const PlanCatalogue& catalogue,
                    std::vector<PlannedShape> shapes, const EvaluationOptions& how,
                    std::ostream& err) {
  ProgressBar bar(err, "simulations");
  const std::vector<PlannedShape> asked_about = shapes;
  Evaluations evaluations(plan_evaluator(catalogue, question, asked_about), how);
  PlanAnswer answer =
      make_plan(question, catalogue, std::move(shapes), evaluations,
                [&](std::int64_t done, std::int64_t total) { return bar.show(done, total); });
  evaluations.keep();
  return answer;
}

/// What binds the best; nothing without one, or when the user interrupted it.
std::optional<BestLimits> limits_of_best(const PlanCatalogue& catalogue, const PlanAnswer& answer,
                                         int threads, std::ostream& err) {
  if (answer.ranked.empty()) return std::nullopt;
  const RankedCandidate& best = answer.ranked.front();
  SimulationRun run = run_of(catalogue, {.shape = answer.shapes[best.shape].shape,
                                         .units = static_cast<std::int32_t>(best.units)});
  const LimitAccount account = simulate_with_account(run, step_times_of(run), {});
  ProgressBar bar(err, "limits");
  auto report = report_limits(run, account, threads, [&](std::int64_t done, std::int64_t total) {
    return bar.show(done, total);
  });
  if (!report) return std::nullopt;
  return BestLimits{.report = *std::move(report), .pools = std::move(run.pools)};
}

int threads_of(const PlanOptions& options, const Ranks& ranks) {
  const std::int64_t given = options.threads.value_or(ranks.threads_each());
  return static_cast<int>(std::min<std::int64_t>(given, available_threads()));
}

/// Of a rank that does not lead: reads the same inputs, answers questions and prints nothing. What
/// is wrong with the inputs the leader says for all; what is wrong here alone it is told.
int serve_plan(const CommandContext& context, Ranks& ranks) {
  std::ostream nowhere(nullptr);
  CommandContext quiet{context.arguments, context.command_line, nowhere, nowhere};
  try {
    PlanOptions options;
    if (!parse(quiet, plan_usage(options))) return kExitDone;
    PlanQuestion question = plan_question(options);
    question.program = program_build();
    const PlanCatalogue catalogue = load_catalogue(question.base, question.space);
    const std::vector<PlannedShape> shapes = unseen_shapes(catalogue, question);
    const std::string digest = plan_digest(catalogue, question, shapes);
    const Evaluator evaluate = plan_evaluator(catalogue, question, shapes);
    const auto checked = [&](const std::string& text) -> std::string {
      if (text.ends_with(digest)) return evaluate(text);
      throw Error(
          "mpirun's processes read different inputs: a model, profile, scenario, trace or the "
          "program itself is not the same for all");
    };
    ranks.serve(checked, threads_of(options, ranks));
  } catch (const std::exception& error) {
    ranks.excuse(error.what());
  }
  return kExitDone;
}

int lead_plan(CommandContext& context, Ranks& ranks) {
  PlanOptions options;
  const auto common = parse(context, plan_usage(options));
  if (!common) return kExitDone;
  PlanQuestion question = plan_question(options);
  question.program = program_build();
  if (!options.kubernetes.empty()) {
    check_not_among(options.kubernetes, "--kubernetes", files_used(options, question));
    check_writable(options.kubernetes);
  }
  const PlanCatalogue catalogue = load_catalogue(question.base, question.space);
  if (!options.kubernetes.empty()) check_manifest_possible(catalogue, question.space);
  std::optional<PlanStore> kept;
  if (options.simulate.store) {
    kept.emplace(PlanStore{.store = Store(options.simulate.store_path, Store::Mode::write)});
  }
  const int threads = threads_of(options, ranks);
  auto shapes = look_at_shapes(question, catalogue, threads, context.err);
  if (!shapes) {
    context.err << "interrupted before any simulation\n";
    return kExitFailed;
  }
  if (kept) {  // not before the look at the shapes, which finds what is missing
    kept->id = kept->store.begin_plan(plan_row(question, catalogue, context.command_line));
  }
  const PlanAnswer answer =
      answered(question, catalogue, *std::move(shapes),
               {.threads = threads, .kept = kept_in(kept), .ranks = &ranks}, context.err);
  for (const std::string& absent : ranks.absent()) context.err << absent << "\n";
  PlanReport report{
      .question = question, .catalogue = catalogue, .answer = answer, .explain = options.explain};
  if (options.explain) report.limits = limits_of_best(catalogue, answer, threads, context.err);
  const Document document = plan_document(report);
  write(document, common->output, context.out);
  if (answer.stopped) {
    context.err << "interrupted" << (kept ? "; the same command goes on from here" : "") << "\n";
    return kExitFailed;
  }
  if (kept) {
    end_plan(*kept, report, document);
    context.err << fmt::format("run {} kept in {}\n", kept->id, options.simulate.store_path);
  }
  if (!options.kubernetes.empty()) write_manifest(report, options.kubernetes, context.err);
  return answer.ranked.empty() ? kExitNo : kExitDone;
}

}  // namespace

int run_plan(CommandContext& context) {
  Ranks ranks(started_together());
  return ranks.leads() ? lead_plan(context, ranks) : serve_plan(context, ranks);
}

}  // namespace roofcast
