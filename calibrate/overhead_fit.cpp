#include "calibrate/overhead_fit.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/statistics.hpp"
#include "calibrate/fit.hpp"

namespace roofcast {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

/// Minimum relative change of a figure for a term to be in the data.
constexpr double kMinEffect = 1e-3;
/// Share of a term's effect that the terms before it may explain.
constexpr double kMaxExplained = 0.99;
constexpr int kMaxRounds = 8;
/// Maximum halvings of a step that increases the error, before the search ends.
constexpr int kMaxHalvings = 4;
/// Standard errors beyond which a value is ruled out: 95 % of a normal distribution.
constexpr double kRuledOut = 2.0;
/// The search ends when the squared error falls by less than this share.
constexpr double kMinImprovement = 1e-4;

/// The problem in relative terms: predicted / measured, so that 1 is exact.
struct Problem {
  const std::vector<OverheadTerm>& terms;
  const std::vector<MeasuredFigure>& measured;
  const PredictFigures& predict;

  Vector at(const std::vector<double>& values) const {
    const std::vector<double> predicted = predict(values);
    assert(predicted.size() == measured.size());
    Vector relative(static_cast<Eigen::Index>(predicted.size()));
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      relative(static_cast<Eigen::Index>(i)) = predicted[i] / measured[i].value;
    }
    return relative;
  }

  /// [figures, terms], per `scale` of each term of `wanted`, 0 for the others; one-sided, because
  /// terms may be at 0.
  Matrix derivatives(const std::vector<double>& values, const Vector& here,
                     const std::vector<std::size_t>& wanted) const {
    constexpr double kStep = 0.5;  // of the scale
    Matrix columns = Matrix::Zero(here.size(), static_cast<Eigen::Index>(terms.size()));
    for (const std::size_t t : wanted) {
      std::vector<double> moved = values;
      moved[t] += kStep * terms[t].scale;
      columns.col(static_cast<Eigen::Index>(t)) = (at(moved) - here) / kStep;
    }
    return columns;
  }
};

double squared_error(const Vector& relative) { return (relative.array() - 1.0).square().sum(); }

std::vector<double> values_of(const Vector& relative) {
  return {relative.data(), relative.data() + relative.size()};
}

Matrix columns_of(const Matrix& all, const std::vector<std::size_t>& chosen) {
  Matrix columns(all.rows(), static_cast<Eigen::Index>(chosen.size()));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    columns.col(static_cast<Eigen::Index>(i)) = all.col(static_cast<Eigen::Index>(chosen[i]));
  }
  return columns;
}

/// The earlier term with the most similar effect (largest cosine).
std::size_t max_alike(const Matrix& effects, std::size_t term,
                      const std::vector<std::size_t>& before) {
  const Vector own = effects.col(static_cast<Eigen::Index>(term));
  std::size_t best = before.front();
  double largest = -1;
  for (const std::size_t other : before) {
    const Vector column = effects.col(static_cast<Eigen::Index>(other));
    const double cosine = std::abs(own.dot(column)) / (own.norm() * column.norm());
    if (cosine > largest) {
      largest = cosine;
      best = other;
    }
  }
  return best;
}

/// Why a term cannot be determined, given the identified terms before it; nullopt if it can.
std::optional<std::string> doubt_about(const Matrix& effects, std::size_t term,
                                       const std::vector<std::size_t>& before,
                                       const std::vector<OverheadTerm>& terms) {
  const Vector own = effects.col(static_cast<Eigen::Index>(term));
  if (own.cwiseAbs().maxCoeff() < kMinEffect) return "does not affect any figure of these runs";
  if (before.empty()) return std::nullopt;
  const Matrix others = columns_of(effects, before);
  const Vector rest = own - others * others.colPivHouseholderQr().solve(own);
  if (rest.squaredNorm() > (1.0 - kMaxExplained) * own.squaredNorm()) return std::nullopt;
  return fmt::format("these runs cannot distinguish it from {}",
                     terms[max_alike(effects, term, before)].name);
}

