// roofcast runs [ID]: lists the store, shows one run in full, or answers SQL (--sql); `runs import`
// and `runs compare`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/io/named_pipe.hpp"
#include "base/numbers.hpp"
#include "base/wording.hpp"
#include "cli/default_store.hpp"
#include "cli/options/arguments.hpp"
#include "cli/spelling.hpp"
#include "planner/flags/flag_values.hpp"
#include "reports/document.hpp"
#include "reports/store_query.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/stored_runs.hpp"

namespace roofcast {
namespace {

/// Reads one byte more than a query may have, so that longer ones are detected.
std::string text_of(std::istream& in) {
  std::string text(kLongestQuery + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

struct CellText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return fmt::format("{}", number); }
  std::string operator()(const std::string& text) const { return text; }
};

/// JSON has no infinity: null.
struct CellJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(std::int64_t number) const { return number; }
  Json operator()(double number) const { return std::isfinite(number) ? Json(number) : nullptr; }
  Json operator()(const std::string& text) const { return text; }
};

/// Column names as keys of an object: a second "name" becomes "name_2".
std::vector<std::string> keys_of(const std::vector<std::string>& columns) {
  std::set<std::string> taken(columns.begin(), columns.end());
  std::set<std::string> used;
  std::vector<std::string> keys;
  for (const std::string& column : columns) {
    std::string key = column;
    for (int i = 2; used.contains(key) || (key != column && taken.contains(key)); ++i) {
      key = fmt::format("{}_{}", column, i);
    }
    used.insert(key);
    keys.push_back(key);
  }
  return keys;
}

bool is_text(const QueryValue& value) { return std::holds_alternative<std::string>(value); }

std::vector<Column> columns_of(const QueryAnswer& answer) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < answer.columns.size(); ++i) {
    const bool has_text = std::any_of(answer.rows.begin(), answer.rows.end(),
                                      [i](const auto& row) { return is_text(row[i]); });
    columns.push_back({.title = answer.columns[i], .right = !has_text});
  }
  return columns;
}

std::string sql_text(const std::string& given) {
  if (given == "-") return text_of(std::cin);
  if (!given.starts_with('@')) return given;
  const std::string path = given.substr(1);
  refuse_named_pipe(path);
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw Error(path + ": cannot be read (--sql @FILE)");
  }
  return text_of(file);
}

/// Column names as titles, numbers as SQLite prints them, NULL as empty; in JSON one object per
/// row.
Document sql_document(const QueryAnswer& answer, const std::string& path, const std::string& sql) {
  Document document{.machine = envelope("runs", {{"store", path}, {"sql", sql}}), .sections = {}};
  Table table{.title = "", .columns = columns_of(answer), .rows = {}};
  const std::vector<std::string> keys = keys_of(answer.columns);
  Json rows = Json::array();
  for (const auto& row : answer.rows) {
    Json object = Json::object();
    std::vector<Cell>& cells = table.rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      object[keys[i]] = std::visit(CellJson{}, row[i]);
      cells.push_back(std::visit(CellText{}, row[i]));
    }
    rows.push_back(std::move(object));
  }
  document.machine["columns"] = keys;
  document.machine["rows"] = std::move(rows);
  document.machine["more"] = answer.more;
  document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
  return document;
}

/// "amd-mi300x + 16 more" of a comparison of many GPUs, for a terminal's width.
std::string short_gpus(const std::string& gpus) {
  constexpr std::string_view kBetween = " + ";
  constexpr std::int64_t kShown = 3;
  std::int64_t names = 1;
  for (auto at = gpus.find(kBetween); at != std::string::npos; at = gpus.find(kBetween, at + 1)) {
    ++names;
  }
  if (names <= kShown) return gpus;
  return fmt::format("{} + {} more", gpus.substr(0, gpus.find(kBetween)), names - 1);
}

