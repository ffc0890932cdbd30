#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kNarrowest = 40;
constexpr std::size_t kLongWord = 24;
constexpr std::size_t kBetween = 2;  // spaces between columns, as write() puts them

using Row = std::vector<Cell>;

/// With two or more flags: a line that is copied must not be broken.
bool is_command(const std::string& text) {
  const std::size_t first = text.find(" --");
  return first != std::string::npos && text.find(" --", first + 1) != std::string::npos;
}

std::size_t longest_word(const std::string& text) {
  std::size_t longest = 0;
  for (const std::string_view word : split(text, ' ')) {
    longest = std::max(longest, display_width(word));
  }
  return longest;
}

/// The words of `text`; a percent sign stays with its number.
std::vector<std::string> words_with_units(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (word.starts_with('%') && !words.empty()) {
      words.back().append(" ").append(word);
    } else {
      words.emplace_back(word);
    }
  }
  return words;
}

/// `text` in lines of at most `width` columns, broken at spaces; a longer word keeps a line of its
/// own, and so does a command to copy.
std::vector<std::string> lines_within(const std::string& text, std::size_t width) {
  if (display_width(text) <= width || is_command(text)) return {text};
  const std::size_t indent = text.find_first_not_of(' ');
  if (indent == std::string::npos) return {""};
  std::vector<std::string> lines;
  std::string line(indent, ' ');  // keeps the indent of the first line
  bool empty = true;
  for (const std::string& word : words_with_units(text)) {
    if (!empty && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(std::exchange(line, ""));
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
  }
  lines.push_back(line);
  return lines;
}

std::size_t total(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), std::size_t{0}) +
         kBetween * (widths.empty() ? 0 : widths.size() - 1);
}

/// Widths of a column: as it is, with its title wrapped, and with its cells wrapped, too.
struct Widths {
  std::size_t natural = 0;
  std::size_t with_title_wrapped = 0;
  std::size_t least = 0;
};

Widths widths_of(const Table& table, std::size_t column) {
  constexpr std::size_t kLeastText = 12;  // narrower texts are hard to read
  const std::string& title = table.columns[column].title;
  std::size_t cells = 0;
  std::size_t words = 0;
  for (const Row& row : table.rows) {
    cells = std::max(cells, display_width(row[column].text));
    words = std::max(words, longest_word(row[column].text));
  }
  const std::size_t with_title = std::max(cells, longest_word(title));
  // Numbers are never broken, texts are; the values of an untitled list may be either.
  const bool breakable = !table.columns[column].right || !has_titles(table);
  // Nothing stands to the right of the last column: a path or a link may leave it.
  const bool last = column + 1 == table.columns.size();
  const std::size_t word = last ? std::min(words, kLongWord) : words;
  const std::size_t text = std::max({longest_word(title), word, std::min(cells, kLeastText)});
  return {.natural = std::max(cells, display_width(title)),
          .with_title_wrapped = with_title,
          .least = breakable ? std::min(text, with_title) : with_title};
}

/// Widths within `available`, by taking from the widest column that can give; nullopt if none can.
std::vector<std::size_t> narrowed(const std::vector<Widths>& columns, std::size_t available) {
  std::vector<std::size_t> widths;
  for (const Widths& column : columns) widths.push_back(column.natural);
  if (total(widths) <= available) return widths;
  const auto shrink = [&](auto least) {
    while (total(widths) > available) {
      std::size_t widest = columns.size();
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (widths[i] <= least(columns[i])) continue;
        if (widest == columns.size() || widths[i] > widths[widest]) widest = i;
      }
      if (widest == columns.size()) return false;
      --widths[widest];
    }
    return true;
  };
  if (!shrink([](const Widths& column) { return column.with_title_wrapped; })) {
    shrink([](const Widths& column) { return column.least; });
  }
  return widths;
}

/// How many of the first columns tell every row from the others: the first, and texts after it.
std::size_t key_columns(const Table& table) {
  constexpr std::size_t kMaxKeys = 3;
  std::size_t keys = 1;
  for (; keys < kMaxKeys && keys + 1 < table.columns.size() && !table.columns[keys].right; ++keys) {
    std::set<std::vector<std::string>> seen;
    const bool distinct = std::ranges::all_of(table.rows, [&](const Row& row) {
      return seen.emplace(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(keys)).second;
    });
    if (distinct) break;
  }
  return keys;
}

