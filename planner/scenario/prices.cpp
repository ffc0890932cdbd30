#include "planner/scenario/prices.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/io/json_reader.hpp"
#include "base/io/json_reason.hpp"
#include "base/quantity.hpp"
#include "model/io/gpu_reader.hpp"

namespace roofcast {
namespace {

using TableJson = nlohmann::ordered_json;

constexpr const char* kOnDemand = "on_demand_dollars_per_hour";
constexpr const char* kReserved = "reserved_dollars_per_hour";
constexpr const char* kSpot = "spot_dollars_per_hour";
constexpr const char* kCapital = "capital_dollars";
constexpr double kHoursOfYear = 8760;
constexpr double kHighestPrice = 1e4;  // $ per hour of a GPU
constexpr int kPriceSchema = 1;

/// A server's sale price where one is published: a place to start, without network and room.
struct ServerPrice {
  std::string_view gpu;
  double dollars = 0;
  int gpus = 0;
  const char* source;
};
constexpr ServerPrice kServerPrice{
    .gpu = "nvidia-h100-sxm",
    .dollars = 270'000,
    .gpus = 8,
    .source =
        "capital: an eighth of a DGX H100 at about $270,000 (SemiAnalysis, May 2023, as cited "
        "in github.com/epoch-research/training-cost-trends), without network and room"};

double positive(const JsonReader& object, const char* key, double fallback, double most) {
  if (!object.has(key)) return fallback;
  const nlohmann::json& value = object.required(key);
  const std::string expected = fmt::format("a number above 0 and up to {:g}", most);
  if (!value.is_number()) object.refuse(key, expected);
  const auto number = value.get<double>();
  if (!(number > 0 && number <= most)) object.refuse(key, expected);
  return number;
}

std::optional<DollarsPerHour> hourly(const JsonReader& object, const char* key) {
  if (!object.has(key)) return std::nullopt;
  return DollarsPerHour{positive(object, key, 0, kHighestPrice)};
}

GpuPrices read_prices_of(const JsonReader& object) {
  object.check_keys({kOnDemand, kReserved, kSpot, kCapital, "source"},
                    "is not a key of a GPU's prices");
  GpuPrices prices{.on_demand = hourly(object, kOnDemand),
                   .reserved = hourly(object, kReserved),
                   .spot = hourly(object, kSpot)};
  if (object.has(kCapital)) prices.capital_dollars = positive(object, kCapital, 0, 1e7);
  if (object.has("source")) {
    const nlohmann::json& source = object.required("source");
    if (!source.is_string()) object.refuse("source", "a text");
    prices.source = source.get<std::string>();
  }
  return prices;
}

/// Dollars per hour for each watt that is drawn.
double price_per_watt(const PriceTable& table) {
  constexpr double kWattsOfKilowatt = 1000;
  return table.pue / kWattsOfKilowatt * table.power_dollars_per_kwh;
}

/// The table's price of that kind; an on-demand one that it lacks is the profile's.
std::optional<DollarsPerHour> price_of_kind(const PriceTable& table, const GpuPrices& prices,
                                            const Gpu& gpu, PriceKind kind) {
  switch (kind) {
    case PriceKind::on_demand:
      return prices.on_demand ? prices.on_demand : gpu.price;
    case PriceKind::reserved:
      return prices.reserved;
    case PriceKind::spot:
      return prices.spot;
    case PriceKind::owned:
      break;
  }
  return owned_price(table, prices, gpu);
}

}  // namespace

std::string price_key(const std::string& gpu) {
  return is_profile_path(gpu) ? gpu : load_gpu(gpu).gpu.name;
}

PriceTable read_price_table(const std::string& path) {
  const std::string where = "price table " + path;
  if (!std::filesystem::is_regular_file(path)) throw Error(where + ": no such file");
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw Error(where + ": cannot be read");
  nlohmann::json json;
  try {
    json = parse_bounded<nlohmann::json>(text, where, RepeatedKeys::refused);
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("{}: is not JSON: {}", where, json_problem(error.what())));
  }
  if (!json.is_object()) throw Error(where + ": must be a single JSON object");
  const JsonDialect dialect{.place = "{where}: {path}{key} "};
  const JsonReader top{json, where, dialect};
  top.check_keys({"schema_version", "amortisation_years", "power_dollars_per_kwh", "pue", "gpus"},
                 "is not a key of a price table");
  if (top.required("schema_version") != kPriceSchema) {
    top.refuse("schema_version", fmt::format("{}", kPriceSchema));
  }
  PriceTable table;
  table.amortisation_years = positive(top, "amortisation_years", table.amortisation_years, 100);
  table.power_dollars_per_kwh =
      positive(top, "power_dollars_per_kwh", table.power_dollars_per_kwh, 100);
  table.pue = positive(top, "pue", table.pue, 10);
  if (table.pue < 1) top.refuse("pue", "a number of at least 1");
  const nlohmann::json& gpus = top.required("gpus");
  if (!gpus.is_object()) top.refuse("gpus", "an object of prices by GPU");
  for (const auto& [name, prices] : gpus.items()) {
    if (!prices.is_object()) {
      throw Error(fmt::format("{}: gpus.{} is {}, expected an object of its prices", where, name,
                              prices.dump()));
    }
    const JsonReader object{prices, where, dialect, "gpus." + name + "."};
    std::string key;
    try {
      key = price_key(name);
    } catch (const Error& error) {
      throw Error(fmt::format("{}: gpus: {}", where, error.what()));
    }
    if (!table.gpus.emplace(std::move(key), read_prices_of(object)).second) {
      throw Error(fmt::format("{}: gpus.{}: names a GPU a second time", where, name));
    }
  }
  return table;
}

