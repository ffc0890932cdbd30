#include "cli/gpus_document.hpp"

#include <string>
#include <utility>

#include "base/numbers.hpp"
#include "cli/calibrate/measured_document.hpp"
#include "model/step/roofline.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {
namespace {

std::string peak(const Gpu& gpu, DType dtype) {
  const auto found = gpu.dense_peak.find(dtype);
  return found == gpu.dense_peak.end() ? "-" : fixed(found->second.value / 1e12, 0);
}

Json link_json(const std::optional<Link>& link) {
  if (!link) return nullptr;
  return {{"name", link->name},
          {"bandwidth_bytes_per_s", link->bandwidth.value},
          {"latency_s", link->latency.value}};
}

Json gpu_json(const GpuProfile& profile) {
  const Gpu& gpu = profile.gpu;
  Json json;
  json["name"] = gpu.name;
  json["display_name"] = gpu.display_name;
  json["aliases"] = gpu.aliases;
  json["architecture"] = gpu.architecture;
  json["memory_bytes"] = static_cast<std::int64_t>(gpu.memory.value);
  json["memory_visible_bytes"] = static_cast<std::int64_t>(gpu.memory_visible.value);
  json["memory_bandwidth_bytes_per_s"] = gpu.memory_bandwidth.value;
  Json peaks = Json::object();
  Json ridges = Json::object();
  for (const auto& [dtype, rate] : gpu.dense_peak) {
    peaks[std::string(name_of(dtype))] = rate.value;
    ridges[std::string(name_of(dtype))] = ridge_point(gpu, dtype).value;
  }
  json["dense_peak_flops_per_s"] = std::move(peaks);
  json["ridge_flops_per_byte"] = std::move(ridges);
  json["peer_link"] = link_json(gpu.peer);
  json["host_link"] = link_json(gpu.host);
  json["network_link"] = link_json(gpu.network);
  json["gpus_per_node"] = gpu.gpus_per_node;
  json["board_power_w"] = gpu.board_power ? Json(gpu.board_power->value) : Json(nullptr);
  json["price_usd_per_h"] = gpu.price ? Json(gpu.price->value) : Json(nullptr);
  json["profile_hash"] = profile.hash;
  json["sources"] = gpu.sources;
  return json;
}

Table fact_table(const Gpu& gpu) {
  Table table{.title = "", .columns = {{"", false}, {"", false}}, .rows = {}};
  auto row = [&](const std::string& name, const std::string& value) {
    table.rows.push_back({name, value});
  };
  row("memory", as_gib(gpu.memory) + " nominal, " + as_gib(gpu.memory_visible) + " visible");
  row("memory bandwidth", as_rate(gpu.memory_bandwidth));
  row(is_cpu(gpu) ? "last-level cache" : "L2 cache", as_bytes(gpu.l2_cache));
  row(is_cpu(gpu) ? "cores" : "multiprocessors", with_separators(gpu.multiprocessors));
  for (const auto& [name, link] :
       {std::pair{"to peers", gpu.peer}, {"to the host", gpu.host}, {"network", gpu.network}}) {
    if (link) row(name, link->name + ", " + as_rate(link->bandwidth) + " per direction");
  }
  if (!is_cpu(gpu)) row("GPUs per node", with_separators(gpu.gpus_per_node));
  if (gpu.board_power) row("board power", fixed(gpu.board_power->value, 0) + " W");
  if (gpu.price) row("typical price", "$" + fixed(gpu.price->value, 2) + " per hour");
  return table;
}

Table peak_table(const Gpu& gpu) {
  Table table{.title = "Dense peaks",
              .columns = {{"Format", false}, {"Rate"}, {"Ridge (FLOP/byte)"}},
              .rows = {}};
  for (const auto& [dtype, rate] : gpu.dense_peak) {
    table.rows.push_back(
        {std::string(name_of(dtype)), as_rate(rate), fixed(ridge_point(gpu, dtype).value, 1)});
  }
  return table;
}

Table source_table(const Gpu& gpu) {
  Table table{.title = "Sources", .columns = {{"Number", false}, {"Source", false}}, .rows = {}};
  for (const auto& [key, source] : gpu.sources) table.rows.push_back({key, source});
  return table;
}

}  // namespace

Document gpu_list_document() {
  Document document{.machine = envelope("gpus", Json::object()), .sections = {}};
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
  Json gpus = Json::array();
  for (const std::string& name : gpu_names()) {
    const GpuProfile profile = load_gpu(name);
    const Gpu& gpu = profile.gpu;
    table.rows.push_back({name, fixed(gpu.memory_visible.value / kGiB, 1),
                          fixed(gpu.memory_bandwidth.value / 1e12, 2), peak(gpu, DType::bf16),
                          peak(gpu, DType::fp8), peak(gpu, DType::int8), peak(gpu, DType::fp4),
                          gpu.board_power ? fixed(gpu.board_power->value, 0) : "-",
                          gpu.price ? fixed(gpu.price->value, 2) : "-"});
    gpus.push_back(gpu_json(profile));
  }
  document.machine["gpus"] = std::move(gpus);
  document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
  return document;
}

Document gpu_document(const GpuProfile& profile) {
  const Gpu& gpu = profile.gpu;
  Document document{.machine = envelope("gpus", {{"gpu", gpu.name}}), .sections = {}};
  document.machine.update(gpu_json(profile));
  document.sections.push_back({.heading = gpu.display_name, .lines = {}, .table = fact_table(gpu)});
  document.sections.push_back({.heading = "", .lines = {}, .table = peak_table(gpu)});
  if (gpu.measured) add_measured(document, gpu);
  if (!gpu.sources.empty()) {
    document.sections.push_back({.heading = "", .lines = {}, .table = source_table(gpu)});
  }
  return document;
}

}  // namespace roofcast
