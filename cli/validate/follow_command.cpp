#include "cli/validate/follow_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>

#include "base/dates.hpp"
#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "cli/progress.hpp"
#include "cli/spelling.hpp"
#include "simulator/results/figures.hpp"

namespace roofcast {
namespace {

std::string change(double measured, double simulated) {
  return fmt::format("{:+.1f} %", 100 * (simulated / measured - 1));
}

std::string time_of(double unix_s) { return instant_text(static_cast<std::int64_t>(unix_s)); }

/// "TTFT 120.0 ms measured, 131.0 ms simulated (+9.2 %)" of the figures' means.
template <class Figure>
std::string means_of(const std::vector<Figure>& figures) {
  std::string text;
  for (const LatencyFigure& latency : kTargetLatencies) {
    const auto found = std::find_if(figures.begin(), figures.end(), [&](const Figure& figure) {
      return figure.name == latency.name && figure.statistic == "mean";
    });
    if (found == figures.end()) continue;
    text +=
        fmt::format("{}{} {} measured, {} simulated ({})", text.empty() ? "" : "; ", latency.title,
                    as_time(Seconds{found->measured}), as_time(Seconds{found->simulated}),
                    change(found->measured, found->simulated));
  }
  return text.empty() ? "no latency was measured" : text;
}

std::string line_of(const ShadowWindow& window) {
  return fmt::format("{}, {}: {}", time_of(window.end_s), counted(window.requests, "request"),
                     means_of(window.figures));
}

/// "ttft_s", "ttft_s:p95", "every metric".
std::string name_of_limit(const ErrorLimit& limit) {
  if (limit.name.empty()) return "every metric";
  return limit.statistic.empty() ? limit.name : limit.name + ":" + limit.statistic;
}

/// "2.5 ms to 5.0 ms", "over 640.0 ms"; empty of what no bucket holds.
Cell bucket_of(const ShadowError& figure) {
  if (figure.lower && figure.upper) {
    return range(printed::time(Seconds{*figure.lower}), printed::time(Seconds{*figure.upper}));
  }
  if (figure.upper) return "up to " + as_time(Seconds{*figure.upper});
  return figure.lower ? "over " + as_time(Seconds{*figure.lower}) : std::string();
}

Table windows_table(const ShadowAnswer& answer) {
  Table table{.title = "", .columns = {{"Until", false}, {"Requests"}}, .rows = {}};
  for (const LatencyFigure& latency : kTargetLatencies) {
    table.columns.push_back({fmt::format("{} measured", latency.title)});
    table.columns.push_back({"simulated"});
  }
  for (const ShadowWindow& window : answer.windows) {
    std::vector<Cell> row{time_of(window.end_s), printed::count(window.requests)};
    for (const LatencyFigure& latency : kTargetLatencies) {
      const auto found =
          std::find_if(window.figures.begin(), window.figures.end(), [&](const ShadowFigure& one) {
            return one.name == latency.name && one.statistic == "mean";
          });
      const bool there = found != window.figures.end();
      row.push_back(there ? printed::time(Seconds{found->measured}) : "");
      row.push_back(there ? printed::time(Seconds{found->simulated}) : "");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// `whole`: with the windows, which a reader of the table has already seen.
Document follow_document(const ShadowAnswer& answer, bool whole) {
  Document document{.machine = to_json(answer), .sections = {}};
  std::vector<std::string> lines{fmt::format("{} in {}: {}", counted(answer.requests, "request"),
                                             counted(std::ssize(answer.windows), "window"),
                                             means_of(answer.figures))};
  for (const ErrorLimit& limit : answer.exceeded) {
    lines.push_back(fmt::format("The mean absolute error of {} is past {} %.", name_of_limit(limit),
                                fixed(100 * limit.share, 1)));
  }
  for (const ErrorLimit& limit : answer.unjudged) {
    lines.push_back(fmt::format("No figure judges the limit on {}.", name_of_limit(limit)));
  }
  if (whole) {
    document.sections.push_back(
        {.heading = answer.inputs.file, .lines = {}, .table = windows_table(answer)});
  }
  Table table{.title = "",
              .columns = {{"Figure", false},
                          {"", false},
                          {"Measured"},
                          {"Bucket (mean)"},
                          {"Simulated"},
                          {"Mean abs. error"}},
              .rows = {}};
  bool in_buckets = false;
  for (const ShadowError& figure : answer.figures) {
    in_buckets = in_buckets || figure.lower || figure.upper;
    table.rows.push_back({figure.name, figure.statistic, printed::time(Seconds{figure.measured}),
                          bucket_of(figure), printed::time(Seconds{figure.simulated}),
                          printed::percent(figure.mean_absolute_error)});
  }
  if (in_buckets) {
    lines.emplace_back(
        "A percentile of a histogram is somewhere in its bucket: the figure measured is "
        "interpolated there, the error that of a simulation outside the bucket against its nearer "
        "end.");
  }
  document.sections.push_back(
      {.heading = "Over all windows", .lines = std::move(lines), .table = std::move(table)});
  return document;
}

}  // namespace

int run_follow(const ShadowQuestion& question, OutputFormat output, CommandContext& context) {
  const bool lines = output == OutputFormat::table;
  const bool objects = output == OutputFormat::jsonl;
  const ProgressBar bar(context.err, "windows");  // for Ctrl-C and SIGTERM
  const auto wait = [&] {
    constexpr std::chrono::milliseconds kPollInterval{100};
    constexpr int kLooks = 10;  // a second between two looks at the file
    for (int i = 0; i < kLooks && !bar.interrupted(); ++i)
      std::this_thread::sleep_for(kPollInterval);
    return !bar.interrupted();
  };
  const ShadowAnswer answer =
      follow(question,
             {.window =
                  [&](const ShadowWindow& window) {
                    if (lines) context.out << line_of(window) << "\n" << std::flush;
                    if (objects) context.out << to_json(window).dump() << "\n" << std::flush;
                  },
              .warn = [&](const std::string& line) { context.err << "roofcast: " << line << "\n"; },
              .wait = wait,
              .progress = [&](std::int64_t, std::int64_t) { return !bar.interrupted(); }});
  if (answer.windows.empty()) {
    context.err << "interrupted before " << question.file << " held a window's requests\n";
    return kExitFailed;
  }
  print(follow_document(answer, !lines), output, context);
  if (!answer.exceeded.empty()) return kExitNo;
  return answer.unjudged.empty() ? kExitDone : kExitFailed;
}

}  // namespace roofcast
