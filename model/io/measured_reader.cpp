#include "model/io/measured_reader.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "base/suggest.hpp"
#include "model/curves/measured_curve.hpp"
#include "model/io/json_line.hpp"
#include "model/io/measured_keys.hpp"
#include "model/step/roofline.hpp"

namespace roofcast {

namespace {

constexpr Range kSize{1, kMaxMeasured, "elements, heads or experts"};
constexpr Range kTokens{1, kMaxMeasured, "tokens or sequences"};
constexpr Range kPrefix{0, kMaxMeasured, "tokens"};
constexpr Range kMessage{1, kLargestMessage, "bytes"};
constexpr Range kCallTime{kShortestCall, kLongestCall, "seconds"};
constexpr Range kSpread{0, 100, "of the median"};
constexpr Range kSamples{1, 1e9, "samples"};
constexpr Range kError{0, 1e3, "of the time"};
constexpr Range kDropped{0, 1e12, "samples"};
constexpr Range kRanks{1, kMaxMeasuredRanks, "GPUs"};
constexpr Range kPrompts{1, 1e6, "prompts"};
constexpr Range kExponent{0, 10, "(an exponent)"};
constexpr Range kFloor{0, 1, "seconds"};
// From zero to a second per operation, byte or wave.
constexpr Range kTerm{0, 1, "seconds"};
constexpr Range kHostRate{1e6, 1e15, "bytes per second"};

// The generic shapes with every kernel source give a few hundred curves, the public tables of one
// GPU with three engines some 60,000.
constexpr std::size_t kMaxCurves = 262144;

/// The family's keys for the shape itself.
std::vector<std::string> shape_keys(OperatorFamily family) {
  std::vector<std::string> keys;
  for (const SizeKey& size : size_keys(family)) keys.emplace_back(size.key);
  for (const OptionalSize& size : optional_sizes(family)) keys.emplace_back(size.key);
  switch (family) {
    case OperatorFamily::gemm:
      keys.emplace_back("format");
      break;
    case OperatorFamily::moe:
      keys.insert(keys.end(), {"format", "gated", "expert_ranks", "power_law"});
      break;
    case OperatorFamily::prefill_attention:
    case OperatorFamily::decode_attention:
      keys.insert(keys.end(),
                  {"cache", "latent", "writes_cache", "window", "fp8_arithmetic", "format"});
      if (family == OperatorFamily::prefill_attention) {
        keys.emplace_back("prompts");
        break;
      }
      keys.insert(keys.end(), {"beside_prefill", "empty_tile_s", "tail_token_s"});
      break;
    case OperatorFamily::memory_bound:
      keys.emplace_back("name");
      break;
    case OperatorFamily::collective:
      keys.insert(keys.end(), {"exchange", "ranks"});
      break;
    case OperatorFamily::recurrent:
      keys.insert(keys.end(), {"name", "cache"});
      break;
  }
  return keys;
}

/// The name at `key`, which must be one of several.
template <class Values>
auto one_of(const ProfileSection& section, const std::string& key, const Values& values) {
  const std::string given = text(section, key);
  std::vector<std::string> names;
  for (const auto value : values) {
    if (name_of(value) == given) return value;
    names.emplace_back(name_of(value));
  }
  section.fail(
      key, fmt::format("{} is not one of {}", section.shown_value(given), fmt::join(names, ", ")) +
               did_you_mean(given, names));
}

bool flag(const ProfileSection& section, const std::string& key) {
  const nlohmann::json& value = section.required(key);
  if (!value.is_boolean()) section.fail(key, "must be true or false");
  return value.get<bool>();
}

std::string format_at(const ProfileSection& section) {
  std::string name = text(section, "format");
  if (kernel_format(name) == nullptr) {
    const std::vector<std::string> known = kernel_format_names();
    section.fail("format", fmt::format("{} is not one of {}", section.shown_value(name),
                                       fmt::join(known, ", ")) +
                               did_you_mean(name, known));
  }
  return name;
}

void check_shape(const ProfileSection& section, const OperatorShape& shape) {
  if (shape.family == OperatorFamily::moe && shape.experts % shape.expert_ranks != 0) {
    section.fail("expert_ranks", "does not divide experts");
  }
  if (shape.experts_per_token > shape.experts) {
    section.fail("experts_per_token", "is more than experts");
  }
  if (shape.kv_heads > shape.query_heads) section.fail("kv_heads", "is more than query_heads");
  if (shape.latent && shape.value_dim > shape.head_dim) {
    section.fail("value_dim", "is more than head_dim, which includes it");
  }
}

OperatorShape read_shape(const ProfileSection& section, OperatorFamily family) {
  OperatorShape shape{.family = family};
  for (const SizeKey& size : size_keys(family)) {
    shape.*size.field = whole_number(section, size.key, kSize);
  }
  for (const OptionalSize& size : optional_sizes(family)) {
    if (section.has(size.key)) shape.*size.field = whole_number(section, size.key, kSize);
  }
  switch (family) {
    case OperatorFamily::moe:
      shape.gated = flag(section, "gated");
      if (section.has("expert_ranks")) {
        shape.expert_ranks = static_cast<int>(whole_number(section, "expert_ranks", kRanks));
      }
      if (section.has("power_law")) {
        shape.power_law =
            static_cast<int>(std::lround(100 * number(section, "power_law", kExponent)));
      }
      [[fallthrough]];
    case OperatorFamily::gemm:
      shape.format = format_at(section);
      break;
    case OperatorFamily::prefill_attention:
    case OperatorFamily::decode_attention:
      shape.cache = dtype_at(section, "cache");
      if (section.has("latent")) shape.latent = flag(section, "latent");
      if (section.has("window")) shape.window = whole_number(section, "window", kSize);
      if (section.has("prompts")) {
        shape.prompts = static_cast<int>(whole_number(section, "prompts", kPrompts));
      }
      if (section.has("fp8_arithmetic")) shape.fp8_arithmetic = flag(section, "fp8_arithmetic");
      if (shape.projections > 0) shape.format = format_at(section);
      if (section.has("beside_prefill")) shape.beside_prefill = flag(section, "beside_prefill");
      break;
    case OperatorFamily::memory_bound:
      shape.name = text(section, "name");
      break;
    case OperatorFamily::collective:
      shape.exchange = one_of(section, "exchange", kExchanges);
      shape.ranks = static_cast<int>(whole_number(section, "ranks", kRanks));
      break;
    case OperatorFamily::recurrent:
      shape.name = text(section, "name");
      shape.cache = dtype_at(section, "cache");
      break;
  }
  check_shape(section, shape);
  return shape;
}

PhysicalTerms read_terms(const ProfileSection& curve) {
  const ProfileSection section = subsection(curve, "terms");
  check_keys(section, {"floor_s", "seconds_per_flop", "seconds_per_byte", "seconds_per_wave"});
  return {.floor = Seconds{number(section, "floor_s", kFloor)},
          .seconds_per_flop = number(section, "seconds_per_flop", kTerm),
          .seconds_per_byte = number(section, "seconds_per_byte", kTerm),
          .seconds_per_wave = number(section, "seconds_per_wave", kTerm)};
}

Range range_of_x(OperatorFamily family) {
  const bool bytes = family == OperatorFamily::memory_bound || family == OperatorFamily::collective;
  return bytes ? kMessage : kTokens;
}

MeasuredPoint read_point(const ProfileSection& curve, const std::string& where,
                         const nlohmann::json& values, OperatorFamily family) {
  const bool two = has_second_axis(family);
  const std::size_t columns = two ? 5 : 4;
  if (!values.is_array() || values.size() != columns) {
    curve.fail(where,
               fmt::format("is not [{}, time_s, relative_spread, samples]", two ? "x, y" : "x"));
  }
  const Range& prefix = family == OperatorFamily::prefill_attention ? kPrefix : kTokens;
  const std::size_t time = columns - 3;
  return {.x = checked(curve, where, values[0], range_of_x(family)),
          .y = two ? checked(curve, where, values[1], prefix) : 0.0,
          .time = Seconds{checked(curve, where, values[time], kCallTime)},
          .relative_spread = checked(curve, where, values[time + 1], kSpread),
          .samples = static_cast<int>(whole(curve, where, values[time + 2], kSamples))};
}

/// Checks a point against its curve's other points, its base and the physical limits.
void check_point(const ProfileSection& section, const std::string& where,
                 const MeasuredCurve& curve, const Gpu& gpu) {
  const MeasuredPoint& point = curve.points.back();
  if (curve.points.size() > 1) {
    const MeasuredPoint& before = *(curve.points.end() - 2);
    if (std::pair(before.x, before.y) >= std::pair(point.x, point.y)) {
      section.fail(where, "sizes must ascend");
    }
  }
  if (!(base_time(curve, point.x, point.y, gpu.multiprocessors).value > 0)) {
    section.fail(where, "the curve's terms give no time at this size");
  }
  if (!beats_physics(curve.shape, point, gpu)) return;
  const Seconds limit = physical_limit(work_of(curve.shape, point.x, point.y), gpu);
  const std::string path = section.path() + where;
  const std::string line = fmt::format("line {}: {}", line_of(section.source.text, path), path);
  ProfileSection(section.value(), "", section.source)
      .fail(line, fmt::format("{:.4g} s is faster than physics: the profile's peaks and bandwidths "
                              "allow at least {:.4g} s",
                              point.time.value, limit.value));
}

void read_points(const ProfileSection& section, const Gpu& gpu, MeasuredCurve& curve) {
  const nlohmann::json& points = section.required("points");
  if (!points.is_array() || points.empty() || points.size() > kMaxCurvePoints) {
    section.fail("points", fmt::format("must be a list of 1 to {} points", kMaxCurvePoints));
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::string where = fmt::format("points[{}]", i);
    curve.points.push_back(read_point(section, where, points[i], curve.shape.family));
    check_point(section, where, curve, gpu);
  }
}

MeasuredCurve read_curve(const ProfileSection& section, const Gpu& gpu) {
  const OperatorFamily family = one_of(section, "family", kFamilies);
  std::vector<std::string> keys = shape_keys(family);
  keys.insert(keys.end(), {"family", "kernel", "terms", "median_error", "p90_error", "points",
                           "graph_saving_s"});
  check_keys(section, keys);
  MeasuredCurve curve{.shape = read_shape(section, family), .kernel = text(section, "kernel")};
  curve.terms = read_terms(section);
  if (section.has("empty_tile_s")) {
    curve.empty_tile = Seconds{number(section, "empty_tile_s", kTime)};
  }
  if (section.has("tail_token_s")) {
    curve.tail_token = Seconds{number(section, "tail_token_s", kTime)};
  }
  if (section.has("graph_saving_s")) {
    curve.graph_saving = Seconds{number(section, "graph_saving_s", kTime)};
  }
  if (section.has("writes_cache")) curve.writes_cache = flag(section, "writes_cache");
  if (section.has("median_error")) curve.median_error = number(section, "median_error", kError);
  if (section.has("p90_error")) curve.p90_error = number(section, "p90_error", kError);
  if (curve.median_error > curve.p90_error) section.fail("median_error", "is above p90_error");
  read_points(section, gpu, curve);
  for (const MeasuredPoint& point : curve.points) {
    if (curve.graph_saving <= point.time) continue;
    section.fail("graph_saving_s", "is more than a point's time, which includes it");
  }
  return curve;
}

std::vector<MeasuredCurve> read_curves(const ProfileSection& measured, const Gpu& gpu) {
  const nlohmann::json& list = measured.required("curves");
  if (!list.is_array() || list.size() > kMaxCurves) {
    measured.fail("curves", fmt::format("must be a list of at most {} curves", kMaxCurves));
  }
  std::vector<MeasuredCurve> curves;
  std::set<std::pair<OperatorShape, std::string>> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string key = fmt::format("curves[{}]", i);
    if (!list[i].is_object()) measured.fail(key, "must be an object");
    curves.push_back(read_curve({list[i], measured.path() + key + ".", measured.source}, gpu));
    if (!seen.emplace(curves.back().shape, curves.back().kernel).second) {
      measured.fail(key, "is a duplicate curve of one operator and kernel");
    }
  }
  return curves;
}

/// "2026-11-21T10:15:00Z".
bool is_utc_time(const std::string& date) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:ddZ";
  if (date.size() != kPattern.size()) return false;
  for (std::size_t i = 0; i < date.size(); ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(date[i])) != 0;
    if (kPattern[i] == 'd' ? !digit : date[i] != kPattern[i]) return false;
  }
  return true;
}

