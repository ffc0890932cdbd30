// Learns what an engine adds to its kernels from measured runs: a few named non-negative terms,
// reporting those that the runs cannot determine. Pure: the caller provides the predictions.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/statistics.hpp"

namespace roofcast {

/// A term to learn.
struct OverheadTerm {
  std::string name{};
  double start = 0;  // start of the search, and the result if the runs cannot determine the term;
                     // >= 0
  double scale = 0;  // a change that matters; > 0. Derivatives use half of it
};

/// One measured figure of one run.
struct MeasuredFigure {
  std::size_t run = 0;  // figures of one run are left out together
  double value = 0;     // > 0
};

/// The figures implied by the terms, in the order of the measured ones, each > 0.
using PredictFigures = std::function<std::vector<double>(std::span<const double> terms)>;

struct FittedTerm {
  double value = 0;
  double standard_error = 0;  // of the linearised fit; 0: unknown, because the term is not
                              // identified or there are as many terms as figures
  std::string doubt{};        // why the start value was kept; empty: identified
};

/// Absolute relative errors over all figures.
using FigureErrors = ErrorSizes;

/// Errors of predicted / measured ratios; needs at least one.
FigureErrors errors_of(std::span<const double> ratios);

/// Predicted / measured, in the order of the figures.
struct FigureRatios {
  std::vector<double> start{}, fitted{};
  std::vector<double> left_out{};  // empty if a run cannot be left out
};

struct OverheadFit {
  std::vector<FittedTerm> terms{};  // in the order given
  FigureRatios ratios{};
  FigureErrors start{};  // with the start values
  FigureErrors fitted{};
  /// Errors of each run's figures when predicted with terms fitted to the other runs, linearised
  /// around the fit. Which terms are identified is decided with all runs. Unset if a run cannot be
  /// left out: it is the only one, or the others have fewer figures than there are terms.
  std::optional<FigureErrors> leave_one_run_out{};
  int rounds = 0;  // Gauss-Newton iterations
};

/// Minimises the squared relative error by Gauss-Newton; each iteration solves a non-negative least
/// squares problem (calibrate/fit.hpp) and halves its step while the error grows. A term is not
/// identified, and keeps its start value, if `scale` of it moves no figure by one part in a
/// thousand; if its effect can hardly be distinguished from that of the terms before it (a linear
/// combination of them explains more than 99 %: list the surest terms first); or if its value is
/// below its own standard error and the start value is not ruled out. Precondition: at least one
/// term and one figure; predictions are finite.
OverheadFit fit_overheads(const std::vector<OverheadTerm>& terms,
                          const std::vector<MeasuredFigure>& measured,
                          const PredictFigures& predict);

}  // namespace roofcast
