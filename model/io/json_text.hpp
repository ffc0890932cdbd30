// JSON as found in model repositories: with Python's NaN and Infinity, a byte order mark or //
// comments.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace roofcast {

/// The JSON value of `text`. NaN, Infinity and -Infinity become strings with that spelling, so that
/// errors can name them where a number is expected. Throws Error "WHERE:LINE:COLUMN: not valid
/// JSON: ..." for anything else that is not JSON, and for excessive nesting
/// (base/io/bounded_json.hpp).
nlohmann::json parse_json(const std::string& text, const std::string& where);

/// The text of a file. Throws Error if it cannot be read or is larger than any config.
std::string read_text_file(const std::string& path);

}  // namespace roofcast
