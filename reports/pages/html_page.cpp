#include "reports/pages/html_page.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/numbers.hpp"
#include "embedded_page.hpp"
#include "reports/figures/chart_option.hpp"
#include "reports/figures/chart_renderer.hpp"
#include "reports/figures/drawn_series.hpp"
#include "reports/figures/figure_table.hpp"
#include "reports/figures/thinned.hpp"
#include "reports/pages/html_text.hpp"

namespace roofcast {
namespace {

// The page loads nothing, from anywhere.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

// Most rows of a table that are worth showing; the chart has all of them.
constexpr std::ptrdiff_t kMaxRows = 100;

std::string_view embedded(std::string_view name) {
  for (const EmbeddedFile& text : embedded_page()) {
    if (text.name == name) return text.text;
  }
  return {};
}

/// The parts of a page.
struct Page {
  std::string html{};
  Json options = Json::object();  // of the charts, by figure id
  std::optional<ChartRenderer> renderer{};
};

void add_cells(std::string& html, const Table& table, const std::vector<Cell>& row) {
  html += "<tr>";
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool right = i < table.columns.size() && table.columns[i].right;
    const bool names = i == 0 && !row[i].text.empty();  // row header
    html +=
        fmt::format("<{}{}>{}</{}>", names ? "th scope=\"row\"" : "td", right ? " class=\"n\"" : "",
                    html_escaped(row[i].text), names ? "th" : "td");
  }
  html += "</tr>\n";
}

std::string table_html(const Table& table, const std::string& caption) {
  const auto titled = [](const Column& column) { return !column.title.empty(); };
  // Wide tables scroll, also by keyboard.
  std::string html =
      fmt::format("<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n",
                  html_escaped(caption));
  if (!table.title.empty()) html += "<caption>" + html_escaped(table.title) + "</caption>\n";
  if (std::any_of(table.columns.begin(), table.columns.end(), titled)) {
    html += "<thead><tr>";
    for (const Column& column : table.columns) {
      const char* tag = titled(column) ? "th" : "td";
      html += fmt::format("<{}{}{}>{}</{}>", tag, titled(column) ? " scope=\"col\"" : "",
                          column.right ? " class=\"n\"" : "", html_escaped(column.title), tag);
    }
    html += "</tr></thead>\n";
  }
  html += "<tbody>\n";
  const std::ptrdiff_t count = std::ssize(table.rows);
  const std::ptrdiff_t shown = std::min(count, kMaxRows);
  for (std::ptrdiff_t i = 0; i < shown; ++i) {
    add_cells(html, table, table.rows[static_cast<std::size_t>(i)]);
  }
  html += "</tbody></table></div>\n";
  if (shown == count) return html;
  return html + fmt::format("<p>The first {} of {} rows; roofcast report --csv has them all.</p>\n",
                            shown, with_separators(count));
}

/// The chart as a picture, and the element in which scripts draw the interactive one.
void add_chart(Page& page, const Figure& figure, const std::string& id) {
  const ChartSize size = chart_size(figure);
  const Json option = chart_option(figure);
  page.html += fmt::format(
      "<div class=\"still\" role=\"img\" aria-label=\"{}\">{}</div>\n"
      "<div class=\"live\" role=\"img\" aria-label=\"{}\" data-figure=\"{}\" data-height=\"{}\" "
      "hidden></div>\n",
      html_escaped(figure.caption), page.renderer->svg(option, size, "still-" + id),
      html_escaped(figure.caption), id, size.height);
  page.options[id] = option;
}

void add_figure(Page& page, const Figure& whole) {
  const std::string id = figure_id(whole);
  const Figure figure = thinned_figure(whole);
  const bool drawn = page.renderer && can_be_drawn(figure);
  page.html += fmt::format(
      "<figure id=\"figure-{0}\" aria-labelledby=\"title-{0}\">\n<h3 id=\"title-{0}\">{1}</h3>\n",
      id, html_escaped(figure.title));
  if (drawn) add_chart(page, figure, id);
  page.html += fmt::format(
      "<figcaption>{}</figcaption>\n<details{}><summary>Data</summary>\n{}</details>\n</figure>\n",
      html_escaped(figure.caption), drawn ? "" : " open",
      table_html(figure_table(figure), "Data: " + figure.title));
}

/// A long one, such as a scenario file, is folded.
std::string command_html(const std::string& command) {
  const std::string text = "<pre tabindex=\"0\"><code>" + html_escaped(command) + "</code></pre>\n";
  const auto lines = 1 + std::ranges::count(command, '\n');
  constexpr std::ptrdiff_t kMostLines = 16;
  if (lines <= kMostLines) return text;
  const bool json = command.starts_with('{');
  return fmt::format("<details><summary>{}, {} lines</summary>\n{}</details>\n",
                     json ? "The scenario as a file" : "The whole text", lines, text);
}

void add_section(Page& page, const ReportSection& section, std::size_t index) {
  page.html += fmt::format(
      "<section id=\"section-{0}\" aria-labelledby=\"heading-{0}\">\n"
      "<h2 id=\"heading-{0}\">{1}</h2>\n",
      index, html_escaped(section.heading));
  for (const std::string& line : section.lines) {
    page.html += "<p>" + html_sentence(line) + "</p>\n";
  }
  for (const std::string& command : section.commands) page.html += command_html(command);
  if (!section.figures.empty()) page.html += "<div class=\"figures\">\n";
  for (const Figure& figure : section.figures) add_figure(page, figure);
  if (!section.figures.empty()) page.html += "</div>\n";
  for (std::size_t i = 0; i < section.tables.size(); ++i) {
    const Table& table = section.tables[i];
    // Regions of a page need unique names.
    const std::string& name = table.title.empty() ? section.heading : table.title;
    page.html += table_html(table, fmt::format("{} (table {}.{})", name, index + 1, i + 1));
  }
  page.html += "</section>\n";
}

void add_head(Page& page, const Report& report) {
  page.html += fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<link rel=\"icon\" "
      "href=\"data:,\">\n<title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n",
      kPolicy, html_escaped(report.title), embedded("theme"), embedded("style"));
}

