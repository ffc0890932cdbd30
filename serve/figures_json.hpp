// Figures as JSON for the page to draw.
#pragma once

#include <vector>

#include "base/json.hpp"
#include "reports/figures/figure.hpp"

namespace roofcast {

/// A list of {"key", "title", "caption", "option" of ECharts, "table"}. Figures without data are
/// left out.
Json figures_json(const std::vector<Figure>& figures);

}  // namespace roofcast