/// The non-negative terms, in units of their scales, that best reach the targets.
std::vector<double> solve_linear(const Matrix& effects, const Vector& targets) {
  const std::vector<double> rows(effects.data(), effects.data() + effects.size());
  const std::vector<double> wanted(targets.data(), targets.data() + targets.size());
  return fit_non_negative(rows, static_cast<std::size_t>(effects.cols()), wanted);
}

/// The state of the search.
struct Search {
  std::vector<double> values;
  Vector relative;
  Matrix effects;  // of all terms, at `values`
  std::vector<std::size_t> active;
};

/// The active terms' values in units of their scales.
Vector in_scales(const Problem& problem, const Search& search) {
  Vector values(static_cast<Eigen::Index>(search.active.size()));
  for (std::size_t i = 0; i < search.active.size(); ++i) {
    const std::size_t t = search.active[i];
    values(static_cast<Eigen::Index>(i)) = search.values[t] / problem.terms[t].scale;
  }
  return values;
}

/// Values of all terms after a whole step of the linearised problem.
std::vector<double> full_step(const Problem& problem, const Search& search) {
  const Matrix effects = columns_of(search.effects, search.active);
  Vector held(static_cast<Eigen::Index>(search.active.size()));
  for (std::size_t i = 0; i < search.active.size(); ++i) {
    const std::size_t t = search.active[i];
    held(static_cast<Eigen::Index>(i)) = search.values[t] / problem.terms[t].scale;
  }
  const Vector targets = Vector::Ones(search.relative.size()) - search.relative + effects * held;
  const std::vector<double> solved = solve_linear(effects, targets);
  std::vector<double> values = search.values;
  for (std::size_t i = 0; i < search.active.size(); ++i) {
    values[search.active[i]] = solved[i] * problem.terms[search.active[i]].scale;
  }
  return values;
}

/// One iteration; returns whether it lowered the error.
bool improve(const Problem& problem, Search& search) {
  const double before = squared_error(search.relative);
  const std::vector<double> target = full_step(problem, search);
  double share = 1.0;
  for (int halving = 0; halving <= kMaxHalvings; ++halving) {
    std::vector<double> values = search.values;
    for (const std::size_t t : search.active) values[t] += share * (target[t] - values[t]);
    const Vector relative = problem.at(values);
    const double after = squared_error(relative);
    share /= 2;
    if (after >= before) continue;
    search.values = values;
    search.relative = relative;
    return before - after > kMinImprovement * before;
  }
  return false;
}

/// The linearised prediction of each run with terms fitted to the other runs; nullopt if the others
/// of some run do not determine them.
std::optional<Vector> left_out_predictions(const Problem& problem, const Search& search) {
  Vector predicted = search.relative;
  if (search.active.empty()) return predicted;  // no term is fitted
  const Matrix effects = columns_of(search.effects, search.active);
  const auto count = static_cast<Eigen::Index>(search.active.size());
  // Each figure's value when all active terms are 0.
  const Vector offsets = search.relative - effects * in_scales(problem, search);
  std::size_t runs = 0;
  for (const MeasuredFigure& figure : problem.measured) runs = std::max(runs, figure.run + 1);
  for (std::size_t run = 0; run < runs; ++run) {
    std::vector<Eigen::Index> kept, left;
    for (std::size_t i = 0; i < problem.measured.size(); ++i) {
      (problem.measured[i].run == run ? left : kept).push_back(static_cast<Eigen::Index>(i));
    }
    if (left.empty()) continue;
    if (static_cast<Eigen::Index>(kept.size()) < count) return std::nullopt;
    const Matrix others = effects(kept, Eigen::all);
    const Vector targets = Vector::Ones(others.rows()) - offsets(kept);
    const std::vector<double> solved = solve_linear(others, targets);
    const Eigen::Map<const Vector> values(solved.data(), count);
    for (const Eigen::Index i : left) predicted(i) = offsets(i) + effects.row(i).dot(values);
  }
  return predicted;
}

