// Kernel tables as bytes: hardware_profiles/*.curves, which are built into the program.
//
// A header (JSON) says where the tables come from and lists their groups; each group follows,
// compressed on its own, so that only what is asked for is unpacked. Within a group everything is a
// column over its curves or points: numbers as places in the column's list of values, times as
// steps of a scale of which an octave has kStepsPerOctave, as differences from point to point.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/curves/kernel_tables.hpp"

namespace roofcast {

/// Steps of a stored time in an octave: 0.4 to 0.8 % apart, so at most 0.4 % off.
inline constexpr int kStepsPerOctave = 128;

/// The stored time nearest to `time`; the next longer one if `at_least`.
Seconds stored_time(Seconds time, bool at_least = false);

/// The curves of a group, ascending by shape, each shape once. `curves` and `points` of the group
/// are set from them.
struct PackedGroup {
  TableGroup group{};
  std::vector<MeasuredCurve> curves{};
};

/// Times become stored_time(); the points of a curve all get the spread and number of samples of
/// its first. All else is read back as it was. Throws Error if a shape has what cannot be stored.
std::string write_kernel_tables(const TableRecord& record, const std::vector<PackedGroup>& groups);

/// The tables in `bytes`, which must outlive them. What is asked first throws Error ("kernel tables
/// NAME: ...") if the bytes cannot be read.
std::shared_ptr<const KernelTables> read_kernel_tables(const std::string& name,
                                                       std::string_view bytes);

/// Hash of the bytes, as they state it.
std::string_view stated_hash(std::string_view bytes);

/// Names of the tables that are built in, sorted.
std::vector<std::string> kernel_table_names();

/// The built-in tables of that name, one for the whole program; null: there are none.
std::shared_ptr<const KernelTables> built_in_tables(const std::string& name);

/// Their bytes; empty: there are none.
std::string_view built_in_table_bytes(const std::string& name);

}  // namespace roofcast
