#include "validate/run_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "model/io/engine_profile.hpp"
#include "validate/prediction.hpp"

namespace roofcast {
namespace {

/// Figures that depend on the engine's host time.
constexpr std::array<std::string_view, 5> kFitted = {"ttft_s", "tpot_s", "itl_s", "e2e_s",
                                                     "step_s"};
/// Below saturation these equal the load's rate, which no host term changes.
constexpr std::array<std::string_view, 2> kFittedSaturated = {"output_tokens_per_s",
                                                              "output_tokens_per_s_per_gpu"};

/// Thrown through the fit when the user presses Ctrl-C.
struct Interrupted {};

/// A case with everything prepared that does not depend on host terms.
struct PreparedCase {
  std::string name{};
  std::string asked_engine{};                // preset or profile, as written in the case
  std::optional<SimulationRun> run{};        // for a simulation or saturation
  std::optional<ResolvedDeployment> step{};  // for a single step
  StepBatch batch{};
  std::optional<std::int64_t> stage{};  // as ValidationCase::stage
  std::vector<MetricRow> measured{};    // figures that are fitted

  Engine& engine() { return step ? step->deployment.engine : run->pools.front().deployment.engine; }
};

/// Whether the server limits how fast requests are served: the case asks for its maximum, or
/// clients wait for it.
bool is_saturated(const ValidationCase& question) {
  if (question.ask == ValidationAsk::saturation || question.scenario.max_concurrency) return true;
  const auto* synthetic = std::get_if<SyntheticWorkload>(&question.scenario.workload);
  return synthetic != nullptr && synthetic->request_rate == kAllAtOnce;
}

std::vector<MetricRow> fitted_rows(const ValidationCase& question) {
  const std::vector<MetricRow>& all = question.figures;
  const auto is_fitted = [saturated = is_saturated(question)](const MetricRow& row) {
    const auto is_in = [&](const auto& names) {
      return std::find(names.begin(), names.end(), row.name) != names.end();
    };
    return row.value > 0 && (is_in(kFitted) || (saturated && is_in(kFittedSaturated)));
  };
  const auto has_centre = [&](const std::string& name) {
    return std::any_of(all.begin(), all.end(), [&](const MetricRow& row) {
      return row.name == name && (row.statistic == "mean" || row.statistic == "value");
    });
  };
  std::vector<MetricRow> rows;
  for (const MetricRow& row : all) {
    if (!is_fitted(row)) continue;
    const bool is_centre = row.statistic == "mean" || row.statistic == "value";
    if (is_centre || (row.statistic == "p50" && !has_centre(row.name))) rows.push_back(row);
  }
  return rows;
}

std::vector<MetricRow> predicted_rows(PreparedCase& prepared, const Progress& go_on) {
  if (prepared.step) {
    const RooflineStepTime step_time(prepared.step->deployment);
    return {{"step_s", "value", step_time.seconds(prepared.batch).value}};
  }
  const PoolStepTimes step_times = step_times_of(*prepared.run);
  simulate_with_notes(*prepared.run, step_times, go_on);
  keep_stage(*prepared.run, prepared.stage);
  return figures_of(*prepared.run);
}

/// The predicted values of the measured figures, in their order.
std::vector<double> predicted_values(PreparedCase& prepared, const Progress& go_on) {
  const std::vector<MetricRow> rows = predicted_rows(prepared, go_on);
  std::vector<double> values;
  for (const MetricRow& wanted : prepared.measured) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const MetricRow& row) {
      return row.name == wanted.name && row.statistic == wanted.statistic;
    });
    if (found == rows.end()) {
      throw Error(fmt::format("{}: {} can no longer be predicted when host terms change",
                              prepared.name, wanted.name));
    }
    values.push_back(found->value);
  }
  return values;
}

/// Fills in `prepared`; returns why the case cannot be used, or "".
std::string prepare_case(const ValidationCase& question, PreparedCase& prepared) {
  if (!question.problem.empty()) return question.problem;
  if (question.ask == ValidationAsk::memory) return "memory does not depend on host time";
  prepared.name = question.name;
  prepared.asked_engine = engine_name(question.scenario.deployment);
  if (question.ask == ValidationAsk::step) {
    prepared.step = deployment_of(question);
    prepared.batch = batch_of(question.step, prepared.step->deployment.model);
  } else {
    prepared.run = prepare(question);
    prepared.stage = question.stage;
    if (!prepared.run->refusal.empty()) return prepared.run->refusal;
    if (prepared.run->pools.size() > 1) return "its pools may have different engines";
  }
  const auto always = [](std::int64_t, std::int64_t) { return true; };
  const std::vector<MetricRow> predicted = predicted_rows(prepared, always);
  for (const MetricRow& row : fitted_rows(question)) {
    const bool meets = std::any_of(predicted.begin(), predicted.end(), [&](const MetricRow& p) {
      return p.name == row.name && p.statistic == row.statistic && p.value > 0;
    });
    if (meets) prepared.measured.push_back(row);
  }
  return prepared.measured.empty() ? "none of its figures depends on host time" : "";
}

/// The cases that can be used; the others go to `left_out`.
std::vector<PreparedCase> prepare_cases(const std::vector<ValidationCase>& cases,
                                        std::vector<LeftOutCase>& left_out) {
  std::vector<PreparedCase> prepared;
  for (const ValidationCase& question : cases) {
    PreparedCase one;
    std::string reason;
    try {
      reason = prepare_case(question, one);
    } catch (const Error& error) {
      reason = error.what();
    }
    if (reason.empty()) {
      prepared.push_back(std::move(one));
    } else {
      left_out.push_back({question.name, reason});
    }
  }
  if (!prepared.empty()) return prepared;
  throw Error(left_out.empty() ? "fit: there are no cases"
                               : fmt::format("fit: no case is usable; the first: {}: {}",
                                             left_out.front().name, left_out.front().reason));
}