bool states_prices(const std::string& table) {
  return table.find('=') != std::string::npos && !table.ends_with(".json") &&
         !std::filesystem::exists(table);
}

PriceTable price_table(const std::string& table) {
  return states_prices(table) ? stated_prices(table) : read_price_table(table);
}

PriceTable stated_prices(const std::string& table, const std::string& flag) {
  PriceTable prices;
  std::istringstream parts(table);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.rfind('=');
    if (equals == std::string::npos) {
      throw UsageError(fmt::format(
          "{}: '{}' given, expected GPU=NUMBER, such as h100=2.49,l40s=0.8", flag, part));
    }
    const double dollars = parse_number_by(
        {.what = "price in $ per hour", .examples = "2.49", .min = 0, .max = kHighestPrice},
        part.substr(equals + 1), flag);
    if (dollars <= 0) throw UsageError(fmt::format("{}: '{}' must be above 0", flag, part));
    const std::string gpu = part.substr(0, equals);
    if (!prices.gpus
             .emplace(price_key(gpu),
                      GpuPrices{.on_demand = DollarsPerHour{dollars}, .source = "as given"})
             .second) {
      throw UsageError(fmt::format("{}: {} is given twice", flag, gpu));
    }
  }
  return prices;
}

std::string built_in_price_table() {
  const PriceTable table;
  TableJson json{{"schema_version", kPriceSchema},
                 {"amortisation_years", table.amortisation_years},
                 {"power_dollars_per_kwh", table.power_dollars_per_kwh},
                 {"pue", table.pue}};
  for (const std::string& name : gpu_names()) {
    const Gpu gpu = load_gpu(name).gpu;
    TableJson& prices = json["gpus"][name];
    prices[kOnDemand] = gpu.price ? TableJson(gpu.price->value) : TableJson();
    // Null is as good as left out: for the owner of the table to fill in.
    for (const char* key : {kReserved, kSpot, kCapital}) prices[key] = nullptr;
    prices["source"] = gpu.price ? gpu.sources.at("price_dollars_per_hour") : "";
    if (name != kServerPrice.gpu) continue;
    prices[kCapital] = kServerPrice.dollars / kServerPrice.gpus;
    prices["source"] = prices["source"].get<std::string>() + "; " + kServerPrice.source;
  }
  return json.dump(2) + "\n";
}

std::optional<DollarsPerHour> owned_price(const PriceTable& table, const GpuPrices& prices,
                                          const Gpu& gpu) {
  if (!prices.capital_dollars || !gpu.board_power) return std::nullopt;
  return DollarsPerHour{*prices.capital_dollars / (table.amortisation_years * kHoursOfYear) +
                        gpu.board_power->value * price_per_watt(table)};
}

std::string words_of(const Pricing& pricing) {
  if (pricing == Pricing{}) return "";
  const std::string kind(name_of(pricing.kind));
  if (pricing.table.empty()) return kind;
  return kind + (states_prices(pricing.table) ? ", " : ", from ") + pricing.table;
}

void take_price(Gpu& gpu, const std::string& named, const Pricing& pricing) {
  if (pricing == Pricing{}) return;
  if (pricing.table.empty()) {
    if (pricing.kind == PriceKind::on_demand) return;
    throw UsageError(fmt::format(
        "`pricing` {}: needs a price table (`prices`); profiles have on-demand prices only "
        "('roofcast gpus --as-prices' prints a table to start from)",
        name_of(pricing.kind)));
  }
  const PriceTable table = price_table(pricing.table);
  const auto found = table.gpus.find(is_profile_path(named) ? named : gpu.name);
  const GpuPrices prices = found == table.gpus.end() ? GpuPrices{} : found->second;
  gpu.price = price_of_kind(table, prices, gpu, pricing.kind);
  gpu.price_per_watt = pricing.kind == PriceKind::owned ? price_per_watt(table) : 0;
  if (gpu.price || pricing.kind == PriceKind::on_demand) return;
  throw UsageError(fmt::format("`pricing` {}: {} states no {} for {}", name_of(pricing.kind),
                               pricing.table,
                               pricing.kind == PriceKind::owned  ? kCapital
                               : pricing.kind == PriceKind::spot ? kSpot
                                                                 : kReserved,
                               gpu.name));
}

}  // namespace roofcast
