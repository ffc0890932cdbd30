// Text on its way into HTML: the one place where it is escaped. Names of models, runs and traces
// come from outside and may hold anything.
#pragma once

#include <string>
#include <string_view>

#include "reports/document.hpp"

namespace roofcast {

/// For elements and for attributes in double quotes. Bytes that are no UTF-8 become U+FFFD.
std::string html_escaped(std::string_view text);

/// JSON for the inside of a <script type="application/json">: no text in it ends the element.
std::string json_in_script(const Json& json);

}  // namespace roofcast
