#include "cli/options/from_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "cli/options/option_groups.hpp"
#include "planner/launch/serve_command.hpp"
#include "planner/launch/shell_text.hpp"
#include "simulator/deployment_options.hpp"

namespace roofcast {
namespace {

namespace fs = std::filesystem;

/// Nullopt if there is no such file. Reads one byte more than a script may have, so that longer
/// ones are detected.
std::optional<std::string> text_of(const fs::path& path) {
  if (!fs::is_regular_file(path)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(kLongestScript + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

struct Line {
  std::string text;
  fs::path folder;  // of the file that contains it
};

Line line_of(const std::string& given) {
  if (!given.starts_with('@')) {
    const bool is_path = given.find_first_of(" \n") == std::string::npos;
    if (is_path && fs::is_regular_file(given)) {
      throw UsageError(fmt::format("--from-cmd: to read a file, write --from-cmd @{}", given));
    }
    return {given, {}};
  }
  const fs::path path = given.substr(1);
  const auto text = text_of(path);
  if (!text) throw Error(fmt::format("{}: cannot be read (--from-cmd @FILE)", path.string()));
  return {*text, path.parent_path()};
}

void tell(std::ostream& err, const char* what, const std::vector<std::string>& names) {
  if (!names.empty()) err << fmt::format("{}: {}\n", what, fmt::join(names, ", "));
}

void take_degrees(ParallelismOptions& degrees, const ParallelismOptions& said) {
  visit_degrees([&](std::string_view, auto, auto degree) {
    if (!(degrees.*degree)) degrees.*degree = said.*degree;
  });
}

ServeCommand read_line(const std::string& given) {
  const Line line = line_of(given);
  try {
    return read_serve_command(line.text, [&](const std::string& path) {
      return text_of(line.folder / path);  // an absolute path is kept
    });
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--from-cmd: {}", error.what()));
  }
}

}  // namespace

po::options_description from_command_option(std::string& line) {
  po::options_description options = option_group("Instead of the flags below");
  options.add_options()("from-cmd", po::value(&line)->value_name("LINE|@FILE"),
                        "command line: vllm serve ..., sglang ..., trtllm-serve ... or docker run "
                        "of one; other flags override it");
  return options;
}

void take_from_command(DeploymentOptions& options, const std::string& line, std::ostream& err) {
  if (line.empty()) return;
  ServeCommand command = read_line(line);
  DeploymentOptions& said = command.deployment;
  if (options.model.empty()) options.model = said.model;
  if (options.engine.empty()) options.engine = said.engine;
  if (!options.weight_format) options.weight_format = said.weight_format;
  take_degrees(options.parallel, said.parallel);
  take_overrides(said.overrides, options.overrides);
  options.overrides = std::move(said.overrides);

  tell(err, "--from-cmd: ignored, no effect on performance", command.ignored);
  tell(err, "--from-cmd: warning: may affect performance but is not modelled",
       command.not_modelled);
  tell(err, "--from-cmd: warning: unknown flags, ignored", command.unknown);
  for (const std::string& note : command.notes) err << "--from-cmd: note: " << note << "\n";
}

void leave_out_drafts(DeploymentOptions& options, std::ostream& err) {
  EngineOverrides& knobs = options.overrides;
  if (!knobs.num_speculative_tokens) return;
  knobs.num_speculative_tokens.reset();
  knobs.speculative_method.reset();
  err << "--from-cmd: note: speculative decoding is not modelled here (roofcast simulate models "
         "it)\n";
}

std::string without_secrets(std::string_view line) {
  constexpr std::array<std::string_view, 8> kMarks = {
      "api-key", "api_key", "hf-token", "hf_token", "TOKEN=", "KEY=", "SECRET=", "PASSWORD="};
  std::string text(line);
  for (const std::string_view mark : kMarks) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
      at += mark.size();
      const std::size_t begin = text.find_first_not_of(" =\"'", at);
      if (begin == std::string::npos) break;
      const std::size_t end = std::min(text.find_first_of(" \t\n\"'", begin), text.size());
      text.replace(begin, end - begin, "***");
    }
  }
  return text;
}

}  // namespace roofcast
