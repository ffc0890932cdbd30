#include "reports/answers/answer_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/numbers.hpp"
#include "model/io/gpu_reader.hpp"
#include "planner/scenario/prices.hpp"
#include "reports/answers/gpu_sections.hpp"
#include "roofcast/gpus.hpp"

namespace roofcast {
namespace {

Printed peak(const GpuFacts& gpu, std::string_view format) {
  const auto found = std::find_if(gpu.dense_peaks.begin(), gpu.dense_peaks.end(),
                                  [&](const auto& one) { return one.first == format; });
  return found == gpu.dense_peaks.end() ? "-" : printed::fixed(found->second.value / 1e12, 0);
}

}  // namespace

Document gpus_document(const GpuListAnswer& answer) {
  Table table{.title = "Dense peaks in TFLOP/s",
              .columns = {{"GPU", false},
                          {"Memory (GiB)"},
                          {"TB/s"},
                          {"bf16"},
                          {"fp8"},
                          {"int8"},
                          {"fp4"},
                          {"W"},
                          {"$/h"}},
              .rows = {}};
  for (const GpuFacts& gpu : answer.gpus) {
    table.rows.push_back({gpu.name,
                          printed::fixed(static_cast<double>(gpu.memory_visible_bytes) / kGiB, 1),
                          printed::fixed(gpu.memory_bandwidth.value / 1e12, 2), peak(gpu, "bf16"),
                          peak(gpu, "fp8"), peak(gpu, "int8"), peak(gpu, "fp4"),
                          gpu.board_power ? printed::fixed(gpu.board_power->value, 0) : "-",
                          gpu.price ? printed::fixed(gpu.price->value, 2) : "-"});
  }
  return {.machine = to_json(answer),
          .sections = {{.heading = "", .lines = {}, .table = std::move(table)}}};
}

Document prices_document(const PriceTable& prices) {
  const auto hourly = [](const std::optional<DollarsPerHour>& price) -> Cell {
    return price ? printed::fixed(price->value, 2) : "-";
  };
  Table table{
      .title = "Dollars per hour of one GPU",
      .columns =
          {{"GPU", false}, {"On demand"}, {"Reserved"}, {"Spot"}, {"Owned"}, {"Bought for ($)"}},
      .rows = {}};
  for (const auto& [name, one] : prices.gpus) {
    const Gpu gpu = load_gpu(name).gpu;
    table.rows.push_back({name, hourly(one.on_demand ? one.on_demand : gpu.price),
                          hourly(one.reserved), hourly(one.spot),
                          hourly(owned_price(prices, one, gpu)),
                          one.capital_dollars ? printed::fixed(*one.capital_dollars, 0) : "-"});
  }
  return {
      .machine = {},
      .sections = {
          {.heading = "",
           .lines = {fmt::format(
               "Owned: what it was bought for over {:g} years, and its board's limit at ${:.2f} "
               "per kWh times {:g} (PUE); answers on a load count the watts drawn.",
               prices.amortisation_years, prices.power_dollars_per_kwh, prices.pue)},
           .table = std::move(table)}}};
}

Document gpu_document(const GpuAnswer& answer) {
  return {.machine = to_json(answer), .sections = gpu_sections(answer)};
}

}  // namespace roofcast
