#include "planner/verdict/choice_confidence.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "base/hash_mix.hpp"

namespace roofcast {
namespace {

constexpr std::uint64_t kDraws = 4000;

/// The draw of a standard normal variable: the same for the same arguments, on every machine.
double normal_draw(std::uint64_t variable, std::uint64_t draw) {
  constexpr double kSteps = 1ull << 52;
  const std::uint64_t bits = hash_mix(hash_mix(0, variable), draw) >> 12;
  return boost::math::quantile(boost::math::normal(), (static_cast<double>(bits) + 0.5) / kSteps);
}

/// The error of an option as a sum of standard normal variables, each times a deviation.
struct OptionError {
  std::vector<std::pair<std::size_t, double>> terms{};  // variable, deviation
};

/// The errors of all options; equal names on equal kernels have a variable in common.
struct Errors {
  std::vector<OptionError> options{};
  std::size_t variables = 0;
};

Errors errors_of(std::span<const ChoiceOption> options) {
  Errors errors;
  std::map<std::pair<std::string, std::string>, std::size_t> common;
  for (const ChoiceOption& option : options) {
    OptionError& error = errors.options.emplace_back();
    double own = 0;  // variance that no other option has in common
    for (const ErrorCause& cause : option.causes) {
      const bool whole = !cause.common_to.empty();
      const std::string& whose = whole ? cause.common_to : option.kernels;
      const double shared = whole ? 1 : kCauseInCommon;
      const auto found = common.try_emplace({whose, cause.name}, errors.variables);
      if (found.second) ++errors.variables;
      error.terms.emplace_back(found.first->second, cause.deviation * std::sqrt(shared));
      own += cause.deviation * cause.deviation * (1 - shared);
    }
    error.terms.emplace_back(errors.variables++, std::sqrt(own));
  }
  return errors;
}

}  // namespace

double probability_of_choice(std::span<const ChoiceOption> options, std::size_t chosen) {
  const Errors errors = errors_of(options);
  std::vector<double> drawn(errors.variables);
  std::vector<double> worth(options.size());
  std::uint64_t good = 0;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = normal_draw(i, draw);
    for (std::size_t i = 0; i < options.size(); ++i) {
      double error = 0;
      for (const auto& [variable, deviation] : errors.options[i].terms) {
        error += drawn[variable] * deviation;
      }
      worth[i] = options[i].worth(error);
    }
    const double best = *std::max_element(worth.begin(), worth.end());
    if (worth[chosen] > 0 && worth[chosen] >= (1 - kGoodChoice) * best) ++good;
  }
  return static_cast<double>(good) / static_cast<double>(kDraws);
}

}  // namespace roofcast
