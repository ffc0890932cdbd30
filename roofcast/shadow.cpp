#include "roofcast/shadow.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/record.hpp"
#include "base/text.hpp"
#include "planner/scenario/simulation_run.hpp"
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
  visit.if_set("lower", figure.lower, "of the histogram's bucket that a percentile is in");
  visit.if_set("upper", figure.upper, "likewise; absent: no end");
  visit("simulated", figure.simulated, "of the requests that arrived within the window");
  visit("relative_error", error,
        "(simulated - measured) / measured; with a bucket against its nearer end, 0 inside");
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
  visit.if_set("lower", figure.lower, "likewise, of the buckets that a percentile is in");
  visit.if_set("upper", figure.upper, "likewise; absent: some has no end");
  visit("simulated", figure.simulated, "likewise");
  visit("mean_absolute_error", figure.mean_absolute_error,
        "of the windows' relative_error, without its sign; weighted by requests");
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
constexpr int kMostHeld = 60;                 // windows put together until lengths are known

/// The load so far: what a window's requests find in the engine.
class Traffic {
 public:
  explicit Traffic(Scenario scenario) : scenario_(std::move(scenario)) {
    load_.stages = {{.name = "before", .reported = false}, {.name = "window"}};
  }

  const Scenario& scenario() const { return scenario_; }

  /// Names the model as `samples` do where the scenario does not, and refuses at once what could
  /// never be simulated. Nothing happens while no model is named, or after the first time.
  void prepare(const ScrapeRange& samples) {
    if (prepared_) return;
    if (scenario_.deployment.model.empty()) {
      const Scrape last = last_of(samples);
      scenario_.deployment.model = measured_by(last, engine_of(last)).setting.model;
    }
    if (scenario_.deployment.model.empty()) return;
    Scenario one = scenario_;
    one.workload = SyntheticWorkload{.num_prompts = 1};
    refuse(prepare_simulation(one).refusal);
    prepared_ = true;
  }

  /// The figures of the window's requests under the store's names; nullopt: `progress` cancelled.
  std::optional<std::vector<MetricRow>> simulate(const ObservedLoad& observed,
                                                 const Progress& progress) {
    if (scenario_.deployment.model.empty()) {
      throw Error(observed.name +
                  ": its metrics name no model (label model_name), expected `model`");
    }
    append(observed);
    const auto outcome =
        simulate_in_steps({.scenario = scenario_, .recorded = load_}, {.requests = progress});
    refuse(outcome.run.refusal);
    if (outcome.answer.stopped) return std::nullopt;
    return simulation_metrics(outcome.run);
  }

 private:
  static void refuse(const std::string& refusal) {
    if (!refusal.empty()) throw Error("the deployment cannot run: " + refusal);
  }

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
  bool prepared_ = false;
};

/// Samples of windows whose requests have no lengths yet, because none of them has ended: they are
/// put into the next window.
class HeldSamples {
 public:
  bool empty() const { return windows_ == 0; }

  /// The load of `samples` behind those held; nullopt if they are held, too. Throws Error if they
  /// cannot be: they are the `last`, or too many.
  std::optional<ObservedLoad> observe(const ScrapeRange& samples, const std::string& file,
                                      bool last, const std::function<void(const Error&)>& warn) {
    for (const auto& [name, all] : samples.series) {
      for (const auto& [labels, more] : all) append_later(held_.series[name][labels], more);
    }
    try {
      const ObservedLoad load = observed_load(held_, file);
      *this = {};
      return load;
    } catch (const Error& error) {
      if (last || ++windows_ == kMostHeld) {
        *this = {};
        throw;
      }
      if (windows_ == 1) {
        warn(Error(std::string(error.what()) + "; what was counted goes into the next window"));
      }
    }
    return std::nullopt;
  }

 private:
  ScrapeRange held_{};
  int windows_ = 0;
};

/// Those of `measured` that were also simulated, and above 0.
std::vector<ShadowFigure> figures_of(const MeasuredRun& measured,
                                     const std::vector<MetricRow>& simulated) {
  std::vector<ShadowFigure> figures;
  const auto bound = [&](const MetricRow& of, const char* end) -> std::optional<double> {
    const auto found = std::ranges::find_if(measured.metrics, [&](const MetricRow& other) {
      return other.name == of.name && other.statistic == of.statistic + end;
    });
    if (found == measured.metrics.end() || !std::isfinite(found->value)) return std::nullopt;
    return found->value;
  };
  for (const MetricRow& one : measured.metrics) {
    if (!is_time(one.name) || one.value <= 0) continue;  // latencies
    const auto same = std::find_if(simulated.begin(), simulated.end(), [&](const MetricRow& other) {
      return other.name == one.name && other.statistic == one.statistic;
    });
    if (same == simulated.end()) continue;
    figures.push_back({.name = one.name,
                       .statistic = one.statistic,
                       .measured = one.value,
                       .simulated = same->value,
                       .lower = bound(one, "_lower"),
                       .upper = bound(one, "_upper")});
  }
  return figures;
}

