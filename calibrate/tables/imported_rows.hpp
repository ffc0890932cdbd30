// What was read from other people's kernel tables: timed points, and the rows that were not taken,
// by reason. Every row is accounted for.
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
  std::vector<std::string> first{};  // a few, to look at: "gemm.csv line 12"
};

/// What a decode kernel's curve states beside its points (MeasuredCurve).
struct DecodeKernel {
  OperatorShape shape{};
  std::string kernel{};
  Seconds empty_tile{};
  Seconds tail_token{};
};

/// What holds of all curves of a source (MeasuredCurve).
struct KernelSource {
  std::string kernel{};
  Seconds graph_saving{};
  bool attention_writes_cache = false;
};

struct ImportedRows {
  std::vector<TimedPoint> points{};
  std::int64_t rows = 0;
  std::int64_t mixed = 0;  // of calls over prompts and decodes, of which few become points
  std::map<std::string, LeftOut> refused{};       // by reason: cannot be true, or cannot be read
  std::map<std::string, LeftOut> unused{};        // by reason: true perhaps, but of no use here
  std::map<std::string, std::int64_t> devices{};  // as the tables name them, with their rows
  std::map<std::string, std::string> versions{};  // "vLLM" -> "0.24.0"; several joined by commas
  std::vector<DecodeKernel> decode_kernels{};
  std::vector<KernelSource> sources{};
};

void leave_out(std::map<std::string, LeftOut>& list, const std::string& reason,
               const std::string& place);

/// Takes the point, or refuses it where its time is not a finite number above 0, or time or size
/// are beyond what a profile holds (model/curves/point_limits.hpp).
void add_point(ImportedRows& rows, TimedPoint point);

void add_version(ImportedRows& rows, const std::string& what, const std::string& version);

/// Of points at one size of one shape and kernel: their mean where they agree; where the slowest
/// takes over a quarter longer than the fastest nobody can tell which is right, and all are
/// refused.
void settle_duplicates(ImportedRows& rows);

/// Refuses decode points whose keys and values fit the L2 cache one and a half times and that took
/// less than the shortest call of their kernel plus reading from memory: a benchmark that reads one
/// buffer again and again finds it in the cache, where an engine, a layer later, does not.
void refuse_cached_reads(ImportedRows& rows, const Gpu& gpu);

}  // namespace roofcast
