#include "model/io/kernel_tables_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/chord_log2.hpp"
#include "base/error.hpp"
#include "base/fnv1a.hpp"
#include "base/io/bounded_json.hpp"
#include "base/io/deflate.hpp"
#include "base/json.hpp"
#include "model/io/measured_keys.hpp"

namespace roofcast {

namespace {

// A file begins with these letters (the last is the version of the layout), the hash of all that
// follows it, and the sizes of the header as it is and unpacked.
constexpr std::string_view kMagic = "RFCURVE1";
constexpr std::size_t kHash = 16;  // hexadecimal digits
constexpr std::size_t kSizeBytes = 4;
constexpr std::size_t kPrefixBytes = kMagic.size() + kHash + 2 * kSizeBytes;

// No group comes near these: 4,000 curves and 60,000 points.
constexpr std::uint64_t kMaxTableCurves = 1'000'000;
constexpr std::uint64_t kMaxPoints = 20'000'000;
constexpr std::uint64_t kMaxBytes = 1'000'000'000;

// ---- columns

/// A number of a curve.
struct Column {
  const char* name;
  double (*get)(const MeasuredCurve&);
  void (*set)(MeasuredCurve&, double);
  void (*set_shape)(OperatorShape&, double) = nullptr;  // null: it is not of its shape
};

template <auto Field>
void set_field(OperatorShape& shape, double value) {
  using Value = std::remove_reference_t<decltype(shape.*Field)>;
  if constexpr (std::is_same_v<Value, bool>) {
    shape.*Field = value != 0;
  } else {
    shape.*Field = static_cast<Value>(value);
  }
}

template <auto Field>
constexpr Column shape_column(const char* name) {
  return {name, [](const MeasuredCurve& c) { return static_cast<double>(c.shape.*Field); },
          [](MeasuredCurve& c, double value) { set_field<Field>(c.shape, value); },
          set_field<Field>};
}

template <auto Field>
constexpr Column term_column(const char* name) {
  return {name, [](const MeasuredCurve& c) { return c.terms.*Field; },
          [](MeasuredCurve& c, double value) { c.terms.*Field = value; }};
}

template <auto Field>
constexpr Column time_column(const char* name) {
  return {name, [](const MeasuredCurve& c) { return (c.*Field).value; },
          [](MeasuredCurve& c, double value) { c.*Field = Seconds{value}; }};
}

template <auto Field>
constexpr Column error_column(const char* name) {
  return {name, [](const MeasuredCurve& c) { return c.*Field; },
          [](MeasuredCurve& c, double value) { c.*Field = value; }};
}

constexpr std::array kColumns{
    shape_column<&OperatorShape::outputs>("outputs"),
    shape_column<&OperatorShape::inputs>("inputs"),
    shape_column<&OperatorShape::experts>("experts"),
    shape_column<&OperatorShape::experts_per_token>("experts_per_token"),
    shape_column<&OperatorShape::gated>("gated"),
    shape_column<&OperatorShape::query_heads>("query_heads"),
    shape_column<&OperatorShape::kv_heads>("kv_heads"),
    shape_column<&OperatorShape::head_dim>("head_dim"),
    shape_column<&OperatorShape::value_dim>("value_dim"),
    shape_column<&OperatorShape::latent>("latent"),
    shape_column<&OperatorShape::beside_prefill>("beside_prefill"),
    shape_column<&OperatorShape::ranks>("ranks"),
    shape_column<&OperatorShape::expert_ranks>("expert_ranks"),
    shape_column<&OperatorShape::power_law>("power_law"),
    shape_column<&OperatorShape::window>("window"),
    shape_column<&OperatorShape::prompts>("prompts"),
    shape_column<&OperatorShape::fp8_arithmetic>("fp8_arithmetic"),
    shape_column<&OperatorShape::projections>("projections"),
    shape_column<&OperatorShape::entry>("entry"),
    shape_column<&OperatorShape::compression>("compression"),
    shape_column<&OperatorShape::local_tokens>("local_tokens"),
    shape_column<&OperatorShape::index_heads>("index_heads"),
    shape_column<&OperatorShape::index_dim>("index_dim"),
    Column{"floor_s", [](const MeasuredCurve& c) { return c.terms.floor.value; },
           [](MeasuredCurve& c, double value) { c.terms.floor = Seconds{value}; }},
    term_column<&PhysicalTerms::seconds_per_flop>("seconds_per_flop"),
    term_column<&PhysicalTerms::seconds_per_byte>("seconds_per_byte"),
    term_column<&PhysicalTerms::seconds_per_wave>("seconds_per_wave"),
    time_column<&MeasuredCurve::empty_tile>("empty_tile_s"),
    time_column<&MeasuredCurve::tail_token>("tail_token_s"),
    time_column<&MeasuredCurve::graph_saving>("graph_saving_s"),
    Column{"writes_cache", [](const MeasuredCurve& c) { return c.writes_cache ? 1.0 : 0.0; },
           [](MeasuredCurve& c, double value) { c.writes_cache = value != 0; }},
    error_column<&MeasuredCurve::median_error>("median_error"),
    error_column<&MeasuredCurve::p90_error>("p90_error"),
    Column{"relative_spread",
           [](const MeasuredCurve& c) { return c.points.front().relative_spread; },
           [](MeasuredCurve& c, double value) {
             for (MeasuredPoint& point : c.points) point.relative_spread = value;
           }},
    Column{"samples", [](const MeasuredCurve& c) { return double(c.points.front().samples); },
           [](MeasuredCurve& c, double value) {
             for (MeasuredPoint& point : c.points) point.samples = static_cast<int>(value);
           }},
};

// ---- bytes

class Writer {
 public:
  std::string take() { return std::move(bytes_); }

