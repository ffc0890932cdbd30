#include "base/itp_bracket.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace roofcast {
namespace {

constexpr double kTruncation = 0.2;  // of the first bracket, as the paper's experiments have it
constexpr int kSlack = 1;            // evaluations beyond bisection's

}  // namespace

ItpBracket::ItpBracket(RootProbe a, RootProbe b, double tolerance)
    : a_(a), b_(b), tolerance_(tolerance), truncation_(kTruncation / (b.x - a.x)) {
  assert(a.x < b.x && (a.y < 0) != (b.y < 0) && tolerance > 0);
  const double halvings = std::max(0.0, std::ceil(std::log2((b.x - a.x) / tolerance)));
  most_half_ = tolerance / 2 * std::exp2(halvings + kSlack);
}

double ItpBracket::estimate() const { return (b_.y * a_.x - a_.y * b_.x) / (b_.y - a_.y); }

double ItpBracket::next() const {
  const double middle = (a_.x + b_.x) / 2;
  const double falsi = estimate();
  const double toward = middle < falsi ? -1 : 1;
  const double width = b_.x - a_.x;
  const double truncation = truncation_ * width * width;
  const double truncated =
      truncation <= std::abs(middle - falsi) ? falsi + toward * truncation : middle;
  const double reach = std::max(0.0, most_half_ - width / 2);
  const double projected =
      std::abs(truncated - middle) <= reach ? truncated : middle - toward * reach;
  // An end evaluated again would say nothing.
  const double margin = std::min(tolerance_, width) / 4;
  return std::clamp(projected, a_.x + margin, b_.x - margin);
}

void ItpBracket::add(const RootProbe& probe) {
  assert(a_.x < probe.x && probe.x < b_.x);
  ((probe.y < 0) == (a_.y < 0) ? a_ : b_) = probe;
  most_half_ /= 2;
}

}  // namespace roofcast
