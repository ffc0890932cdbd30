#include "base/io/csv.hpp"

#include <algorithm>

namespace roofcast {
namespace {

bool is_blank(char letter) { return letter == ' ' || letter == '\t'; }

void skip_blanks(std::string_view& line) {
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
}

/// Takes a quoted field whose opening quote has been removed.
bool take_quoted(std::string_view& line, std::string& field) {
  while (!line.empty()) {
    const char letter = line.front();
    line.remove_prefix(1);
    if (letter != '"') {
      field += letter;
    } else if (line.starts_with('"')) {
      field += '"';
      line.remove_prefix(1);
    } else {
      return true;
    }
  }
  return false;
}

void take_plain(std::string_view& line, std::string& field) {
  const std::string_view text = line.substr(0, line.find(','));
  line.remove_prefix(text.size());
  field += text;
  while (!field.empty() && is_blank(field.back())) field.pop_back();
}

}  // namespace

bool split_csv(std::string_view line, std::vector<std::string>& fields) {
  std::size_t used = 0;
  while (true) {
    if (used == fields.size()) fields.emplace_back();
    std::string& field = fields[used++];
    field.clear();
    skip_blanks(line);
    if (line.starts_with('"')) {
      line.remove_prefix(1);
      if (!take_quoted(line, field)) return false;
      skip_blanks(line);
    }
    take_plain(line, field);
    if (line.empty()) break;
    line.remove_prefix(1);  // the comma
  }
  fields.resize(used);
  return true;
}

bool fits_in_row(std::string_view text) {
  const auto is_control = [](char letter) {
    return (letter >= 0 && letter < ' ') || letter == 127;
  };
  return std::none_of(text.begin(), text.end(), is_control);
}

std::string quoted_csv(const std::string& field) {
  if (field.find_first_of(",\" \t") == std::string::npos) return field;
  std::string result = "\"";
  for (char letter : field) {
    if (letter == '"') result += '"';
    result += letter;
  }
  return result + '"';
}

}  // namespace roofcast
