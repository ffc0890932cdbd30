#include "base/itp_bracket.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace roofcast::test {
namespace {

/// Evaluations until the bracket is narrow; the root must be inside.
int evaluations_of(const std::function<double(double)>& f, double low, double high, double root,
                   double tolerance) {
  ItpBracket bracket({low, f(low)}, {high, f(high)}, tolerance);
  int evaluations = 0;
  for (; !bracket.is_narrow(); ++evaluations) {
    const double x = bracket.next();
    EXPECT_GT(x, bracket.low().x);
    EXPECT_LT(x, bracket.high().x);
    bracket.add({x, f(x)});
    if (evaluations > 1000) break;
  }
  EXPECT_LE(bracket.low().x, root);
  EXPECT_GE(bracket.high().x, root);
  EXPECT_LE(bracket.high().x - bracket.low().x, tolerance);
  return evaluations;
}

TEST(ItpBracket, TakesAtMostOneMoreThanBisection) {
  // 1 / 2^20: bisection takes 20. A jump, a flat and a steep function, and a root near an end.
  const double tolerance = std::exp2(-20);
  for (const double root : {0.001, 0.3, 0.5, 0.77, 0.999}) {
    SCOPED_TRACE(root);
    const auto jump = [&](double x) { return x < root ? -1.0 : 100.0; };
    const auto flat = [&](double x) { return std::pow(x - root, 9); };
    const auto steep = [&](double x) { return std::exp(40 * x) - std::exp(40 * root); };
    EXPECT_LE(evaluations_of(jump, 0, 1, root, tolerance), 21);
    EXPECT_LE(evaluations_of(flat, 0, 1, root, tolerance), 21);
    EXPECT_LE(evaluations_of(steep, 0, 1, root, tolerance), 21);
  }
}

TEST(ItpBracket, TakesFewerThanHalfOfBisectionsOfASmoothFunction) {
  // x e^x = 1 at 0.567143 (the omega constant). Bisection takes log2(2 / 1e-10) = 34.2: 35. On a
  // smooth function convergence is superlinear (Oliveira and Takahashi 2020), so that half of them
  // are more than enough.
  const auto f = [](double x) { return x * std::exp(x) - 1; };
  constexpr int kBisection = 35;
  EXPECT_LT(2 * evaluations_of(f, -1, 1, 0.56714329040978387, 1e-10), kBisection);
}

TEST(ItpBracket, EstimatesTheRootOfALine) {
  const ItpBracket bracket({0, -1}, {4, 3}, 0.1);
  EXPECT_DOUBLE_EQ(bracket.estimate(), 1);
}

}  // namespace
}  // namespace roofcast::test
