#include "roofcast/shadow.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/record.hpp"
#include "reports/importers/growing_export.hpp"
#include "reports/importers/prometheus_load.hpp"
#include "reports/rows/simulation_rows.hpp"
#include "roofcast/record_parts.hpp"
#include "roofcast/simulate.hpp"
#include "validate/observed_workload.hpp"

namespace roofcast {

// ---- the record

template <class Visitor>
void members(Visitor& visit, ShadowInputs& inputs) {
  visit("file", inputs.file, "the export");
  visit("model", inputs.model, "as given, or as the metrics name it");
  visit("gpu", inputs.gpu, "as given");
  visit("every_s", inputs.every, "least length of a window");
  visit("threshold", inputs.limits, "limits on errors");
}

template <class Visitor>
void members(Visitor& visit, ShadowFigure& figure) {
  double error = relative_error(figure);
  visit("name", figure.name, "of the metric, which ends in its unit");
  visit("statistic", figure.statistic, "mean, p95, value, ...");
  visit("measured", figure.measured, "by the server, within the window");
  visit("simulated", figure.simulated, "of the requests that arrived within the window");
  visit("relative_error", error, "(simulated - measured) / measured");
}

template <class Visitor>
void members(Visitor& visit, ShadowWindow& window) {
  visit("begin_s", window.begin_s, "Unix time");
  visit("end_s", window.end_s, "Unix time");
  visit("requests", window.requests, "counted within it");
  visit("figures", window.figures, "those both measured and simulated");
}

template <class Visitor>
void members(Visitor& visit, ShadowError& figure) {
  visit("name", figure.name, "of the metric, which ends in its unit");
  visit("statistic", figure.statistic, "mean, p95, value, ...");
  visit("measured", figure.measured, "mean over the windows, weighted by requests");
  visit("simulated", figure.simulated, "likewise");
  visit("mean_absolute_error", figure.mean_absolute_error,
        "of the windows, as a share of what was measured; weighted by requests");
}

template <class Visitor>
void members(Visitor& visit, ShadowAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "what was asked");
  visit("requests", answer.requests, "of all windows");
  visit("windows", answer.windows, "in order of time; those without a request are left out");
  visit("figures", answer.figures, "over all windows");
  visit("exceeded", answer.exceeded, "limits that an error is past");
  visit("unjudged", answer.unjudged, "limits that no figure is about");
}

namespace {

constexpr const char* kShadowCommand = "validate --follow";
constexpr std::int64_t kMaxEarlier = 20'000;  // requests simulated before those of a window

/// The load so far: what a window's requests find in the engine.
class Traffic {
 public:
  explicit Traffic(Scenario scenario) : scenario_(std::move(scenario)) {
    load_.stages = {{.name = "before", .reported = false}, {.name = "window"}};
  }

  const Scenario& scenario() const { return scenario_; }

  /// The figures of the window's requests under the store's names; nullopt: `progress` cancelled.
  std::optional<std::vector<MetricRow>> simulate(const ObservedLoad& observed,
                                                 const Progress& progress) {
    if (scenario_.model.empty()) scenario_.model = observed.measured.setting.model;
    if (scenario_.model.empty()) {
      throw Error(observed.name +
                  ": its metrics name no model (label model_name), expected `model`");
    }
    append(observed);
    const auto outcome =
        simulate_in_steps({.scenario = scenario_, .recorded = load_}, {.requests = progress});
    if (!outcome.answer.fits) {
      throw Error("the deployment cannot run: " + outcome.answer.reason.value_or(""));
    }
    if (outcome.answer.stopped) return std::nullopt;
    return simulation_metrics(outcome.run);
  }

 private:
  void append(const ObservedLoad& observed) {
    const double begin_s = observed.intervals.front().begin_s;
    std::vector<Request>& all = load_.requests;
    for (Request& request : all) request.stage = 0;
    const std::int64_t extra = std::ssize(all) - kMaxEarlier;
    if (extra > 0) all.erase(all.begin(), all.begin() + extra);
    if (all.empty()) first_s_ = begin_s;
    for (Request request : requests_of(observed, scenario_.seed + windows_++)) {
      request.arrival += to_nanoseconds(Seconds{begin_s - first_s_});
      request.stage = 1;
      all.push_back(request);
    }
    const Nanoseconds first = all.front().arrival;
    first_s_ += to_seconds(first).value;
    for (Request& request : all) request.arrival -= first;
    load_.description = observed.name;
  }

