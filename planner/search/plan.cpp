#include "planner/search/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "planner/search/pareto.hpp"
#include "planner/verdict/choice_confidence.hpp"
#include "planner/verdict/margin_scale.hpp"

namespace roofcast {
namespace {

// How many of the nearest candidates are shown if none holds.
constexpr std::size_t kClosest = 3;

/// With the probability that the plan asks for, if any.
bool holds(const CandidateFigures& figures, const PlanTask& question) {
  return figures.verdict.holds &&
         figures.probability.value_or(1) >= question.min_probability.value_or(0);
}

/// All simulated candidates, by shape and units.
using Tried = std::map<std::pair<std::size_t, std::int64_t>, CandidateFigures>;

/// Items of the search with their shapes.
struct Searched {
  std::vector<SearchItem> items{};
  std::vector<std::size_t> shapes{};
};

Searched search_items(const std::vector<PlannedShape>& shapes) {
  Searched searched;
  std::map<std::string, std::int64_t> placements;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const PlannedShape& planned = shapes[i];
    if (planned.outcome != ShapeOutcome::searched) continue;
    const auto group = placements.try_emplace(placement_key(planned.shape), std::ssize(placements));
    searched.shapes.push_back(i);
    searched.items.push_back({.min_units = planned.bound.min_units,
                              .max_units = planned.limit.units,
                              .unit_objective = planned.unit_objective,
                              .group = group.first->second});
  }
  return searched;
}

/// Asks in one batch; nullopt if the user cancelled.
std::optional<std::vector<Figures>> ask(Evaluations& evaluations,
                                        const std::vector<FigureQuestion>& questions,
                                        std::int64_t done_before, const Progress& progress) {
  return evaluations.answers(questions, [&](std::int64_t done, std::int64_t total) {
    return !progress || progress(done_before + done, done_before + total);
  });
}

/// Those of GPUs that are not among the winners, grouped by GPU.
Searched items_of_others(const std::set<std::string>& winners, const Searched& all,
                         const std::vector<PlannedShape>& shapes) {
  Searched some;
  std::map<std::string, std::int64_t> gpus;
  for (std::size_t i = 0; i < all.items.size(); ++i) {
    const std::string& gpu = shapes[all.shapes[i]].shape.gpu;
    if (winners.contains(gpu)) continue;
    some.items.push_back(all.items[i]);
    some.items.back().group = gpus.try_emplace(gpu, std::ssize(gpus)).first->second;
    some.shapes.push_back(all.shapes[i]);
  }
  return some;
}

/// Answers the search's trials using `evaluations`.
struct TrialsOfPlan {
  const PlanTask& question;
  const Searched& searched;
  Evaluations& evaluations;
  const Progress& progress;
  Tried tried{};
  std::int64_t further_simulations = 0;  // for probabilities
  std::int64_t done_before = 0;          // trials of another search

  std::size_t shape_of(const Trial& trial) const { return searched.shapes[trial.item]; }

  std::vector<TrialAnswer> operator()(std::span<const Trial> trials) {
    std::vector<FigureQuestion> questions;
    for (const Trial& trial : trials) {
      questions.push_back({.shape = shape_of(trial), .units = trial.units});
    }
    const auto found = ask(evaluations, questions, done_before + std::ssize(tried), progress);
    if (!found) return {};
    std::vector<CandidateFigures> figures;
    for (const Figures& one : *found) {
      figures.push_back(std::get<CandidateFigures>(one));
      further_simulations += figures.back().further_simulations;
    }
    std::vector<TrialAnswer> answers;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      answers.push_back(
          {.holds = holds(figures[i], question), .margin = figures[i].verdict.worst_margin});
      tried.emplace(std::pair(shape_of(trials[i]), trials[i].units), std::move(figures[i]));
    }
    return answers;
  }
};

void count_outcomes(std::vector<PlannedShape>& shapes, const Searched& searched,
                    const SearchResult& result) {
  for (std::size_t i = 0; i < searched.shapes.size(); ++i) {
    const ItemOutcome& outcome = result.items[i];
    PlannedShape& planned = shapes[searched.shapes[i]];
    const bool misses = !outcome.holds_at && outcome.fails_at == planned.limit.units;
    planned.outcome = misses ? ShapeOutcome::misses : ShapeOutcome::more_expensive;
  }
  for (const Found& found : result.best) {
    shapes[searched.shapes[found.item]].outcome = ShapeOutcome::ranked;
  }
}