std::vector<ShadowError> errors_of(const std::vector<ShadowWindow>& windows) {
  std::vector<ShadowError> errors;
  std::vector<double> weights;
  // The mean of what all windows have; unset from the first that lacks it.
  const auto add = [](std::optional<double>& sum, const std::optional<double>& one, double weight,
                      bool first) {
    if (first && one) sum = 0;
    if (sum && one) {
      *sum += weight * *one;
    } else {
      sum.reset();
    }
  };
  for (const ShadowWindow& window : windows) {
    const auto weight = static_cast<double>(window.requests);
    for (const ShadowFigure& figure : window.figures) {
      auto found = std::find_if(errors.begin(), errors.end(), [&](const ShadowError& error) {
        return error.name == figure.name && error.statistic == figure.statistic;
      });
      const bool first = found == errors.end();
      if (first) {
        found = errors.insert(errors.end(), {figure.name, figure.statistic});
        weights.push_back(0);
      }
      weights[static_cast<std::size_t>(found - errors.begin())] += weight;
      found->measured += weight * figure.measured;
      found->simulated += weight * figure.simulated;
      add(found->lower, figure.lower, weight, first);
      add(found->upper, figure.upper, weight, first);
      found->mean_absolute_error += weight * std::abs(relative_error(figure));
    }
  }
  for (std::size_t i = 0; i < errors.size(); ++i) {
    errors[i].measured /= weights[i];
    errors[i].simulated /= weights[i];
    if (errors[i].lower) *errors[i].lower /= weights[i];
    if (errors[i].upper) *errors[i].upper /= weights[i];
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
  if (figure.measured <= 0) return 0;
  if (!figure.lower && !figure.upper) return figure.simulated / figure.measured - 1;
  // A bucket that begins at 0 or never ends has one end to be beyond.
  if (figure.lower && *figure.lower > 0 && figure.simulated < *figure.lower) {
    return figure.simulated / *figure.lower - 1;
  }
  if (figure.upper && figure.simulated > *figure.upper) {
    return figure.simulated / *figure.upper - 1;
  }
  return 0;
}

ShadowAnswer follow(const ShadowQuestion& question, const ShadowSteps& steps) {
  GrowingExport file(question.file);
  const auto passed_over = file.read_more();
  if (file.empty() && !passed_over.empty()) throw Error(passed_over.front());
  Traffic traffic(question.scenario);
  traffic.prepare({});
  HeldSamples held;
  ShadowAnswer answer{.head = answer_head(kShadowCommand)};
  bool going = true;
  const auto warn = [&](const std::string& line) {
    if (steps.warn) steps.warn(line);
  };
  const auto warn_of_all = [&](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) warn(line);
  };
  const auto simulate_window = [&](const ScrapeRange& samples, bool last) {
    traffic.prepare(samples);
    const auto observed =
        held.observe(samples, question.file, last, [&](const Error& error) { warn(error.what()); });
    if (!observed || observed->requests() < 1) return;
    const auto simulated = traffic.simulate(*observed, last ? Progress{} : steps.progress);
    if (!simulated) {
      going = false;
      return;
    }
    ShadowWindow window{.begin_s = observed->intervals.front().begin_s,
                        .end_s = observed->intervals.back().end_s,
                        .requests = std::llround(observed->requests()),
                        .figures = figures_of(observed->measured, *simulated)};
    answer.requests += window.requests;
    if (steps.window) steps.window(window);
    answer.windows.push_back(std::move(window));
  };
  const auto take = [&](const ScrapeRange& samples, bool last) {
    try {
      simulate_window(samples, last);
    } catch (const Error& error) {
      if (answer.windows.empty()) throw;
      warn(error.what());
    }
  };
  warn_of_all(passed_over);
  while (going) {
    while (const auto samples = going ? file.take(question.every.value) : std::nullopt) {
      take(*samples, false);
    }
    if (!going || !steps.wait || !steps.wait()) break;
    warn_of_all(file.read_more());
  }
  // The rest may be short, but it was counted.
  const auto rest = file.take_rest();
  if (going && (rest || !held.empty())) take(rest.value_or(ScrapeRange{}), true);
  answer.inputs = {.file = question.file,
                   .model = traffic.scenario().deployment.model,
                   .gpu = question.scenario.deployment.gpu,
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
