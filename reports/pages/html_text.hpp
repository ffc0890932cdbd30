// The one place where text is escaped for HTML. Names of models, runs and traces come from outside
// and may hold anything.
#pragma once

#include <string>
#include <string_view>

#include "reports/document.hpp"

namespace roofcast {

/// For elements and double-quoted attributes. Bytes that are not UTF-8 become U+FFFD.
std::string html_escaped(std::string_view text);

/// The same for a sentence: what it has between backquotes, keys and commands, becomes <code>.
std::string html_sentence(std::string_view text);

/// JSON for a <script type="application/json"> element: no string in it can end the element.
std::string json_in_script(const Json& json);

}  // namespace roofcast
