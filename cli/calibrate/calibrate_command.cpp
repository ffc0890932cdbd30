// roofcast calibrate: times this machine's kernels and writes its hardware profile.
#include <fmt/format.h>

#include <optional>
#include <ostream>

#include "cli/options/flag_options.hpp"
#include "cli/progress.hpp"
#include "cli/spelling.hpp"
#include "reports/answers/answer_documents.hpp"
#include "roofcast/accuracy_flags.hpp"
#include "roofcast/calibrate.hpp"

namespace roofcast {
namespace {

Usage usage_of(CalibrationOptions& options) {
  Usage usage{.synopsis = "roofcast calibrate --device cpu|cuda[:N] [options]",
              .example = "roofcast calibrate --device cpu --quick --out my-cpu.json",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  add_flags(usage.options, calibration_flags(), options);
  return usage;
}

}  // namespace

int run_calibrate(CommandContext& context) {
  CalibrationOptions options;
  const auto common = parse(context, usage_of(options));
  if (!common) return kExitDone;
  CalibrationQuestion question = calibration_question(options);
  question.command_line = context.command_line;

  CalibrationAnswer answer;
  {
    ProgressBar bar(context.err, "points");
    answer = calibrate(
        question, [&](std::int64_t done, std::int64_t total) { return bar.show(done, total); },
        [&](const std::string& line) { context.err << with_flags(line) << "\n"; });
  }
  if (!answer.finished) {
    context.err << fmt::format(
        "interrupted: {} points are in {} (run {}); resume with the same command and --resume\n",
        answer.stored_points, question.store_path, answer.run_id);
    return kExitFailed;
  }
  context.err << fmt::format("run {} stored in {} (roofcast runs {} --store {})\n", answer.run_id,
                             question.store_path, answer.run_id, question.store_path);
  if (!answer.known_gpu) {
    context.err << "no datasheet of this device is known: the profile's peaks and bandwidth are "
                   "the measured ones\n";
  }
  print(calibration_document(answer), common->output, context);
  const std::optional<std::string> failure = failure_of(answer);
  if (!failure) return kExitDone;
  context.err << "roofcast: " << with_flags(*failure) << "\n";
  return kExitFailed;
}

}  // namespace roofcast