  /// Seven bits a byte, the lowest first; the high bit says that more follow.
  void count(std::uint64_t value) {
    for (; value >= 128; value /= 128) bytes_ += static_cast<char>(value % 128 + 128);
    bytes_ += static_cast<char>(value);
  }
  void number(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(bits >> (8 * i) & 0xff);
  }
  void byte(unsigned value) { bytes_ += static_cast<char>(value & 0xff); }
  void text(std::string_view value) {
    count(value.size());
    bytes_ += value;
  }

 private:
  std::string bytes_;
};

class Reader {
 public:
  Reader(std::string_view bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  [[noreturn]] void fail() const {
    throw Error(std::string(where_) +
                ": its curves cannot be read: they are damaged or of another version");
  }
  unsigned byte() {
    if (at_ >= bytes_.size()) fail();
    return static_cast<unsigned char>(bytes_[at_++]);
  }
  std::uint64_t count(std::uint64_t max) {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 63; shift += 7) {
      const unsigned next = byte();
      value |= std::uint64_t{next & 127} << shift;
      if (next >= 128) continue;
      if (value > max) fail();
      return value;
    }
    fail();
  }
  double number() {
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits |= std::uint64_t{byte()} << (8 * i);
    const auto value = std::bit_cast<double>(bits);
    if (!std::isfinite(value)) fail();
    return value;
  }
  std::string_view text() {
    const std::uint64_t size = count(bytes_.size() - at_);
    if (size > bytes_.size() - at_) fail();
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  /// `values` counts of at most `max` each; empty if that is 0.
  std::vector<std::uint32_t> counts(std::size_t values, std::uint64_t max) {
    std::vector<std::uint32_t> result;
    if (max == 0) {
      if (values > bytes_.size() - at_) fail();
      if (bytes_.substr(at_, values).find_first_not_of('\0') != std::string_view::npos) fail();
      at_ += values;
      return result;
    }
    result.reserve(values);
    for (std::size_t i = 0; i < values; ++i) {
      result.push_back(static_cast<std::uint32_t>(count(max)));
    }
    return result;
  }
  /// Passes over so many bytes, or counts, whatever their values.
  void skip_bytes(std::uint64_t bytes) {
    if (bytes > bytes_.size() - at_) fail();
    at_ += bytes;
  }
  void skip_counts(std::uint64_t values) {
    while (values > 0) {
      if (byte() < 128) --values;
    }
  }
  std::size_t place() const { return at_; }
  void move_to(std::size_t place) { at_ = place; }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::string_view bytes_;
  std::string_view where_;  // for errors; outlives the reader
  std::size_t at_ = 0;
};

/// Values, each once, ascending; written as a list, and then as places in it.
class Values {
 public:
  void add(double value) { places_.try_emplace(value, 0); }
  void write(Writer& out) {
    out.count(places_.size());
    std::uint64_t place = 0;
    for (auto& [value, at] : places_) {
      at = place++;
      out.number(value);
    }
  }
  std::uint64_t place(double value) const { return places_.at(value); }

