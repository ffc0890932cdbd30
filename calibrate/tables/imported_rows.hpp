// Contents of third-party kernel tables: timed points, and the rows that were not used, by reason.
// Every row is accounted for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "calibrate/curve_fit.hpp"

namespace roofcast {

/// Rows left out for one reason.
struct LeftOut {
  std::int64_t rows = 0;
  std::vector<std::string> first{};  // a few examples: "gemm.csv line 12"
};

/// Attributes of a decode kernel's curve in addition to its points (MeasuredCurve).
struct DecodeKernel {
  OperatorShape shape{};
  std::string kernel{};
  Seconds empty_tile{};
  Seconds tail_token{};
};

/// Attributes of all curves of a source (MeasuredCurve).
struct KernelSource {
  std::string kernel{};
  Seconds graph_saving{};
  bool attention_writes_cache = false;
};

struct ImportedRows {
  std::vector<TimedPoint> points{};
  std::int64_t rows = 0;
  std::int64_t mixed = 0;  // calls over prompts and decodes, few of which become points
  std::map<std::string, LeftOut> refused{};       // by reason: impossible or unreadable
  std::map<std::string, LeftOut> unused{};        // by reason: possible, but not usable here
  std::map<std::string, std::int64_t> devices{};  // as named in the tables, with their row counts
  std::map<std::string, std::string> versions{};  // "vLLM" -> "0.24.0"; several are joined by
                                                  // commas
  std::vector<DecodeKernel> decode_kernels{};
  std::vector<KernelSource> sources{};
};

void leave_out(std::map<std::string, LeftOut>& list, const std::string& reason,
               const std::string& place);

/// Adds the point. Refuses it if its time is not a finite number above 0, or if time or size exceed
/// what a profile can hold (model/curves/measured_curve.hpp).
void add_point(ImportedRows& rows, TimedPoint point);

void add_version(ImportedRows& rows, const std::string& what, const std::string& version);

/// Replaces points at the same size of one shape and kernel by their mean if they agree. If the
/// slowest takes over a quarter longer than the fastest, none can be trusted and all are refused.
void settle_duplicates(ImportedRows& rows);

/// Refuses decode points whose keys and values fit the L2 cache one and a half times and that took
/// less than the shortest call of their kernel plus reading from memory: a benchmark that reads one
/// buffer repeatedly finds it in the cache; an engine, a layer later, does not.
void refuse_cached_reads(ImportedRows& rows, const Gpu& gpu);

}  // namespace roofcast
