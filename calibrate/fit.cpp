#include "calibrate/fit.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace roofcast {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

/// A gradient below this share of the largest counts as zero.
constexpr double kRelativeTolerance = 1e-12;

/// Plain least squares over the passive terms; the others stay zero.
Vector solve_passive(const Matrix& rows, const Vector& targets, const std::vector<bool>& passive) {
  std::vector<Eigen::Index> columns;
  for (std::size_t i = 0; i < passive.size(); ++i) {
    if (passive[i]) columns.push_back(static_cast<Eigen::Index>(i));
  }
  Vector solution = Vector::Zero(rows.cols());
  if (columns.empty()) return solution;
  Matrix chosen(rows.rows(), static_cast<Eigen::Index>(columns.size()));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    chosen.col(static_cast<Eigen::Index>(i)) = rows.col(columns[i]);
  }
  const Vector partial = chosen.colPivHouseholderQr().solve(targets);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    solution(columns[i]) = partial(static_cast<Eigen::Index>(i));
  }
  return solution;
}

/// The term outside the passive set whose increase lowers the error most; -1 if none does.
Eigen::Index steepest(const Vector& gradient, const std::vector<bool>& passive, double tolerance) {
  Eigen::Index best = -1;
  double largest = tolerance;
  for (Eigen::Index i = 0; i < gradient.size(); ++i) {
    if (!passive[static_cast<std::size_t>(i)] && gradient(i) > largest) {
      largest = gradient(i);
      best = i;
    }
  }
  return best;
}

/// Moves from `x` towards `target` until a passive term reaches zero, and removes it from the set.
void step_back(Vector& x, const Vector& target, std::vector<bool>& passive) {
  double share = 1.0;
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    if (passive[static_cast<std::size_t>(i)] && target(i) <= 0.0) {
      share = std::min(share, x(i) / (x(i) - target(i)));
    }
  }
  x += share * (target - x);
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    if (passive[static_cast<std::size_t>(i)] && x(i) <= std::numeric_limits<double>::epsilon()) {
      passive[static_cast<std::size_t>(i)] = false;
      x(i) = 0.0;
    }
  }
}

bool all_positive(const Vector& x, const std::vector<bool>& passive) {
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    if (passive[static_cast<std::size_t>(i)] && x(i) <= 0.0) return false;
  }
  return true;
}

}  // namespace

std::vector<double> fit_non_negative(std::span<const double> rows, std::size_t terms,
                                     std::span<const double> targets,
                                     std::span<const double> weights) {
  assert(terms >= 1 && rows.size() == terms * targets.size() && targets.size() >= terms);
  assert(weights.empty() || weights.size() == targets.size());
  const auto count = static_cast<Eigen::Index>(targets.size());
  const auto width = static_cast<Eigen::Index>(terms);
  Matrix a = Eigen::Map<const Matrix>(rows.data(), count, width);
  Vector b = Eigen::Map<const Vector>(targets.data(), count);
  for (Eigen::Index i = 0; !weights.empty() && i < count; ++i) {
    a.row(i) *= weights[static_cast<std::size_t>(i)];
    b(i) *= weights[static_cast<std::size_t>(i)];
  }
  // Scales terms of very different size (bytes, counts) to unit norm.
  Vector scale = a.colwise().norm();
  for (Eigen::Index i = 0; i < width; ++i) {
    if (scale(i) > 0.0) a.col(i) /= scale(i);
  }

  Vector x = Vector::Zero(width);
  std::vector<bool> passive(terms, false);
  const double tolerance = kRelativeTolerance * (a.transpose() * b).cwiseAbs().maxCoeff();
  // Every pass of the outer loop lowers the error, so it terminates; the bound guards against
  // rounding.
  for (std::size_t pass = 0; pass < 10 * terms; ++pass) {
    const Eigen::Index entering = steepest(a.transpose() * (b - a * x), passive, tolerance);
    if (entering < 0) break;
    passive[static_cast<std::size_t>(entering)] = true;
    Vector target = solve_passive(a, b, passive);
    while (!all_positive(target, passive)) {
      step_back(x, target, passive);
      target = solve_passive(a, b, passive);
    }
    x = target;
  }
  std::vector<double> result(terms, 0.0);
  for (Eigen::Index i = 0; i < width; ++i) {
    if (scale(i) > 0.0) result[static_cast<std::size_t>(i)] = x(i) / scale(i);
  }
  return result;
}

}  // namespace roofcast
