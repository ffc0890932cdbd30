// Price tables: what an hour of each GPU costs, rented or owned. A small JSON file that users edit;
// docs/plan.md describes its keys.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "model/hardware/gpu.hpp"
#include "simulator/scenario.hpp"

namespace roofcast {

/// Prices of one GPU. Unset: not stated.
struct GpuPrices {
  std::optional<DollarsPerHour> on_demand{}, reserved{}, spot{};
  /// Paid once for a GPU with its share of server, network and room.
  std::optional<double> capital_dollars{};
  std::string source{};  // where they come from, and when

  bool operator==(const GpuPrices&) const = default;
};

struct PriceTable {
  // For owned GPUs. The three defaults are assumptions, to be replaced by the owner's
  // (docs/plan.md).
  double amortisation_years = 4;
  double power_dollars_per_kwh = 0.10;
  double pue = 1.3;                         // power of the site over power of the machines
  std::map<std::string, GpuPrices> gpus{};  // by name of the profile, or its path

  bool operator==(const PriceTable&) const = default;
};

/// Throws Error naming file, key and what was expected.
PriceTable read_price_table(const std::string& path);

/// Whether `table` states on-demand prices itself, "h100=2.49,l40s=0.8", instead of naming a file:
/// one that exists or that ends in ".json".
bool states_prices(const std::string& table);

/// By which a price table knows a GPU: the name of its profile, or its path. Throws Error if there
/// is none of the name.
std::string price_key(const std::string& gpu);

/// Those. Throws UsageError naming `flag` and the part that is not GPU=NUMBER, or that is given
/// twice.
PriceTable stated_prices(const std::string& table, const std::string& flag = "`prices`");

/// The prices that `table` states, or those of the file that it names.
PriceTable price_table(const std::string& table);

/// The table of all built-in profiles as the text of such a file, with every key; null: not known.
std::string built_in_price_table();

/// Owning a GPU for an hour: capital over its years, and the power that has to be supplied, at
/// the board's limit, times the PUE. Returns nullopt if either is not known.
std::optional<DollarsPerHour> owned_price(const PriceTable& table, const GpuPrices& prices,
                                          const Gpu& gpu);

/// "owned, from prices.json", "on-demand, h100=2.49" of prices that are not the profiles'; empty of
/// those.
std::string words_of(const Pricing& pricing);

/// Sets the GPU's price to what the scenario's pricing says; without a table and a kind, nothing
/// changes. An on-demand price that the table lacks is the profile's. `named`: how the user named
/// the GPU. Throws Error as read_price_table or stated_prices does, UsageError if a price of that
/// kind is not known.
void take_price(Gpu& gpu, const std::string& named, const Pricing& pricing);

}  // namespace roofcast