 private:
  std::map<double, std::uint64_t> places_;
};

std::vector<double> read_values(Reader& in) {
  std::vector<double> values(in.count(kMaxPoints));
  for (double& value : values) value = in.number();
  return values;
}

// ---- times

std::int64_t step_of(Seconds time) {
  return std::llround(chord_log2(time.value) * kStepsPerOctave);
}

Seconds time_of(std::int64_t step) {
  return Seconds{chord_exp2(static_cast<double>(step) / kStepsPerOctave)};
}

/// Small numbers of either sign as small counts.
std::uint64_t folded(std::int64_t value) {
  return value < 0 ? 2 * static_cast<std::uint64_t>(-value) - 1
                   : 2 * static_cast<std::uint64_t>(value);
}

std::int64_t unfolded(std::uint64_t value) {
  const auto half = static_cast<std::int64_t>(value / 2);
  return value % 2 == 1 ? -half - 1 : half;
}

/// Each time as the difference from the point before; of a row's first from the first of the row
/// before, of a curve's first from the first of the curve before.
class StepPrediction {
 public:
  std::int64_t curve() { return row_ = curve_; }
  std::int64_t row() { return row_; }
  std::int64_t point() const { return point_; }
  void is(std::int64_t step, bool first_of_row, bool first_of_curve) {
    point_ = step;
    if (first_of_row) row_ = step;
    if (first_of_curve) curve_ = step;
  }

