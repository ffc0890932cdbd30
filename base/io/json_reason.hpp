// Says what is wrong with a text that is not JSON, in our words: nlohmann's are those of a parser.
#pragma once

#include <string>
#include <string_view>

namespace roofcast {

/// The reason in an exception's text, such as "[json.exception.parse_error.101] parse error at line
/// 1, column 34: syntax error while parsing value - unexpected '}'; expected '[', '{', or a
/// literal": "unexpected '}', expected a value". In printable ASCII and no longer than some 200
/// characters.
std::string json_reason(std::string_view what);

/// The place in such a text: "line 1, column 34"; empty if it names none.
std::string json_place(std::string_view what);

/// Both: "line 1, column 34: unexpected '}', expected a value".
std::string json_problem(std::string_view what);

}  // namespace roofcast