/// The columns of each part of a table: all in one if they fit, else as many as do, the first
/// `keys` columns in every part.
std::vector<std::vector<std::size_t>> parts_of(const std::vector<Widths>& columns, std::size_t keys,
                                               std::size_t available) {
  std::vector<std::size_t> first(keys);
  std::iota(first.begin(), first.end(), std::size_t{0});
  std::size_t first_width = kBetween * (keys - 1);
  for (std::size_t i = 0; i < keys; ++i) first_width += columns[i].least;
  std::vector<std::vector<std::size_t>> parts{first};
  std::size_t used = first_width;
  for (std::size_t i = keys; i < columns.size(); ++i) {
    const std::size_t more = kBetween + columns[i].least;
    if (used + more > available && parts.back().size() > keys) {
      parts.push_back(first);
      used = first_width;
    }
    parts.back().push_back(i);
    used += more;
  }
  return parts;
}

/// Appends the lines that `cells` take, broken at `widths`.
void append_wrapped(const Row& cells, const std::vector<std::size_t>& widths, bool at_bottom,
                    std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> lines;
  std::size_t height = 1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    lines.push_back(lines_within(cells[i].text, widths[i]));
    height = std::max(height, lines.back().size());
  }
  for (std::size_t line = 0; line < height; ++line) {
    Row row;
    for (const auto& cell : lines) {
      const std::size_t above = at_bottom ? height - cell.size() : 0;
      const bool inside = line >= above && line - above < cell.size();
      row.push_back(inside ? cell[line - above] : std::string());
    }
    rows.push_back(std::move(row));
  }
}

/// Some columns of a table within `available`; titles become rows, since they may take two.
Table part(const Table& table, const std::vector<std::size_t>& columns,
           const std::vector<Widths>& all, std::size_t available) {
  std::vector<Widths> chosen;
  Table result;
  Row titles;
  for (const std::size_t i : columns) {
    chosen.push_back(all[i]);
    // A right-aligned sentence that is broken reads badly.
    const bool sentence = !has_titles(table) && total({all[0].natural, all[i].natural}) > available;
    result.columns.push_back({.title = "", .right = table.columns[i].right && !sentence});
    titles.push_back(table.columns[i].title);
  }
  const std::vector<std::size_t> widths = narrowed(chosen, available);
  if (has_titles(table)) {
    append_wrapped(titles, widths, true, result.rows);
    Row rule;
    for (const std::size_t width : widths) rule.emplace_back(std::string(width, '-'));
    result.rows.push_back(std::move(rule));
  }
  for (const Row& row : table.rows) {
    Row cells;
    for (const std::size_t i : columns) cells.push_back(row[i]);
    append_wrapped(cells, widths, false, result.rows);
  }
  return result;
}

std::vector<Table> fitted_tables(const Table& table, std::size_t available) {
  std::vector<Widths> widths;
  std::vector<std::size_t> natural;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    widths.push_back(widths_of(table, i));
    natural.push_back(widths.back().natural);
  }
  if (table.columns.empty() || total(natural) <= available) return {table};
  std::vector<Table> parts;
  for (const auto& columns : parts_of(widths, key_columns(table), available)) {
    parts.push_back(part(table, columns, widths, available));
  }
  for (std::size_t i = 0; i < parts.size() && !table.title.empty(); ++i) {
    parts[i].title = i == 0 ? table.title : table.title + " (continued)";
  }
  return parts;
}

// ---- colours

constexpr std::string_view kBold = "\033[1m", kRed = "\033[31m", kGreen = "\033[32m",
                           kYellow = "\033[33m", kBlue = "\033[34m", kReset = "\033[0m";

struct Phrase {
  std::string_view text;
  std::string_view colour;
};