/// `whole`: with the names of all GPUs of a run.
Document list_document(const Store& store, const std::string& path, bool whole) {
  const std::vector<RunRow> rows = store.runs();
  Document document{.machine = runs_json(rows, path), .sections = {}};
  Table table{.title = "",
              .columns = {{"Run"},
                          {"When", false},
                          {"Kind", false},
                          {"Model", false},
                          {"GPU", false},
                          {"Engine", false},
                          {"Result", false}},
              .rows = {}};
  const bool named = std::ranges::any_of(rows, [](const RunRow& row) { return !row.name.empty(); });
  if (named) table.columns.insert(table.columns.begin() + 1, {"Name", false});
  for (const RunRow& row : rows) {
    std::vector<Cell>& cells = table.rows.emplace_back(
        std::vector<Cell>{std::to_string(row.id), row.created_at, row.kind, row.model,
                          whole ? row.gpu : short_gpus(row.gpu), row.engine, row.summary});
    if (named) cells.insert(cells.begin() + 1, row.name);
  }
  document.sections.push_back({.heading = "", .lines = {}, .table = std::move(table)});
  return document;
}

Document run_document(const Run& run, const std::string& path) {
  Document document{.machine = run_json(run, path), .sections = {}};
  Table table{.title = "Metrics",
              .columns = {{"Metric", false}, {"Statistic", false}, {"Value"}},
              .rows = {}};
  for (const MetricRow& metric : run.metrics) {
    table.rows.push_back(
        {metric.name, metric.statistic, verbatim(fmt::format("{:.6g}", metric.value))});
  }
  document.sections.push_back(
      {.heading = fmt::format("Run {}{}: {}", run.row.id,
                              run.row.name.empty() ? "" : fmt::format(" ({})", run.row.name),
                              words_of({.kind = run.row.kind,
                                        .model = run.row.model,
                                        .gpu = run.row.gpu,
                                        .engine = run.row.engine})),
       .lines = {run.row.summary, run.row.created_at + "  " + run.row.command_line,
                 (run.row.profile_hash.empty()
                      ? ""
                      : fmt::format("profile {}, seed {}, ", run.row.profile_hash, run.row.seed)) +
                     counted(std::ssize(run.requests), "request row")},
       .table = std::move(table)});
  return document;
}

int answer_in_sql(CommandContext& context, const std::string& path, const std::string& given,
                  const QueryLimits& limits, OutputFormat output) {
  const std::string sql = sql_text(given);
  const QueryAnswer answer = query_store(path, sql, limits);
  print(sql_document(answer, path, sql), output, context);
  if (answer.more) {
    context.err << fmt::format(
        "only the first {} rows: there are more (--max-rows, or LIMIT and OFFSET in the SQL)\n",
        with_separators(static_cast<std::int64_t>(answer.rows.size())));
  }
  return kExitDone;
}

/// Names the run, or deletes it.
int change_run(CommandContext& context, const std::string& path, std::int64_t id,
               const std::optional<std::string>& name, bool remove) {
  if (id == 0) throw UsageError(remove ? "--delete: needs the run's ID" : "--name: needs an ID");
  if (name && remove) throw UsageError("--name and --delete are mutually exclusive");
  if (name) check_run_name(*name, "--name");
  stored_run(Store(path, Store::Mode::read), path, id);  // or there is no such run
  Store store(path, Store::Mode::write);
  if (remove) {
    store.remove_run(id);
    context.err << fmt::format("run {} is deleted\n", id);
  } else {
    store.name_run(id, *name);
    context.err << (name->empty() ? fmt::format("run {} no longer has a name\n", id)
                                  : fmt::format("run {} is named {}\n", id, *name));
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
  std::string path = kDefaultStore;
  std::int64_t id = 0;
  std::optional<std::string> sql;
  std::optional<std::int64_t> max_rows;
  std::optional<std::string> name;
  bool remove = false;
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
      "maximum rows of --sql (default 10000)")(
      "name",
      converted(name, "--name", [](const std::string& text, const std::string&) { return text; })
          ->value_name("TEXT"),
      "name the run; \"\" removes its name")("delete", po::bool_switch(&remove),
                                             "delete the run and all that belongs to it");
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

  if (name || remove) return change_run(context, path, id, name, remove);

  const Store store(path, Store::Mode::read);
  if (id == 0) {
    const bool whole = common->output != OutputFormat::table;
    print(list_document(store, path, whole), common->output, context);
    return kExitDone;
  }
  print(run_document(stored_run(store, path, id), path), common->output, context);
  return kExitDone;
}

}  // namespace roofcast
