// roofcast profile import: kernel tables measured by other tools, as a hardware profile.
#include <fmt/format.h>

#include <ostream>

#include "base/error.hpp"
#include "cli/options/arguments.hpp"
#include "cli/spelling.hpp"
#include "model/io/gpu_reader.hpp"
#include "reports/answers/answer_documents.hpp"
#include "roofcast/import.hpp"

namespace roofcast {
namespace {

struct ProfileFlags {
  std::vector<std::string> words;
  std::string gpu;
  std::string out;
};

Usage usage_of(ProfileFlags& flags) {
  Usage usage{
      .synopsis = "roofcast profile import PATH... --gpu NAME [options]",
      .example = "roofcast profile import RTX4090/ --gpu rtx-4090 --out rtx-4090-vllm.json",
      .options = option_group(
          "Options (PATH: aiconfigurator's CSV tables or LLMServingSim's profiler folders)"),
      .unlisted = option_group(""),
      .positional = {},
      .subcommands = {"import"}};
  usage.options.add_options()("gpu", po::value(&flags.gpu)->required()->value_name("NAME|FILE"),
                              "the GPU of the tables; its datasheet facts are kept")(
      "out", po::value(&flags.out)->value_name("FILE"),
      "profile to write (default: GPU name + -imported.json)");
  usage.unlisted.add_options()("words", po::value(&flags.words)->value_name("PATH"),
                               "import, and the paths");
  usage.positional.add("words", -1);
  return usage;
}

std::vector<std::string> paths_of(const ProfileFlags& flags) {
  if (flags.words.empty() || flags.words.front() != "import") {
    throw UsageError("profile: expected 'import' and the paths of kernel tables");
  }
  if (flags.words.size() < 2) throw UsageError("profile import: expected the paths of tables");
  return {flags.words.begin() + 1, flags.words.end()};
}

}  // namespace

int run_profile(CommandContext& context) {
  ProfileFlags flags;
  const auto common = parse(context, usage_of(flags));
  if (!common) return kExitDone;
  if (!flags.out.empty() && !is_profile_path(flags.out)) {
    throw UsageError(
        fmt::format("--out: '{}' looks like a GPU name; a profile ends in .json", flags.out));
  }
  const TablesAnswer answer =
      import_tables({.paths = paths_of(flags), .gpu = flags.gpu, .out = flags.out});
  for (const std::string& warning : answer.warnings)
    context.err << "roofcast: " << with_flags(warning) << "\n";
  print(tables_document(answer), common->output, context);
  return kExitDone;
}

}  // namespace roofcast
