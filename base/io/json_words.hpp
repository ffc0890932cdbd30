// JSON as Python writes it: the words NaN, Infinity and -Infinity stand where JSON has numbers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace roofcast {

/// What those three words become: null, or texts of the same spelling.
enum class NumberWords { become_null, become_texts };

/// Copies JSON piece by piece, those three words replaced outside of texts.
class JsonWords {
 public:
  explicit JsonWords(NumberWords words = NumberWords::become_null) : words_(words) {}

  /// Appends what `piece` becomes to `out`. A word cut by the end of the piece is held back.
  void append(std::string_view piece, std::string& out);
  /// Appends what is held back at the end of the text.
  void finish(std::string& out);

  /// Length of the text (string) that is open after the last piece; 0 outside of texts.
  std::size_t open_text() const { return in_text_ ? text_length_ : 0; }

 private:
  void end_word(std::string& out);

  NumberWords words_;
  bool in_text_ = false;
  bool escaped_ = false;
  std::size_t text_length_ = 0;
  std::string word_;  // letters since the last character that was none, and a minus before them
};

}  // namespace roofcast
