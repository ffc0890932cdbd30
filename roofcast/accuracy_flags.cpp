#include "roofcast/accuracy_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "planner/flags/engine_flags.hpp"
#include "planner/flags/flag_values.hpp"
#include "validate/measured_case.hpp"

namespace roofcast {
namespace {

void check_metric(const std::string& name, const std::string& text) {
  const std::vector<std::string>& known = comparable_metrics();
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw UsageError(
      fmt::format("--threshold: '{}' is not a metric{}", text, did_you_mean(name, known)));
}

/// "10%" for every metric, "ttft_s=15%", "ttft_s:p99=0.3".
ErrorLimit parse_error_limit(const std::string& text) {
  ErrorLimit limit;
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos) {
    const std::string metric = text.substr(0, equals);
    const std::size_t colon = std::min(metric.find(':'), metric.size());
    limit.name = metric.substr(0, colon);
    if (colon < metric.size()) limit.statistic = metric.substr(colon + 1);
    check_metric(limit.name, text);
  }
  const std::string share = equals == std::string::npos ? text : text.substr(equals + 1);
  const bool is_percent = share.ends_with('%');
  limit.share =
      parse_number_by({.what = "share", .examples = "10%, 0.1", .min = 0},
                      is_percent ? share.substr(0, share.size() - 1) : share, "--threshold") /
      (is_percent ? 100 : 1);
  return limit;
}

/// "gpu=h100"
void read_meta(ImportOptions& options, const std::string& pair, const std::string& flag) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError(flag + ": '" + pair + "' is not KEY=VALUE, such as gpu=h100");
  }
  options.meta[pair.substr(0, equals)] = pair.substr(equals + 1);
}

}  // namespace

void read_prices(std::map<std::string, double>& prices, const std::string& text) {
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.rfind('=');
    if (equals == std::string_view::npos) {
      throw UsageError(fmt::format("--price: '{}' given, expected GPU=NUMBER", part));
    }
    prices[std::string(part.substr(0, equals))] =
        parse_positive_number(std::string(part.substr(equals + 1)), "--price");
  }
}

const Flags<ValidationQuestion>& validation_flags() {
  using Q = ValidationQuestion;
  static const Flags<Q> flags = {
      {.name = "by",
       .placeholder = "KEY,...",
       .help = "summarise by labels or keys of the scenario (version, tp)",
       .read =
           [](Q& question, const std::string& text, const std::string&) {
             for (const std::string_view key : split(text, ',')) question.by.emplace_back(key);
           },
       .form = FlagForm::repeated},
      {.name = "threshold",
       .placeholder = "[METRIC[:STATISTIC]=]SHARE",
       .help = "exit code 3 above this mean error: 10%, ttft_s=15%, ttft_s:p99=9%",
       .read = [](Q& question, const std::string& text,
                  const std::string&) { question.limits.push_back(parse_error_limit(text)); },
       .form = FlagForm::list},
      {.name = "price",
       .placeholder = "GPU=X,...",
       .help = "$ per GPU and hour, for --decisions",
       .read = [](Q& question, const std::string& text,
                  const std::string&) { read_prices(question.prices, text); },
       .form = FlagForm::repeated}};
  return flags;
}

const Flags<ImportOptions>& result_flags() {
  static const Flags<ImportOptions> flags = {
      {.name = "format",
       .placeholder = "FORMAT",
       .help = "vllm, sglang, aiperf, guidellm ... (default: by content)",
       .read = into(&ImportOptions::format, parse_text)},
      {.name = "meta",
       .placeholder = "KEY=VALUE ...",
       .help = "settings not in the files: gpu=h100 tp=2 engine=vllm",
       .read = read_meta,
       .form = FlagForm::list}};
  return flags;
}