void read_provenance(const ProfileSection& section, Measured& measured) {
  for (const TextKey& key : kProvenance) {
    if (key.required || section.has(key.key)) measured.*key.field = text(section, key.key);
  }
  if (!is_utc_time(measured.date)) {
    section.fail("date", fmt::format("{} is not of the form 2026-11-21T10:15:00Z",
                                     section.shown_value(measured.date)));
  }
  if (section.has("versions")) {
    const ProfileSection versions = subsection(section, "versions");
    for (const auto& [name, value] : versions.value().items()) {
      measured.versions.emplace_back(name, text(versions, name));
    }
  }
  if (section.has("clock_hz")) measured.clock_hz = number(section, "clock_hz", kClock);
  if (section.has("dropped_samples")) {
    measured.dropped_samples = whole_number(section, "dropped_samples", kDropped);
  }
  if (section.has("rejected")) measured.rejected = texts(section, "rejected");
}

}  // namespace

Measured read_measured(const ProfileSection& section, const Gpu& gpu) {
  std::vector<std::string> keys = {"versions", "clock_hz", "dropped_samples", "rejected", "curves"};
  for (const TextKey& key : kProvenance) keys.emplace_back(key.key);
  for (const RateKey& key : kRates) keys.emplace_back(key.key);
  for (const TimeKey& key : kTimes) keys.emplace_back(key.key);
  check_keys(section, keys);
  Measured measured;
  read_provenance(section, measured);
  for (const RateKey& key : kRates) {
    if (!section.has(key.key)) continue;
    measured.*key.field = BytesPerSecond{number(section, key.key, kHostRate)};
  }
  for (const TimeKey& key : kTimes) {
    if (section.has(key.key)) measured.*key.field = Seconds{number(section, key.key, kTime)};
  }
  measured.curves = read_curves(section, gpu);
  return measured;
}

}  // namespace roofcast
