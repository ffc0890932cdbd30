// Keys in messages. The library names what a caller gave by its key in backquotes, `max_model_len`;
// a face spells it as its users type it.
#pragma once

#include <string>
#include <string_view>

namespace roofcast {

/// `message` with every key in backquotes (lower-case letters, digits and '_', a letter first)
/// replaced by what `spelled` makes of it.
std::string with_keys(std::string_view message, std::string (*spelled)(std::string_view key));

}  // namespace roofcast
