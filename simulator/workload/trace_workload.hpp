// A recorded trace as a workload: the file, how to read it, and the rate at which to replay it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace roofcast {

/// Format of a trace file; `automatic` is detected from its first bytes.
enum class TraceFormat {
  automatic,
  csv,    // a header line, then one row per request
  jsonl,  // one JSON object per line and request
  bench   // a detailed result of `vllm bench serve` or SGLang's bench_serving
};

/// Parses "auto", "csv", "jsonl", "bench"; returns nullopt for other text.
std::optional<TraceFormat> parse_trace_format(std::string_view text);
std::string name_of(TraceFormat format);

/// Unit of the times in a trace.
enum class TraceTimeUnit { seconds, milliseconds, microseconds, nanoseconds };

/// Parses "s", "ms", "us", "ns"; returns nullopt for other text.
std::optional<TraceTimeUnit> parse_trace_time_unit(std::string_view text);
std::string name_of(TraceTimeUnit unit);

/// Names of the columns (CSV) or keys (JSONL); empty: any of the known names.
struct TraceColumnNames {
  std::string time{};
  std::string input{};
  std::string output{};
  std::string max_tokens{};
  std::string slo_class{};
  std::string priority{};
  std::string session{};
  std::string delay{};
  std::string hash_ids{};

  friend bool operator==(const TraceColumnNames&, const TraceColumnNames&) = default;
};

/// Parses "time=Start,input=Prompt,class=Log Type": the keys are time, input, output,
/// max_tokens, class, priority, session, delay and hash_ids. Throws Error for an unknown key, an
/// empty name or a duplicate key.
TraceColumnNames parse_trace_columns(const std::string& text);

/// Maximum tokens per hash id, larger than any engine's block.
inline constexpr std::int64_t kLargestTraceBlock = 1 << 20;

struct TraceWorkload {
  std::string path{};  // plain or gzip-compressed; relative to the scenario file
  /// The file's bytes, if they are not read from `path`, which then only names them.
  std::shared_ptr<const std::string> bytes{};
  /// trace_hash() of the file when a run with it was stored; empty: not known.
  std::string hash{};
  TraceFormat format = TraceFormat::automatic;
  TraceColumnNames columns{};
  std::optional<TraceTimeUnit> time_unit{};  // unset: inferred from the column's name
  std::optional<std::int64_t> block_size{};  // tokens per hash id; unset: 512, for weka 64
  std::int64_t max_requests = 0;             // read only this many requests from the start of the
                                             // file; 0: all
  double time_scale = 1.0;                   // arrival times are multiplied by this
  std::optional<double> rate_scale{};        // or: multiply the rate by this (time_scale 1 / this)
  std::optional<double> request_rate{};      // or: average requests per second
  bool skip_bad_rows = false;                // count and skip unreadable rows
  bool drop_failed = false;                  // leave out requests that generated no tokens
};

}  // namespace roofcast
