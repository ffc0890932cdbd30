// Kernel tables of a GPU that are built into the program: measured curves by kernel source (an
// engine and its version, or a library), thinned. A group of curves is unpacked when it is first
// asked for; everything is shared by all who hold the tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "model/curves/measured_curve.hpp"

namespace roofcast {

/// The fields that all shapes of a group have in common.
struct GroupKey {
  OperatorFamily family = OperatorFamily::gemm;
  std::string name{};
  std::string format{};
  DType cache = DType::bf16;
  Exchange exchange = Exchange::all_reduce;

  auto operator<=>(const GroupKey&) const = default;
};

GroupKey group_key(const OperatorShape& shape);

/// The curves of one source and kind of operator, at most one for each shape.
struct TableGroup {
  std::string source{};  // "vLLM 0.24.0"
  GroupKey key{};
  std::int64_t curves = 0;
  std::int64_t points = 0;  // kept
  std::int64_t timed = 0;   // in the source, kept or answered from those kept
  /// Relative errors of answering the timed points that are not kept from those that are.
  double median_error = 0;
  double p90_error = 0;

  bool operator==(const TableGroup&) const = default;
};

/// The curves of a group, ascending by shape, at most one for each. A group of thousands is asked
/// for a few, so each is made when it is asked for. Safe to ask from several threads.
struct CurveGroup {
  std::size_t size = 0;
  /// A shape of the group: with what they have in common.
  OperatorShape any{};
  /// Turns a shape of the group into that of curve number `place`.
  std::function<void(std::size_t place, OperatorShape& shape)> set_shape{};
  /// Curve number `place`. Throws Error if it cannot be read.
  std::function<MeasuredCurve(std::size_t place)> curve{};

  OperatorShape shape(std::size_t place) const;
  std::vector<MeasuredCurve> all() const;
};

/// Curves that are there already, ascending by shape.
CurveGroup curve_group(std::vector<MeasuredCurve> curves);

/// Where tables come from.
struct TableRecord {
  std::string gpu{};                    // name of the profile that they were checked against
  std::string device{};                 // as the tables name it
  std::string tool{};                   // that packed them: "roofcast 0.1.0"
  std::vector<std::string> left_out{};  // sources for which there was no room, one line each

  bool operator==(const TableRecord&) const = default;
};

/// Immutable; safe to ask from several threads.
class KernelTables {
 public:
  struct Contents {
    TableRecord record{};
    std::vector<TableGroup> groups{};
    /// The curves of a group. Throws Error if they cannot be read.
    std::function<CurveGroup(std::size_t group)> unpack{};
  };
  /// `open` is called when something is first asked. It may throw Error.
  KernelTables(std::string name, std::function<Contents()> open);
  KernelTables(const KernelTables&) = delete;
  KernelTables& operator=(const KernelTables&) = delete;
  ~KernelTables();

  /// The value of a profile's `kernel_tables`.
  const std::string& name() const { return name_; }
  const TableRecord& record() const;
  const std::vector<TableGroup>& groups() const;
  /// Whether they hold kernels that the engine runs: its own (vLLM's, where it has none of its
  /// own), or AITER's. Tables without them were left out for a reason (TableRecord::left_out), and
  /// those of other engines answer nothing for it.
  bool answer_for(std::string_view engine) const;
  /// The curves of group number `group`.
  const CurveGroup& curves(std::size_t group) const;

 private:
  struct Opened;
  Opened& opened() const;

  std::string name_;
  std::function<Contents()> open_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<Opened> opened_;
};

/// Which curves answer for a shape on an engine ("vllm-0.24"; empty: none in particular): those of
/// the first source that has any, by find_blend() over measured curves, in this order: the engine's
/// own in the nearest version (model/curves/curve_source.hpp) and then in others, libraries,
/// other engines (vLLM, SGLang, TensorRT-LLM; for experts only where the engine's own were timed in
/// no size of the format), each in its newest version first. A GEMM that was
/// never timed is interpolated, bilinearly in log2 N and log2 K, between the corners of its cell of
/// the source's grid; without a whole cell neighbours answer, of which those within an octave in
/// the engine's own tables come before another source's. In tables of a library, where each shape
/// was tuned by itself, a product that others tell takes no longer than one with twice as many
/// outputs, and a neighbour no longer than the two nearest larger products. Experts that were never
/// timed are
/// estimated from the two of the engine's own mixtures that are nearest in the logarithms of their
/// sizes (width, hidden size, experts, experts per token), at as many tokens for each expert.
/// Experts of another version of the engine than the nearest take the ratio of the two versions of
/// the nearest experts that both were timed with (CurveBlend::versions).
CurveBlend find_blend(const KernelTables& tables, const OperatorShape& shape,
                      std::string_view engine);

}  // namespace roofcast
