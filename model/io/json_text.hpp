// JSON as model repositories write it: Python's NaN and Infinity, a byte order mark, // comments.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace roofcast {

/// The JSON value of `text`. NaN, Infinity and -Infinity become strings of that spelling, so that
/// a number read from one of them is refused by name. Throws Error "WHERE:LINE:COLUMN: not valid
/// JSON: ..." for anything else that is not JSON, and for what nests too deep (bounded_json.hpp).
nlohmann::json parse_json(const std::string& text, const std::string& where);

/// The text of a file. Throws Error for a file that cannot be read or is larger than any config.
std::string read_text_file(const std::string& path);

}  // namespace roofcast
