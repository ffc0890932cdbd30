// A recorded trace as a workload: which file, how it is to be read, and at what rate replayed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace roofcast {

/// How a trace is written; `automatic` looks at its first bytes.
enum class TraceFormat {
  automatic,
  csv,    // a header line, one row a request
  jsonl,  // one JSON object a line and request
  bench   // a detailed result of `vllm bench serve` or SGLang's bench_serving
};

/// "auto", "csv", "jsonl", "bench"; nothing for other texts.
std::optional<TraceFormat> parse_trace_format(std::string_view text);
std::string name_of(TraceFormat format);

/// What a trace's numbers of time count.
enum class TraceTimeUnit { seconds, milliseconds, microseconds, nanoseconds };

/// "s", "ms", "us", "ns"; nothing for other texts.
std::optional<TraceTimeUnit> parse_trace_time_unit(std::string_view text);
std::string name_of(TraceTimeUnit unit);

/// What the columns (of CSV) or keys (of JSONL) are called; empty: by one of the known names.
struct TraceColumnNames {
  std::string time{};
  std::string input{};
  std::string output{};
  std::string slo_class{};
  std::string priority{};
  std::string session{};
  std::string delay{};
  std::string hash_ids{};

  friend bool operator==(const TraceColumnNames&, const TraceColumnNames&) = default;
};

/// "time=Start,input=Prompt,class=Log Type": the keys are time, input, output, class, priority,
/// session, delay and hash_ids. Throws Error for another key, an empty name, or a key given twice.
TraceColumnNames parse_trace_columns(const std::string& text);

/// Most tokens that a hash id may stand for: beyond any engine's block.
inline constexpr std::int64_t kLargestTraceBlock = 1 << 20;

struct TraceWorkload {
  std::string path{};  // plain or gzip-compressed; relative to the scenario file
  TraceFormat format = TraceFormat::automatic;
  TraceColumnNames columns{};
  std::optional<TraceTimeUnit> time_unit{};  // unset: as the column's name says
  std::optional<std::int64_t> block_size{};  // tokens a hash id stands for; unset: 512, weka 64
  std::int64_t max_requests = 0;             // the first so many requests of the file; 0: all
  double time_scale = 1.0;                   // arrival times are multiplied by this
  std::optional<double> rate_scale{};        // or: so many times the rate (time_scale 1 / this)
  std::optional<double> request_rate{};      // or: requests per second on average
  bool skip_bad_rows = false;                // count and skip rows that cannot be read
  bool drop_failed = false;                  // leave out requests that generated no token
};

}  // namespace roofcast
