// Imports what other tools measured: benchmark results as measured runs, kernel tables as a
// hardware profile.
//
//   const ImportAnswer answer = import_runs({.paths = {"results/"}});
//   for (const ImportedRun& one : answer.runs) std::cout << one.run.origin << '\n';
//
// Fields of an answer are described by its `members`, key by key (import.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "calibrate/curve_errors.hpp"
#include "calibrate/tables/imported_rows.hpp"
#include "reports/importers/importer.hpp"
#include "reports/measured_run.hpp"
#include "roofcast/envelope.hpp"

namespace roofcast {

// ---- results of vllm bench serve, SGLang, aiperf, guidellm and others

struct ImportQuestion {
  std::vector<std::string> paths{};  // files or folders; at least one
  ImportOptions options{};           // format, and what the files do not say
};

struct ImportInputs {
  std::vector<std::string> paths{};
  std::map<std::string, std::string> meta{};
  std::optional<std::string> store{};  // where the caller stored the runs; unset: nowhere
};

struct ImportedRun {
  std::optional<std::int64_t> id{};  // in the store, set by the caller; unset: not stored
  MeasuredRun run{};                 // read back without its requests
  std::int64_t requests = 0;         // of which the file has a record
};

struct ImportAnswer {
  AnswerHead head{};
  ImportInputs inputs{};
  std::vector<ImportedRun> runs{};
  // Not in the JSON.
  std::vector<std::string> problems{};  // paths that cannot be read or hold no result; a line each
  std::vector<std::string> notes{};     // what was passed over, human-readable
};

/// Reads every path. A broken file, a path that does not exist and one without a result are
/// `problems`, and the others are read. Throws UsageError for options that contradict each other.
ImportAnswer import_runs(const ImportQuestion& question);

/// A measured run as a row of the store, of kind "measured".
Run measured_row(const MeasuredRun& run, const std::string& command_line, bool keep_requests);

/// The measured run of such a row, called `origin`; its requests only if they were kept. Throws
/// Error if the run is of another kind or its stored setting cannot be read.
MeasuredRun stored_measured_run(const Run& run, const std::string& origin);

/// "vllm-0.19.0", in the form of simulated runs; "h100 x 4". Safe to print.
std::string engine_of(const MeasuredSetting& setting);
std::string gpu_of(const MeasuredSetting& setting);

/// What `roofcast runs import -o json` prints.
Json to_json(const ImportAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
ImportAnswer import_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json import_answer_schema();

// ---- kernel tables of aiconfigurator, profiler folders of LLMServingSim

struct TablesQuestion {
  std::vector<std::string> paths{};  // tables, profiler folders, folders of both; at least one
  std::string gpu{};                 // name or profile of the GPU they were measured on
  std::string out{};                 // the profile's file; empty: the GPU's name + "-imported.json"
};

struct TablesInputs {
  std::vector<std::string> files{};  // found at the paths
  std::string gpu{};                 // name of its profile
  std::string out{};
};

/// A table in a folder that is not of a known kind, or cannot be read.
struct UnknownTable {
  std::string file{};
  std::string problem{};
};

struct UnusedRows : LeftOut {
  std::string reason{};
};

/// `judged` is not in the JSON; 0 when read back.
struct TablesFamily : FamilyError {};

struct TablesAnswer {
  AnswerHead head{};
  TablesInputs inputs{};
  std::int64_t rows = 0;
  std::int64_t curves = 0;
  std::int64_t points = 0;
  std::int64_t mixed = 0;                // rows of prefill and decode in one call
  std::vector<UnusedRows> duplicates{};  // another row has their time
  std::vector<UnusedRows> refused{};     // impossible or unreadable
  std::vector<UnusedRows> unused{};      // possible, but not usable here
  std::vector<TableRows> tables{};       // what became of the rows of each file
  std::vector<UnknownTable> unknown{};   // passed over
  std::vector<TablesFamily> families{};
  // Not in the JSON.
  std::string gpu_display_name{};
  std::vector<std::string> warnings{};  // one line each
};

/// Writes the profile to `out`. Tables in a folder that cannot be read are passed over and listed,
/// and rows of another GPU left out. Throws Error for an unknown GPU, a path that is not a table,
/// tables without a usable row and an unwritable file.
TablesAnswer import_tables(const TablesQuestion& question);

/// What `roofcast profile import -o json` prints.
Json to_json(const TablesAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
TablesAnswer tables_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json tables_answer_schema();

}  // namespace roofcast
