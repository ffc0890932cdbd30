#include "planner/scenario/prices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "model/io/gpu_reader.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast {
namespace {

using testing::HasSubstr;

class Prices : public testing::Test {
 protected:
  /// The path of a table with that text.
  std::string table(const std::string& text) { return folder_.write("prices_test.json", text); }
  std::string complaint(const std::string& text) {
    try {
      read_price_table(table(text));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

 private:
  test::TemporaryFolder folder_;
};

const char* const kTable = R"({"schema_version": 1, "amortisation_years": 5,
  "power_dollars_per_kwh": 0.2, "pue": 1.5,
  "gpus": {"H100": {"on_demand_dollars_per_hour": 4, "spot_dollars_per_hour": 1.5,
                    "capital_dollars": 43800, "source": "a contract"}}})";

double price_of(const std::string& gpu, const std::string& table, PriceKind kind) {
  Gpu loaded = load_gpu(gpu).gpu;
  take_price(loaded, gpu, {.table = table, .kind = kind});
  return loaded.price.value_or(DollarsPerHour{}).value;
}

TEST_F(Prices, EachKindCounts) {
  const std::string path = table(kTable);
  EXPECT_DOUBLE_EQ(price_of("h100", path, PriceKind::on_demand), 4);
  EXPECT_DOUBLE_EQ(price_of("h100", path, PriceKind::spot), 1.5);
  // 43,800 $ over 5 x 8,760 h is 1 $ an hour; 700 W x 1.5 is 1.05 kW, at 0.20 $ 0.21 $.
  EXPECT_NEAR(price_of("h100", path, PriceKind::owned), 1.21, 1e-12);
  Gpu owned = load_gpu("h100").gpu;
  take_price(owned, "h100", {.table = path, .kind = PriceKind::owned});
  EXPECT_NEAR(owned.price_per_watt, 0.0003, 1e-15);
}

TEST_F(Prices, WhatTheTableLacksIsTheProfilesOnDemandPriceOrRefused) {
  const std::string path = table(kTable);
  EXPECT_DOUBLE_EQ(price_of("l40s", path, PriceKind::on_demand), 0.99);
  try {
    price_of("h100", path, PriceKind::reserved);
    FAIL() << "no reserved price is stated";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("reserved_dollars_per_hour for nvidia-h100-sxm"));
  }
  EXPECT_THROW(price_of("h100", "", PriceKind::spot), UsageError);  // no table
}

TEST_F(Prices, WithoutPricingAProfileKeepsItsOwn) {
  EXPECT_DOUBLE_EQ(price_of("h100", "", PriceKind::on_demand), 4.5);
}

TEST_F(Prices, ErrorsNameTheFileTheKeyAndWhatWasExpected) {
  EXPECT_THAT(complaint("[]"), HasSubstr("must be a single JSON object"));
  EXPECT_THAT(complaint("{"), HasSubstr("prices_test.json: is not JSON"));
  EXPECT_THAT(complaint(R"({"schema_version": 2, "gpus": {}})"), HasSubstr("schema_version"));
  EXPECT_THAT(complaint(R"({"schema_version": 1})"), HasSubstr("gpus"));
  EXPECT_THAT(complaint(R"({"schema_version": 1, "pue": 0.9, "gpus": {}})"), HasSubstr("pue"));
  EXPECT_THAT(complaint(R"({"schema_version": 1, "gpus": {"h101": {}}})"), HasSubstr("'h101'"));
  EXPECT_THAT(complaint(R"({"schema_version": 1, "gpus": {"h100": 3}})"),
              HasSubstr("gpus.h100 is 3, expected an object"));
  EXPECT_THROW(read_price_table(testing::TempDir()), Error);  // a folder
  EXPECT_THAT(complaint(R"({"schema_version": 1, "gpus": {"h100": {"spot": 1}}})"),
              HasSubstr("gpus.h100.spot"));
  EXPECT_THAT(
      complaint(R"({"schema_version": 1, "gpus": {"h100": {"spot_dollars_per_hour": -1}}})"),
      HasSubstr("gpus.h100.spot_dollars_per_hour is -1, expected a number above 0"));
  EXPECT_THAT(complaint(R"({"schema_version": 1, "gpus": {"h100": {}, "H100-SXM": {}}})"),
              HasSubstr("a second time"));
}

TEST_F(Prices, MayBeStatedWithoutAFile) {
  EXPECT_DOUBLE_EQ(price_of("h100", "h100=2.49,l40s=0.8", PriceKind::on_demand), 2.49);
  EXPECT_DOUBLE_EQ(price_of("l40s", "h100=2.49,l40s=0.8", PriceKind::on_demand), 0.8);
  EXPECT_DOUBLE_EQ(price_of("a10g", "h100=2.49", PriceKind::on_demand), 1.3);  // the profile's
  EXPECT_THROW(price_of("h100", "h100=2.49", PriceKind::spot), UsageError);
  const auto refused = [](const std::string& prices) -> std::string {
    try {
      stated_prices(prices);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(price_table("h100=2.49"), stated_prices("h100=2.49"));
  try {
    price_table("a=b/none.json");
    ADD_FAILURE() << "a missing file was read";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "price table a=b/none.json: no such file");
  }
  EXPECT_THAT(refused("h100=2,l40s"), HasSubstr("'l40s' given, expected GPU=NUMBER"));
  EXPECT_THAT(refused("h100=cheap"), HasSubstr("`prices`: 'cheap'"));
  EXPECT_THAT(refused("h100=0"), HasSubstr("above 0"));
  EXPECT_THAT(refused("h101=2"), HasSubstr("'h101'"));
  EXPECT_THAT(refused("h100=2,H100-SXM=3"), HasSubstr("twice"));
}

TEST(PricingWords, SayWhosePricesCount) {
  EXPECT_EQ(words_of(Pricing{}), "");
  EXPECT_EQ(words_of(Pricing{.table = "p.json", .kind = PriceKind::owned}), "owned, from p.json");
  EXPECT_EQ(words_of(Pricing{.table = "p.json"}), "on-demand, from p.json");
  EXPECT_EQ(words_of(Pricing{.table = "h100=2.49"}), "on-demand, h100=2.49");
}

TEST_F(Prices, ThePrintedTableReadsBack) {
  const PriceTable read = read_price_table(table(built_in_price_table()));
  EXPECT_DOUBLE_EQ(read.gpus.at("nvidia-h100-sxm").on_demand->value, 4.5);
  EXPECT_THAT(read.gpus.at("nvidia-h100-sxm").source, HasSubstr("on demand"));
  EXPECT_EQ(read.gpus.size(), gpu_names().size());  // those without a price, too
  // $270,000 for eight in a DGX.
  EXPECT_DOUBLE_EQ(read.gpus.at("nvidia-h100-sxm").capital_dollars.value(), 33'750);
  EXPECT_THAT(read.gpus.at("nvidia-h100-sxm").source, HasSubstr("DGX H100"));
  EXPECT_FALSE(read.gpus.at("nvidia-l40s").capital_dollars);
  for (const char* key : {"reserved_dollars_per_hour", "spot_dollars_per_hour", "capital_dollars",
                          "amortisation_years", "power_dollars_per_kwh", "pue"}) {
    EXPECT_THAT(built_in_price_table(), HasSubstr(key));
  }
}

}  // namespace
}  // namespace roofcast