/// The first match at a position wins, so longer ones stand before their prefixes.
constexpr Phrase kPhrases[] = {
    {"Does not fit", kRed},
    {"does not fit", kRed},
    {"The SLO is not met", kRed},
    {"The SLO is met", kGreen},
    {"missed", kRed},
    {"Saturated", kRed},
    {"saturated", kRed},
    {"not met", kRed},
    {"No load meets the SLO", kRed},
    {"Undecided", kYellow},
    {"undecided", kYellow},
    {"not all requests served", kRed},
    {"Keeps up", kGreen},
    {"keeps up", kGreen},
    {"Fits", kGreen},
    {"met", kGreen},
    {"Throttled", kRed},
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The phrase that stands at `at` as whole words, or nullptr.
const Phrase* phrase_at(std::string_view line, std::size_t at) {
  if (at > 0 && is_word(line[at - 1])) return nullptr;
  for (const Phrase& phrase : kPhrases) {
    if (line.substr(at, phrase.text.size()) != phrase.text) continue;
    const std::size_t end = at + phrase.text.size();
    if (end == line.size() || !is_word(line[end])) return &phrase;
  }
  return nullptr;
}

/// Short words of tables ("met", "missed") are verdicts only as a cell: at the end of a line or
/// before two spaces, and after two.
bool is_verdict(std::string_view line, std::size_t at, const Phrase& phrase) {
  const bool lower = std::islower(static_cast<unsigned char>(phrase.text.front())) != 0;
  // A capital begins a sentence, or the title of a column ("Fits").
  if (!lower) return line.find_first_not_of(' ') == at;
  const std::size_t end = at + phrase.text.size();
  const std::string_view rest = line.substr(end);
  const bool last = rest.empty() || rest.starts_with("  ") || rest.starts_with(" in ");
  return last && at >= 2 && line.substr(at - 2, 2) == "  ";
}

/// Blocks of a bar: U+2580 to U+259F, which are E2 96 80 to E2 96 9F in UTF-8.
std::size_t bar_length(std::string_view text) {
  std::size_t length = 0;
  while (text.substr(length).starts_with("\xE2\x96") && length + 2 < text.size() &&
         static_cast<unsigned char>(text[length + 2]) < 0xA0) {
    length += 3;
  }
  return length;
}

void append_coloured(std::string_view line, std::string& result) {
  const auto paint = [&result](std::string_view text, std::string_view colour) {
    result.append(colour).append(text).append(kReset);
  };
  for (std::size_t at = 0; at < line.size();) {
    const std::string_view rest = line.substr(at);
    const Phrase* phrase = phrase_at(line, at);
    if (phrase != nullptr && is_verdict(line, at, *phrase)) {
      paint(phrase->text, phrase->colour);
      at += phrase->text.size();
    } else if (const std::size_t bar = bar_length(rest); bar > 0) {
      paint(rest.substr(0, bar), kBlue);
      at += bar;
    } else {
      result += line[at++];
    }
  }
}

}  // namespace

ColourChoice parse_colour_choice(const std::string& text) {
  if (text == "auto") return ColourChoice::automatic;
  if (text == "always") return ColourChoice::always;
  if (text == "never") return ColourChoice::never;
  throw UsageError("`color`: '" + text + "' is not auto, always or never");
}

Terminal terminal_of_output(const char* columns, const char* no_color, const char* term) {
  if (isatty(STDOUT_FILENO) != 1) return {};
  Terminal terminal;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) terminal.width = size.ws_col;
  const std::string_view given = columns == nullptr ? "" : columns;
  if (!given.empty() && given.size() < 6 &&
      given.find_first_not_of("0123456789") == std::string_view::npos) {
    terminal.width = std::stoul(std::string(given));
  }
  const bool plain = no_color != nullptr && *no_color != '\0';
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  terminal.colour = !plain && !dumb;
  return terminal;
}

Document fitted(Document document, std::size_t width) {
  if (width == 0) return document;
  width = std::max(width, kNarrowest);
  std::vector<Section> sections;
  bool indented = false;
  for (Section& section : document.sections) {
    indented = indented || !section.heading.empty();
    const std::size_t available = width - (indented ? 2 : 0);
    Section fitting{.heading = section.heading, .lines = {}, .table = {}};
    for (const std::string& line : section.lines) {
      std::ranges::move(lines_within(line, available), std::back_inserter(fitting.lines));
    }
    std::vector<Table> parts = fitted_tables(section.table, available);
    fitting.table = std::move(parts.front());
    sections.push_back(std::move(fitting));
    for (std::size_t i = 1; i < parts.size(); ++i) {
      sections.push_back(
          {.heading = section.heading.empty() ? "" : section.heading + " (continued)",
           .lines = {},
           .table = std::move(parts[i])});
    }
  }
  document.sections = std::move(sections);
  return document;
}

std::string coloured(const std::string& text, const std::vector<std::string>& headings) {
  std::string result;
  for (const std::string_view line : split(text, '\n')) {
    if (!result.empty() || line.data() != text.data()) result += '\n';
    if (!line.empty() && std::ranges::find(headings, line) != headings.end()) {
      result.append(kBold).append(line).append(kReset);
    } else {
      append_coloured(line, result);
    }
  }
  return result;
}

}  // namespace roofcast
