#include "reports/answers/answer_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "reports/answers/cost_cells.hpp"
#include "reports/answers/estimate_sections.hpp"
#include "reports/answers/operator_table.hpp"
#include "roofcast/estimate.hpp"

namespace roofcast {
namespace {

/// None between a time from this GPU's own figures and one from defaults: the difference would be
/// that of the sources.
Cell change(Seconds before, const SourceAnswer& from, Seconds after, const SourceAnswer& to) {
  if (!from.is_like(to)) return "other source";
  const double percent = std::round((after / before - 1.0) * 100.0);
  return signed_by(percent > 0 ? "+" : "", printed::percent(percent / 100, 0));
}

Table variant_table(const EstimateAnswer& answer) {
  Table table{.title = "Other number formats",
              .columns = {{"Format", false}, {"Prefill"}, {"", false}, {"Change"}},
              .rows = {}};
  if (answer.generates) {
    for (Column column : {Column{"Decode step"}, Column{"", false}, Column{"Change"}}) {
      table.columns.push_back(std::move(column));
    }
  }
  for (const char* size : {"Weights/GPU", "KV cache/GPU"}) table.columns.push_back({size});
  const FormatAnswer& first = answer.variants.front();
  for (const FormatAnswer& variant : answer.variants) {
    std::vector<Cell> row;
    const auto add = [&](Seconds before, const SourceAnswer& from, Seconds after,
                         const SourceAnswer& to) {
      row.push_back(printed::time(after));
      row.emplace_back(source_words(to));
      row.push_back(change(before, from, after, to));
    };
    row.emplace_back(variant.name);
    add(first.prefill, first.prefill_source, variant.prefill, variant.prefill_source);
    if (answer.generates) {
      add(first.decode_step, first.decode_source, variant.decode_step, variant.decode_source);
    }
    row.push_back(printed::gib(variant.weight_bytes));
    row.push_back(printed::gib(variant.cache_bytes));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string source(double relative_uncertainty, const std::vector<OperatorAnswer>& operators) {
  return fmt::format("±{} ({})", as_percent(relative_uncertainty, 0),
                     describe_provenance(operators));
}

Table answer_table(const EstimateAnswer& answer) {
  Table table{.title = "", .columns = {{"", false}, {""}, {"", false}}, .rows = {}};
  const auto row = [&](const char* name, const Cell& value, const std::string& remark) {
    table.rows.push_back({name, value, remark});
  };
  const StepAnswer& decode = answer.summary.decode;
  row("prefill", printed::time(answer.prefill),
      source(answer.prefill_relative_uncertainty, answer.operators.prefill));
  if (answer.generates) {
    row("decode step, mean", printed::time(answer.decode_step),
        source(answer.decode_relative_uncertainty, answer.operators.decode));
    row("output tokens/s", printed::fixed(answer.output_tokens_per_s, 1), "prefill included");
    row("decode tokens/s", printed::fixed(answer.decode_tokens_per_s, 1), "once prefill is done");
  } else {
    row("inputs/s", printed::fixed(answer.output_tokens_per_s, 1), "a vector or score each");
  }
  if (answer.pipeline) {
    row("decode tokens/s, full", printed::fixed(answer.pipeline->decode_tokens_per_s, 1),
        fmt::format("with {} such batches in the {} stages, each token after {}",
                    answer.pipeline->stages, answer.pipeline->stages,
                    as_time(answer.pipeline->decode_step)));
  }
  if (answer.generates) {
    row("decode step, at least", printed::time(decode.lower_bound),
        fmt::format("lower bound on this GPU; even then {} of the peak FLOP/s is idle",
                    as_percent(decode.unused_at_bound)));
    row("MFU of prefill", printed::percent(answer.mfu),
        fmt::format("of the dense peak; decode: {}", as_percent(decode.mfu)));
    row("MBU of decode", printed::percent(answer.mbu),
        fmt::format("of the memory bandwidth; prefill: {}",
                    as_percent(answer.summary.prefill.mbu)));
  } else {
    row("MFU of prefill", printed::percent(answer.mfu), "of the dense peak");
    row("MBU of prefill", printed::percent(answer.summary.prefill.mbu), "of the memory bandwidth");
  }
  row("ridge point", printed::fixed(answer.ridge.value, 1), "FLOP/byte");
  const auto rest = [&](const std::vector<std::string>& parts) {
    return fmt::format("{}{}", fmt::join(parts.begin() + 1, parts.end(), ", "),
                       answer.pipeline ? ", with one batch in the stages" : "");
  };
  if (const auto& dollars = answer.cost.dollars_per_hour) {
    row("cost", followed(signed_by("$", printed::fixed(*dollars, 2)), " per hour"),
        rest(price_parts(answer.cost)));
  }
  if (const auto& board = answer.cost.board_power_w) {
    const auto& drawn = answer.cost.mean_power_w;
    row("power",
        followed(in(drawn.value_or(*board), 0, "W"), drawn ? " drawn" : " at the boards' limit"),
        rest(power_parts(answer.cost)));
  }
  return table;
}

const char* basis_sentence(VersionBasis basis) {
  switch (basis) {
    case VersionBasis::fastest:
      break;
    case VersionBasis::slower_kernels:
      return "Slower kernels of this version that are on record are counted; others are not.";
    case VersionBasis::nearest:
      return "The times are those of the nearest version that is known.";
  }
  return "The times are those of the fastest.";
}

/// "Tuned kernels, launched as their version does (SGLang 0.5.14's), would allow a decode step of
/// 12.1 ms (-35 %)."
std::string tuned_sentence(const EstimateAnswer& answer) {
  std::vector<std::string> parts;
  const auto add = [&](const char* what, Seconds now, const std::optional<Seconds>& tuned) {
    if (!tuned) return;
    parts.push_back(
        fmt::format("{} of {} ({})", what, as_time(*tuned), as_percent(*tuned / now - 1, 0)));
  };
  add("a decode step", answer.decode_step, answer.tuned_decode_step);
  add("a prefill", answer.prefill, answer.tuned_prefill);
  return fmt::format("Tuned kernels, launched as their version does ({}'s), would allow {}.",
                     *answer.tuned_kernels, fmt::join(parts, " and "));
}

/// "No CUDA graph holds a decode of 129 sequences (the largest holds 128), so its kernels are
/// launched one by one. In a graph (--cuda-graph-max-bs 129) the step would take 14.5 ms (-54 %)."
std::string uncaptured_sentence(const EstimateAnswer& answer) {
  const UncapturedDecode& decode = *answer.uncaptured_decode;
  const bool beyond = decode.sequences > decode.largest_graph;
  return fmt::format(
      "No CUDA graph holds a decode of {}{} ({}), so its kernels are launched one by one. In a "
      "graph ({}) the step would take {} ({}).",
      counted(decode.sequences, "sequence"),
      decode.sequences < answer.inputs.batch ? " on each data-parallel rank" : "",
      beyond ? fmt::format("the largest holds {}", with_separators(decode.largest_graph))
             : "between captured sizes and not padded",
      graph_flag(decode), as_time(decode.decode_step),
      as_percent(decode.decode_step / answer.decode_step - 1, 0));
}

Section head_section(const EstimateAnswer& answer) {
  const EstimateInputs& inputs = answer.inputs;
  Section head{
      .heading = headline(inputs.deployment),
      .lines = {answer.generates
                    ? fmt::format("{} of {} prompt and {}", counted(inputs.batch, "sequence"),
                                  with_separators(inputs.input_tokens),
                                  counted(inputs.output_tokens, "output token"))
                    : fmt::format("{} of {}, pooled", counted(inputs.batch, "sequence"),
                                  counted(inputs.input_tokens, "token"))},
      .table = answer_table(answer)};
  if (!answer.fits && answer.fitting_sequences) {
    const std::int64_t fitting = *answer.fitting_sequences;
    const std::string which =
        fitting == 0   ? "No such sequence fits"
        : fitting == 1 ? "Only 1 such sequence fits"
                       : fmt::format("Only {} such sequences fit", with_separators(fitting));
    head.lines.push_back(
        fmt::format("{} in memory{} (roofcast memory).", which, fitting == 0 ? "" : " at once"));
  }
  if (answer.untimed_formats) {
    head.lines.push_back(
        fmt::format("The profile has no measured products in {}: `roofcast calibrate` with this "
                    "model and format times them.",
                    *answer.untimed_formats));
  }
  if (answer.version_relative_uncertainty) {
    head.lines.push_back(
        fmt::format("The uncertainty includes ±{} for the engine's version: servers of single "
                    "versions of this engine, or of one that runs the same kernels, were off by "
                    "that much on this vendor's GPUs. {}",
                    as_percent(*answer.version_relative_uncertainty, 0),
                    basis_sentence(answer.version_basis.value_or(VersionBasis::fastest))));
  }
  if (answer.tuned_kernels) head.lines.push_back(tuned_sentence(answer));
  if (answer.uncaptured_decode) head.lines.push_back(uncaptured_sentence(answer));
  if (answer.model_relative_uncertainty) {
    head.lines.push_back(fmt::format(
        "The uncertainty includes ±{}, as far as this engine's servers of models that are neither "
        "dense nor DeepSeek-V3 or R1 were off.",
        as_percent(*answer.model_relative_uncertainty, 0)));
  }
  // The first that is: as given, or else the plainest of the other formats.
  const auto widened = std::ranges::find_if(
      answer.variants, [](const FormatAnswer& variant) { return variant.widened.has_value(); });
  if (widened != answer.variants.end()) {
    head.lines.push_back(
        fmt::format("The profile has no peak of {}: such weights are widened before they are "
                    "multiplied, which saves "
                    "bytes but no arithmetic, and takes time of its own in long prefills.",
                    *widened->widened));
  }
  if (is_chunked(answer)) {
    head.lines.push_back(
        fmt::format("Prefill takes {}: the engine computes these prompts in several steps "
                    "(--max-num-batched-tokens). The tables of operators and parts show them as "
                    "one step, which would take {}.",
                    as_time(answer.prefill), as_time(answer.step.prefill)));
  }
  const std::int64_t at_once = answer.max_num_seqs;
  if (inputs.batch > at_once) {
    head.lines.push_back(
        fmt::format("The engine runs at most {} at once (--max-num-seqs), so it never runs a step "
                    "of this batch.",
                    counted(at_once, "sequence")));
  }
  return head;
}

}  // namespace

Document estimate_document(const EstimateAnswer& answer, bool list_operators) {
  Document document{.machine = to_json(answer), .sections = {head_section(answer)}};
  const auto add = [&](Table table) {
    document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
  };
  if (list_operators) {
    const auto& [prefill, decode] = answer.operators;
    document.sections.front().lines.push_back(fmt::format(
        "An operator takes its floor + max(FLOP / peak, bytes / bandwidth) / efficiency "
        "(docs/step-time.md); roofcast gpus {} prints the numbers and their sources.",
        answer.inputs.deployment.gpu));
    add(operator_table(
        {prefill, answer.host.prefill, answer.step.prefill},
        fmt::format("Prefill, as one step of all prompts: {}", as_time(answer.step.prefill))));
    if (answer.generates) {
      add(operator_table({decode, answer.host.decode, answer.step.decode},
                         fmt::format("Decode step: {}", as_time(answer.step.decode))));
    }
  }
  add(parts_table(answer));
  if (!answer.variants.empty()) add(variant_table(answer));
  return document;
}

Document batches_document(const BatchesAnswer& answer) {
  if (!answer.generates) {
    return {.machine = to_json(answer),
            .sections = {{.heading = headline(answer.inputs.deployment),
                          .lines = {"Inputs are pooled; nothing is decoded."},
                          .table = prefill_table(answer)},
                         {.heading = "", .lines = {}, .table = batch_cost_table(answer)}}};
  }
  Document document{.machine = to_json(answer),
                    .sections = {{.heading = headline(answer.inputs.deployment),
                                  .lines = batch_sentences(answer),
                                  .table = context_table(answer)}}};
  for (Table table : {decode_table(answer), prefill_table(answer), batch_cost_table(answer)}) {
    document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
  }
  return document;
}

}  // namespace roofcast