template <class Value>
std::optional<Value> times(const std::optional<Value>& each, std::int64_t units) {
  if (!each) return std::nullopt;
  return *each * static_cast<double>(units);
}

RankedCandidate ranked_candidate(const PlannedShape& planned, std::size_t shape, std::int64_t units,
                                 const CandidateFigures& figures) {
  RankedCandidate ranked;
  ranked.shape = shape;
  ranked.units = units;
  ranked.holds = true;
  ranked.figures = figures;
  ranked.needs = {.gpus = planned.needs.gpus * units,
                  .cost_per_hour = times(planned.needs.cost_per_hour, units),
                  .power_w = times(planned.needs.power_w, units)};
  return ranked;
}

void mark_pareto(std::vector<RankedCandidate>& ranked) {
  std::vector<ParetoFigures> figures;
  for (const RankedCandidate& one : ranked) {
    figures.push_back({.dollars_per_hour = one.needs.cost_per_hour,
                       .gpus = one.needs.gpus,
                       .margin = one.figures.verdict.worst_margin,
                       .capacity_rate_per_s = one.finalist.capacity_rate_per_s});
  }
  for (const std::size_t i : pareto_deployments(figures)) ranked[i].pareto = true;
}

/// The log of how much longer steps may take until a simulated candidate fails; negative: of how
/// much shorter they must be until it holds.
double room_of(const CandidateFigures& figures, const std::optional<double>& probability) {
  const double deviation = combined_deviation(figures.step_causes);
  const boost::math::normal normal;
  // Other causes than step times count as if they were these.
  if (probability) return deviation * boost::math::quantile(normal, *probability);
  const bool rates = figures.verdict.saturated && figures.request_rate_per_s > 0 &&
                     figures.request_rate_per_s < figures.offered_rate_per_s;
  return rates ? std::log(figures.request_rate_per_s / figures.offered_rate_per_s)
               : log_room(figures.verdict.worst_margin);
}

/// How sure the choice of the best ranked is, beside all that was simulated and needs less.
double choice_probability(const PlanFindings& answer, const Tried& tried) {
  const RankedCandidate& best = answer.ranked.front();
  std::vector<ChoiceOption> options;
  const auto add = [&](std::size_t index, std::int64_t units, const CandidateFigures& figures,
                       double room) {
    const PlannedShape& planned = answer.shapes[index];
    const double worth = 1 / (planned.unit_objective * static_cast<double>(units));
    const std::string_view preset = planned.shape.engine;
    const std::string_view engine = preset.substr(0, preset.find('-'));
    options.push_back(
        {.kernels = fmt::format("{} {}", planned.shape.gpu, engine),
         .causes = figures.step_causes,
         .worth = [worth, room](double error) { return error <= room ? worth : 0.0; }});
  };
  const double probability = std::clamp(best.finalist.confidence.probability,
                                        1 - greatest_probability(), greatest_probability());
  add(best.shape, best.units, best.figures, room_of(best.figures, probability));
  const double objective =
      answer.shapes[best.shape].unit_objective * static_cast<double>(best.units);
  for (const auto& [key, figures] : tried) {
    const double other = answer.shapes[key.first].unit_objective * static_cast<double>(key.second);
    if (other >= (1 - kGoodChoice) * objective) continue;
    add(key.first, key.second, figures, room_of(figures, figures.probability));
  }
  return probability_of_choice(options, 0);
}

/// False if the user cancelled.
bool ask_finalists(PlanFindings& answer, Evaluations& evaluations, const Progress& progress) {
  std::vector<FigureQuestion> questions;
  for (const RankedCandidate& one : answer.ranked) {
    questions.push_back({.kind = FigureKind::finalist, .shape = one.shape, .units = one.units});
  }
  const auto found = ask(evaluations, questions, answer.simulations, progress);
  if (!found) return false;
  for (std::size_t i = 0; i < found->size(); ++i) {
    answer.ranked[i].finalist = std::get<FinalistFigures>((*found)[i]);
    answer.finalist_simulations += answer.ranked[i].finalist.simulations;
  }
  return true;
}

/// Nearest first: by probability if asked for (only of those that hold as predicted), then by
/// margin, then by shape and units.
std::vector<TriedCandidate> nearest_first_of(const Tried& tried, const PlanTask& question) {
  std::vector<TriedCandidate> all;
  for (const auto& [key, figures] : tried) {
    all.push_back({.shape = key.first,
                   .units = key.second,
                   .holds = holds(figures, question),
                   .figures = figures});
  }
  const auto nearness = [](const TriedCandidate& one) {
    return std::pair(one.figures.probability.value_or(0), one.figures.verdict.worst_margin);
  };
  std::stable_sort(all.begin(), all.end(), [&](const TriedCandidate& a, const TriedCandidate& b) {
    return nearness(a) > nearness(b);
  });
  return all;
}

