// Finds the fastest kernel source for a matrix product: timed once per shape and octave of rows.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "kernels/backend.hpp"

namespace roofcast::runtime {

class GemmChooser {
 public:
  explicit GemmChooser(kernels::Backend& backend) : backend_(backend) {}

  /// Prepares the product with the fastest source. The first call per octave times all sources; the
  /// result holds for all row counts up to the next power of two. Overwrites the output. Throws
  /// Error if no source can compute it.
  void choose(const kernels::Gemm& gemm);

  /// The source chosen for such a product; if none was timed, the preferred source that supports
  /// it.
  kernels::KernelSource chosen(const kernels::Gemm& gemm) const;

 private:
  using Key = std::tuple<kernels::Element, std::uint64_t, int, int>;  // element, octave, n, k
  static Key key_of(const kernels::Gemm& gemm);

  kernels::Backend& backend_;
  std::map<Key, kernels::KernelSource> chosen_;
};

}  // namespace roofcast::runtime
