#include "validate/decisions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/quantity.hpp"
#include "planner/verdict/choice_confidence.hpp"

namespace roofcast {
namespace {

/// A deployment under one question: its runs, and what they are worth.
struct Alternative {
  std::string name{};
  std::vector<const DecisionRun*> runs{};
  double worth = 1;  // factor on tokens per second and GPU
};

/// The best point of an alternative on one side; rate 0: none meets the limit.
struct BestPoint {
  const DecisionRun* run = nullptr;
  double rate = 0;
};

BestPoint best_point(const Alternative& alternative, const std::optional<double>& limit,
                     double DecisionRun::*tpot, double DecisionRun::*rate) {
  BestPoint best;
  for (const DecisionRun* run : alternative.runs) {
    if (limit && run->*tpot > *limit) continue;
    const double value = run->*rate * alternative.worth;
    if (value > best.rate) best = {run, value};
  }
  return best;
}

double lowest_predicted_tpot(const Alternative& alternative) {
  double lowest = INFINITY;
  for (const DecisionRun* run : alternative.runs) lowest = std::min(lowest, run->predicted_tpot);
  return lowest;
}

/// How sure the choice is by what is predicted; nullopt if nothing says how far that errs.
std::optional<double> probability_of(const std::vector<Alternative>& alternatives,
                                     const std::optional<double>& limit, std::size_t chosen) {
  std::vector<ChoiceOption> options;
  for (const Alternative& one : alternatives) {
    const BestPoint best =
        best_point(one, limit, &DecisionRun::predicted_tpot, &DecisionRun::predicted_rate);
    const DecisionRun& run = best.run == nullptr ? *one.runs.front() : *best.run;
    if (run.causes.empty()) return std::nullopt;
    // All points of a deployment err together; those whose steps turn out too long drop out.
    const auto worth = [&one, limit](double error) {
      const double longer = std::exp(error);
      double most = 0;
      for (const DecisionRun* point : one.runs) {
        if (limit && point->predicted_tpot * longer > *limit) continue;
        most = std::max(most, point->predicted_rate / longer * one.worth);
      }
      return most;
    };
    options.push_back(
        {.kernels = run.gpu + " " + run.engine, .causes = run.causes, .worth = worth});
  }
  return probability_of_choice(options, chosen);
}

int sign_of(double value) { return value > 0 ? 1 : (value < 0 ? -1 : 0); }

void count_pair(std::pair<double, double> measured, std::pair<double, double> predicted,
                Decision& decision) {
  const int was = sign_of(measured.first - measured.second);
  const int is = sign_of(predicted.first - predicted.second);
  if (was != 0 && is != 0) ++(was == is ? decision.concordant : decision.discordant);
  if (was == 0 && is != 0) ++decision.tied_measured;
  if (was != 0 && is == 0) ++decision.tied_predicted;
  const double larger = std::max(measured.first, measured.second);
  if (std::abs(measured.first - measured.second) <= kOrderedFrom * larger) return;
  ++decision.pairs;
  if (was == is) ++decision.ordered;
}

/// The decision among the alternatives; nullopt if it does not count.
std::optional<Decision> decided(const std::vector<Alternative>& alternatives,
                                const std::optional<double>& limit) {
  if (alternatives.size() < 2) return std::nullopt;
  std::vector<BestPoint> measured;
  std::vector<BestPoint> predicted;
  for (const Alternative& one : alternatives) {
    measured.push_back(
        best_point(one, limit, &DecisionRun::measured_tpot, &DecisionRun::measured_rate));
    predicted.push_back(
        best_point(one, limit, &DecisionRun::predicted_tpot, &DecisionRun::predicted_rate));
  }
  const auto by_rate = [](const BestPoint& a, const BestPoint& b) { return a.rate < b.rate; };
  const auto best = std::max_element(measured.begin(), measured.end(), by_rate);
  if (best->rate <= 0) return std::nullopt;
  auto chosen = static_cast<std::size_t>(
      std::max_element(predicted.begin(), predicted.end(), by_rate) - predicted.begin());
  Decision decision{.tpot_limit = limit,
                    .best = alternatives[static_cast<std::size_t>(best - measured.begin())].name,
                    .alternatives = std::ssize(alternatives)};
  decision.promised = predicted[chosen].rate > 0;
  if (!decision.promised) {  // nothing is predicted to meet the limit: what comes nearest
    const auto nearest = std::min_element(
        alternatives.begin(), alternatives.end(), [](const Alternative& a, const Alternative& b) {
          return lowest_predicted_tpot(a) < lowest_predicted_tpot(b);
        });
    chosen = static_cast<std::size_t>(nearest - alternatives.begin());
  } else if (limit) {
    decision.broken = predicted[chosen].run->measured_tpot > *limit * (1 + kBrokenBy);
  }
  decision.probability = probability_of(alternatives, limit, chosen);
  decision.chosen = alternatives[chosen].name;
  decision.regret = 1 - measured[chosen].rate / best->rate;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    for (std::size_t j = i + 1; j < alternatives.size(); ++j) {
      count_pair({measured[i].rate, measured[j].rate}, {predicted[i].rate, predicted[j].rate},
                 decision);
    }
  }
  return decision;
}

/// The runs of one model under one load, without those that a newer one replaces.
std::vector<const DecisionRun*> newest(const std::vector<const DecisionRun*>& runs) {
  using Point = std::tuple<std::string, std::string, std::string>;
  std::map<Point, const DecisionRun*> latest;
  for (const DecisionRun* run : runs) {
    const DecisionRun*& kept = latest[{run->gpu, run->deployment, run->point}];
    if (kept == nullptr || kept->date <= run->date) kept = run;
  }
  std::vector<const DecisionRun*> left;
  for (const DecisionRun* run : runs) {
    if (latest[{run->gpu, run->deployment, run->point}] == run) left.push_back(run);
  }
  return left;
}

/// Alternatives in the order of their first run; on one GPU if it is named.
std::vector<Alternative> alternatives_of(const std::vector<const DecisionRun*>& runs,
                                         const std::string& gpu,
                                         const std::map<std::string, double>* prices) {
  constexpr double kSecondsPerHour = 3600;
  std::vector<Alternative> alternatives;
  for (const DecisionRun* run : runs) {
    if (!gpu.empty() && run->gpu != gpu) continue;
    double worth = 1;
    if (prices != nullptr) {
      const auto price = prices->find(run->gpu);
      if (price == prices->end()) continue;
      worth = kSecondsPerHour / price->second;
    }
    const std::string name =
        gpu.empty() ? run->gpu + ", " + run->deployment : std::string(run->deployment);
    auto found = std::find_if(alternatives.begin(), alternatives.end(),
                              [&](const Alternative& one) { return one.name == name; });
    if (found == alternatives.end()) {
      found = alternatives.insert(alternatives.end(),
                                  Alternative{.name = name, .runs = {}, .worth = worth});
    }
    found->runs.push_back(run);
  }
  return alternatives;
}

std::vector<std::string> gpus_in(const std::vector<const DecisionRun*>& runs) {
  std::vector<std::string> gpus;
  for (const DecisionRun* run : runs) {
    if (std::find(gpus.begin(), gpus.end(), run->gpu) == gpus.end()) gpus.push_back(run->gpu);
  }
  return gpus;
}

/// Whether the alternatives are on two kinds of GPU or more.
bool is_among_gpus(const std::vector<Alternative>& alternatives) {
  return std::any_of(alternatives.begin(), alternatives.end(), [&](const Alternative& one) {
    return one.runs.front()->gpu != alternatives.front().runs.front()->gpu;
  });
}

/// Adds the decisions of one model under one load; `limits`: none for a saturated one.
void decide(const std::string& question, const std::vector<const DecisionRun*>& runs,
            const std::vector<std::optional<double>>& limits,
            const std::map<std::string, double>& prices, std::vector<Decision>& decisions) {
  const auto add = [&](ChoiceOf choice, const std::string& gpu,
                       const std::vector<Alternative>& alternatives) {
    for (const std::optional<double>& limit : limits) {
      std::optional<Decision> decision = decided(alternatives, limit);
      if (!decision) continue;
      decision->choice = choice;
      decision->question = question;
      decision->gpu = gpu;
      decisions.push_back(*std::move(decision));
    }
  };
  for (const std::string& gpu : gpus_in(runs)) {
    add(ChoiceOf::layout, gpu, alternatives_of(runs, gpu, nullptr));
  }
  const bool saturated = !limits.front();
  if (saturated) {
    const std::vector<Alternative> all = alternatives_of(runs, "", nullptr);
    if (is_among_gpus(all)) add(ChoiceOf::gpu, "", all);
  }
  const std::vector<Alternative> priced = alternatives_of(runs, "", &prices);
  if (!priced.empty() && is_among_gpus(priced)) add(ChoiceOf::gpu_per_dollar, "", priced);
}

/// Sums of the decisions of a line.
struct Sums {
  DecisionSummary line{};
  double regret = 0;
  std::int64_t ordered = 0;
  std::int64_t concordant = 0;
  std::int64_t discordant = 0;
  std::int64_t tied_measured = 0;
  std::int64_t tied_predicted = 0;