  Scenario scenario_;
  Workload load_{};
  double first_s_ = 0;  // Unix time of the first request
  std::uint64_t windows_ = 0;
};

/// Those of `measured` that were also simulated, and above 0.
std::vector<ShadowFigure> figures_of(const MeasuredRun& measured,
                                     const std::vector<MetricRow>& simulated) {
  std::vector<ShadowFigure> figures;
  for (const MetricRow& one : measured.metrics) {
    if (!one.name.ends_with("_s") || one.value <= 0) continue;  // latencies
    const auto same = std::find_if(simulated.begin(), simulated.end(), [&](const MetricRow& other) {
      return other.name == one.name && other.statistic == one.statistic;
    });
    if (same == simulated.end()) continue;
    figures.push_back({one.name, one.statistic, one.value, same->value});
  }
  return figures;
}

std::vector<ShadowError> errors_of(const std::vector<ShadowWindow>& windows) {
  std::vector<ShadowError> errors;
  std::vector<double> weights;
  for (const ShadowWindow& window : windows) {
    const auto weight = static_cast<double>(window.requests);
    for (const ShadowFigure& figure : window.figures) {
      auto found = std::find_if(errors.begin(), errors.end(), [&](const ShadowError& error) {
        return error.name == figure.name && error.statistic == figure.statistic;
      });
      if (found == errors.end()) {
        found = errors.insert(errors.end(), {figure.name, figure.statistic});
        weights.push_back(0);
      }
      weights[static_cast<std::size_t>(found - errors.begin())] += weight;
      found->measured += weight * figure.measured;
      found->simulated += weight * figure.simulated;
      found->mean_absolute_error += weight * std::abs(relative_error(figure));
    }
  }
  for (std::size_t i = 0; i < errors.size(); ++i) {
    errors[i].measured /= weights[i];
    errors[i].simulated /= weights[i];
    errors[i].mean_absolute_error /= weights[i];
  }
  return errors;
}

bool is_about(const ErrorLimit& limit, const ShadowError& error) {
  return (limit.name.empty() || limit.name == error.name) &&
         (limit.statistic.empty() || limit.statistic == error.statistic);
}

void judge(ShadowAnswer& answer) {
  for (const ErrorLimit& limit : answer.inputs.limits) {
    bool judged = false;
    bool past = false;
    for (const ShadowError& error : answer.figures) {
      if (!is_about(limit, error)) continue;
      judged = true;
      past = past || error.mean_absolute_error > limit.share;
    }
    if (past) answer.exceeded.push_back(limit);
    if (!judged) answer.unjudged.push_back(limit);
  }
}

}  // namespace

double relative_error(const ShadowFigure& figure) {
  return figure.measured > 0 ? figure.simulated / figure.measured - 1 : 0;
}

ShadowAnswer follow(const ShadowQuestion& question, const ShadowSteps& steps) {
  GrowingExport file(question.file);
  file.read_more();
  Traffic traffic(question.scenario);
  ShadowAnswer answer{.head = answer_head(kShadowCommand)};
  bool going = true;
  const auto simulate_window = [&](const ScrapeRange& samples, const Progress& progress) {
    const ObservedLoad observed = observed_load(samples, question.file);
    if (observed.requests() < 1) return;
    const auto simulated = traffic.simulate(observed, progress);
    if (!simulated) {
      going = false;
      return;
    }
    ShadowWindow window{.begin_s = observed.intervals.front().begin_s,
                        .end_s = observed.intervals.back().end_s,
                        .requests = std::llround(observed.requests()),
                        .figures = figures_of(observed.measured, *simulated)};
    answer.requests += window.requests;
    if (steps.window) steps.window(window);
    answer.windows.push_back(std::move(window));
  };
  const auto warn = [&](const Error& error) {
    if (steps.warn) steps.warn(error.what());
  };
  const auto take = [&](const ScrapeRange& samples, const Progress& progress) {
    try {
      simulate_window(samples, progress);
    } catch (const Error& error) {
      if (answer.windows.empty()) throw;
      warn(error);
    }
  };
  while (going) {
    while (const auto samples = going ? file.take(question.every.value) : std::nullopt) {
      take(*samples, steps.progress);
    }
    if (!going || !steps.wait || !steps.wait()) break;
    try {
      file.read_more();
    } catch (const Error& error) {
      warn(error);
    }
  }
  if (const auto rest = file.take_rest(); rest && going) {
    take(*rest, {});  // short, and whoever has had enough still wants it
  }
  answer.inputs = {.file = question.file,
                   .model = traffic.scenario().model,
                   .gpu = question.scenario.gpu,
                   .every = question.every,
                   .limits = question.limits};
  answer.figures = errors_of(answer.windows);
  judge(answer);
  return answer;
}

Json to_json(const ShadowWindow& window) { return record_to_json(window); }
Json to_json(const ShadowAnswer& answer) { return record_to_json(answer); }

ShadowAnswer shadow_answer_from_json(const Json& json) {
  ShadowAnswer answer = record_from_json<ShadowAnswer>(json);
  check_head(answer.head, kShadowCommand);
  return answer;
}

Json shadow_answer_schema() { return schema_document<ShadowAnswer>("roofcast validate --follow"); }

}  // namespace roofcast
