// roofcast runs [ID]: lists the store, shows one run in full, or answers SQL (--sql); `runs import`
// and `runs compare`.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/io/bounded_json.hpp"
#include "base/numbers.hpp"
#include "cli/options/arguments.hpp"
#include "cli/runs_sql.hpp"
#include "planner/flags/flag_values.hpp"
#include "reports/store.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {
namespace {

Json row_json(const RunRow& row) {
  return {{"id", row.id},
          {"kind", row.kind},
          {"created_at", row.created_at},
          {"model", row.model},
          {"gpu", row.gpu},
          {"engine", row.engine},
          {"seed", row.seed},
          {"summary", row.summary},
          {"tool_version", row.tool_version},
          {"command_line", row.command_line}};
}

Document list_document(const Store& store, const std::string& path) {
  Document document{.machine = envelope("runs", {{"store", path}}), .sections = {}};
  Table table{.title = "",
              .columns = {{"Run"},
                          {"When", false},
                          {"Kind", false},
                          {"Model", false},
                          {"GPU", false},
                          {"Engine", false},
                          {"Result", false}},
              .rows = {}};
  Json runs = Json::array();
  for (const RunRow& row : store.runs()) {
    table.rows.push_back({std::to_string(row.id), row.created_at, row.kind, row.model, row.gpu,
                          row.engine, row.summary});
    runs.push_back(row_json(row));
  }
  document.machine["runs"] = std::move(runs);
  document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
  return document;
}

Document run_document(const Run& run, const std::string& path) {
  Document document{.machine = envelope("runs", {{"store", path}, {"id", run.row.id}}),
                    .sections = {}};
  document.machine.update(row_json(run.row));
  document.machine["profile_hash"] = run.row.profile_hash;
  document.machine["scenario"] = parse_bounded<Json>(run.row.scenario_json, path);
  Json metrics = Json::array();
  Table table{.title = "Metrics",
              .columns = {{"Metric", false}, {"Statistic", false}, {"Value"}},
              .rows = {}};
  for (const MetricRow& metric : run.metrics) {
    metrics.push_back(
        {{"name", metric.name}, {"statistic", metric.statistic}, {"value", metric.value}});
    table.rows.push_back({metric.name, metric.statistic, fmt::format("{:.6g}", metric.value)});
  }
  document.machine["metrics"] = std::move(metrics);
  document.machine["requests_stored"] = run.requests.size();
  document.sections.push_back(
      {.heading = fmt::format("Run {}: {} of {} on {}, {}", run.row.id, run.row.kind, run.row.model,
                              run.row.gpu, run.row.engine),
       .lines = {run.row.summary, run.row.created_at + "  " + run.row.command_line,
                 fmt::format("profile {}, seed {}, {} request rows", run.row.profile_hash,
                             run.row.seed,
                             with_separators(static_cast<std::int64_t>(run.requests.size())))},
       .table = std::move(table)});
  return document;
}

int answer_in_sql(CommandContext& context, const std::string& path, const std::string& given,
                  const QueryLimits& limits, OutputFormat output) {
  const std::string sql = sql_text(given);
  const QueryAnswer answer = query_store(path, sql, limits);
  write(sql_document(answer, path, sql), output, context.out);
  if (answer.more) {
    context.err << fmt::format(
        "only the first {} rows: there are more (--max-rows, or LIMIT and OFFSET in the SQL)\n",
        with_separators(static_cast<std::int64_t>(answer.rows.size())));
  }
  return kExitDone;
}

}  // namespace

int run_runs(CommandContext& context) {
  if (!context.arguments.empty() && context.arguments.front() == "compare") {
    context.arguments.erase(context.arguments.begin());
    return run_compare(context);
  }
  if (!context.arguments.empty() && context.arguments.front() == "import") {
    context.arguments.erase(context.arguments.begin());
    return run_import(context);
  }
  std::string path = "roofcast.db";
  std::int64_t id = 0;
  std::optional<std::string> sql;
  std::optional<std::int64_t> max_rows;
  Usage usage{.synopsis = "roofcast runs [ID] [--store FILE]; roofcast runs import --help",
              .example = "roofcast runs --store roofcast.db",
              .options = option_group("Options"),
              .unlisted = {},
              .positional = {},
              .subcommands = {"import", "compare"}};
  usage.options.add_options()("id", po::value(&id)->value_name("ID"), "show one run in full")(
      "store", po::value(&path)->value_name("FILE"), "the SQLite store (default roofcast.db)")(
      "sql", converted(sql, "--sql", parse_text)->value_name("SELECT|@FILE|-"),
      "run an SQL query (tables: reports/store.md); - reads it from stdin")(
      "max-rows", converted(max_rows, "--max-rows", parse_positive)->value_name("N"),
      "maximum rows of --sql (default 10000)");
  usage.positional.add("id", 1);
  const auto common = parse(context, usage);
  if (!common) return kExitDone;
  if (max_rows && !sql) throw UsageError("--max-rows: needs --sql");
  if (sql) {
    if (id != 0) throw UsageError("--sql covers all runs: no ID (use WHERE run_id = 3)");
    QueryLimits limits;
    if (max_rows) limits.rows = static_cast<std::size_t>(*max_rows);
    return answer_in_sql(context, path, *sql, limits, common->output);
  }

  const Store store(path, Store::Mode::read);
  if (id == 0) {
    write(list_document(store, path), common->output, context.out);
    return kExitDone;
  }
  const auto run = store.run(id);
  if (!run)
    throw Error(fmt::format("{}: no run {} (roofcast runs --store {} lists them)", path, id, path));
  write(run_document(*run, path), common->output, context.out);
  return kExitDone;
}

}  // namespace roofcast