/// Predicts all cases for given terms, on all cores; results do not depend on their number.
class CasePredictions {
 public:
  CasePredictions(std::vector<PreparedCase>& cases, const std::vector<const HostTerm*>& terms,
                  const Progress& progress)
      : cases_(cases), terms_(terms), progress_(progress) {}

  std::vector<double> operator()(std::span<const double> values) {
    std::vector<std::vector<double>> results(cases_.size());
    std::vector<std::exception_ptr> failures(cases_.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < cases_.size() && !stopped_; i = next++) {
        try {
          results[i] = one(cases_[i], values);
        } catch (...) {
          failures[i] = std::current_exception();
        }
      }
    };
    {
      std::vector<std::jthread> others;
      for (unsigned t = 1; t < std::thread::hardware_concurrency(); ++t) others.emplace_back(work);
      work();
    }
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
    done_ += std::ssize(cases_);
    if (stopped_ || !progress_(done_, max())) throw Interrupted{};
    std::vector<double> all;
    for (const auto& result : results) all.insert(all.end(), result.begin(), result.end());
    return all;
  }

 private:
  /// Start, derivatives, and the iterations that a fit usually takes.
  std::int64_t max() const {
    constexpr std::int64_t kUsualRounds = 3;
    const auto terms = std::ssize(terms_);
    const std::int64_t usual = std::ssize(cases_) * (1 + terms) * (1 + kUsualRounds);
    return std::max(usual, done_ + 1);
  }

  std::vector<double> one(PreparedCase& prepared, std::span<const double> values) {
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      prepared.engine().host.*terms_[t]->member = Seconds{values[t]};
    }
    return predicted_values(prepared, [this](std::int64_t, std::int64_t) { return !stopped_; });
  }

  std::vector<PreparedCase>& cases_;
  const std::vector<const HostTerm*>& terms_;
  const Progress& progress_;
  std::int64_t done_ = 0;
  std::atomic<bool> stopped_{false};
};

/// The preset of all cases: if they name an engine profile, the preset it is based on.
std::string preset_of(PreparedCase& first) {
  if (!is_engine_profile_path(first.asked_engine)) return first.engine().name;
  return load_engine_profile(first.asked_engine).preset;
}

void check_one_engine(std::vector<PreparedCase>& cases) {
  const std::string& first = cases.front().engine().name;
  for (PreparedCase& one : cases) {
    if (one.engine().name == first) continue;
    throw Error(
        fmt::format("fit: the cases have two engines, {} ({}) and {} ({}); `engine` selects one",
                    first, cases.front().name, one.engine().name, one.name));
  }
}

std::vector<OverheadTerm> overhead_terms(const std::vector<const HostTerm*>& asked,
                                         const Engine& engine) {
  std::vector<OverheadTerm> terms;
  for (const HostTerm* term : asked) {
    terms.push_back({.name = std::string(term->name),
                     .start = (engine.host.*term->member).value,
                     .scale = term->scale_s});
  }
  return terms;
}

/// The measured figures of all cases; adds the distinct names to the result.
std::vector<MeasuredFigure> measured_figures(const std::vector<PreparedCase>& cases,
                                             EngineFit& result) {
  std::vector<std::string>& names = result.figures;
  std::vector<MeasuredFigure> measured;
  for (std::size_t run = 0; run < cases.size(); ++run) {
    for (const MetricRow& row : cases[run].measured) {
      measured.push_back({.run = run, .value = row.value});
      const std::string name = row.name + (row.statistic == "value" ? "" : " " + row.statistic);
      const auto found = std::find(names.begin(), names.end(), name);
      result.figure_of_value.push_back(static_cast<std::size_t>(found - names.begin()));
      if (found == names.end()) names.push_back(name);
    }
  }
  return measured;
}

EngineProfile profile_of(const EngineFit& fit, const std::string& name, const std::string& preset) {
  EngineProfile profile{
      .name = name, .preset = preset, .host = {}, .source = {}, .median_error = {}};
  for (std::size_t t = 0; t < fit.terms.size(); ++t) {
    if (!fit.fit.terms[t].doubt.empty()) continue;
    profile.host.push_back({fit.terms[t], Seconds{fit.fit.terms[t].value}});
  }
  profile.source = fmt::format("{} measured figures of {} runs", fit.values, fit.cases);
  if (fit.fit.leave_one_run_out) profile.median_error = fit.fit.leave_one_run_out->median;
  return profile;
}

}  // namespace

std::optional<EngineFit> fit_engine(const EngineFitTask& task, const Progress& progress) {
  EngineFit result{.terms = task.terms};
  std::vector<PreparedCase> cases = prepare_cases(task.cases, result.left_out);
  check_one_engine(cases);
  const std::vector<OverheadTerm> terms = overhead_terms(task.terms, cases.front().engine());
  for (const OverheadTerm& term : terms) result.preset_values.push_back(term.start);
  const std::vector<MeasuredFigure> measured = measured_figures(cases, result);
  result.cases = cases.size();
  result.values = measured.size();
  CasePredictions predictions(cases, task.terms, progress);
  try {
    result.fit = fit_overheads(terms, measured, std::ref(predictions));
  } catch (const Interrupted&) {
    return std::nullopt;
  }
  result.profile = profile_of(result, task.name, preset_of(cases.front()));
  return result;
}

}  // namespace roofcast
