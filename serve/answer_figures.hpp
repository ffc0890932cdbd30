// Figures of an answer, computed separately: the numbers arrive at once, the figures a moment
// later.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reports/document.hpp"

namespace roofcast {

/// Commands with pictures: simulate, staircase and capacity.
const std::vector<std::string>& figure_commands();

/// {"figures": [{"key", "title", "caption", "option" of ECharts, "table"}]} of what `command` would
/// answer to `arguments`; with a capacity's search its "code" and "document" too. A simulation that
/// does not fit has its memory alone. Throws Error where the command would, and when `stopped` ends
/// the work. Precondition: `command` is of figure_commands().
Json answer_figures(const std::string& command, const std::vector<std::string>& arguments,
                    const std::function<bool()>& stopped);

}  // namespace roofcast
