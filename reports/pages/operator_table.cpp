#include "reports/pages/operator_table.hpp"

#include "base/numbers.hpp"

namespace roofcast {

namespace {

/// "measured, vLLM 0.24.0".
std::string source_of(const OperatorAnswer& part) {
  std::string source(name_of(part.provenance));
  return part.tables ? source + ", " + *part.tables : source;
}

}  // namespace

Table operator_table(const ListedStep& step, const std::string& title) {
  Table table{.title = title,
              .columns = {{"Operator", false},
                          {"Calls"},
                          {"Time"},
                          {"Share"},
                          {"GFLOP"},
                          {"MB"},
                          {"FLOP/byte"},
                          {"Floor"},
                          {"Efficiency"},
                          {"Bound", false},
                          {"Source", false},
                          {"±"}},
              .rows = {}};
  for (const OperatorAnswer& part : step.operators) {
    table.rows.push_back(
        {part.name, with_separators(part.calls), as_time(part.time),
         as_percent(part.time / step.total), fixed(part.flops.value / 1e9, 2),
         fixed(part.bytes.value / 1e6, 2), part.intensity ? fixed(part.intensity->value, 1) : "-",
         part.floor ? as_time(*part.floor) : "-",
         part.efficiency ? as_percent(*part.efficiency, 0) : "-", std::string(name_of(part.bound)),
         source_of(part), as_percent(part.relative_uncertainty, 0)});
  }
  table.rows.push_back({"host, exposed", "", as_time(step.host), as_percent(step.host / step.total),
                        "", "", "", "", "", "", "", ""});
  return table;
}

}  // namespace roofcast
