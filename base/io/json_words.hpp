// JSON as Python writes it, where the words NaN, Infinity and -Infinity can replace numbers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace roofcast {

/// What the three words become: null, or strings with the same spelling.
enum class NumberWords { become_null, become_texts };

/// Copies JSON piece by piece and replaces the three words outside strings.
class JsonWords {
 public:
  explicit JsonWords(NumberWords words = NumberWords::become_null) : words_(words) {}

  /// Appends the converted `piece` to `out`. Holds back a word that the end of the piece cuts.
  void append(std::string_view piece, std::string& out);
  /// Appends what was held back. Call at the end of the text.
  void finish(std::string& out);

  /// Length of the string that is still open after the last piece; 0 outside strings.
  std::size_t open_text() const { return in_text_ ? text_length_ : 0; }

 private:
  void end_word(std::string& out);

  NumberWords words_;
  bool in_text_ = false;
  bool escaped_ = false;
  std::size_t text_length_ = 0;
  std::string word_;  // letters since the last other character, with a minus sign before them
};

}  // namespace roofcast
