// roofcast fit: what an engine adds to its kernels, learnt from measured runs.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ostream>
#include <sstream>

#include "base/error.hpp"
#include "base/io/output_file.hpp"
#include "base/suggest.hpp"
#include "cli/options/arguments.hpp"
#include "cli/progress.hpp"
#include "cli/validate/fit_document.hpp"
#include "model/io/engine_profile.hpp"

namespace roofcast {
namespace {

struct FitOptions {
  std::vector<std::string> files;
  std::string engine;
  std::string name = "fitted";
  std::string terms;
  std::string out;
};

Usage fit_usage(FitOptions& target) {
  Usage usage{.synopsis = "roofcast fit MANIFEST.json ... --out ENGINE.json [options]",
              .example = "roofcast fit my-runs.json --name our-vllm --out our-vllm.json",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()("file", po::value(&target.files)->value_name("FILE"),
                              "manifests: measured runs and what they ran on "
                              "(reports/validation.schema.json)")(
      "out", po::value(&target.out)->required()->value_name("FILE"),
      "the engine profile, for --engine FILE; ends in .json")(
      "name", po::value(&target.name)->value_name("NAME")->default_value(target.name),
      "of the engine profile, shown with its results")(
      "engine", po::value(&target.engine)->value_name("ERA"),
      "only the cases of this engine, as they spell it")(
      "terms", po::value(&target.terms)->value_name("TERM,..."),
      "host terms to learn, the surest first (default: all)");
  usage.positional.add("file", -1);
  return usage;
}

std::vector<const HostTerm*> parse_terms(const std::string& text) {
  std::vector<const HostTerm*> terms;
  std::vector<std::string> names;
  for (const HostTerm& term : host_terms()) {
    names.emplace_back(term.name);
    if (text.empty()) terms.push_back(&term);
  }
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto found = std::find_if(host_terms().begin(), host_terms().end(),
                                    [&](const HostTerm& term) { return term.name == word; });
    if (found == host_terms().end()) {
      throw UsageError(
          fmt::format("--terms: '{}' is no host term{}", word, did_you_mean(word, names)));
    }
    if (std::find(terms.begin(), terms.end(), &*found) != terms.end()) {
      throw UsageError(fmt::format("--terms: {} is given twice", word));
    }
    terms.push_back(&*found);
  }
  return terms;
}

FitQuestion question_of(const FitOptions& options) {
  FitQuestion question{.cases = {}, .terms = parse_terms(options.terms), .name = options.name};
  for (const std::string& file : options.files) {
    ValidationManifest manifest = read_manifest(file);
    std::copy_if(std::make_move_iterator(manifest.cases.begin()),
                 std::make_move_iterator(manifest.cases.end()), std::back_inserter(question.cases),
                 [&](const ValidationCase& one) {
                   return options.engine.empty() || one.scenario.engine == options.engine;
                 });
  }
  return question;
}

void check(const FitOptions& options) {
  if (options.files.empty()) {
    throw UsageError("fit: expected a manifest of measured runs (roofcast fit --help)");
  }
  if (!options.out.ends_with(".json")) {
    throw UsageError(
        fmt::format("--out: '{}' given, expected a name that ends in .json", options.out));
  }
  check_not_among(options.out, "--out", options.files);
  check_writable(options.out);
}

}  // namespace

int run_fit(CommandContext& context) {
  FitOptions options;
  const auto common = parse(context, fit_usage(options));
  if (!common) return kExitDone;
  check(options);
  const FitQuestion question = question_of(options);
  std::optional<EngineFit> fit;
  {
    ProgressBar bar(context.err, "predictions");
    fit = fit_engine(question,
                     [&](std::int64_t done, std::int64_t max) { return bar.show(done, max); });
  }
  if (!fit) {
    context.err << "interrupted\n";
    return kExitFailed;
  }
  write_whole(options.out, write_engine_profile(fit->profile));
  write(fit_document(*fit, options.files, options.out), common->output, context.out);
  return kExitDone;
}

}  // namespace roofcast
