// Kernel tables to be built into the program, from a profile's imported curves: of each source and
// shape the kernel that answers for it, thinned, as many sources as there is room for. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/hardware/gpu.hpp"
#include "model/io/kernel_tables_file.hpp"

namespace roofcast {

struct PackingRules {
  double tolerance = 0.05;            // largest error of a timed point that is left out
  double max_median = 0.03;           // of these errors in a group, else it is thinned less
  std::size_t max_bytes = 1'500'000;  // of the file
};

/// What became of the curves of a source.
struct PackedSource {
  std::string source{};
  std::size_t bytes = 0;
  bool kept = true;
};

struct PackedTables {
  std::string bytes{};
  std::vector<PackedGroup> groups{};    // that are kept
  std::vector<PackedSource> sources{};  // the newest of each engine and library first
};

/// Packs what was imported: `record` without `left_out`. Sources that do not fit are left out, the
/// oldest versions first. Throws Error if not even the newest ones fit, or if a stored time would
/// beat the GPU's physics. Precondition: the GPU was measured.
PackedTables pack_tables(const Gpu& gpu, const TableRecord& record, const PackingRules& rules = {});

}  // namespace roofcast
