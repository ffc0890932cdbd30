#include "reports/pages/report_document.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <sstream>
#include <utility>

#include "reports/figures/figure_table.hpp"

namespace roofcast {
namespace {

const char* name_of(Mark mark) {
  switch (mark) {
    case Mark::line:
      return "line";
    case Mark::step:
      return "step";
    case Mark::points:
      return "points";
    case Mark::bars:
      return "bars";
    case Mark::stacked_bars:
      break;
  }
  return "stacked_bars";
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json point_json(const Figure& figure, const FigurePoint& point) {
  Json json;
  const bool named = figure.x.scale == AxisScale::category;
  const auto index = static_cast<std::size_t>(point.x < 0 ? 0 : point.x);
  json["x"] =
      named && index < figure.x.names.size() ? Json(figure.x.names[index]) : finite(point.x);
  json["y"] = finite(point.y);
  if (point.low && point.high) {
    json["low"] = finite(*point.low);
    json["high"] = finite(*point.high);
  }
  if (!point.label.empty()) json["label"] = point.label;
  return json;
}

Json figure_json(const Figure& figure) {
  Json series = Json::array();
  for (const FigureSeries& one : figure.series) {
    Json points = Json::array();
    for (const FigurePoint& point : one.points) points.push_back(point_json(figure, point));
    series.push_back({{"name", one.name}, {"mark", name_of(one.mark)}, {"points", points}});
  }
  Json marked = Json::array();
  for (const MarkedValue& value : figure.marked) {
    marked.push_back({{"name", value.name},
                      {"axis", value.axis == MarkedValue::Across::x ? "x" : "y"},
                      {"value", finite(value.value)}});
  }
  return {{"key", figure.key},          {"title", figure.title},     {"caption", figure.caption},
          {"x_title", figure.x.title},  {"y_title", figure.y.title}, {"marked", std::move(marked)},
          {"series", std::move(series)}};
}

Json section_json(const ReportSection& section) {
  Json figures = Json::array();
  for (const Figure& figure : section.figures) figures.push_back(figure_json(figure));
  Json tables = Json::array();
  for (const Table& table : section.tables) {
    Json columns = Json::array();
    for (const Column& column : table.columns) columns.push_back(column.title);
    tables.push_back(
        {{"title", table.title}, {"columns", std::move(columns)}, {"rows", rows_json(table)}});
  }
  return {{"heading", section.heading},
          {"lines", section.lines},
          {"figures", std::move(figures)},
          {"tables", std::move(tables)},
          {"commands", section.commands}};
}

void add_section(Document& document, const ReportSection& section) {
  document.sections.push_back({.heading = section.heading, .lines = section.lines, .table = {}});
  for (const Table& table : section.tables) {
    document.sections.push_back({.heading = "", .lines = {}, .table = table});
  }
  for (const Figure& figure : section.figures) {
    Table table = figure_table(figure);
    table.title = figure.title;
    document.sections.push_back(
        {.heading = "", .lines = {figure.caption}, .table = std::move(table)});
  }
}

Section head_of(const Report& report) {
  Section head{.heading = report.title, .lines = {report.answer}, .table = {}};
  if (report.facts.empty()) return head;
  head.table.columns = {{"", false}, {"", false}};
  for (const auto& [name, value] : report.facts) head.table.rows.push_back({name, value});
  return head;
}

/// Replaces control characters except line feeds, for terminals.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char letter) { return static_cast<unsigned char>(letter) < ' ' && letter != '\n'; }, ' ');
  return text;
}

/// A fence with more backticks than any run of them in the command.
std::string fence_of(const std::string& command) {
  std::string fence = "```";
  while (command.find(fence) != std::string::npos) fence += '`';
  return fence;
}

void print_command(const std::string& command, OutputFormat format, std::ostream& out) {
  const std::string text = printable(command);
  if (format == OutputFormat::md) {
    const std::string fence = fence_of(text);
    out << "\n" << fence << "\n" << text << "\n" << fence << "\n";
    return;
  }
  out << "\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out << "  " << line << "\n";
}

}  // namespace

ReportSection report_section(Section section) {
  ReportSection shown{.heading = std::move(section.heading), .lines = std::move(section.lines)};
  if (!section.table.columns.empty()) shown.tables.push_back(std::move(section.table));
  return shown;
}

Document report_document(const Report& report) {
  Document document{.machine = report.machine, .sections = {head_of(report)}};
  document.machine["title"] = report.title;
  document.machine["answer"] = report.answer;
  document.machine["verdict"] = report.verdict ? Json(*report.verdict) : Json(nullptr);
  document.machine["facts"] = Json::object();
  for (const auto& [name, value] : report.facts) document.machine["facts"][name] = value;
  document.machine["sections"] = Json::array();
  for (const ReportSection& section : report.sections) {
    document.machine["sections"].push_back(section_json(section));
    add_section(document, section);
  }
  return document;
}

void write(const Report& report, OutputFormat format, std::ostream& out, const LaidOut& laid_out) {
  if (format != OutputFormat::md && format != OutputFormat::table) {
    return write(report_document(report), format, out);
  }
  const auto print = [&](Document part) {
    const bool laid = laid_out && format == OutputFormat::table;
    write(laid ? laid_out(std::move(part)) : std::move(part), format, out);
  };
  print({.machine = {}, .sections = {head_of(report)}});
  for (const ReportSection& section : report.sections) {
    Document part;
    add_section(part, section);
    out << "\n";
    print(std::move(part));
    for (const std::string& command : section.commands) print_command(command, format, out);
  }
}

}  // namespace roofcast