 private:
  std::int64_t curve_ = 0;
  std::int64_t row_ = 0;
  std::int64_t point_ = 0;
};

// ---- a group

/// Columns of the points, over all curves.
struct PointColumns {
  Writer rows;    // of each curve
  Writer x;       // of each row: places from that of the row before
  Writer counts;  // of points of each row
  Writer y;       // of each point: places from that of the point before in its row
  Writer low;     // of each point: the lower byte of its time's difference
  Writer high;    // and what is above it
};

void write_points(const MeasuredCurve& curve, const Values& x_values, const Values& y_values,
                  StepPrediction& before, PointColumns& out) {
  std::uint64_t rows = 0;
  std::uint64_t last_x = 0;
  for (auto first = curve.points.begin(); first != curve.points.end();) {
    const auto last = std::find_if(first, curve.points.end(),
                                   [&](const MeasuredPoint& p) { return p.x != first->x; });
    const std::uint64_t x = x_values.place(first->x);
    out.x.count(rows == 0 ? x : x - last_x);
    last_x = x;
    out.counts.count(static_cast<std::uint64_t>(last - first));
    std::uint64_t last_y = 0;
    for (auto point = first; point != last; ++point) {
      const std::uint64_t y = y_values.place(point->y);
      out.y.count(point == first ? y : y - last_y);
      last_y = y;
      const bool first_of_curve = point == curve.points.begin();
      const std::int64_t guess = first_of_curve   ? before.curve()
                                 : point == first ? before.row()
                                                  : before.point();
      const std::int64_t step = step_of(point->time);
      const std::uint64_t off = folded(step - guess);
      out.low.byte(static_cast<unsigned>(off & 0xff));
      out.high.count(off >> 8);
      before.is(step, point == first, first_of_curve);
    }
    first = last;
    ++rows;
  }
  out.rows.count(rows);
}

std::string group_bytes(const std::vector<MeasuredCurve>& curves) {
  Writer out;
  out.count(curves.size());
  std::vector<std::string_view> kernels;
  for (const MeasuredCurve& curve : curves) kernels.emplace_back(curve.kernel);
  std::sort(kernels.begin(), kernels.end());
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
  out.count(kernels.size());
  for (const std::string_view kernel : kernels) out.text(kernel);
  for (const MeasuredCurve& curve : curves) {
    const auto place = std::lower_bound(kernels.begin(), kernels.end(), curve.kernel);
    out.count(static_cast<std::uint64_t>(place - kernels.begin()));
  }
  out.count(kColumns.size());
  for (const Column& column : kColumns) {
    Values values;
    for (const MeasuredCurve& curve : curves) values.add(column.get(curve));
    out.text(column.name);
    values.write(out);
    for (const MeasuredCurve& curve : curves) out.count(values.place(column.get(curve)));
  }
  Values x;
  Values y;
  for (const MeasuredCurve& curve : curves) {
    for (const MeasuredPoint& point : curve.points) {
      x.add(point.x);
      y.add(point.y);
    }
  }
  x.write(out);
  y.write(out);
  PointColumns columns;
  StepPrediction before;
  for (const MeasuredCurve& curve : curves) write_points(curve, x, y, before, columns);
  for (Writer* column :
       {&columns.rows, &columns.x, &columns.counts, &columns.y, &columns.low, &columns.high}) {
    out.text(column->take());
  }
  return out.take();
}

/// Places in a list of values, one after the other; they only rise.
class Places {
 public:
  explicit Places(const std::vector<double>& values) : values_(values) {}
  double first(Reader& from) {
    at_ = 0;
    return next(from);
  }
  double next(Reader& from) {
    at_ += from.count(values_.size());
    if (at_ >= values_.size()) from.fail();
    return values_[at_];
  }

 private:
  const std::vector<double>& values_;
  std::uint64_t at_ = 0;
};

/// A column as it was read: values, and the place of each curve's; no places: all have the first.
struct ReadColumn {
  const Column* column = nullptr;
  std::vector<double> values{};
  std::vector<std::uint32_t> places{};

  double at(std::size_t curve) const { return values[places.empty() ? 0 : places[curve]]; }
};

/// The columns of points, and what the next curve's first time is predicted from.
struct PointReaders {
  static constexpr std::size_t kColumns = 6;
  std::array<Reader, kColumns> columns;
  StepPrediction before{};

  Reader& rows() { return columns[0]; }
  Reader& x() { return columns[1]; }
  Reader& counts() { return columns[2]; }
  Reader& y() { return columns[3]; }
  Reader& low() { return columns[4]; }
  Reader& high() { return columns[5]; }

  std::int64_t difference() {
    const std::uint64_t lower = low().byte();
    return unfolded(high().count(1 << 20) << 8 | lower);
  }
  bool at_end() const { return std::ranges::all_of(columns, &Reader::at_end); }
};

/// Where a curve's points begin in their columns.
struct CurveStart {
  std::array<std::uint32_t, PointReaders::kColumns> places{};
  StepPrediction before{};
};

/// The bytes of a group, of which only the columns of curves are read.
struct OpenGroup {
  std::string bytes{};
  std::string where{};  // for errors
  GroupKey key{};
  std::vector<std::string> kernels{};
  std::vector<std::uint32_t> kernel_places{};  // empty: all have the first
  std::vector<ReadColumn> columns{};
  std::vector<const ReadColumn*> varying{};  // of shapes, in which curves differ
  std::vector<double> x_values{};
  std::vector<double> y_values{};
  std::optional<PointReaders> points{};
  std::vector<CurveStart> starts{};  // of each curve

