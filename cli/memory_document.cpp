#include "cli/memory_document.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "roofcast/deployment_description.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {
namespace {

Table term_table(const MemoryPlan& plan) {
  Table table{.title = "One GPU",
              .columns = {{"Term", false}, {"GiB"}, {"Share"}, {"Why", false}},
              .rows = {}};
  for (const MemoryTerm& term : plan.terms) {
    table.rows.push_back({term.name, fixed(term.bytes.value / kGiB, 2),
                          as_percent(term.bytes / plan.total), term.detail});
  }
  table.rows.push_back(
      {"total", fixed(plan.total.value / kGiB, 2), as_percent(1.0), "what the driver reports"});
  return table;
}

std::string verdict(const Deployment& deployment, const MemoryPlan& plan) {
  if (!plan.fits) return "Does not fit: " + plan.reason + ".";
  return fmt::format("Fits: {} KV blocks hold {} tokens (±{}): {} sequences of {} tokens at once.",
                     with_separators(plan.kv_blocks), with_separators(plan.kv_tokens),
                     as_percent(plan.relative_uncertainty), fixed(plan.max_concurrency, 2),
                     with_separators(deployment.engine.max_model_len));
}

Json terms_json(const MemoryPlan& plan) {
  Json terms = Json::array();
  for (const MemoryTerm& term : plan.terms) {
    terms.push_back({{"name", term.name}, {"bytes", term.bytes.value}, {"detail", term.detail}});
  }
  return terms;
}

/// `lines` are said before the terms.
void add_plan(Document& document, const Deployment& deployment, const MemoryPlan& plan,
              std::vector<std::string> lines) {
  Json& json = document.machine;
  json["fits"] = plan.fits;
  json["reason"] = plan.fits ? Json(nullptr) : Json(plan.reason);
  json["terms"] = terms_json(plan);
  json["memory_visible_bytes"] = plan.total.value;
  json["kv_budget_bytes"] = plan.kv_budget.value;
  json["block_tokens"] = plan.layout.block_tokens;
  json["block_bytes"] = plan.layout.row_bytes().value;
  json["kv_blocks"] = plan.kv_blocks;
  json["kv_tokens"] = plan.kv_tokens;
  json["max_batch"] = plan.max_batch;
  json["max_concurrency"] = plan.max_concurrency;
  json["relative_uncertainty"] = plan.relative_uncertainty;
  json["solution"] = nullptr;
  json["remedies"] = Json::array();
  document.sections.push_back(
      {.heading = headline(deployment), .lines = std::move(lines), .table = term_table(plan)});
}

void add_batches(Document& document, const Deployment& deployment, const MemoryPlan& plan) {
  Table table{.title = "Largest batch by context (memory alone)",
              .columns = {{"Context"}, {"Sequences"}},
              .rows = {}};
  Json rows = Json::array();
  const std::int64_t longest = deployment.engine.max_model_len;
  std::vector<std::int64_t> contexts;
  for (std::int64_t context = 1024; context < longest; context *= 4) contexts.push_back(context);
  contexts.push_back(longest);
  for (const std::int64_t context : contexts) {
    const std::int64_t batch = max_batch_at(deployment, plan, context);
    table.rows.push_back({with_separators(context), with_separators(batch)});
    rows.push_back({{"context_tokens", context}, {"max_batch", batch}});
  }
  document.machine["max_batch_by_context"] = std::move(rows);
  document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
}

void add_remedies(Document& document, const Deployment& deployment) {
  Section section{.heading = "What would make it fit", .lines = {}, .table = {}};
  Json rows = Json::array();
  for (const Remedy& remedy : remedies(deployment)) {
    section.lines.push_back(remedy.flag + ": " + remedy.effect);
    rows.push_back({{"flag", remedy.flag}, {"effect", remedy.effect}});
  }
  if (section.lines.empty())
    section.lines.emplace_back("no single change that was tried is enough");
  document.machine["remedies"] = std::move(rows);
  document.sections.push_back(std::move(section));
}

/// What --solve found: for machines, in a sentence, and whether there is a solution at all.
struct Solution {
  Json machine;
  std::string sentence;
  bool found = false;
};

Solution solve_batch(const Deployment& deployment, const MemoryPlan& plan, std::int64_t context) {
  const std::int64_t batch = max_batch_at(deployment, plan, context);
  return {.machine = {{"batch", batch}, {"context_tokens", context}},
          .sentence = fmt::format("{} of {} {} at once.", counted(batch, "sequence"),
                                  counted(context, "token"), batch == 1 ? "fits" : "fit"),
          .found = batch > 0};
}

Solution solve_context(const Deployment& deployment, const MemoryPlan& plan, std::int64_t batch) {
  const auto context = max_context_at(deployment, plan, batch);
  return {
      .machine = {{"batch", batch}, {"context_tokens", context ? Json(*context) : Json(nullptr)}},
      .sentence = context ? fmt::format("{} {} with up to {}{}.", counted(batch, "sequence"),
                                        batch == 1 ? "fits" : "fit", counted(*context, "token"),
                                        batch == 1 ? "" : " each")
                          : fmt::format("{} {} not fit at any length.", counted(batch, "sequence"),
                                        batch == 1 ? "does" : "do"),
      .found = context.has_value()};
}

/// The deployment with the smallest TP (a power of two up to 64, as engines shard) that holds
/// `batch` sequences of `context` tokens; nothing when none does.
std::optional<Deployment> smallest_tensor_parallel(DeploymentOptions options,
                                                   const MemoryQuestion& question) {
  for (int tensor = 1; tensor <= 64; tensor *= 2) {
    options.parallel.tensor = tensor;
    Deployment candidate;
    try {
      candidate = resolve(options).deployment;
    } catch (const UsageError&) {
      throw;
    } catch (const Error&) {
      continue;  // this TP cannot shard the model
    }
    const MemoryPlan plan = plan_memory(candidate);
    const std::int64_t context = question.context.value_or(candidate.engine.max_model_len);
    if (plan.fits && max_batch_at(candidate, plan, context) >= question.batch.value_or(1)) {
      return candidate;
    }
  }
  return std::nullopt;
}

MemoryAnswer answer_tensor_parallel(const DeploymentOptions& options,
                                    const MemoryQuestion& question) {
  const auto found = smallest_tensor_parallel(options, question);
  const Deployment deployment = found ? *found : resolve(options).deployment;
  MemoryAnswer answer{.document = {envelope("memory", describe(deployment)), {}},
                      .yes = found.has_value()};
  const std::string sentence =
      found
          ? fmt::format("The smallest tensor parallelism that fits is {}.", found->parallel.tensor)
          : std::string("No tensor parallelism up to 64 fits.");
  add_plan(answer.document, deployment, plan_memory(deployment), {sentence});
  answer.document.machine["solution"] = {
      {"tensor_parallel", found ? Json(found->parallel.tensor) : Json(nullptr)}};
  return answer;
}

}  // namespace

