// Writes a hardware profile. hardware_profiles/README.md documents its keys.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.hpp"
#include "model/curves/kernel_tables.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/measured_keys.hpp"

namespace roofcast {

namespace {

// Whole numbers up to this are exact in a double.
constexpr double kLargestWhole = 9007199254740992.0;  // 2^53

/// Shortest text that reads back to the same double; whole numbers have no fraction.
Json number(double value) {
  if (value == std::floor(value) && std::abs(value) <= kLargestWhole) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

template <class Tag>
Json number(Quantity<Tag> quantity) {
  return number(quantity.value);
}

Json link_json(const Link& link) {
  Json json{{"name", link.name},
            {"bandwidth_bytes_per_s", number(link.bandwidth)},
            {"latency_s", number(link.latency)}};
  if (link.bus_bandwidth) json["bus_bandwidth_bytes_per_s"] = number(*link.bus_bandwidth);
  return json;
}

Json power_json(const PowerTerms& power) {
  Json json = Json::object();
  if (power.idle) json["idle_w"] = number(*power.idle);
  if (power.active) json["active_w"] = number(*power.active);
  if (power.joules_per_byte) json["joules_per_byte"] = number(*power.joules_per_byte);
  if (power.joules_per_flop) json["joules_per_flop"] = number(*power.joules_per_flop);
  return json;
}

Json curve_json(const Curve& curve) {
  Json points = Json::array();
  for (const Curve::Point& point : curve.points) {
    points.push_back({number(point.x), number(point.y)});
  }
  Json json{{"points", std::move(points)}, {"source", curve.source}};
  if (curve.assumed) json["assumed"] = true;
  return json;
}

std::string spelling(const std::string& key) { return key; }
std::string spelling(DType dtype) { return std::string(name_of(dtype)); }
std::string spelling(int ranks) { return std::to_string(ranks); }

template <class Map>
void add_curves(Json& json, const char* key, const Map& curves) {
  if (curves.empty()) return;
  Json section = Json::object();
  for (const auto& [name, curve] : curves) section[spelling(name)] = curve_json(curve);
  json[key] = std::move(section);
}

Json efficiency_json(const Efficiencies& efficiencies) {
  Json json = Json::object();
  add_curves(json, "gemm", efficiencies.gemm);
  add_curves(json, "moe", efficiencies.moe);
  if (efficiencies.prefill_attention) {
    json["prefill_attention"] = curve_json(*efficiencies.prefill_attention);
  }
  add_curves(json, "decode_attention", efficiencies.decode_attention);
  if (efficiencies.memory_bound) json["memory_bound"] = curve_json(*efficiencies.memory_bound);
  add_curves(json, "all_reduce_s", efficiencies.all_reduce);
  return json;
}

Json floors_json(const Floors& floors) {
  return {{"gemm", number(floors.gemm)},
          {"moe", number(floors.moe)},
          {"attention", number(floors.attention)},
          {"memory_bound", number(floors.memory_bound)},
          {"all_reduce", number(floors.all_reduce)}};
}

Json shape_json(const OperatorShape& shape) {
  Json json;
  json["family"] = name_of(shape.family);
  switch (shape.family) {
    case OperatorFamily::gemm:
    case OperatorFamily::moe:
      json["format"] = shape.format;
      break;
    case OperatorFamily::prefill_attention:
    case OperatorFamily::decode_attention:
      json["cache"] = name_of(shape.cache);
      break;
    case OperatorFamily::memory_bound:
      json["name"] = shape.name;
      break;
    case OperatorFamily::collective:
      json["exchange"] = name_of(shape.exchange);
      json["ranks"] = shape.ranks;
      break;
    case OperatorFamily::recurrent:
      json["name"] = shape.name;
      json["cache"] = name_of(shape.cache);
      break;
  }
  for (const SizeKey& size : size_keys(shape.family)) json[size.key] = shape.*size.field;
  for (const OptionalSize& size : optional_sizes(shape.family)) {
    if (shape.*size.field != size.without) json[size.key] = shape.*size.field;
  }
  if (shape.projections > 0) json["format"] = shape.format;
  if (shape.family == OperatorFamily::moe) json["gated"] = shape.gated;
  if (shape.latent) json["latent"] = true;
  if (shape.beside_prefill) json["beside_prefill"] = true;
  if (shape.expert_ranks > 1) json["expert_ranks"] = shape.expert_ranks;
  if (shape.power_law > 0) json["power_law"] = shape.power_law / 100.0;
  if (shape.window > 0) json["window"] = shape.window;
  if (shape.prompts > 1) json["prompts"] = shape.prompts;
  if (shape.fp8_arithmetic) json["fp8_arithmetic"] = true;
  return json;
}

Json measured_curve_json(const MeasuredCurve& curve) {
  Json json = shape_json(curve.shape);
  json["kernel"] = curve.kernel;
  json["terms"] = {{"floor_s", number(curve.terms.floor)},
                   {"seconds_per_flop", number(curve.terms.seconds_per_flop)},
                   {"seconds_per_byte", number(curve.terms.seconds_per_byte)},
                   {"seconds_per_wave", number(curve.terms.seconds_per_wave)}};
  if (curve.empty_tile.value > 0) json["empty_tile_s"] = number(curve.empty_tile);
  if (curve.tail_token.value > 0) json["tail_token_s"] = number(curve.tail_token);
  if (curve.writes_cache) json["writes_cache"] = true;
  if (curve.graph_saving.value > 0) json["graph_saving_s"] = number(curve.graph_saving);
  json["median_error"] = number(curve.median_error);
  json["p90_error"] = number(curve.p90_error);
  Json points = Json::array();
  for (const MeasuredPoint& point : curve.points) {
    Json row = Json::array({number(point.x)});
    if (has_second_axis(curve.shape.family)) row.push_back(number(point.y));
    row.push_back(number(point.time));
    row.push_back(number(point.relative_spread));
    row.push_back(point.samples);
    points.push_back(std::move(row));
  }
  json["points"] = std::move(points);
  return json;
}

Json measured_json(const Measured& measured) {
  Json json;
  for (const TextKey& key : kProvenance) {
    if (!(measured.*key.field).empty()) json[key.key] = measured.*key.field;
  }
  auto versions = measured.versions;
  std::sort(versions.begin(), versions.end());
  for (const auto& [name, version] : versions) json["versions"][name] = version;
  if (measured.clock_hz > 0) json["clock_hz"] = number(measured.clock_hz);
  json["dropped_samples"] = measured.dropped_samples;
  if (!measured.rejected.empty()) json["rejected"] = measured.rejected;
  for (const RateKey& key : kRates) {
    if ((measured.*key.field).value > 0) json[key.key] = number(measured.*key.field);
  }
  for (const TimeKey& key : kTimes) {
    if ((measured.*key.field).value > 0) json[key.key] = number(measured.*key.field);
  }
  Json curves = Json::array();
  for (const MeasuredCurve& curve : measured.curves) curves.push_back(measured_curve_json(curve));
  json["curves"] = std::move(curves);
  return json;
}

void add_facts(Json& json, const Gpu& gpu) {
  json["schema_version"] = kGpuSchemaVersion;
  json["name"] = gpu.name;
  json["display_name"] = gpu.display_name;
  json["aliases"] = gpu.aliases;
  json["vendor"] = gpu.vendor;
  json["architecture"] = gpu.architecture;
  json["compute_capability"] = gpu.compute_capability;
  json["memory_bytes"] = number(gpu.memory);
  json["memory_visible_bytes"] = number(gpu.memory_visible);
  json["memory_bandwidth_bytes_per_s"] = number(gpu.memory_bandwidth);
  json["l2_cache_bytes"] = number(gpu.l2_cache);
  json["multiprocessors"] = gpu.multiprocessors;
  if (gpu.boost_clock_hz) json["boost_clock_hz"] = number(*gpu.boost_clock_hz);
  Json peaks = Json::object();
  for (const auto& [dtype, peak] : gpu.dense_peak) peaks[spelling(dtype)] = number(peak);
  json["dense_peak_flops_per_s"] = std::move(peaks);
  if (gpu.peer) json["peer_link"] = link_json(*gpu.peer);
  if (gpu.host) json["host_link"] = link_json(*gpu.host);
  if (gpu.network) {
    json["network_link"] = link_json(*gpu.network);
    if (gpu.nics_per_node > 0) json["network_link"]["nics_per_node"] = gpu.nics_per_node;
  }
  json["gpus_per_node"] = gpu.gpus_per_node;
  if (gpu.board_power) json["board_power_w"] = number(*gpu.board_power);
  if (Json power = power_json(gpu.power); !power.empty()) json["power"] = std::move(power);
  if (gpu.price) json["price_dollars_per_hour"] = number(*gpu.price);
}

/// Whether `key`, with dots for nesting, exists in the output.
bool is_written(const Json& json, const std::string& key) {
  const Json* at = &json;
  for (std::size_t start = 0; start <= key.size();) {
    const std::size_t end = std::min(key.find('.', start), key.size());
    const std::string part = key.substr(start, end - start);
    if (!at->is_object() || !at->contains(part)) return false;
    at = &(*at)[part];
    start = end + 1;
  }
  return true;
}

/// Removes a key, with dots for nesting, that the profile left out.
void leave_out(Json& json, const std::string& key) {
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) {
    json.erase(key);
  } else if (const auto section = json.find(key.substr(0, dot)); section != json.end()) {
    leave_out(*section, key.substr(dot + 1));
  }
}

std::string scalar_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Objects and nested lists take several lines, lists of scalars one.
void print(const Json& value, const std::string& indent, std::string& out) {
  const std::string inner = indent + "  ";
  const bool of_scalars =
      std::none_of(value.begin(), value.end(), [](const Json& one) { return one.is_structured(); });
  if (!value.is_structured() || value.empty()) {
    out += scalar_text(value);
  } else if (value.is_array() && of_scalars) {
    const char* separator = "[";
    for (const Json& one : value) {
      out += separator + scalar_text(one);
      separator = ", ";
    }
    out += "]";
  } else {
    const bool object = value.is_object();
    const char* separator = object ? "{\n" : "[\n";
    for (const auto& [key, one] : value.items()) {
      out += separator + inner;
      if (object) out += scalar_text(key) + ": ";
      print(one, inner, out);
      separator = ",\n";
    }
    out += "\n" + indent + (object ? "}" : "]");
  }
}

}  // namespace

std::string write_gpu(const Gpu& gpu) {
  Json json;
  add_facts(json, gpu);
  for (const std::string& key : gpu.assumed) leave_out(json, key);
  if (gpu.sister) json["curves_of"] = gpu.sister->name;
  json["floors_s"] = floors_json(gpu.floors);
  Json efficiency = efficiency_json(gpu.efficiencies);
  if (!efficiency.empty()) json["efficiency"] = std::move(efficiency);
  if (gpu.measured) json["measured"] = measured_json(*gpu.measured);
  const bool of_sister = gpu.sister && gpu.tables && gpu.tables->name() == gpu.sister->name;
  if (gpu.tables && !of_sister) json["kernel_tables"] = gpu.tables->name();
  Json sources = Json::object();
  for (const auto& [key, source] : gpu.sources) {
    if (is_written(json, key)) sources[key] = source;
  }
  json["sources"] = std::move(sources);
  std::string out;
  print(json, "", out);
  return out + "\n";
}

}  // namespace roofcast
