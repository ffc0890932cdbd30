#include "cli/calibrate/profile_document.hpp"

#include <fmt/format.h>

#include "base/numbers.hpp"
#include "calibrate/curve_errors.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {
namespace {

std::int64_t total_of(const std::map<std::string, LeftOut>& list) {
  std::int64_t total = 0;
  for (const auto& [reason, left_out] : list) total += left_out.rows;
  return total;
}

Json left_out_json(const std::map<std::string, LeftOut>& list) {
  Json json = Json::array();
  for (const auto& [reason, left_out] : list) {
    json.push_back({{"reason", reason}, {"rows", left_out.rows}, {"first", left_out.first}});
  }
  return json;
}

Section left_out_section(const std::string& heading, const std::map<std::string, LeftOut>& list) {
  Table table{
      .title = "", .columns = {{"Rows"}, {"Reason", false}, {"First of them", false}}, .rows = {}};
  for (const auto& [reason, left_out] : list) {
    table.rows.push_back({with_separators(left_out.rows), reason,
                          fmt::format("{}", fmt::join(left_out.first, ", "))});
  }
  return {.heading = heading, .lines = {}, .table = std::move(table)};
}

Json families_json(const std::vector<FamilyError>& families) {
  Json json = Json::array();
  for (const FamilyError& family : families) {
    json.push_back({{"family", name_of(family.family)},
                    {"kernel", family.kernel},
                    {"curves", family.curves},
                    {"points", family.points},
                    {"median_error", family.median_error},
                    {"p90_error", family.p90_error}});
  }
  return json;
}

Section families_section(const std::vector<FamilyError>& families) {
  Table table{.title = "",
              .columns = {{"Operator", false},
                          {"Kernel", false},
                          {"Curves"},
                          {"Points"},
                          {"Error, median"},
                          {"p90"}},
              .rows = {}};
  for (const FamilyError& family : families) {
    const bool judged = family.judged > 0;
    table.rows.push_back({std::string(name_of(family.family)), family.kernel,
                          with_separators(static_cast<std::int64_t>(family.curves)),
                          with_separators(static_cast<std::int64_t>(family.points)),
                          judged ? as_percent(family.median_error) : "-",
                          judged ? as_percent(family.p90_error) : "-"});
  }
  return {.heading = "Curves",
          .lines = {"Errors: each point answered from the others of its curve."},
          .table = std::move(table)};
}

}  // namespace

Document import_document(const ProfileImport& import) {
  const ImportedRows& rows = import.rows;
  const std::vector<FamilyError> families = curve_errors(import.gpu, 0).families;
  std::size_t points = 0;
  for (const MeasuredCurve& curve : import.gpu.measured->curves) points += curve.points.size();

  Document document{
      .machine = envelope("profile import",
                          {{"files", import.files}, {"gpu", import.gpu.name}, {"out", import.out}}),
      .sections = {}};
  document.machine["rows"] = rows.rows;
  document.machine["curves"] = import.gpu.measured->curves.size();
  document.machine["points"] = points;
  document.machine["rows_of_mixed_calls"] = rows.mixed;
  document.machine["refused"] = left_out_json(rows.refused);
  document.machine["unused"] = left_out_json(rows.unused);
  document.machine["families"] = families_json(families);

  Section head{.heading = fmt::format("{} ({})", import.out, import.gpu.display_name),
               .lines = {},
               .table = {}};
  const std::size_t curves = import.gpu.measured->curves.size();
  head.lines.push_back(fmt::format(
      "{} rows: {} refused, {} of no use here; {} points in {} {}", with_separators(rows.rows),
      with_separators(total_of(rows.refused)), with_separators(total_of(rows.unused)),
      with_separators(static_cast<std::int64_t>(points)),
      with_separators(static_cast<std::int64_t>(curves)), curves == 1 ? "curve" : "curves"));
  if (rows.mixed > 0) {
    head.lines.push_back(fmt::format("{} rows of prefill and decode in one call made one curve",
                                     with_separators(rows.mixed)));
  }
  head.lines.push_back(fmt::format("use it as --gpu {}", import.out));
  document.sections.push_back(std::move(head));
  document.sections.push_back(families_section(families));
  if (!rows.refused.empty()) {
    document.sections.push_back(left_out_section("Refused", rows.refused));
  }
  if (!rows.unused.empty()) {
    document.sections.push_back(left_out_section("Of no use here", rows.unused));
  }
  return document;
}

}  // namespace roofcast