  OperatorShape any_shape() const {
    OperatorShape shape{.family = key.family,
                        .name = key.name,
                        .format = key.format,
                        .cache = key.cache,
                        .exchange = key.exchange};
    for (const ReadColumn& one : columns) {
      if (one.column->set_shape != nullptr) one.column->set_shape(shape, one.values.front());
    }
    return shape;
  }
  void set_shape(std::size_t place, OperatorShape& shape) const {
    for (const ReadColumn* one : varying) one->column->set_shape(shape, one->at(place));
  }
};

std::vector<MeasuredPoint> read_points(const OpenGroup& group, std::size_t curve) {
  const CurveStart& start = group.starts[curve];
  PointReaders from = *group.points;
  for (std::size_t i = 0; i < PointReaders::kColumns; ++i) {
    from.columns[i].move_to(start.places[i]);
  }
  from.before = start.before;
  std::vector<MeasuredPoint> points;
  const std::uint64_t rows = from.rows().count(kMaxPoints);
  Places x_places(group.x_values);
  for (std::uint64_t row = 0; row < rows; ++row) {
    const double x = row == 0 ? x_places.first(from.x()) : x_places.next(from.x());
    const std::uint64_t count = from.counts().count(kMaxPoints);
    Places y_places(group.y_values);
    for (std::uint64_t i = 0; i < count; ++i) {
      const double y = i == 0 ? y_places.first(from.y()) : y_places.next(from.y());
      const bool first_of_curve = row == 0 && i == 0;
      const std::int64_t guess = first_of_curve ? from.before.curve()
                                 : i == 0       ? from.before.row()
                                                : from.before.point();
      const std::int64_t step = guess + from.difference();
      from.before.is(step, i == 0, first_of_curve);
      const Seconds time = time_of(step);
      if (!(time.value >= kShortestCall && time.value <= kLongestCall)) from.low().fail();
      points.push_back({.x = x, .y = y, .time = time});
    }
  }
  if (points.empty()) from.rows().fail();
  return points;
}

/// Passes over a curve's points, of which only the first time is read: the next curve's is
/// predicted from it.
void skip_points(PointReaders& from) {
  const std::uint64_t rows = from.rows().count(kMaxPoints);
  std::uint64_t points = 0;
  for (std::uint64_t row = 0; row < rows; ++row) points += from.counts().count(kMaxPoints);
  if (points == 0) from.rows().fail();
  from.x().skip_counts(rows);
  from.y().skip_counts(points);
  const std::int64_t step = from.before.curve() + from.difference();
  from.before.is(step, true, true);
  from.low().skip_bytes(points - 1);
  from.high().skip_counts(points - 1);
}

/// Curves of `key`; the columns set the rest of their shapes.
std::shared_ptr<const OpenGroup> open_group(std::string bytes, const GroupKey& key,
                                            const std::string& where) {
  const auto group = std::make_shared<OpenGroup>();
  group->bytes = std::move(bytes);
  group->where = where;
  group->key = key;
  Reader in(group->bytes, group->where);
  const std::uint64_t curves = in.count(kMaxTableCurves);
  if (curves > group->bytes.size()) in.fail();
  const auto places_in = [&](std::size_t values) {
    if (curves > 0 && values == 0) in.fail();
    return in.counts(curves, values == 0 ? 0 : values - 1);
  };
  group->kernels.resize(in.count(curves));
  for (std::string& kernel : group->kernels) kernel = in.text();
  group->kernel_places = places_in(group->kernels.size());
  group->columns.resize(in.count(2 * kColumns.size()));
  for (ReadColumn& one : group->columns) {
    const std::string_view name = in.text();
    const auto known =
        std::ranges::find_if(kColumns, [&](const Column& column) { return column.name == name; });
    if (known == kColumns.end()) in.fail();
    one.column = &*known;
    one.values = read_values(in);
    one.places = places_in(one.values.size());
    if (one.column->set_shape != nullptr && !one.places.empty()) group->varying.push_back(&one);
  }
  group->x_values = read_values(in);
  group->y_values = read_values(in);
  const auto reader = [&] { return Reader(in.text(), group->where); };
  // In braces, so in this order.
  group->points.emplace(
      PointReaders{.columns{reader(), reader(), reader(), reader(), reader(), reader()}});
  PointReaders at = *group->points;
  group->starts.reserve(curves);
  for (std::uint64_t i = 0; i < curves; ++i) {
    CurveStart& start = group->starts.emplace_back();
    std::ranges::transform(at.columns, start.places.begin(), [](const Reader& column) {
      return static_cast<std::uint32_t>(column.place());
    });
    start.before = at.before;
    skip_points(at);
  }
  if (!in.at_end() || !at.at_end()) in.fail();
  return group;
}

MeasuredCurve read_curve(const OpenGroup& group, std::size_t place) {
  MeasuredCurve curve{
      .shape = group.any_shape(),
      .kernel = group.kernels[group.kernel_places.empty() ? 0 : group.kernel_places[place]],
      .points = read_points(group, place)};
  for (const ReadColumn& one : group.columns) one.column->set(curve, one.at(place));
  return curve;
}

CurveGroup read_group(std::string bytes, const GroupKey& key, const std::string& where) {
  const std::shared_ptr<const OpenGroup> group = open_group(std::move(bytes), key, where);
  if (group->starts.empty()) return {};
  return {.size = group->starts.size(),
          .any = group->any_shape(),
          .set_shape = [group](std::size_t place,
                               OperatorShape& shape) { group->set_shape(place, shape); },
          .curve = [group](std::size_t place) { return read_curve(*group, place); }};
}

// ---- the header

Json group_json(const TableGroup& group, std::size_t packed, std::size_t unpacked) {
  Json json{{"source", group.source}, {"family", std::string(name_of(group.key.family))}};
  if (!group.key.name.empty()) json["name"] = group.key.name;
  if (!group.key.format.empty()) json["format"] = group.key.format;
  json["cache"] = std::string(name_of(group.key.cache));
  json["exchange"] = std::string(name_of(group.key.exchange));
  json["curves"] = group.curves;
  json["points"] = group.points;
  json["timed"] = group.timed;
  json["median_error"] = group.median_error;
  json["p90_error"] = group.p90_error;
  json["packed_bytes"] = packed;
  json["bytes"] = unpacked;
  return json;
}

template <class List>
auto named(const List& list, const std::string& name, const std::string& where) {
  for (const auto value : list) {
    if (name_of(value) == name) return value;
  }
  throw Error(
      fmt::format("{}: its header names '{}', which this version does not know", where, name));
}

/// A group in a file.
struct StoredGroup {
  TableGroup group{};
  std::string_view packed{};
  std::size_t bytes = 0;
};

TableGroup group_of(const Json& json, const std::string& where) {
  TableGroup group{.source = json.at("source")};
  group.key.family = named(kFamilies, json.at("family"), where);
  group.key.name = json.value("name", "");
  group.key.format = json.value("format", "");
  const std::optional<DType> cache = parse_dtype(json.at("cache").get<std::string>());
  if (!cache) throw Error(where + ": its header names an unknown number format");
  group.key.cache = *cache;
  group.key.exchange = named(kExchanges, json.at("exchange"), where);
  group.curves = json.at("curves");
  group.points = json.at("points");
  group.timed = json.at("timed");
  group.median_error = json.at("median_error");
  group.p90_error = json.at("p90_error");
  return group;
}

std::size_t size_at(std::string_view bytes, std::size_t at) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < kSizeBytes; ++i) {
    size |= std::size_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return size;
}

std::string size_bytes(std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < kSizeBytes; ++i) bytes += static_cast<char>(size >> (8 * i) & 0xff);
  return bytes;
}

KernelTables::Contents open_tables(std::string_view bytes, const std::string& where) {
  if (bytes.size() < kPrefixBytes || !bytes.starts_with(kMagic)) {
    throw Error(where + ": does not begin as kernel tables of this version do");
  }
  const std::size_t packed = size_at(bytes, kMagic.size() + kHash);
  const std::size_t size = size_at(bytes, kMagic.size() + kHash + kSizeBytes);
  if (packed > bytes.size() - kPrefixBytes || size > kMaxBytes)
    throw Error(where + ": is truncated");
  const std::string header = inflated(bytes.substr(kPrefixBytes, packed), size, where);
  KernelTables::Contents contents;
  std::vector<StoredGroup> stored;
  try {
    const Json json = parse_bounded<Json>(header, where, RepeatedKeys::refused);
    contents.record = {.gpu = json.at("gpu"),
                       .device = json.at("device"),
                       .tool = json.at("tool"),
                       .left_out = json.at("left_out").get<std::vector<std::string>>()};
    std::size_t at = kPrefixBytes + packed;
    for (const Json& one : json.at("groups")) {
      const std::size_t length = one.at("packed_bytes");
      const std::size_t unpacked = one.at("bytes");
      if (length > bytes.size() - at || unpacked > kMaxBytes) throw Error(where + ": is truncated");
      stored.push_back({group_of(one, where), bytes.substr(at, length), unpacked});
      contents.groups.push_back(stored.back().group);
      at += length;
    }
    if (at != bytes.size()) throw Error(where + ": is longer than its header says");
  } catch (const Json::exception&) {
    throw Error(where + ": its header belongs to another version");
  }
  contents.unpack = [stored, where](std::size_t group) {
    const StoredGroup& one = stored.at(group);
    return read_group(inflated(one.packed, one.bytes, where), one.group.key, where);
  };
  return contents;
}

}  // namespace