/// How near a shape came that was not simulated: by how far it got, then by its bound relative to
/// the limit.
auto nearness(const PlannedShape& planned) {
  const ShapeBound& bound = planned.bound;
  const double beyond = bound.limit_s > 0 ? bound.at_least_s / bound.limit_s : 0;
  const double needed = planned.unit_objective * static_cast<double>(bound.min_units);
  return std::tuple(-static_cast<int>(planned.outcome), beyond, needed);
}

/// What the search minimises.
double objective_of(const PlanFindings& answer, const TriedCandidate& tried) {
  return answer.shapes[tried.shape].unit_objective * static_cast<double>(tried.units);
}

/// For one GPU: the simulated candidate that holds with the least objective, else the one with the
/// greatest margin, else the shape that got furthest.
NearestRejected nearest_of(const std::string& gpu, const PlanFindings& answer,
                           const std::vector<TriedCandidate>& nearest_first) {
  const TriedCandidate* best = nullptr;
  for (const TriedCandidate& tried : nearest_first) {
    if (answer.shapes[tried.shape].shape.gpu != gpu) continue;
    const bool less = best != nullptr && best->holds && tried.holds &&
                      objective_of(answer, tried) < objective_of(answer, *best);
    const bool first_to_hold = best != nullptr && !best->holds && tried.holds;
    if (best == nullptr || less || first_to_hold) best = &tried;
  }
  if (best != nullptr) return {.shape = best->shape, .tried = *best};
  std::optional<std::size_t> nearest;
  for (std::size_t i = 0; i < answer.shapes.size(); ++i) {
    if (answer.shapes[i].shape.gpu != gpu) continue;
    if (!nearest || nearness(answer.shapes[i]) < nearness(answer.shapes[*nearest])) nearest = i;
  }
  return {.shape = nearest.value_or(0)};
}

void describe_rejected(PlanFindings& answer, const std::vector<std::string>& gpus,
                       const std::vector<TriedCandidate>& nearest_first) {
  std::set<std::string> winners;
  for (const RankedCandidate& one : answer.ranked)
    winners.insert(answer.shapes[one.shape].shape.gpu);
  for (const std::string& gpu : gpus) {
    if (winners.contains(gpu)) continue;
    answer.rejected.push_back(nearest_of(gpu, answer, nearest_first));
  }
}

/// Adds the one with the least objective that holds as predicted, if it is not the best ranked;
/// false if the user cancelled.
bool add_point_estimate(PlanFindings& answer, const TrialsOfPlan& trials) {
  if (!trials.question.min_probability) return true;
  constexpr double kLess = 1 - 1e-9;  // sums of prices
  const auto objective = [&](std::size_t shape, std::int64_t units) {
    return answer.shapes[shape].unit_objective * static_cast<double>(units);
  };
  double least = std::numeric_limits<double>::infinity();
  if (!answer.ranked.empty()) {
    least = objective(answer.ranked.front().shape, answer.ranked.front().units);
  }
  const Tried::value_type* best = nullptr;
  for (const Tried::value_type& tried : trials.tried) {
    const double one = objective(tried.first.first, tried.first.second);
    if (!tried.second.verdict.holds || one >= kLess * least) continue;
    least = one;
    best = &tried;
  }
  if (best == nullptr) return true;
  const auto [shape, units] = best->first;
  RankedCandidate candidate = ranked_candidate(answer.shapes[shape], shape, units, best->second);
  const auto found =
      ask(trials.evaluations, {{.kind = FigureKind::finalist, .shape = shape, .units = units}},
          answer.simulations + std::ssize(answer.ranked), trials.progress);
  if (!found) return false;
  candidate.finalist = std::get<FinalistFigures>(found->front());
  answer.finalist_simulations += candidate.finalist.simulations;
  answer.point_estimate = std::move(candidate);
  return true;
}

