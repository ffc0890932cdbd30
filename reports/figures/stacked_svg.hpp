// Several figures as one picture.
#pragma once

#include <span>
#include <string>

#include "reports/figures/figure.hpp"

namespace roofcast {

/// One SVG document of all figures, one below the other, each with its title, under a title. Throws
/// Error as chart_option(), and in a build without charts. Precondition: one figure at least.
std::string stacked_svg(const std::string& title, std::span<const Figure> figures);

}  // namespace roofcast