const Flags<ScenarioOptions>& result_scenario_flags() {
  using S = ScenarioOptions;
  static const Flags<S> flags = [] {
    const auto overrides = [](S& o) -> EngineOverrides& { return o.deployment.overrides; };
    Flags<S> all;
    append(all, machine_flags(), &S::deployment);
    append(all, engine_choice_flags(), &S::deployment);
    append(all, knob_flags(KnobGroup::memory_and_batch), overrides);
    append(all, knob_flags(KnobGroup::scheduler), overrides);
    append(all, synthetic_flags(), &S::workload);
    append(all, knob_flags(KnobGroup::features), overrides);
    Flags<WorkloadOptions> in_flight;
    in_flight.push_back(*find_flag(objective_flags(), "max-concurrency"));
    append(all, in_flight, &S::workload);
    return all;
  }();
  return flags;
}

const Flags<CalibrationOptions>& calibration_flags() {
  using O = CalibrationOptions;
  const auto in_question = [](auto member) {
    return [member](O& options, const std::string& text, const std::string&) {
      options.question.*member = text;
    };
  };
  static const Flags<O> flags = {
      {.name = "device",
       .placeholder = "DEVICE",
       .help = "cpu, cuda (the first GPU) or cuda:N",
       .read = in_question(&CalibrationQuestion::device),
       .required = true},
      {.name = "quick",
       .help = "about 10 s: as many sizes as time allows, coarse ones first",
       .read = set_to(&O::quick, true),
       .form = FlagForm::toggle},
      {.name = "full",
       .help = "at most 5 minutes: shapes of many models",
       .read = set_to(&O::full, true),
       .form = FlagForm::toggle},
      {.name = "model",
       .placeholder = "NAME|PATH",
       .help = "only this model's shapes, about a minute (default: gpt2 on a CPU, llama-3.1-8b on "
               "a GPU)",
       .read = in_question(&CalibrationQuestion::model)},
      {.name = "quantization",
       .placeholder = "FORMAT",
       .help = "weight format: fp8, int8, awq, ... (default: the checkpoint's)",
       .read = in_question(&CalibrationQuestion::weight_format)},
      {.name = "dtype",
       .placeholder = "DTYPE",
       .help = "weight type: bf16, fp16 or fp32",
       .read = in_question(&CalibrationQuestion::weight_format)},
      {.name = "kv-cache-dtype",
       .placeholder = "DTYPE",
       .help = "KV cache type: bf16, fp16 or fp8",
       .read = into(&O::kv_cache_dtype, parse_text)},
      {.name = "tensor-parallel-size",
       .placeholder = "N",
       .help = "shapes of one of N tensor-parallel ranks, also --tp",
       .read = into(&O::tensor_parallel, parse_positive),
       .aliases = {"-tp", "--tp", "--tp-size"}},
      {.name = "threads",
       .placeholder = "N",
       .help = "CPU: number of threads (default: all cores)",
       .read = into(&O::threads, parse_positive)},
      {.name = "out",
       .placeholder = "FILE",
       .help = "profile to write (default: device name + .json)",
       .read = in_question(&CalibrationQuestion::out)},
      {.name = "store",
       .placeholder = "FILE",
       .help = "store for every sample (default roofcast.db)",
       .read = in_question(&CalibrationQuestion::store_path)},
      {.name = "resume",
       .help = "resume this device's interrupted calibration",
       .read = [](O& options, const std::string&,
                  const std::string&) { options.question.resume = true; },
       .form = FlagForm::toggle}};
  return flags;
}

CalibrationQuestion calibration_question(const CalibrationOptions& options) {
  CalibrationQuestion question = options.question;
  if (options.quick && options.full) throw UsageError("--quick and --full are mutually exclusive");
  if (options.quick) question.extent = ExtentKind::quick;
  if (options.full) question.extent = ExtentKind::full;
  question.tensor_parallel = static_cast<int>(options.tensor_parallel);
  question.threads = static_cast<int>(options.threads);
  if (options.kv_cache_dtype.empty() || options.kv_cache_dtype == "auto") return question;
  question.kv_cache_dtype = parse_dtype(options.kv_cache_dtype);
  if (!question.kv_cache_dtype) {
    throw UsageError("--kv-cache-dtype: '" + options.kv_cache_dtype +
                     "' given, expected auto, bf16, fp16 or fp8");
  }
  return question;
}

}  // namespace roofcast
