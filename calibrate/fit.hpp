// Fits of a few physical terms to measurements: pure, no clock, no device.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace roofcast {

/// Coefficients x >= 0 minimising the weighted squared error of rows * x against `targets`
/// (Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23).
/// `rows` is row-major, targets.size() by `terms`; `weights` multiply each row (empty: all 1).
/// Precondition: sizes agree, terms >= 1, at least as many rows as terms.
std::vector<double> fit_non_negative(std::span<const double> rows, std::size_t terms,
                                     std::span<const double> targets,
                                     std::span<const double> weights = {});

}  // namespace roofcast