  void add(const Decision& one) {
    ++line.questions;
    regret += one.regret;
    line.largest_regret = std::max(line.largest_regret, one.regret);
    if (one.regret >= 1) ++line.unmet;
    if (one.promised) ++line.promised;
    if (one.broken) ++line.broken;
    line.pairs += one.pairs;
    ordered += one.ordered;
    concordant += one.concordant;
    discordant += one.discordant;
    tied_measured += one.tied_measured;
    tied_predicted += one.tied_predicted;
  }

  DecisionSummary summary() const {
    DecisionSummary result = line;
    result.regret = regret / static_cast<double>(line.questions);
    if (line.pairs > 0) {
      result.ordered = static_cast<double>(ordered) / static_cast<double>(line.pairs);
    }
    // tau-b = (C - D) / sqrt((C + D + ties in x only) (C + D + ties in y only)); Kendall, "The
    // Treatment of Ties in Ranking Problems", Biometrika 33:3 (1945).
    const auto strict = static_cast<double>(concordant + discordant);
    const double product = (strict + static_cast<double>(tied_measured)) *
                           (strict + static_cast<double>(tied_predicted));
    if (product > 0) {
      result.kendall = static_cast<double>(concordant - discordant) / std::sqrt(product);
    }
    return result;
  }
};

const ComparedFigure* figure_of(const ComparedCase& compared, const char* name,
                                const char* statistic) {
  const auto found = std::find_if(compared.figures.begin(), compared.figures.end(),
                                  [&](const ComparedFigure& figure) {
                                    return figure.name == name && figure.statistic == statistic;
                                  });
  return found == compared.figures.end() ? nullptr : &*found;
}

std::string key_in(const ComparedCase& compared, const char* key) {
  const auto found = compared.keys.find(key);
  return found == compared.keys.end() ? "" : found->second;
}

/// "sglang fp8 tp8 dp1 ep off, 2 drafts".
std::string alternative_name(const ComparedCase& compared) {
  std::string name = key_in(compared, "deployment");
  if (!name.empty()) return name;
  name = key_in(compared, "engine_name");
  const std::string dtype = key_in(compared, "dtype");
  if (!dtype.empty()) name += " " + dtype;
  name += " tp" + key_in(compared, "tp");
  for (const char* degree : {"pp", "dp"}) {
    const std::string ranks = key_in(compared, degree);
    if (!ranks.empty() && ranks != "1") name += fmt::format(" {}{}", degree, ranks);
  }
  if (key_in(compared, "ep") == "on") name += " ep";
  const std::string drafts = key_in(compared, "drafts");
  if (!drafts.empty() && drafts != "0") name += fmt::format(", {} drafts", drafts);
  return name;
}

/// The figure's median; its mean where one side lacks the median.
const ComparedFigure* middle_of(const ComparedCase& compared, const char* name) {
  const ComparedFigure* median = figure_of(compared, name, "p50");
  return median != nullptr ? median : figure_of(compared, name, "mean");
}

/// A key's value as a number above 0; 0 for anything else.
double number_at(const ComparedCase& compared, const char* key) {
  return std::max(0.0, to_number<double>(key_in(compared, key)).value_or(0));
}

/// Sets both rates; whether they are known. In a closed loop each of the requests in flight emits
/// its tokens in TTFT + (tokens - 1) TPOT, whatever start-up and end do to a run's throughput.
bool set_rates(const ComparedCase& compared, DecisionRun& run) {
  const double gpus = number_at(compared, "gpus");
  const double in_flight = number_at(compared, "conc");
  const double tokens = number_at(compared, "output_tokens");
  const ComparedFigure* ttft = middle_of(compared, "ttft_s");
  if (run.measured_tpot > 0 && ttft != nullptr && gpus > 0 && in_flight > 0 && tokens > 0) {
    const double all = in_flight * tokens / gpus;
    run.measured_rate = all / (ttft->measured + (tokens - 1) * run.measured_tpot);
    run.predicted_rate = all / (ttft->predicted + (tokens - 1) * run.predicted_tpot);
    return true;
  }
  const ComparedFigure* rate = figure_of(compared, "output_tokens_per_s_per_gpu", "value");
  double divisor = 1;
  if (rate == nullptr) {
    rate = figure_of(compared, "output_tokens_per_s", "value");
    divisor = gpus;
  }
  if (rate == nullptr || divisor <= 0 || rate->measured <= 0) return false;
  run.measured_rate = rate->measured / divisor;
  run.predicted_rate = rate->predicted / divisor;
  return true;
}

std::optional<DecisionRun> decision_run(const ComparedCase& compared) {
  const std::string load = key_in(compared, "load");
  DecisionRun run{.question = load.empty() ? compared.model : compared.model + " " + load,
                  .gpu = compared.gpu,
                  .deployment = alternative_name(compared),
                  .point = key_in(compared, "conc"),
                  .date = key_in(compared, "date"),
                  .engine = key_in(compared, "engine_name"),
                  .causes = compared.causes};
  if (const ComparedFigure* tpot = middle_of(compared, "tpot_s")) {
    run.measured_tpot = tpot->measured;
    run.predicted_tpot = tpot->predicted;
  }
  return set_rates(compared, run) ? std::optional(run) : std::nullopt;
}

}  // namespace

