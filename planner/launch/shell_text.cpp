#include "planner/launch/shell_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/error.hpp"
#include "base/io/shown.hpp"

namespace roofcast {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool is_name(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), is_name_character);
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

/// A here-document that starts on the line being read.
struct OpenDocument {
  std::string end{};  // the line that closes it
  bool strips_tabs = false;
  std::size_t command = 0;
};

class ShellReader {
 public:
  explicit ShellReader(std::string_view text) : text_(text) {}

  ShellScript read() {
    while (at_ < text_.size()) step();
    end_command();
    if (!documents_.empty()) {
      throw UsageError(
          fmt::format("the here-document '{}' is not terminated", shown(documents_.front().end)));
    }
    return std::move(script_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  bool takes(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  void append(std::string_view part) {
    grown_ += part.size();
    // A variable that contains itself would double with every line.
    if (grown_ > 4 * kLongestScript) throw UsageError("the command's variables expand without end");
    word_ += part;
    in_word_ = true;
  }

  void step() {
    const char c = peek();
    if (c == '\n') {
      ++at_;
      end_command();
      read_documents();
    } else if (is_blank(c)) {
      ++at_;
      end_word();
    } else if (c == '#' && !in_word_) {
      while (at_ < text_.size() && peek() != '\n') ++at_;
    } else if (c == '\\') {
      read_escape();
    } else if (c == '\'') {
      ++at_;
      append(read_until('\''));
    } else if (c == '"') {
      read_double_quoted();
    } else if (c == '$' || c == '`') {
      read_expansion(false);
    } else if (std::string_view(";&|()<>").find(c) != std::string_view::npos) {
      read_operator(c);
    } else {
      append(text_.substr(at_++, 1));
    }
  }

  /// A backslash at the end of a line, also before trailing blanks, continues it; one on its own
  /// before a blank is left over from a continued line.
  void read_escape() {
    std::size_t next = 1;
    while (is_blank(peek(next))) ++next;
    const bool at_end = peek(next) == '\n' || peek(next) == '\0';
    if (at_end || (!in_word_ && next > 1)) {
      at_ += next + (peek(next) == '\n' ? 1 : 0);
      end_word();
      return;
    }
    append(text_.substr(at_ + 1, 1));
    at_ += 2;
  }

  /// The text before `quote`; consumes the quote too.
  std::string_view read_until(char quote) {
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) {
      throw UsageError(fmt::format("unclosed quote ({}) in the command", quote));
    }
    const std::string_view inside = text_.substr(at_, end - at_);
    at_ = end + 1;
    return inside;
  }

  void read_double_quoted() {
    ++at_;
    in_word_ = true;
    while (peek() != '"') {
      if (at_ >= text_.size()) throw UsageError("unclosed quote (\") in the command");
      const char c = peek();
      const char next = peek(1);
      if (c == '\\' && next == '\n') {
        at_ += 2;
      } else if (c == '\\' && (next == '"' || next == '\\' || next == '$' || next == '`')) {
        append(text_.substr(at_ + 1, 1));
        at_ += 2;
      } else if (c == '$' || c == '`') {
        read_expansion(true);
      } else {
        append(text_.substr(at_++, 1));
      }
    }
    ++at_;
  }

  /// Length up to the bracket that closes the one at at_ + 1; 1 if none does.
  std::size_t bracketed(char open, char close) const {
    int depth = 0;
    for (std::size_t i = at_ + 1; i < text_.size(); ++i) {
      if (text_[i] == open) ++depth;
      if (text_[i] == close && --depth == 0) return i + 1 - at_;
    }
    return 1;
  }

  void read_expansion(bool quoted) {
    std::size_t length = 1;
    std::string_view name;
    std::string_view fallback;
    bool has_fallback = false;
    if (peek() == '`') {
      const std::size_t end = text_.find('`', at_ + 1);
      if (end != std::string_view::npos) length = end + 1 - at_;
    } else if (peek(1) == '(') {
      length = bracketed('(', ')');
    } else if (peek(1) == '{') {
      length = bracketed('{', '}');
      if (length > 2) name = text_.substr(at_ + 2, length - 3);
      const std::size_t colon = name.find(":-");
      has_fallback = colon != std::string_view::npos;
      if (has_fallback) {
        fallback = name.substr(colon + 2);
        name = name.substr(0, colon);
      }
    } else {
      while (is_name_character(peek(length))) ++length;
      name = text_.substr(at_ + 1, length - 1);
    }
    const std::string_view written = text_.substr(at_, length);
    at_ += length;
    const auto value = variables_.find(std::string(name));
    if (value != variables_.end()) {
      put(value->second, quoted);
    } else if (has_fallback) {
      put(std::string(fallback), quoted);
    } else {
      append(written);
    }
  }

  /// Adds a value, which is split into words unless quoted.
  void put(const std::string& value, bool quoted) {
    if (quoted) {
      append(value);
      return;
    }
    for (const char c : value) {
      if (is_blank(c) || c == '\n') {
        end_word();
      } else {
        append(std::string_view(&c, 1));
      }
    }
  }

  void read_operator(char c) {
    if (c == '<' || c == '>' || (c == '&' && peek(1) == '>')) {
      read_redirection();
    } else if (c == '(' && word_.ends_with('=') && is_name(word_.substr(0, word_.size() - 1))) {
      variables_.erase(word_.substr(0, word_.size() - 1));  // an array: its value stays unknown
      word_.clear();
      in_word_ = false;
      --at_;
      at_ += bracketed('(', ')');
    } else {
      ++at_;
      end_command();
    }
  }

  void read_redirection() {
    // The 2 of 2>&1 is not a word.
    if (is_number(word_)) {
      word_.clear();
      in_word_ = false;
    }
    end_word();
    if (takes("<<<")) {
      target_ = Target::dropped;
    } else if (takes("<<-") || takes("<<")) {
      documents_.push_back(
          {.end = {}, .strips_tabs = text_[at_ - 1] == '-', .command = outputs_.size()});
      target_ = Target::document;
    } else {
      const bool writes = takes("&>>") || takes("&>") || takes(">>") || takes(">|") || takes(">");
      if (!writes) ++at_;
      if (takes("&")) {
        while (std::isdigit(static_cast<unsigned char>(peek())) || peek() == '-') ++at_;
        return;
      }
      target_ = writes ? Target::file : Target::dropped;
    }
  }

  void end_word() {
    if (!in_word_) return;
    switch (target_) {
      case Target::word:
        command_.words.push_back(word_);
        break;
      case Target::file:
        output_ = word_;
        break;
      case Target::document:
        documents_.back().end = word_;
        break;
      case Target::dropped:
        break;
    }
    target_ = Target::word;
    word_.clear();
    in_word_ = false;
  }

  /// Removes NAME=value from the front of the command.
  void take_assignments() {
    std::vector<std::string>& words = command_.words;
    command_.exports = !words.empty() && words.front() == "export";
    std::size_t taken = command_.exports ? 1 : 0;
    for (; taken < words.size(); ++taken) {
      const std::size_t equals = words[taken].find('=');
      if (equals == std::string::npos || !is_name(words[taken].substr(0, equals))) break;
      command_.assignments.emplace_back(words[taken].substr(0, equals),
                                        words[taken].substr(equals + 1));
    }
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(taken));
    if (command_.exports) words.clear();  // export NAME
    if (!words.empty()) return;
    for (const auto& [name, value] : command_.assignments) variables_[name] = value;
  }

  void end_command() {
    end_word();
    target_ = Target::word;
    take_assignments();
    // "$ vllm serve": the prompt was copied along.
    if (!command_.words.empty() && command_.words.front() == "$") {
      command_.words.erase(command_.words.begin());
    }
    const bool is_tee = command_.words.size() > 1 && command_.words.front() == "tee";
    outputs_.push_back(is_tee ? command_.words.back() : output_);
    if (!command_.words.empty() || !command_.assignments.empty()) {
      script_.commands.push_back(std::move(command_));
    }
    command_ = {};
    output_.clear();
  }

  /// Reads the here-documents that the previous line started, in order.
  void read_documents() {
    for (const OpenDocument& document : documents_) {
      std::string body;
      bool closed = false;
      while (at_ < text_.size() && !closed) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        std::string_view line = text_.substr(at_, end - at_);
        at_ = std::min(end + 1, text_.size());
        if (line.ends_with('\r')) line.remove_suffix(1);
        while (document.strips_tabs && line.starts_with('\t')) line.remove_prefix(1);
        closed = line == document.end;
        if (!closed) body.append(line).append("\n");
      }
      if (!closed) return;
      keep_document(document, body);
    }
    documents_.clear();
  }

  /// Stores it under the file that its line writes: cat <<EOF > FILE, cat <<EOF | tee FILE.
  void keep_document(const OpenDocument& document, const std::string& body) {
    for (std::size_t i = document.command; i < outputs_.size(); ++i) {
      if (!outputs_[i].empty()) script_.files[outputs_[i]] = body;
    }
  }

  enum class Target { word, file, document, dropped };

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t grown_ = 0;
  std::string word_{};
  bool in_word_ = false;          // an empty pair of quotes is also a word
  Target target_ = Target::word;  // role of the next word
  ShellCommand command_{};
  std::string output_{};                // the file that the command writes
  std::vector<std::string> outputs_{};  // of every command so far
  std::vector<OpenDocument> documents_{};
  std::map<std::string, std::string> variables_{};
  ShellScript script_{};
};

}  // namespace

ShellScript read_shell(std::string_view text) {
  if (text.size() > kLongestScript) {
    throw UsageError(fmt::format("the command is {} bytes long, expected at most {}", text.size(),
                                 kLongestScript));
  }
  return ShellReader(text).read();
}

}  // namespace roofcast
