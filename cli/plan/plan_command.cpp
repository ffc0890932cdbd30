// roofcast plan: the cheapest deployments that meet the SLO; stores results while it searches.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <ostream>
#include <utility>

#include "base/dates.hpp"
#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/version.hpp"
#include "cli/plan/plan_options.hpp"
#include "cli/progress.hpp"
#include "cli/spelling.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/launch/plan_targets.hpp"
#include "planner/search/plan_digest.hpp"
#include "reports/answers/answer_documents.hpp"
#include "roofcast/plan.hpp"
#include "roofcast/store_rows.hpp"
#include "simulator/io/scenario_workload.hpp"

namespace roofcast {
namespace {

/// From the environment set by OpenMPI's mpirun, or by a launcher with PMIx (`srun --mpi=pmix`).
bool started_together() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr;
}

/// Stores a plan and its answers.
struct PlanStore {
  Store store;
  std::int64_t id = 0;
};

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

/// If there is nothing to write, prints the reason.
void write_file(const PreparedPlan& prepared, const PlanAnswer& answer, const PlanFile& file,
                std::ostream& err) {
  const char* what = file.target == LaunchTarget::kubernetes ? "manifest" : "file";
  if (answer.ranked.empty()) {
    err << fmt::format("{}: no {} written: no deployment that was searched meets the SLO\n",
                       file.flag, what);
    return;
  }
  const RankedPlan& best = answer.ranked.front();
  if (const auto problem = target_problem(file.target, prepared.catalogue, best.shape)) {
    err << fmt::format(
        "{}: no {} written: {} cannot be {}: {}\n", file.flag, what, short_name(best.shape),
        file.target == LaunchTarget::kubernetes ? "a plain Deployment" : "one", *problem);
    return;
  }
  write_whole(file.path, target_text(file.target, prepared.catalogue, best.shape, best.units,
                                     answer.headline));
}

/// Files that the plan reads, so that none is overwritten.
std::vector<std::string> files_used(const PlanCommandOptions& options,
                                    const PlanQuestion& question) {
  std::vector<std::string> files = input_files(question.scenario);
  files.push_back(options.asked.load.scenario);
  files.insert(files.end(), question.gpus.begin(), question.gpus.end());
  if (options.store.on) files.push_back(options.store.path);
  return files;
}

/// One progress bar per stage; an interrupt between two of them stops the next.
class StageBars {
 public:
  explicit StageBars(std::ostream& err) : err_(err) { begin(PlanStage::placements); }

  bool show(PlanStage stage, std::int64_t done, std::int64_t total) {
    if (stage != stage_) begin(stage);
    return bar_->show(done, total);
  }

 private:
  void begin(PlanStage stage) {
    constexpr std::array kCounted = {"placements", "simulations", "limits"};
    bar_.reset();
    bar_.emplace(err_, kCounted[static_cast<std::size_t>(stage)]);
    stage_ = stage;
  }

  InterruptWatch watch_{};
  std::ostream& err_;
  PlanStage stage_{};
  std::optional<ProgressBar> bar_{};
};

PlanAnswer plan_with_progress(PreparedPlan& prepared, PlanExecution execution, std::ostream& err) {
  StageBars bars(err);
  execution.progress = [&](PlanStage stage, std::int64_t done, std::int64_t total) {
    return bars.show(stage, done, total);
  };
  return plan(prepared, execution);
}

int threads_of(const PlanCommandOptions& options, const Ranks& ranks) {
  const std::int64_t given = options.asked.plan.threads.value_or(ranks.threads_each());
  return static_cast<int>(std::min<std::int64_t>(given, available_threads()));
}

/// For a rank that does not lead: reads the same inputs, answers questions and prints nothing.
/// The leader reports errors in the inputs; errors on this rank alone are sent to it.
int serve_plan(const CommandContext& context, Ranks& ranks) {
  std::ostream nowhere(nullptr);
  CommandContext quiet{context.arguments, context.command_line, nowhere, nowhere};
  try {
    PlanCommandOptions options;
    if (!parse(quiet, plan_usage(options))) return kExitDone;
    const PreparedPlan prepared = prepare_plan(plan_question(options));
    const std::vector<PlannedShape> shapes = unseen_shapes(prepared.catalogue, prepared.task);
    const int threads = threads_of(options, ranks);
    ranks.serve(plan_evaluator(prepared.catalogue, prepared.task, shapes, threads),
                plan_digest(prepared.catalogue, prepared.task, shapes), threads);
  } catch (const std::exception& error) {
    ranks.excuse(error.what());
  }
  return kExitDone;
}

int lead_plan(CommandContext& context, Ranks& ranks) {
  PlanCommandOptions options;
  const auto common = parse(context, plan_usage(options));
  if (!common) return kExitDone;
  const PlanQuestion question = plan_question(options);
  const std::vector<PlanFile> files = plan_files(options);
  for (const PlanFile& file : files) {
    check_not_among(file.path, file.flag, files_used(options, question));
    check_writable(file.path);
  }
  if (question.mix && !files.empty()) {
    throw UsageError(files.front().flag + ": not with --mix: the file holds one kind of replica");
  }
  PreparedPlan prepared = prepare_plan(question);
  for (const PlanFile& file : files) {
    check_target_possible(file.target, prepared.catalogue, prepared.task.space, file.flag);
  }
  std::optional<PlanStore> kept;
  if (can_store(options.store, context.err)) {
    kept.emplace(PlanStore{.store = Store(options.store.path, Store::Mode::write)});
  }
  PlanExecution execution{
      .threads = threads_of(options, ranks), .kept = kept_in(kept), .ranks = &ranks};
  if (kept) {  // after the shapes were checked, which finds missing inputs
    execution.on_start = [&] {
      kept->id = kept->store.begin_plan(plan_row(prepared, context.command_line));
    };
  }
  const PlanAnswer answer = plan_with_progress(prepared, std::move(execution), context.err);
  if (answer.stopped && answer.shapes.empty()) {
    context.err << "interrupted before any simulation\n";
    return kExitFailed;
  }
  for (const std::string& absent : ranks.absent()) context.err << absent << "\n";
  const Document document = plan_document(answer);
  print(document, common->output, context);
  if (answer.stopped) {
    context.err << "interrupted" << (kept ? "; run the same command to resume" : "") << "\n";
    return kExitFailed;
  }
  if (kept) {
    kept->store.end_plan(kept->id, plan_end(answer, prepared), plan_metrics(answer));
    context.err << fmt::format("run {} stored in {}\n", kept->id, options.store.path);
  }
  for (const PlanFile& file : files) write_file(prepared, answer, file, context.err);
  return code_of(is_yes(answer));
}

}  // namespace

int run_plan(CommandContext& context) {
  Ranks ranks(started_together());
  return ranks.leads() ? lead_plan(context, ranks) : serve_plan(context, ranks);
}

}  // namespace roofcast
