#include "reports/answers/answer_documents.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/numbers.hpp"
#include "roofcast/calibrate.hpp"

namespace roofcast {

namespace {

Printed error_cell(const FamilyError& family, double error) {
  return family.judged == 0 ? "-" : printed::percent(error);
}

Section ceilings_section(const CalibrationAnswer& answer) {
  const CalibratedCeilings& ceilings = answer.ceilings;
  Table table{.title = "Ceilings", .columns = {{"", false}, {""}, {"", false}}, .rows = {}};
  const auto share = [&](double value, double stated) {
    return stated > 0 ? as_percent(value / stated, 0) + " of the datasheet" : std::string();
  };
  const auto add_rate = [&](const char* name, BytesPerSecond rate, const std::string& note) {
    if (rate.value > 0) table.rows.push_back({name, printed::rate(rate), note});
  };
  const auto add_time = [&](const char* name, Seconds time, const char* note) {
    if (time.value > 0) table.rows.push_back({name, printed::time(time), note});
  };
  const double stated_bandwidth = answer.datasheet.memory_bandwidth.value;
  add_rate("device copy, read and written", ceilings.copy_bandwidth,
           share(ceilings.copy_bandwidth.value, stated_bandwidth));
  add_rate("weights or KV, read only", ceilings.read_bandwidth,
           share(ceilings.read_bandwidth.value, stated_bandwidth));
  for (const auto& [dtype, rate] : ceilings.gemm) {
    const auto stated = answer.datasheet.peaks.find(dtype);
    table.rows.push_back(
        {"matrix product, " + dtype, printed::rate(rate),
         share(rate.value, stated == answer.datasheet.peaks.end() ? 0 : stated->second.value)});
  }
  add_time("empty kernel, back to back", ceilings.kernel_floor, "");
  add_time("launch outside a graph", ceilings.eager_launch, "of the host");
  add_time("replay of a recorded step", ceilings.graph_launch, "of the host");
  add_time("copying a step's inputs in and tokens out", ceilings.engine_step, "of the host");
  add_rate("host to device", ceilings.upload_bandwidth, "");
  add_rate("device to host", ceilings.download_bandwidth, "");
  return {.heading = "", .lines = {}, .table = std::move(table)};
}

Section errors_section(const std::vector<FamilyError>& families) {
  Table table{.title = "Each point predicted from the others (leave one out)",
              .columns = {{"Family", false},
                          {"Kernels", false},
                          {"Curves"},
                          {"Points"},
                          {"Median error"},
                          {"p90"}},
              .rows = {}};
  for (const FamilyError& family : families) {
    table.rows.push_back({std::string(name_of(family.family)), family.kernel,
                          std::to_string(family.curves), std::to_string(family.points),
                          error_cell(family, family.median_error),
                          error_cell(family, family.p90_error)});
  }
  return {.heading = "", .lines = {}, .table = std::move(table)};
}

Section worst_section(const std::vector<PointError>& worst) {
  Table table{.title = "Worst points", .columns = {{"Point", false}, {"Error"}}, .rows = {}};
  for (const PointError& point : worst) {
    table.rows.push_back({point.place, printed::percent(point.error)});
  }
  return {.heading = "", .lines = {}, .table = std::move(table)};
}

}  // namespace

Document calibration_document(const CalibrationAnswer& answer) {
  Document document{.machine = to_json(answer), .sections = {}};
  const std::string& model = answer.inputs.model;
  document.sections.push_back(
      {.heading = answer.gpu_display_name,
       .lines = {fmt::format("{} points of {} in {}; profile in {}", answer.points,
                             model.empty() ? "generic shapes" : "shapes of " + model,
                             as_time(Seconds{answer.elapsed_s}), answer.profile)},
       .table = {}});
  document.sections.push_back(ceilings_section(answer));
  document.sections.push_back(errors_section(answer.families));
  document.sections.push_back(worst_section(answer.worst));
  document.sections.push_back({.heading = "", .lines = answer.notes, .table = {}});
  return document;
}

std::optional<std::string> failure_of(const CalibrationAnswer& answer) {
  if (answer.fault.empty()) return std::nullopt;
  return fmt::format(
      "the device failed: {}; {} holds the points timed before that and is marked incomplete; the "
      "same command with --resume continues",
      answer.fault, answer.profile);
}

}  // namespace roofcast