MemoryQuestion::Solve parse_solve(const std::string& text) {
  if (text == "batch") return MemoryQuestion::Solve::batch;
  if (text == "context") return MemoryQuestion::Solve::context;
  if (text == "tp") return MemoryQuestion::Solve::tensor_parallel;
  throw UsageError("--solve: '" + text + "' is not one of batch, context, tp");
}

MemoryAnswer answer_memory(const DeploymentOptions& options, const MemoryQuestion& question) {
  if (question.solve == MemoryQuestion::Solve::tensor_parallel) {
    return answer_tensor_parallel(options, question);
  }
  const Deployment deployment = resolve(options).deployment;
  MemoryAnswer answer{.document = {envelope("memory", describe(deployment)), {}}, .yes = false};
  const MemoryPlan plan = plan_memory(deployment);
  if (question.solve == MemoryQuestion::Solve::none) {
    answer.yes = plan.fits;
    add_plan(answer.document, deployment, plan, {verdict(deployment, plan)});
    plan.fits ? add_batches(answer.document, deployment, plan)
              : add_remedies(answer.document, deployment);
    return answer;
  }
  const Solution solution =
      question.solve == MemoryQuestion::Solve::batch
          ? solve_batch(deployment, plan,
                        question.context.value_or(deployment.engine.max_model_len))
          : solve_context(deployment, plan, question.batch.value_or(1));
  answer.yes = solution.found;
  add_plan(answer.document, deployment, plan, {solution.sentence});
  answer.document.machine["solution"] = solution.machine;
  return answer;
}

}  // namespace roofcast
