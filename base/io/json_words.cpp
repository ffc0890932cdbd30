#include "base/io/json_words.hpp"

namespace roofcast {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr std::size_t kLongestWord = 9;  // "-Infinity"

}  // namespace

void JsonWords::end_word(std::string& out) {
  const bool number = word_ == "NaN" || word_ == "Infinity" || word_ == "-Infinity";
  if (!number) {
    out += word_;
  } else if (words_ == NumberWords::become_null) {
    out += "null";
  } else {
    out.append(1, '"').append(word_).append(1, '"');
  }
  word_.clear();
}

void JsonWords::append(std::string_view piece, std::string& out) {
  for (const char c : piece) {
    if (in_text_) {
      out += c;
      ++text_length_;
      in_text_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
      continue;
    }
    const bool in_word = is_letter(c) || (c == '-' && word_.empty());
    if (in_word && word_.size() <= kLongestWord) {
      word_ += c;
      continue;
    }
    end_word(out);
    out += c;
    in_text_ = c == '"';
    text_length_ = 0;
  }
}

void JsonWords::finish(std::string& out) { end_word(out); }

}  // namespace roofcast