const char* name_of(ChoiceOf choice) {
  switch (choice) {
    case ChoiceOf::layout:
      return "layout";
    case ChoiceOf::gpu:
      return "gpu";
    case ChoiceOf::gpu_per_dollar:
      break;
  }
  return "gpu_per_dollar";
}

std::vector<DecisionRun> decision_runs(const std::vector<ComparedCase>& cases) {
  std::vector<DecisionRun> runs;
  for (const ComparedCase& compared : cases) {
    std::optional<DecisionRun> run = decision_run(compared);
    if (run) runs.push_back(*std::move(run));
  }
  return runs;
}

std::vector<Decision> decisions_of(std::span<const DecisionRun> runs,
                                   const std::map<std::string, double>& prices) {
  struct Load {
    std::string question;
    bool saturated = false;
    std::vector<const DecisionRun*> runs;
  };
  std::vector<Load> loads;
  for (const DecisionRun& run : runs) {
    const bool saturated = run.measured_tpot <= 0;
    auto found = std::find_if(loads.begin(), loads.end(), [&](const Load& load) {
      return load.question == run.question && load.saturated == saturated;
    });
    if (found == loads.end()) found = loads.insert(loads.end(), {run.question, saturated, {}});
    found->runs.push_back(&run);
  }
  const std::vector<std::optional<double>> limits(std::begin(kTpotLimits), std::end(kTpotLimits));
  std::vector<Decision> decisions;
  for (const Load& load : loads) {
    decide(load.question, newest(load.runs),
           load.saturated ? std::vector<std::optional<double>>(1) : limits, prices, decisions);
  }
  return decisions;
}

std::vector<DecisionSummary> summaries_of(std::span<const Decision> decisions) {
  std::vector<Sums> lines;
  const auto add = [&](const Decision& one, const std::string& gpu) {
    const bool saturated = !one.tpot_limit;
    auto found = std::find_if(lines.begin(), lines.end(), [&](const Sums& sums) {
      return sums.line.choice == one.choice && sums.line.saturated == saturated &&
             sums.line.gpu == gpu;
    });
    if (found == lines.end()) {
      Sums sums;
      sums.line = {.choice = one.choice, .saturated = saturated, .gpu = gpu};
      found = lines.insert(lines.end(), sums);
    }
    found->add(one);
  };
  for (const Decision& one : decisions) {
    add(one, "");
    if (!one.gpu.empty()) add(one, one.gpu);
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Sums& a, const Sums& b) {
    return std::tuple(a.line.saturated, a.line.choice, !a.line.gpu.empty()) <
           std::tuple(b.line.saturated, b.line.choice, !b.line.gpu.empty());
  });
  std::vector<DecisionSummary> summaries;
  for (const Sums& sums : lines) summaries.push_back(sums.summary());
  return summaries;
}

}  // namespace roofcast
