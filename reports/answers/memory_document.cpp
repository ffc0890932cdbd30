#include "reports/answers/answer_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/joined.hpp"
#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "reports/answers/cost_cells.hpp"
#include "roofcast/memory.hpp"

namespace roofcast {
namespace {

std::string as_gigabytes(Bytes bytes) { return fixed(bytes.value / 1e9, 2) + " GB"; }

Table term_table(const MemoryAnswer& answer) {
  Table table{.title = "One GPU",
              .columns = {{"Term", false}, {"GiB"}, {"Share"}, {"Why", false}},
              .rows = {}};
  for (const MemoryTerm& term : answer.terms) {
    // Weights of one part in two formats are two terms of one name.
    const bool repeated = std::ranges::count(answer.terms, term.name, &MemoryTerm::name) > 1;
    const std::string format = term.detail.substr(0, term.detail.find(','));
    table.rows.push_back({repeated ? term.name + ", " + format : term.name,
                          printed::fixed(term.bytes.value / kGiB, 2),
                          printed::percent(term.bytes / answer.memory_visible), term.detail});
  }
  table.rows.push_back({"total", printed::fixed(answer.memory_visible.value / kGiB, 2),
                        printed::percent(1.0), "total memory of one GPU"});
  return table;
}

/// That an engine starts although its model's context does not fit.
std::string starts_text(const MemoryAnswer& answer) {
  return fmt::format("It starts nevertheless and refuses requests of more than {}.",
                     counted(*answer.longest_request, "token"));
}

std::string verdict(const MemoryAnswer& answer) {
  if (!answer.fits) {
    return "Does not fit: " + answer.reason.value_or("") + "." +
           (answer.longest_request ? " " + starts_text(answer) : "");
  }
  if (answer.block_bytes.value <= 0) {
    return fmt::format(
        "Fits: the model keeps no K and V; {} run at once, as many as are scheduled.",
        counted(answer.max_batch, "sequence"));
  }
  const std::string printed =
      answer.kv_tokens == answer.kv_tokens_in_blocks
          ? ""
          : fmt::format(" The engine prints {} tokens: sequences times length.",
                        with_separators(answer.kv_tokens));
  return fmt::format(
      "Fits: {} KV blocks hold {} tokens (±{}): {} sequences of {} tokens at once.{}",
      with_separators(answer.kv_blocks), with_separators(answer.kv_tokens_in_blocks),
      as_percent(answer.relative_uncertainty), fixed(answer.max_concurrency, 2),
      with_separators(max_model_len(answer.inputs)), printed);
}

std::string host_text(const HostMemory& host) {
  return fmt::format("K and V in host memory: {} GiB on each rank; a node needs {} GiB free{}.",
                     fixed(to_gib(host.of_rank), 1), fixed(to_gib(host.of_node), 1),
                     host.stated ? fmt::format(" of {} GiB", fixed(to_gib(*host.stated), 1)) : "");
}

std::string solution_text(const MemoryAnswer& answer) {
  const MemorySolution& solution = *answer.solution;
  if (solution.tensor_parallel) {
    if (!*solution.tensor_parallel) return "No tensor parallelism up to 64 fits.";
    return fmt::format("The smallest tensor parallelism that fits is {}.",
                       **solution.tensor_parallel);
  }
  if (solution.utilization) {
    if (!*solution.utilization) return "It does not fit with all of the memory.";
    return fmt::format("The smallest utilization that fits is {:.2f}.", **solution.utilization);
  }
  if (solution.max_num_seqs) {
    if (!*solution.max_num_seqs) return "Not even one sequence fits.";
    return fmt::format("The largest max_num_seqs that fits is {}.",
                       with_separators(**solution.max_num_seqs));
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
        {printed::count(row.context_tokens), printed::count(row.max_batch)});
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

std::string missing_text(const MemoryParts& all) {
  if (all.left.value >= 0) return "";
  const Bytes missing = Bytes{} - all.left;
  if (missing <= all.kv_cache) {
    return fmt::format(", {} more than there is", as_gigabytes(missing));
  }
  return fmt::format(", and {} are missing without it: {} in all",
                     as_gigabytes(missing - all.kv_cache), as_gigabytes(missing));
}

std::string asked_text(const BatchMemory& asked) {
  const std::string batch = fmt::format("{} of {}", counted(asked.batch, "sequence"),
                                        counted(asked.context_tokens, "token"));
  const MemoryParts& all = asked.all_gpus;
  const std::string where = asked.gpus == 1 ? "" : fmt::format(" on {} GPUs", asked.gpus);
  if (asked.fits) {
    return fmt::format("Fits: {} {} {} of KV cache{}; {} left for more.", batch,
                       asked.batch == 1 ? "takes" : "take", as_gigabytes(all.kv_cache), where,
                       as_gigabytes(all.left));
  }
  return fmt::format("Does not fit: {} {} {} of KV cache{}{}.", batch,
                     asked.batch == 1 ? "needs" : "need", as_gigabytes(all.kv_cache), where,
                     missing_text(all));
}

std::vector<std::string> asked_lines(const MemoryAnswer& answer) {
  const BatchMemory& asked = *answer.asked;
  const Bytes kept = asked.kv_bytes_per_token * static_cast<double>(asked.context_tokens);
  const bool has_windows = kept.value > 1.05 * asked.kv_bytes_per_sequence.value;
  std::vector<std::string> lines = {
      asked_text(asked), fmt::format("K and V: {} bytes per token{}, {} per sequence of {}.",
                                     with_separators(std::llround(asked.kv_bytes_per_token.value)),
                                     has_windows ? " (windows keep fewer tokens)" : "",
                                     as_gigabytes(asked.kv_bytes_per_sequence),
                                     counted(asked.context_tokens, "token"))};
  const Bytes room = asked.all_gpus.left + asked.all_gpus.kv_cache;
  if (room.value > 0) {
    lines.push_back(fmt::format("The other parts leave {} for K and V: {} of {} at most.",
                                as_gigabytes(room), counted(asked.max_batch, "sequence"),
                                counted(asked.context_tokens, "token")));
  }
  if (asked.batch > asked.max_num_seqs) {
    lines.push_back(fmt::format("The scheduler runs {} at once (--max-num-seqs).",
                                with_separators(asked.max_num_seqs)));
  }
  if (answer.longest_request) {
    lines.push_back(fmt::format("The model's context does not fit: {}. {}",
                                answer.reason.value_or(""), starts_text(answer)));
  } else if (asked.needs_max_model_len && *asked.needs_max_model_len > 0) {
    lines.push_back(fmt::format("The engine starts only with --max-model-len {} or less.",
                                *asked.needs_max_model_len));
  } else if (!answer.fits) {
    lines.push_back("The engine does not start: " + answer.reason.value_or("") + ".");
  }
  return lines;
}

/// Each part on one GPU, the fullest, and on all, in both units that people use.
Table asked_table(const BatchMemory& asked) {
  const bool several = asked.gpus > 1;
  Table table{.title = "Where the memory goes",
              .columns = {{"Part", false}, {several ? "One GPU (GiB)" : "GiB"}},
              .rows = {}};
  if (several) table.columns.push_back({fmt::format("{} GPUs (GiB)", asked.gpus)});
  table.columns.push_back({several ? fmt::format("{} GPUs (GB)", asked.gpus) : "GB"});
  const auto add = [&](const char* part, Bytes MemoryParts::*bytes) {
    const Bytes all = asked.all_gpus.*bytes;
    std::vector<Cell> row = {part, printed::fixed(to_gib(asked.one_gpu.*bytes), 2)};
    if (several) row.push_back(printed::fixed(to_gib(all), 2));
    row.push_back(printed::fixed(all.value / 1e9, 2));
    table.rows.push_back(std::move(row));
  };
  add("weights", &MemoryParts::weights);
  add("activations", &MemoryParts::activations);
  add("overhead", &MemoryParts::overhead);
  add("reserve", &MemoryParts::reserve);
  add("KV cache of the batch", &MemoryParts::kv_cache);
  add(asked.one_gpu.left.value < 0 ? "missing" : "left", &MemoryParts::left);
  add("total", &MemoryParts::memory);
  return table;
}

Section engines_section(const std::vector<EngineMemory>& engines) {
  Section section{.heading = "By each engine's rule (one GPU, GiB)",
                  .lines = {},
                  .table = {.title = "",
                            .columns = {{"Engine", false},
                                        {"Weights"},
                                        {"Activations"},
                                        {"Overhead"},
                                        {"Reserve"},
                                        {"KV cache"},
                                        {"Left"},
                                        {"Fits", false},
                                        {"Largest batch"}},
                            .rows = {}}};
  const std::string refusing = joined(engines, [](const EngineMemory& row) {
    return row.memory && !row.memory->fits ? row.engine : "";
  });
  if (!refusing.empty()) section.lines.push_back("Does not fit by the rule of " + refusing + ".");
  for (const EngineMemory& row : engines) {
    if (!row.memory) {
      section.lines.push_back(row.engine + ": " + row.refused.value_or(""));
      continue;
    }
    const MemoryParts& m = row.memory->one_gpu;
    section.table.rows.push_back(
        {row.engine, printed::fixed(to_gib(m.weights), 2), printed::fixed(to_gib(m.activations), 2),
         printed::fixed(to_gib(m.overhead), 2), printed::fixed(to_gib(m.reserve), 2),
         printed::fixed(to_gib(m.kv_cache), 2), printed::fixed(to_gib(m.left), 2),
         row.memory->fits ? "yes" : "no", printed::count(row.memory->max_batch)});
  }
  return section;
}

}  // namespace

Document memory_document(const MemoryAnswer& answer) {
  Document document{.machine = to_json(answer), .sections = {}};
  if (answer.asked) {
    document.sections.push_back({.heading = headline(answer.inputs),
                                 .lines = asked_lines(answer),
                                 .table = asked_table(*answer.asked)});
    document.sections.push_back({.heading = "", .lines = {}, .table = term_table(answer)});
  } else {
    document.sections.push_back(
        {.heading = headline(answer.inputs),
         .lines = {answer.solution ? solution_text(answer) : verdict(answer)},
         .table = term_table(answer)});
  }
  if (answer.host) {
    document.sections.push_back({.heading = "", .lines = {host_text(*answer.host)}, .table = {}});
  }
  if (const std::string cost = cost_words(answer.cost); !cost.empty()) {
    document.sections.front().lines.push_back(cost + ".");
  }
  if (answer.engines) document.sections.push_back(engines_section(*answer.engines));
  if (answer.max_batch_by_context) {
    document.sections.push_back(batch_section(*answer.max_batch_by_context));
  }
  const bool first_fits = answer.asked && answer.asked->fits;  // but by another engine's rule
  if (!is_yes(answer) && !answer.solution && !first_fits) {
    document.sections.push_back(remedy_section(answer.remedies));
  }
  return document;
}

}  // namespace roofcast
