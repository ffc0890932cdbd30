// Several figures as one picture.
#pragma once

#include <span>
#include <string>

#include "reports/figures/figure.hpp"

namespace roofcast {

/// One SVG document with all figures below each other, each under its title, with `title` on top.
/// Throws Error as chart_option() does, and in a build without charts. Precondition: at least one
/// figure.
std::string stacked_svg(const std::string& title, std::span<const Figure> figures);

}  // namespace roofcast