/// Standard errors of the active terms: residual variance times the inverse of the normal matrix.
void set_standard_errors(const Problem& problem, const Search& search,
                         std::vector<FittedTerm>& terms) {
  const auto spare =
      static_cast<double>(problem.measured.size()) - static_cast<double>(search.active.size());
  if (spare < 1 || search.active.empty()) return;
  const Matrix effects = columns_of(search.effects, search.active);
  const Matrix normal = effects.transpose() * effects;
  const Matrix inverse = normal.inverse();
  const double variance = squared_error(search.relative) / spare;
  for (std::size_t i = 0; i < search.active.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    terms[search.active[i]].standard_error =
        std::sqrt(variance * inverse(at, at)) * problem.terms[search.active[i]].scale;
  }
}

/// Iterates until the error no longer falls; returns the number of iterations.
int descend(const Problem& problem, Search& search) {
  int rounds = 0;
  bool going = !search.active.empty();
  while (going && rounds < kMaxRounds) {
    going = improve(problem, search);
    ++rounds;
    search.effects = problem.derivatives(search.values, search.relative, search.active);
  }
  return rounds;
}

/// Among the active terms smaller than their own standard error, the one with the smallest ratio. A
/// term whose start value is ruled out is known to be small.
std::optional<std::size_t> vaguest(const Problem& problem, const Search& search,
                                   const std::vector<FittedTerm>& terms) {
  std::optional<std::size_t> found;
  double min = 1.0;  // value over standard error
  for (const std::size_t t : search.active) {
    if (terms[t].standard_error <= 0) continue;
    const double surety = search.values[t] / terms[t].standard_error;
    const double away =
        std::abs(problem.terms[t].start - search.values[t]) / terms[t].standard_error;
    if (surety >= min || away > kRuledOut) continue;
    min = surety;
    found = t;
  }
  return found;
}

/// Resets the term to its start value and stops fitting it.
void release(const Problem& problem, Search& search, std::size_t term) {
  std::erase(search.active, term);
  search.values[term] = problem.terms[term].start;
  search.relative = problem.at(search.values);
  search.effects = problem.derivatives(search.values, search.relative, search.active);
}

}  // namespace

FigureErrors errors_of(std::span<const double> ratios) {
  std::vector<double> errors;
  for (const double ratio : ratios) errors.push_back(ratio - 1.0);
  return sizes_of(errors);
}

OverheadFit fit_overheads(const std::vector<OverheadTerm>& terms,
                          const std::vector<MeasuredFigure>& measured,
                          const PredictFigures& predict) {
  assert(!terms.empty() && !measured.empty());
  const Problem problem{terms, measured, predict};
  OverheadFit fit;
  fit.terms.resize(terms.size());
  Search search;
  for (const OverheadTerm& term : terms) search.values.push_back(term.start);
  search.relative = problem.at(search.values);
  std::vector<std::size_t> every(terms.size());
  std::iota(every.begin(), every.end(), std::size_t{0});
  search.effects = problem.derivatives(search.values, search.relative, every);
  fit.ratios.start = values_of(search.relative);
  fit.start = errors_of(fit.ratios.start);
  for (std::size_t t = 0; t < terms.size(); ++t) {
    // More terms than figures cannot be determined either.
    const bool full = search.active.size() >= measured.size();
    const std::optional<std::string> doubt =
        full ? std::string("there are more terms than figures")
             : doubt_about(search.effects, t, search.active, terms);
    if (doubt) fit.terms[t].doubt = *doubt;
    if (!doubt) search.active.push_back(t);
  }
  fit.rounds += descend(problem, search);
  set_standard_errors(problem, search, fit.terms);
  while (const auto vague = vaguest(problem, search, fit.terms)) {
    fit.terms[*vague] = {.value = 0, .standard_error = 0, .doubt = "smaller than its own error"};
    release(problem, search, *vague);
    fit.rounds += descend(problem, search);
    set_standard_errors(problem, search, fit.terms);
  }
  for (std::size_t t = 0; t < terms.size(); ++t) fit.terms[t].value = search.values[t];
  fit.ratios.fitted = values_of(search.relative);
  fit.fitted = errors_of(fit.ratios.fitted);
  if (const auto left_out = left_out_predictions(problem, search)) {
    fit.ratios.left_out = values_of(*left_out);
    fit.leave_one_run_out = errors_of(fit.ratios.left_out);
  }
  return fit;
}

}  // namespace roofcast
