// roofcast fit: fits an engine's overheads to measured runs.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <sstream>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/suggest.hpp"
#include "cli/options/arguments.hpp"
#include "cli/progress.hpp"
#include "cli/spelling.hpp"
#include "reports/answers/answer_documents.hpp"
#include "roofcast/fit.hpp"

namespace roofcast {
namespace {

struct FitOptions {
  FitQuestion question;
  std::string terms;
};

Usage fit_usage(FitOptions& target) {
  Usage usage{.synopsis = "roofcast fit MANIFEST.json ... --out ENGINE.json [options]",
              .example = "roofcast fit my-runs.json --name our-vllm --out our-vllm.json",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()(
      "file", po::value(&target.question.files)->value_name("FILE"),
      "manifests: measured runs and their deployments (validate/validation.schema.json)")(
      "out", po::value(&target.question.out)->required()->value_name("FILE"),
      "engine profile to write, for --engine FILE; ends in .json")(
      "name",
      po::value(&target.question.name)->value_name("NAME")->default_value(target.question.name),
      "name of the engine profile, shown with its results")(
      "engine", po::value(&target.question.engine)->value_name("PRESET"),
      "only cases of this engine, as spelled in the manifest")(
      "terms", po::value(&target.terms)->value_name("TERM,..."),
      "host terms to fit, most identifiable first (default: all but per_prompt_token_s)");
  usage.positional.add("file", -1);
  return usage;
}

std::vector<const HostTerm*> parse_terms(const std::string& text) {
  std::vector<const HostTerm*> terms;
  std::vector<std::string> names;
  for (const HostTerm& term : host_terms()) {
    names.emplace_back(term.name);
  }
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto found = std::find_if(host_terms().begin(), host_terms().end(),
                                    [&](const HostTerm& term) { return term.name == word; });
    if (found == host_terms().end()) {
      throw UsageError(
          fmt::format("--terms: '{}' is not a host term{}", word, did_you_mean(word, names)));
    }
    if (std::find(terms.begin(), terms.end(), &*found) != terms.end()) {
      throw UsageError(fmt::format("--terms: {} is given twice", word));
    }
    terms.push_back(&*found);
  }
  return terms;
}

void check(const FitQuestion& question) {
  if (question.files.empty()) {
    throw UsageError("fit: expected a manifest of measured runs (roofcast fit --help)");
  }
  if (!question.out.ends_with(".json")) {
    throw UsageError(
        fmt::format("--out: '{}' given, expected a name that ends in .json", question.out));
  }
  check_not_among(question.out, "--out", question.files);
}

}  // namespace

int run_fit(CommandContext& context) {
  FitOptions options;
  FitQuestion& question = options.question;
  const auto common = parse(context, fit_usage(options));
  if (!common) return kExitDone;
  check(question);
  question.terms = parse_terms(options.terms);
  std::optional<FitAnswer> answer;
  {
    ProgressBar bar(context.err, "predictions");
    answer =
        fit(question, [&](std::int64_t done, std::int64_t max) { return bar.show(done, max); });
  }
  if (!answer) {
    context.err << "interrupted\n";
    return kExitFailed;
  }
  print(fit_document(*answer), common->output, context);
  return kExitDone;
}

}  // namespace roofcast
