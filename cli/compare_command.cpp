// roofcast compare A B: two runs of the store, metric by metric.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/envelope.hpp"
#include "model/error.hpp"
#include "reports/numbers.hpp"
#include "reports/store.hpp"

namespace roofcast {
namespace {

using Key = std::pair<std::string, std::string>;  // name, statistic

/// A metric of either run; absent where a run has none of it.
struct Pair {
  std::optional<double> a;
  std::optional<double> b;
};

std::map<Key, Pair> metrics_of(const Run& a, const Run& b) {
  std::map<Key, Pair> metrics;
  for (const MetricRow& row : a.metrics) metrics[{row.name, row.statistic}].a = row.value;
  for (const MetricRow& row : b.metrics) metrics[{row.name, row.statistic}].b = row.value;
  return metrics;
}

std::string headline_of(const Run& run) {
  return fmt::format("Run {}: {} of {} on {}, {}: {}", run.row.id, run.row.kind, run.row.model,
                     run.row.gpu, run.row.engine, run.row.summary);
}

Json run_json(const Run& run) {
  return {{"id", run.row.id},
          {"kind", run.row.kind},
          {"model", run.row.model},
          {"gpu", run.row.gpu},
          {"engine", run.row.engine},
          {"summary", run.row.summary},
          {"created_at", run.row.created_at}};
}

/// b over a, less 1; nothing where one is absent, or a is 0 and b is not.
std::optional<double> relative_difference(const Pair& pair) {
  if (!pair.a || !pair.b) return std::nullopt;
  if (*pair.a == *pair.b) return 0.0;
  if (*pair.a == 0) return std::nullopt;
  return (*pair.b - *pair.a) / std::abs(*pair.a);
}

std::string value_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "-";
}

Json value_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Document compare_document(const Run& a, const Run& b, const std::string& path) {
  Document document{
      .machine = envelope("compare", {{"store", path}, {"a", a.row.id}, {"b", b.row.id}}),
      .sections = {}};
  document.machine["a"] = run_json(a);
  document.machine["b"] = run_json(b);
  const std::string name_a = fmt::format("Run {}", a.row.id);
  const std::string name_b = fmt::format("Run {}", b.row.id);
  Table table{.title = "",
              .columns = {{"Metric", false}, {"Statistic", false}, {name_a}, {name_b}, {"Change"}},
              .rows = {}};
  Json metrics = Json::array();
  for (const auto& [key, pair] : metrics_of(a, b)) {
    const std::optional<double> change = relative_difference(pair);
    table.rows.push_back({key.first, key.second, value_text(pair.a), value_text(pair.b),
                          change ? fmt::format("{:+.1f} %", 100 * *change) : ""});
    metrics.push_back({{"name", key.first},
                       {"statistic", key.second},
                       {"a", value_json(pair.a)},
                       {"b", value_json(pair.b)},
                       {"relative_change", value_json(change)}});
  }
  document.machine["metrics"] = std::move(metrics);
  document.sections.push_back({.heading = fmt::format("{} against {}", name_b, name_a),
                               .lines = {headline_of(a), headline_of(b)},
                               .table = std::move(table)});
  return document;
}

Run run_of(const Store& store, const std::string& path, std::int64_t id) {
  auto run = store.run(id);
  if (run) return *std::move(run);
  throw Error(fmt::format("{}: no run {} (roofcast runs --store {} lists them)", path, id, path));
}

}  // namespace

int run_compare(CommandContext& context) {
  std::string path = "roofcast.db";
  std::vector<std::int64_t> ids;
  Usage usage{.synopsis = "roofcast compare A B [--store FILE]",
              .example = "roofcast compare 1 2 --store roofcast.db",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {}};
  usage.options.add_options()("run", po::value(&ids)->value_name("ID"),
                              "two runs of the store: what changes from the first to the second")(
      "store", po::value(&path)->value_name("FILE"), "the SQLite store (default roofcast.db)");
  usage.positional.add("run", -1);
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  if (ids.size() != 2) {
    throw UsageError(
        fmt::format("compare takes two runs, not {} (roofcast runs lists them)", ids.size()));
  }
  const Store store(path, Store::Mode::read);
  const Run a = run_of(store, path, ids[0]);
  const Run b = run_of(store, path, ids[1]);
  write(compare_document(a, b, path), common->output, context.out);
  return kExitDone;
}

}  // namespace roofcast
