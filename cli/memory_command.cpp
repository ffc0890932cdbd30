// roofcast memory: what fits, term by term; --solve for the largest batch, context or smallest TP.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "cli/options/deployment_options.hpp"
#include "cli/options/flag_options.hpp"
#include "cli/options/from_command.hpp"
#include "reports/document.hpp"
#include "roofcast/memory.hpp"
#include "roofcast/question_flags.hpp"

namespace roofcast {
namespace {

Table term_table(const MemoryAnswer& answer) {
  Table table{.title = "One GPU",
              .columns = {{"Term", false}, {"GiB"}, {"Share"}, {"Why", false}},
              .rows = {}};
  for (const MemoryTerm& term : answer.terms) {
    table.rows.push_back({term.name, fixed(term.bytes.value / kGiB, 2),
                          as_percent(term.bytes / answer.memory_visible), term.detail});
  }
  table.rows.push_back({"total", fixed(answer.memory_visible.value / kGiB, 2), as_percent(1.0),
                        "memory reported by the driver"});
  return table;
}

std::string verdict(const MemoryAnswer& answer) {
  if (!answer.fits) return "Does not fit: " + answer.reason.value_or("") + ".";
  return fmt::format("Fits: {} KV blocks hold {} tokens (±{}): {} sequences of {} tokens at once.",
                     with_separators(answer.kv_blocks), with_separators(answer.kv_tokens),
                     as_percent(answer.relative_uncertainty), fixed(answer.max_concurrency, 2),
                     with_separators(max_model_len(answer.inputs)));
}

std::string solution_text(const MemoryAnswer& answer) {
  const MemorySolution& solution = *answer.solution;
  if (solution.tensor_parallel) {
    if (!*solution.tensor_parallel) return "No tensor parallelism up to 64 fits.";
    return fmt::format("The smallest tensor parallelism that fits is {}.",
                       **solution.tensor_parallel);
  }
  const std::int64_t batch = solution.batch.value_or(0);
  const std::optional<std::int64_t> context =
      solution.context_tokens.value_or(std::optional<std::int64_t>());
  if (!context) {
    return fmt::format("{} {} not fit at any length.", counted(batch, "sequence"),
                       batch == 1 ? "does" : "do");
  }
  const char* fit = batch == 1 ? "fits" : "fit";
  if (answer.solve == MemoryQuestion::Solve::context) {
    return fmt::format("{} {} with up to {}{}.", counted(batch, "sequence"), fit,
                       counted(*context, "token"), batch == 1 ? "" : " each");
  }
  return fmt::format("{} of {} {} at once.", counted(batch, "sequence"), counted(*context, "token"),
                     fit);
}

Section batch_section(const std::vector<ContextBatch>& batches) {
  Section section{.heading = "",
                  .lines = {},
                  .table = {.title = "Largest batch by context (limited by memory only)",
                            .columns = {{"Context"}, {"Sequences"}},
                            .rows = {}}};
  for (const ContextBatch& row : batches) {
    section.table.rows.push_back(
        {with_separators(row.context_tokens), with_separators(row.max_batch)});
  }
  return section;
}

Section remedy_section(const std::vector<Remedy>& remedies) {
  Section section{.heading = "Changes that would make it fit", .lines = {}, .table = {}};
  for (const Remedy& remedy : remedies) section.lines.push_back(remedy.flag + ": " + remedy.effect);
  if (section.lines.empty()) {
    section.lines.emplace_back("no single change that was tried is enough");
  }
  return section;
}

/// The verdict or the solution in a sentence, every term, and the largest batch per context or what
/// would make it fit.
Document memory_document(const MemoryAnswer& answer) {
  Document document{.machine = to_json(answer), .sections = {}};
  document.sections.push_back({.heading = headline(answer.inputs),
                               .lines = {answer.solution ? solution_text(answer) : verdict(answer)},
                               .table = term_table(answer)});
  if (answer.max_batch_by_context) {
    document.sections.push_back(batch_section(*answer.max_batch_by_context));
  }
  if (!answer.fits && !answer.solution) {
    document.sections.push_back(remedy_section(answer.remedies));
  }
  return document;
}

}  // namespace

int run_memory(CommandContext& context) {
  MemoryQuestion question;
  DeploymentOptions& options = question.deployment;
  std::string line;
  Usage usage{
      .synopsis = "roofcast memory --model M|--from-cmd LINE --gpu G [options]",
      .example = "roofcast memory --model llama-3.1-70b --gpu h200 --tp 2 --max-model-len 32k",
      .options = option_group("Options"),
      .unlisted = from_command_option(line),
      .positional = {}};
  usage.unlisted.add(scheduler_options(options));
  add_flags(usage.options, memory_flags(), question);
  usage.options.add(machine_options(options)).add(engine_options(options));
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  take_from_command(options, line, context.err);
  leave_out_drafts(options, context.err);

  const MemoryAnswer answer = memory(question);
  write(memory_document(answer), common->output, context.out);
  return is_yes(answer) ? kExitDone : kExitNo;
}

}  // namespace roofcast