void add_answer(Page& page, const Report& report) {
  const char* kind = !report.verdict ? "" : *report.verdict ? " yes" : " no";
  page.html += fmt::format(
      "<header>\n<p class=\"tool\">Roofcast report</p>\n<h1>{}</h1>\n<p "
      "class=\"answer{}\">{}</p>\n",
      html_escaped(report.title), kind, html_escaped(report.answer));
  if (!report.tiles.empty()) page.html += "<ul class=\"tiles\">\n";
  for (const ReportTile& tile : report.tiles) {
    page.html +=
        fmt::format("<li><span>{}</span><b>{}</b><small>{}</small></li>\n", html_escaped(tile.name),
                    html_escaped(tile.value), html_escaped(tile.note));
  }
  if (!report.tiles.empty()) page.html += "</ul>\n";
  if (!report.facts.empty()) page.html += "<dl>\n";
  for (const auto& [name, value] : report.facts) {
    page.html +=
        fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html_escaped(name), html_escaped(value));
  }
  if (!report.facts.empty()) page.html += "</dl>\n";
  page.html += "</header>\n<nav aria-label=\"Sections\"><ul>\n";
  for (std::size_t i = 0; i < report.sections.size(); ++i) {
    page.html += fmt::format("<li><a href=\"#section-{}\">{}</a></li>\n", i,
                             html_escaped(report.sections[i].heading));
  }
  page.html += "</ul>\n<button type=\"button\" id=\"theme\" hidden>Dark</button></nav>\n<main>\n";
}

}  // namespace

std::string html_page(const Report& report) {
  Page page;
  if (has_charts()) page.renderer.emplace();
  add_head(page, report);
  add_answer(page, report);
  for (std::size_t i = 0; i < report.sections.size(); ++i) {
    add_section(page, report.sections[i], i);
  }
  page.html += "</main>\n<footer><p>" + html_escaped(report.footer) + "</p></footer>\n";
  if (page.renderer) {
    page.html += "<script type=\"application/json\" id=\"options\">";
    page.html += json_in_script(page.options);
    page.html += "</script>\n<script>\n";
    page.html += chart_script();
    page.html += "</script>\n<script>\n";
    page.html += embedded("report");
    page.html += "</script>\n<!--\n" + html_escaped(embedded("copyright")) + "-->\n";
  }
  return page.html + "</body>\n</html>\n";
}

}  // namespace roofcast
