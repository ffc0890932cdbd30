// roofcast estimate: the cost of prefill and of a decode step, and the reasons for it; of one
// batch, or of several beside each other.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "cli/options/deployment_options.hpp"
#include "cli/options/flag_options.hpp"
#include "cli/options/from_command.hpp"
#include "cli/spelling.hpp"
#include "reports/document.hpp"
#include "reports/pages/estimate_report.hpp"
#include "reports/pages/html_page.hpp"
#include "reports/pages/operator_table.hpp"
#include "roofcast/estimate.hpp"
#include "roofcast/question_flags.hpp"

namespace roofcast {
namespace {

/// None between a time from this GPU's own figures and one from defaults: the difference would be
/// that of the sources.
std::string change(Seconds before, const SourceAnswer& from, Seconds after,
                   const SourceAnswer& to) {
  if (!from.is_like(to)) return "other source";
  const double percent = std::round((after / before - 1.0) * 100.0);
  return percent == 0 ? "0 %" : fmt::format("{:+.0f} %", percent);
}

Table variant_table(const std::vector<FormatAnswer>& variants) {
  Table table{.title = "Other number formats",
              .columns = {{"Format", false},
                          {"Prefill"},
                          {"", false},
                          {"Change"},
                          {"Decode step"},
                          {"", false},
                          {"Change"},
                          {"Weights/GPU"},
                          {"KV cache/GPU"}},
              .rows = {}};
  for (const FormatAnswer& variant : variants) {
    const FormatAnswer& first = variants.front();
    table.rows.push_back(
        {variant.name, as_time(variant.prefill), source_words(variant.prefill_source),
         change(first.prefill, first.prefill_source, variant.prefill, variant.prefill_source),
         as_time(variant.decode_step), source_words(variant.decode_source),
         change(first.decode_step, first.decode_source, variant.decode_step, variant.decode_source),
         as_gib(variant.weight_bytes), as_gib(variant.cache_bytes)});
  }
  return table;
}

std::string source(double relative_uncertainty, const std::vector<OperatorAnswer>& operators) {
  return fmt::format("±{} ({})", as_percent(relative_uncertainty, 0),
                     describe_provenance(operators));
}

Table answer_table(const EstimateAnswer& answer) {
  Table table{.title = "", .columns = {{"", false}, {""}, {"", false}}, .rows = {}};
  const auto row = [&](const char* name, const std::string& value, const std::string& remark) {
    table.rows.push_back({name, value, remark});
  };
  const StepAnswer& decode = answer.summary.decode;
  row("prefill", as_time(answer.prefill),
      source(answer.prefill_relative_uncertainty, answer.operators.prefill));
  row("decode step, mean", as_time(answer.decode_step),
      source(answer.decode_relative_uncertainty, answer.operators.decode));
  row("output tokens/s", fixed(answer.output_tokens_per_s, 1), "prefill included");
  row("decode tokens/s", fixed(answer.decode_tokens_per_s, 1), "once prefill is done");
  if (answer.pipeline) {
    row("decode tokens/s, full", fixed(answer.pipeline->decode_tokens_per_s, 1),
        fmt::format("with {} such batches in the {} stages, each token after {}",
                    answer.pipeline->stages, answer.pipeline->stages,
                    as_time(answer.pipeline->decode_step)));
  }
  row("decode step, at least", as_time(decode.least),
      fmt::format("no implementation is faster; {} of the FLOP/s unused even so",
                  as_percent(decode.unused_at_least)));
  row("MFU of prefill", as_percent(answer.mfu),
      fmt::format("of the dense peak; decode: {}", as_percent(decode.mfu)));
  row("MBU of decode", as_percent(answer.mbu),
      fmt::format("of the memory bandwidth; prefill: {}", as_percent(answer.summary.prefill.mbu)));
  row("ridge point", fixed(answer.ridge.value, 1), "FLOP/byte");
  return table;
}

Section head_section(const EstimateAnswer& answer) {
  const EstimateInputs& inputs = answer.inputs;
  Section head{.heading = headline(inputs.deployment),
               .lines = {fmt::format("{} of {} prompt and {}", counted(inputs.batch, "sequence"),
                                     with_separators(inputs.input_tokens),
                                     counted(inputs.output_tokens, "output token"))},
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
  return head;
}

/// Prefill and decode time, rates, MFU, MBU, ridge and crossing, and the effect of other number
/// formats; with `list_operators` also a table of the operators of both steps in text output.
Document estimate_document(const EstimateAnswer& answer, bool list_operators) {
  Document document{.machine = to_json(answer), .sections = {head_section(answer)}};
  const auto add = [&](Table table) {
    document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
  };
  if (list_operators) {
    const auto& [prefill, decode] = answer.operators;
    add(operator_table({prefill, answer.host.prefill, answer.step.prefill}, "Prefill"));
    add(operator_table({decode, answer.host.decode, answer.step.decode}, "Decode step"));
  }
  add(parts_table(answer));
  add(variant_table(answer.variants));
  return document;
}

/// The batches beside each other.
Document batches_document(const BatchesAnswer& answer) {
  Document document{.machine = to_json(answer),
                    .sections = {{.heading = headline(answer.inputs.deployment),
                                  .lines = batch_sentences(answer),
                                  .table = context_table(answer)}}};
  for (Table table : {decode_table(answer), prefill_table(answer)}) {
    document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
  }
  return document;
}

struct EstimateOptions {
  BatchesQuestion question{};
  bool operators = false;
  std::string html{};
};

int answer_one(const EstimateQuestion& question, const EstimateOptions& options,
               OutputFormat format, std::ostream& out) {
  if (!options.html.empty()) {
    throw UsageError("--html: needs several batches or prompt lengths (--batch 1-256*2)");
  }
  const EstimateAnswer answer = estimate(question);
  print(estimate_document(answer, options.operators), format, out);
  return answer.fits ? kExitDone : kExitNo;
}

int answer_several(const EstimateOptions& options, OutputFormat format, CommandContext& context) {
  if (options.operators) throw UsageError("--ops: needs a single batch and prompt length");
  if (!options.html.empty()) check_writable(options.html);
  const BatchesAnswer answer = estimate_batches(options.question);
  if (!options.html.empty()) {
    write_whole(options.html, html_page(estimate_report(answer)));
    context.err << "written to " << options.html << "\n";
  }
  print(batches_document(answer), format, context.out);
  return is_yes(answer) ? kExitDone : kExitNo;
}

}  // namespace

int run_estimate(CommandContext& context) {
  EstimateOptions asked;
  DeploymentOptions& options = asked.question.deployment;
  std::string line;
  Usage usage{
      .synopsis = "roofcast estimate --model M|--from-cmd LINE --gpu G [options]",
      .example = "roofcast estimate --model llama-3.1-8b --gpu h100 --batch 32 --isl 1k --osl 256",
      .options = option_group("Options"),
      .unlisted = from_command_option(line),
      .positional = {}};
  usage.unlisted.add(scheduler_options(options));
  usage.unlisted.add_options()("html", po::value(&asked.html)->value_name("FILE"),
                               "page with figures, of several batches or prompts");
  add_flags(usage.options, estimate_flags(), asked.question);
  usage.options.add_options()("ops", po::bool_switch(&asked.operators),
                              "list every operator of both steps");
  usage.options.add(machine_options(options)).add(engine_options(options));
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  refuse_idle_flags(asked.question);  // those of a server's command line are its own
  take_from_command(options, line, context.err);
  leave_out_drafts(options, context.err);
  tell_version(options, context.err);

  if (const auto one = single_estimate(asked.question)) {
    return answer_one(*one, asked, common->output, context.out);
  }
  return answer_several(asked, common->output, context);
}

}  // namespace roofcast
