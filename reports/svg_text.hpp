// Text within SVG and HTML.
#pragma once

#include <string>

namespace roofcast {

/// `text` as the content of an element or of a quoted attribute: markup escaped, bytes that are no
/// UTF-8 and characters that XML does not know replaced, control characters as blanks.
std::string svg_escaped(const std::string& text);

}  // namespace roofcast
