// How the command line spells the keys in messages of the library (base/keys.hpp).
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "reports/document.hpp"

namespace roofcast {

/// "`max_model_len`: 0" becomes "--max-model-len: 0".
std::string with_flags(std::string_view message);

/// write() with flags in headings, sentences and cells; JSON keeps the keys.
void print(Document document, OutputFormat format, std::ostream& out);

}  // namespace roofcast
