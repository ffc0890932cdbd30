// The queries in reports/dashboards for Datasette and Grafana match the store's schema.
#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/reports/store_fixture.hpp"

namespace roofcast {
namespace {

nlohmann::json dashboard(const std::string& name) {
  std::ifstream file(std::string(ROOFCAST_SOURCE_DIR) + "/reports/dashboards/" + name);
  return nlohmann::json::parse(file);
}

void replace(std::string& text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what)) {
    text.replace(at, what.size(), by);
  }
}

std::vector<std::string> columns_of(SQLite::Statement& query) {
  std::vector<std::string> names;
  for (int i = 0; i < query.getColumnCount(); ++i) names.emplace_back(query.getColumnName(i));
  return names;
}

class Dashboards : public test::StoreTest {
 protected:
  Dashboards() { Store(path(), Store::Mode::write).add(drawn_run()); }

  /// A store with everything that the panels draw.
  static Run drawn_run() {
    Run run = test::run_of(3);
    run.metrics.push_back({.name = "tpot_s", .statistic = "p95", .value = 0.01});
    run.metrics.push_back({.name = "output_tokens_per_s", .statistic = "value", .value = 80});
    run.metrics.push_back(
        {.name = "cost_usd_per_million_output_tokens", .statistic = "value", .value = 2});
    return run;
  }
};

TEST_F(Dashboards, GrafanasPanelsAskForWhatTheStoreHas) {
  SQLite::Database database(path());
  const nlohmann::json panels = dashboard("grafana.json")["panels"];
  ASSERT_GE(panels.size(), 5u);
  for (const auto& panel : panels) {
    const nlohmann::json& target = panel["targets"][0];
    ASSERT_EQ(target["queryText"], target["rawQueryText"]);
    std::string sql = target["queryText"];
    // Values that Grafana fills in: milliseconds since 1970; a span that holds the run of the
    // fixture.
    replace(sql, "$__from", "0");
    replace(sql, "$__to", "4000000000000");
    SQLite::Statement query(database, sql);
    const bool drawn = target["queryType"] == "time series";
    EXPECT_EQ(panel["type"], drawn ? "timeseries" : "table");
    if (!drawn) continue;
    EXPECT_EQ(columns_of(query), (std::vector<std::string>{"time", "metric", "value"})) << sql;
    EXPECT_EQ(target["timeColumns"], nlohmann::json({"time"}));
    ASSERT_TRUE(query.executeStep()) << sql;
    EXPECT_EQ(query.getColumn(0).getInt64(), 1769860800);  // 2026-01-31T12:00:00Z: date -u +%s
    // Predicted and measured figures, or those of two models, are not one line.
    EXPECT_EQ(query.getColumn(1).getString(), "h200-sxm llama-3.1-70b simulate");
    EXPECT_GT(query.getColumn(2).getDouble(), 0);
  }
}

TEST_F(Dashboards, DatasettesTablesColumnsAndQueriesAreTheStores) {
  SQLite::Database database(path());
  const nlohmann::json roofcast = dashboard("datasette.json")["databases"]["roofcast"];
  for (const auto& [table, facts] : roofcast["tables"].items()) {
    SQLite::Statement query(database, "SELECT * FROM " + table);
    const auto names = columns_of(query);
    for (const auto& [column, about] : facts["columns"].items()) {
      EXPECT_EQ(std::count(names.begin(), names.end(), column), 1) << table << "." << column;
    }
    for (const char* key : {"sort_desc", "label_column"}) {
      if (!facts.contains(key)) continue;
      EXPECT_EQ(std::count(names.begin(), names.end(), facts[key]), 1) << table << " " << key;
    }
  }
  ASSERT_GE(roofcast["queries"].size(), 3u);
  for (const auto& [name, facts] : roofcast["queries"].items()) {
    EXPECT_NO_THROW(SQLite::Statement(database, facts["sql"].get<std::string>())) << name;
  }
}

}  // namespace
}  // namespace roofcast
