// The table that `vllm bench serve` and SGLang's bench_serving print, as pasted by users: a banner,
// then "label: value" lines, quoted or not. A second banner starts a second result.
#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "base/io/line_reader.hpp"
#include "base/text.hpp"
#include "reports/importers/metric_rows.hpp"
#include "reports/importers/setting_keys.hpp"
#include "reports/importers/text_formats.hpp"

namespace roofcast {
namespace {

constexpr std::string_view kBanner = "Serving Benchmark Result";

constexpr std::array kConsoleValues = {
    ValueKey{"successful requests", "requests_completed"},
    ValueKey{"failed requests", "requests_failed"},
    ValueKey{"benchmark duration (s)", "makespan_s"},
    ValueKey{"total input tokens", "input_tokens"},
    ValueKey{"total generated tokens", "output_tokens"},
    ValueKey{"request throughput (req/s)", "request_rate_per_s"},
    ValueKey{"request goodput (req/s)", "goodput_per_s"},
    ValueKey{"input token throughput (tok/s)", "input_tokens_per_s"},
    ValueKey{"output token throughput (tok/s)", "output_tokens_per_s"},
    ValueKey{"total token throughput (tok/s)", "total_tokens_per_s"},
    ValueKey{"peak output token throughput (tok/s)", "peak_output_tokens_per_s"},
    ValueKey{"peak concurrent requests", "peak_concurrency"},
    ValueKey{"concurrency", "mean_concurrency"},
};

struct Label {
  std::string_view text, name;
};

constexpr std::array kConsoleLatencies = {
    Label{"ttft (ms)", "ttft_s"}, Label{"tpot (ms)", "tpot_s"},       Label{"itl (ms)", "itl_s"},
    Label{"e2el (ms)", "e2e_s"},  Label{"e2e latency (ms)", "e2e_s"},
};

constexpr std::array kConsoleSettings = {
    Label{"request rate configured (rps)", "request_rate"},
    Label{"traffic request rate", "request_rate"},
    Label{"maximum request concurrency", "max_concurrency"},
    Label{"max request concurrency", "max_concurrency"},
};

void add_line(MeasuredRun& run, const std::string& label, std::string value) {
  std::erase(value, ',');  // thousands separators
  const auto number = number_in(std::string_view(value));
  for (const Label& known : kConsoleSettings) {
    if (known.text == label && number) {
      set_from_key(run.setting, known.name, nlohmann::json(value), run.origin);
    }
  }
  if (label == "backend") run.setting.engine = engine_in(value);
  for (const ValueKey& known : kConsoleValues) {
    if (known.key == label) add_metric(run, known.metric, "value", number);
  }
  const std::size_t cut = label.find(' ');
  const auto statistic = statistic_of(label.substr(0, cut));
  if (!statistic || cut == std::string::npos) return;
  for (const Label& known : kConsoleLatencies) {
    if (known.text != label.substr(cut + 1)) continue;
    add_metric(run, known.name, *statistic, number, kSecondsPerMillisecond);
  }
}

}  // namespace

bool is_vllm_console(std::string_view head) { return head.find(kBanner) != std::string_view::npos; }

MeasuredRuns read_vllm_console(ByteSource& bytes, const ImportOptions&) {
  LineReader lines(bytes);
  MeasuredRuns runs;
  std::string_view line;
  while (lines.next(line)) {
    if (line.find(kBanner) != std::string_view::npos) {
      runs.push_back({.origin = fmt::format("{}, line {}", bytes.name(), lines.line_number()),
                      .format = "vllm-console"});
    }
    const std::size_t colon = line.rfind(':');
    if (runs.empty() || colon == std::string_view::npos) continue;
    constexpr std::string_view kQuoting = " \t|>`*\r";
    add_line(runs.back(), lower(trimmed(line.substr(0, colon), kQuoting)),
             std::string(trimmed(line.substr(colon + 1), kQuoting)));
  }
  for (MeasuredRun& run : runs) set_mean_lengths(run);
  return runs;
}

}  // namespace roofcast
