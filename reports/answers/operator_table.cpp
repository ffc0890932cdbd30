#include "reports/answers/operator_table.hpp"

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
    table.rows.push_back({part.name, printed::count(part.calls), printed::time(part.time),
                          printed::percent(part.time / step.total),
                          printed::fixed(part.flops.value / 1e9, 2),
                          printed::fixed(part.bytes.value / 1e6, 2),
                          part.intensity ? printed::fixed(part.intensity->value, 1) : "-",
                          part.floor ? printed::time(*part.floor) : "-",
                          part.efficiency ? printed::percent(*part.efficiency, 0) : "-",
                          std::string(name_of(part.bound)), source_of(part),
                          printed::percent(part.relative_uncertainty, 0)});
  }
  table.rows.push_back({"host, exposed", "", printed::time(step.host),
                        printed::percent(step.host / step.total), "", "", "", "", "", "", "", ""});
  return table;
}

}  // namespace roofcast