Seconds stored_time(Seconds time, bool at_least) {
  const std::int64_t step = step_of(time);
  const Seconds nearest = time_of(step);
  return at_least && nearest < time ? time_of(step + 1) : nearest;
}

std::string write_kernel_tables(const TableRecord& record, const std::vector<PackedGroup>& groups) {
  Json header{{"gpu", record.gpu},
              {"device", record.device},
              {"tool", record.tool},
              {"left_out", record.left_out},
              {"groups", Json::array()}};
  std::string body;
  for (const PackedGroup& one : groups) {
    TableGroup group = one.group;
    group.curves = std::ssize(one.curves);
    group.points = 0;
    for (const MeasuredCurve& curve : one.curves) group.points += std::ssize(curve.points);
    const std::string raw = group_bytes(one.curves);
    const CurveGroup read = read_group(raw, group.key, "the group written");
    for (std::size_t i = 0; i < read.size; ++i) {
      if (read.curve(i).shape == one.curves[i].shape) continue;
      throw Error(fmt::format("a {} curve of {} has a size that kernel tables do not store",
                              name_of(group.key.family), group.source));
    }
    const std::string packed = deflated(raw);
    header["groups"].push_back(group_json(group, packed.size(), raw.size()));
    body += packed;
  }
  const std::string text = header.dump();
  const std::string packed = deflated(text);
  const std::string rest = size_bytes(packed.size()) + size_bytes(text.size()) + packed + body;
  return std::string(kMagic) + fmt::format("{:016x}", fnv1a(rest)) + rest;
}

std::shared_ptr<const KernelTables> read_kernel_tables(const std::string& name,
                                                       std::string_view bytes) {
  return std::make_shared<const KernelTables>(
      name, [bytes, where = "kernel tables " + name] { return open_tables(bytes, where); });
}

std::string_view stated_hash(std::string_view bytes) {
  return bytes.substr(std::min(bytes.size(), kMagic.size())).substr(0, kHash);
}

}  // namespace roofcast
