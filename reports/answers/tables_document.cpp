#include "reports/answers/answer_documents.hpp"

#include <fmt/format.h>

#include <map>
#include <string>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/wording.hpp"
#include "roofcast/import.hpp"

namespace roofcast {
namespace {

std::int64_t total_of(const std::vector<UnusedRows>& list) {
  std::int64_t total = 0;
  for (const UnusedRows& unused : list) total += unused.rows;
  return total;
}

Section unused_section(const std::string& heading, const std::vector<UnusedRows>& list) {
  Table table{
      .title = "", .columns = {{"Rows"}, {"Reason", false}, {"First of them", false}}, .rows = {}};
  for (const UnusedRows& unused : list) {
    table.rows.push_back({printed::count(unused.rows), unused.reason, joined(unused.first)});
  }
  return {.heading = heading, .lines = {}, .table = std::move(table)};
}

/// The outcome of the rows, by kind of table.
Section tables_section(const std::vector<TableRows>& tables) {
  std::map<std::string, TableRows> kinds;
  for (const TableRows& one : tables) {
    TableRows& sum = kinds[one.kind];
    sum.rows += one.rows;
    sum.duplicates += one.duplicates;
    sum.refused += one.refused;
    sum.unused += one.unused;
  }
  Table table{
      .title = "",
      .columns =
          {{"Kind", false}, {"Rows"}, {"Used"}, {"Duplicates"}, {"Rejected"}, {"Not usable"}},
      .rows = {}};
  for (const auto& [kind, sum] : kinds) {
    table.rows.push_back({kind, printed::count(sum.rows), printed::count(sum.used()),
                          printed::count(sum.duplicates), printed::count(sum.refused),
                          printed::count(sum.unused)});
  }
  return {.heading = "Tables", .lines = {}, .table = std::move(table)};
}

Section families_section(const std::vector<TablesFamily>& families) {
  Table table{.title = "",
              .columns = {{"Operator", false},
                          {"Kernel", false},
                          {"Curves"},
                          {"Points"},
                          {"Error, median"},
                          {"p90"}},
              .rows = {}};
  for (const TablesFamily& family : families) {
    const bool judged = family.judged > 0;
    table.rows.push_back({std::string(name_of(family.family)), family.kernel,
                          printed::count(static_cast<std::int64_t>(family.curves)),
                          printed::count(static_cast<std::int64_t>(family.points)),
                          judged ? printed::percent(family.median_error) : "-",
                          judged ? printed::percent(family.p90_error) : "-"});
  }
  return {.heading = "Curves",
          .lines = {"Errors: each point predicted from the others of its curve."},
          .table = std::move(table)};
}

}  // namespace

Document tables_document(const TablesAnswer& answer) {
  Document document{.machine = to_json(answer), .sections = {}};
  Section head{.heading = fmt::format("{} ({})", answer.inputs.out, answer.gpu_display_name),
               .lines = {},
               .table = {}};
  head.lines.push_back(fmt::format(
      "{} rows: {} rejected, {} not usable here; {} points in {}", with_separators(answer.rows),
      with_separators(total_of(answer.refused)), with_separators(total_of(answer.unused)),
      with_separators(answer.points), counted(answer.curves, "curve")));
  if (answer.mixed > 0) {
    head.lines.push_back(fmt::format("{} rows with prefill and decode in one call made one curve",
                                     with_separators(answer.mixed)));
  }
  head.lines.push_back(
      answer.inputs.out.ends_with(".curves")
          ? std::string("to build it in, put it into hardware_profiles/ and name it in a profile "
                        "(kernel_tables)")
          : fmt::format("use it with --gpu {}", answer.inputs.out));
  document.sections.push_back(std::move(head));
  if (!answer.tables.empty()) document.sections.push_back(tables_section(answer.tables));
  document.sections.push_back(families_section(answer.families));
  if (!answer.duplicates.empty()) {
    document.sections.push_back(unused_section("Duplicates", answer.duplicates));
  }
  if (!answer.refused.empty()) {
    document.sections.push_back(unused_section("Rejected", answer.refused));
  }
  if (!answer.unused.empty()) {
    document.sections.push_back(unused_section("Not usable here", answer.unused));
  }
  return document;
}

}  // namespace roofcast