/// Ranks what the search found; false if the user cancelled.
bool rank(PlanFindings& answer, const SearchResult& result, const TrialsOfPlan& trials) {
  for (const Found& found : result.best) {
    const std::size_t shape = trials.shape_of({.item = found.item});
    answer.ranked.push_back(ranked_candidate(answer.shapes[shape], shape, found.units,
                                             trials.tried.at({shape, found.units})));
  }
  if (ask_finalists(answer, trials.evaluations, trials.progress) &&
      add_point_estimate(answer, trials)) {
    return true;
  }
  answer.ranked.clear();
  return false;
}

/// What two searches found of one item.
ItemOutcome merged(const ItemOutcome& one, const ItemOutcome& other) {
  ItemOutcome both = one;
  if (other.holds_at && (!both.holds_at || *other.holds_at < *both.holds_at)) {
    both.holds_at = other.holds_at;
    both.margin = other.margin;
  }
  both.fails_at = std::max(both.fails_at, other.fails_at);
  return both;
}

/// Adds what a search among some of the items found.
void add_search(PlanFindings& answer, const TrialsOfPlan& further, const SearchResult& found,
                TrialsOfPlan& trials, SearchResult& result) {
  const std::vector<std::size_t>& shapes = trials.searched.shapes;
  for (std::size_t i = 0; i < found.items.size(); ++i) {
    const auto at = std::ranges::lower_bound(shapes, further.searched.shapes[i]) - shapes.begin();
    ItemOutcome& outcome = result.items[static_cast<std::size_t>(at)];
    outcome = merged(outcome, found.items[i]);
  }
  for (const auto& [key, figures] : further.tried) {
    if (!trials.tried.emplace(key, figures).second) continue;
    answer.finalist_simulations += figures.further_simulations;
  }
}

/// Finds the cheapest of every GPU that is not among the ranked: the search for these stops at what
/// can be among them. All GPUs at once, so that their trials run side by side, and each shape of a
/// GPU only after those that may be cheaper. Ends early if the user cancels: the ranked stand
/// without it.
void search_other_gpus(PlanFindings& answer, TrialsOfPlan& trials, SearchResult& result) {
  std::set<std::string> winners;
  for (const RankedCandidate& one : answer.ranked) {
    winners.insert(answer.shapes[one.shape].shape.gpu);
  }
  const Searched others = items_of_others(winners, trials.searched, answer.shapes);
  if (others.items.empty()) return;
  TrialsOfPlan further{.question = trials.question,
                       .searched = others,
                       .evaluations = trials.evaluations,
                       .progress = trials.progress,
                       .done_before = answer.simulations + std::ssize(answer.ranked) +
                                      static_cast<std::int64_t>(answer.point_estimate.has_value())};
  const SearchOptions cheapest_of_each{.keep = std::ssize(others.items),
                                       .within = std::numeric_limits<double>::infinity()};
  const SearchResult found = find_cheapest(others.items, cheapest_of_each, std::ref(further));
  add_search(answer, further, found, trials, result);
}

}  // namespace

PlanFindings make_plan(const PlanTask& question, std::vector<PlannedShape> shapes,
                       Evaluations& evaluations, const Progress& progress) {
  PlanFindings answer;
  for (const PlannedShape& planned : shapes) answer.candidates += planned.limit.units;
  const Searched searched = search_items(shapes);
  TrialsOfPlan trials{
      .question = question, .searched = searched, .evaluations = evaluations, .progress = progress};
  SearchResult result = find_cheapest(searched.items, {.keep = question.keep}, std::ref(trials));
  answer.finalist_simulations = trials.further_simulations;
  answer.shapes = std::move(shapes);
  answer.simulations = std::ssize(trials.tried);
  answer.stopped = result.stopped || !rank(answer, result, trials);
  if (question.names_others && !answer.ranked.empty()) search_other_gpus(answer, trials, result);
  answer.simulations = std::ssize(trials.tried);
  std::vector<TriedCandidate> nearest_first = nearest_first_of(trials.tried, question);
  // A cancelled search has decided on no shape.
  if (!answer.stopped) {
    count_outcomes(answer.shapes, searched, result);
    mark_pareto(answer.ranked);
    if (!answer.ranked.empty()) {
      // Drawn, so that it may come out above what it cannot exceed.
      answer.choice_probability = std::min(choice_probability(answer, trials.tried),
                                           answer.ranked.front().finalist.confidence.probability);
    }
    describe_rejected(answer, question.space.gpus, nearest_first);
  }
  if (answer.ranked.empty()) {
    nearest_first.resize(std::min(nearest_first.size(), kClosest));
    answer.closest = std::move(nearest_first);
  }
  return answer;
}

}  // namespace roofcast
