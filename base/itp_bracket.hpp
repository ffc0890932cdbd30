// A bracket around the root of a function of one variable, narrowed by few evaluations.
#pragma once

namespace roofcast {

/// A function's value at a point.
struct RootProbe {
  double x = 0;
  double y = 0;
};

/// The ITP method (Oliveira and Takahashi 2020, "An Enhancement of the Bisection Method Average
/// Performance Preserving Minmax Optimality", ACM Transactions on Mathematical Software 47:1):
/// regula falsi, truncated towards the middle and projected so that no function takes more than one
/// evaluation beyond bisection's. The function need not be continuous: the bracket then closes
/// around a jump.
class ItpBracket {
 public:
  /// Preconditions: a.x < b.x, y is negative at one end only, tolerance > 0.
  ItpBracket(RootProbe a, RootProbe b, double tolerance);

  bool is_narrow() const { return b_.x - a_.x <= tolerance_; }
  /// Where to evaluate next: inside the bracket.
  double next() const;
  /// Precondition: x is inside the bracket.
  void add(const RootProbe& probe);
  /// The root of the chord between both ends.
  double estimate() const;

  const RootProbe& low() const { return a_; }
  const RootProbe& high() const { return b_; }

 private:
  RootProbe a_;
  RootProbe b_;
  double tolerance_;
  double truncation_;  // kappa_1 of the paper
  double most_half_;   // half of the widest bracket that bisection, one step late, would have now
};

}  // namespace roofcast
