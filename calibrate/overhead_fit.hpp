// What an engine adds to its kernels, learnt from measured runs: a few named terms, none negative,
// and an honest word on those that the runs do not tell. Pure: whoever calls brings the
// predictions.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace roofcast {

/// A term to learn.
struct OverheadTerm {
  std::string name{};
  double start = 0;  // where the search begins, and what stays when the runs do not tell; >= 0
  double scale = 0;  // a change that matters; > 0. Derivatives are taken over half of it
};

/// One measured figure of one run.
struct MeasuredFigure {
  std::size_t run = 0;  // figures of one run are left out together
  double value = 0;     // > 0
};

/// The figures that the terms imply, in the order of the measured ones, each > 0.
using PredictFigures = std::function<std::vector<double>(std::span<const double> terms)>;

struct FittedTerm {
  double value = 0;
  double standard_error = 0;  // of the linearised fit; 0: not known, where not identified or where
                              // there are as many terms as figures
  std::string doubt{};        // why the start value stayed; empty: identified
};

/// Absolute relative errors over all figures.
struct FigureErrors {
  double mean = 0;
  double median = 0;
  double p90 = 0;
};

/// Of predicted over measured figures, one at least.
FigureErrors errors_of(std::span<const double> ratios);

/// Predicted over measured, in the order of the figures.
struct FigureRatios {
  std::vector<double> start{}, fitted{};
  std::vector<double> left_out{};  // empty where a run cannot be left out
};

struct OverheadFit {
  std::vector<FittedTerm> terms{};  // in the order given
  FigureRatios ratios{};
  FigureErrors start{};  // with the start values
  FigureErrors fitted{};
  /// Each run's figures by the terms that the other runs give, predictions taken as linear around
  /// the fit. Which terms are identified is decided with all runs. Nothing where a run cannot be
  /// left out: it is the only one, or the others have fewer figures than there are terms.
  std::optional<FigureErrors> leave_one_run_out{};
  int rounds = 0;  // of Gauss and Newton
};

/// Least squared relative error by Gauss and Newton's method, each round a non-negative least
/// squares problem (calibrate/fit.hpp) and its step halved while it makes things worse.
/// A term is not identified, and keeps its start value, when `scale` of it moves no figure by one
/// part in a thousand, when the figures hardly tell it from the terms before it (their linear
/// combination explains more than 99 % of what it does: list the surest terms first), or when it
/// comes out smaller than its own standard error and the start value is not ruled out.
/// Precondition: a term and a figure at least; predictions are finite.
OverheadFit fit_overheads(const std::vector<OverheadTerm>& terms,
                          const std::vector<MeasuredFigure>& measured,
                          const PredictFigures& predict);

}  // namespace roofcast
