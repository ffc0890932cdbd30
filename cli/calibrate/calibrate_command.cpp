// roofcast calibrate: times this machine's kernels and writes its hardware profile.
#include <fmt/format.h>

#include <optional>
#include <ostream>

#include "base/error.hpp"
#include "cli/calibrate/calibrate_document.hpp"
#include "cli/options/arguments.hpp"
#include "cli/progress.hpp"
#include "cli/spelling.hpp"
#include "planner/flags/flag_values.hpp"

namespace roofcast {
namespace {

struct Flags {
  bool quick = false;
  bool full = false;
  std::int64_t threads = 0;
  std::int64_t tensor_parallel = 1;
  std::string kv_cache_dtype;
};

Usage usage_of(Flags& flags, CalibrationQuestion& options) {
  Usage usage{.synopsis = "roofcast calibrate --device cpu|cuda[:N] [options]",
              .example = "roofcast calibrate --device cpu --quick --out my-cpu.json",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()("device",
                              po::value(&options.device)->required()->value_name("DEVICE"),
                              "cpu, cuda (the first GPU) or cuda:N")(
      "quick", po::bool_switch(&flags.quick),
      "about 10 s: as many sizes as time allows, coarse ones first")(
      "full", po::bool_switch(&flags.full), "at most 5 minutes: shapes of many models")(
      "model", po::value(&options.model)->value_name("NAME|PATH"),
      "only this model's shapes, about a minute (default: gpt2 on a CPU, llama-3.1-8b on a GPU)")(
      "quantization",
      converted(options.weight_format, "--quantization", parse_text)->value_name("FORMAT"),
      "weight format: fp8, int8, awq, ... (default: the checkpoint's)")(
      "dtype", converted(options.weight_format, "--dtype", parse_text)->value_name("DTYPE"),
      "weight type: bf16, fp16 or fp32")("kv-cache-dtype",
                                         po::value(&flags.kv_cache_dtype)->value_name("DTYPE"),
                                         "KV cache type: bf16, fp16 or fp8")(
      "tensor-parallel-size",
      converted(flags.tensor_parallel, "--tensor-parallel-size", parse_positive)->value_name("N"),
      "shapes of one of N tensor-parallel ranks, also --tp")(
      "threads", converted(flags.threads, "--threads", parse_positive)->value_name("N"),
      "CPU: number of threads (default: all cores)")(
      "out", po::value(&options.out)->value_name("FILE"),
      "profile to write (default: device name + .json)")(
      "store", po::value(&options.store_path)->value_name("FILE"),
      "store for every sample (default roofcast.db)")(
      "resume", po::bool_switch(&options.resume), "resume this device's interrupted calibration");
  return usage;
}

void set_extent(const Flags& flags, CalibrationQuestion& options) {
  if (flags.quick && flags.full) throw UsageError("--quick and --full exclude each other");
  if (flags.quick) options.extent = ExtentKind::quick;
  if (flags.full) options.extent = ExtentKind::full;
  options.tensor_parallel = static_cast<int>(flags.tensor_parallel);
  options.threads = static_cast<int>(flags.threads);
  if (flags.kv_cache_dtype.empty() || flags.kv_cache_dtype == "auto") return;
  options.kv_cache_dtype = parse_dtype(flags.kv_cache_dtype);
  if (!options.kv_cache_dtype) {
    throw UsageError("--kv-cache-dtype: '" + flags.kv_cache_dtype +
                     "' given, expected auto, bf16, fp16 or fp8");
  }
}

}  // namespace

int run_calibrate(CommandContext& context) {
  Flags flags;
  CalibrationQuestion question;
  question.command_line = context.command_line;
  const auto common = parse(context, usage_of(flags, question));
  if (!common) return kExitDone;
  set_extent(flags, question);

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
  print(calibration_document(answer), common->output, context.out);
  const std::optional<std::string> failure = failure_of(answer);
  if (!failure) return kExitDone;
  context.err << "roofcast: " << with_flags(*failure) << "\n";
  return kExitFailed;
}

}  // namespace roofcast
