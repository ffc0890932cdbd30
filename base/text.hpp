// Words and lists of words. Only ASCII letters have a case, whatever the locale.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace roofcast {

std::string lower(std::string_view text);
std::string upper(std::string_view text);

/// "max-model-len" for "max_model_len": a flag's spelling of a key.
std::string with_dashes(std::string name);

/// `text` without leading and trailing `blanks`.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n");

/// `text` without a byte order mark at its front (U+FEFF in UTF-8).
std::string_view without_byte_order_mark(std::string_view text);

/// The parts between separators: one more than there are separators, so one for an empty text.
std::vector<std::string_view> split(std::string_view text, char separator);

std::string joined(std::span<const std::string> parts, std::string_view separator = ", ");

/// "a", "a or b", "a, b or c".
std::string alternatives(std::span<const std::string_view> names);

/// Whether the name of a figure ends in seconds: "ttft_s", not "request_rate_per_s".
bool is_time(std::string_view figure);

/// Quotes a word for a POSIX shell (sh, bash): unchanged if it has only letters, digits and
/// "-_./:=,+@%", otherwise in single quotes.
std::string shell_quoted(std::string_view word);

/// The inside of those single quotes: each quote becomes '\''.
std::string in_single_quotes(std::string_view text);

/// "true", "1", "on", "yes" and their opposites; nullopt for any other text.
std::optional<bool> switch_named(std::string_view text);

/// The release at the front of a version: "0.11.1" of "v0.11.1rc2.dev3+g1a2b"; empty if it starts
/// with no digit.
std::string release_of(std::string_view version);

/// Keeps only digits and letters, in lower case: "Qwen/Qwen2.5-7B" is "qwenqwen257b".
std::string letters_and_digits(std::string_view text);

/// "GPT-OSS 20B" with '-' is "gpt-oss-20b": letters in lower case and digits; each run of other
/// characters becomes one `separator`, none at the ends.
std::string slug(std::string_view text, char separator = '-');

}  // namespace roofcast
