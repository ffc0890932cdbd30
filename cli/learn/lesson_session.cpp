#include "cli/learn/lesson_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <istream>
#include <optional>
#include <ostream>

#include "base/quantity.hpp"
#include "base/text.hpp"
#include "reports/figures/figure_table.hpp"
#include "reports/pages/figures/lesson_figures.hpp"

namespace roofcast {
namespace {

constexpr std::size_t kWidth = 80;

class Session {
 public:
  Session(std::istream& in, std::ostream& out) : in_(in), out_(out) {}

  void say(std::string_view text, std::string_view indent = "") {
    for (const std::string& line : wrapped(text, kWidth - indent.size())) {
      out_ << indent << line << "\n";
    }
  }
  void paragraphs(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      say(text);
      out_ << "\n";
    }
  }
  /// The next line; nullopt at the end of the input.
  std::optional<std::string> ask(std::string_view prompt) {
    out_ << prompt << std::flush;
    std::string line;
    if (std::getline(in_, line)) return line;
    out_ << "\n";
    return std::nullopt;
  }

  std::ostream& out() { return out_; }

 private:
  std::istream& in_;
  std::ostream& out_;
};

void show_choices(const LessonAsk& ask, Session& session) {
  for (std::size_t i = 0; i < ask.choices.size(); ++i) {
    session.say(fmt::format("{}  {}", i + 1, ask.choices[i].text), "  ");
  }
  for (std::size_t i = 0; i < ask.items.size(); ++i) {
    session.say(fmt::format("{}  {}", static_cast<char>('a' + i), ask.items[i].text), "  ");
  }
}

std::string prompt_of(const LessonAsk& ask) {
  switch (ask.kind) {
    case GuessKind::choice:
      return fmt::format("Your guess (1-{}): ", ask.choices.size());
    case GuessKind::number:
      return fmt::format("Your guess ({}): ", ask.unit);
    case GuessKind::match:
      return fmt::format("The numbers for a to {}, such as 1 2 3: ",
                         static_cast<char>('a' + ask.items.size() - 1));
  }
  return {};
}

/// Asks until the guess can be read; a skipped one is answered, not judged. False at the end of
/// input.
bool take_guess(const LessonAsk& ask, Session& session) {
  session.say(ask.prompt);
  show_choices(ask, session);
  while (true) {
    const auto line = session.ask(prompt_of(ask));
    if (!line) return false;
    if (trimmed(*line).empty()) {
      session.say("\nThe answer: " + answer_words(ask) + ".");
      return true;
    }
    if (const auto judgement = judge(ask, *line)) {
      session.say("\n" + judgement->said);
      return true;
    }
    session.say(ask.kind == GuessKind::number ? "That is not a number (an empty line skips)."
                                              : "That is none of them (an empty line skips).");
  }
}

/// Height of the first series in each row of the table; empty if it cannot be told.
std::vector<double> heights_of(const Figure& figure, const Table& table) {
  std::vector<double> heights;
  if (figure.series.empty() || figure.y.scale == AxisScale::logarithmic) return heights;
  const std::vector<FigurePoint>& points = figure.series.front().points;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (points.size() == table.rows.size()) {
      heights.push_back(points[i].y);
      continue;
    }
    std::string cell = table.rows[i].front().text;  // its x: "1,024"
    std::erase(cell, ',');
    const auto x = to_number<double>(cell);
    const auto found = x ? std::ranges::find(points, *x, &FigurePoint::x) : points.end();
    if (found == points.end()) return {};
    heights.push_back(found->y);
  }
  return heights;
}

void show_figures(const LessonStep& step, const std::vector<Figure>& figures, std::ostream& out) {
  for (const Figure& figure : figures) {
    if (std::ranges::find(step.figures, figure.key) == step.figures.end()) continue;
    Table table = table_with_bars(figure);
    table.title = figure.title;
    write({.machine = {}, .sections = {{.heading = "", .lines = {}, .table = std::move(table)}}},
          OutputFormat::table, out);
    out << "\n";
  }
}

bool hold_step(const LessonStep& step, const std::vector<Figure>& figures, Session& session) {
  session.paragraphs(step.text);
  if (step.ask && !take_guess(*step.ask, session)) return false;
  session.paragraphs(step.reveal);
  show_figures(step, figures, session.out());
  return session.ask("[Enter] ").has_value();
}

bool hold_teach_back(const LessonAnswer& answer, Session& session) {
  session.say("Answer aloud, then compare.");
  for (const TeachBack& part : answer.teach_back) {
    session.say("\n" + part.question);
    if (!session.ask("[Enter] ")) return false;
    session.say(part.answer, "  ");
  }
  return true;
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  for (const std::string_view part : split(text, '\n')) {
    std::string line;
    for (const std::string_view word : split(part, ' ')) {
      if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
        lines.push_back(std::move(line));
        line.clear();
      }
      if (!line.empty()) line += ' ';
      line += word;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

Table table_with_bars(const Figure& figure) {
  constexpr double kLongest = 24;
  Table table = figure_table(figure);
  const std::vector<double> heights = heights_of(figure, table);
  if (heights.empty()) return table;
  const double most = std::ranges::max(heights);
  if (!(most > 0)) return table;
  table.columns.push_back({figure.series.front().name, false});
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto length = static_cast<std::size_t>(std::lround(kLongest * heights[i] / most));
    table.rows[i].push_back(std::string(length, '#'));
  }
  return table;
}

void hold_lesson(const LessonAnswer& answer, const SessionOptions& options, std::istream& in,
                 std::ostream& out) {
  Session session(in, out);
  const std::vector<Figure> figures = lesson_figures(answer);
  session.say(answer.headline);
  for (const std::string& note : answer.notes) session.say(note);
  session.say("An empty line skips a guess, Ctrl-D ends the lesson.");
  for (std::size_t i = 0; i < answer.steps.size(); ++i) {
    const LessonStep& step = answer.steps[i];
    out << fmt::format("\n{}/{}  {}\n\n", i + 1, answer.steps.size(), step.title);
    if (hold_step(step, figures, session)) continue;
    session.say(fmt::format("Until later. roofcast learn {}{} shows this step again.", step.key,
                            options.again));
    return;
  }
  if (answer.teach_back.empty()) return;
  out << "\nTeach it back\n\n";
  const bool done = hold_teach_back(answer, session);
  session.say(done ? std::string("\nThat was the lesson. roofcast learn glossary explains every "
                                 "term.")
                   : fmt::format("Until later. roofcast learn teach-back{} shows these questions "
                                 "again.",
                                 options.again));
}

}  // namespace roofcast
