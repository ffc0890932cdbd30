// Which source computes a product fastest: timed once for each shape and octave of rows.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "kernels/backend.hpp"

namespace roofcast::runtime {

class GemmChooser {
 public:
  explicit GemmChooser(kernels::Backend& backend) : backend_(backend) {}

  /// Prepares the product with the fastest source, which is found by timing them once for all
  /// numbers of rows up to the next power of two. Overwrites the output. Throws Error when no
  /// source can compute it.
  void choose(const kernels::Gemm& gemm);

  /// The choice for such a product; the preferred source that can where none was timed.
  kernels::KernelSource chosen(const kernels::Gemm& gemm) const;

 private:
  using Key = std::tuple<kernels::Element, std::uint64_t, int, int>;  // element, octave, n, k
  static Key key_of(const kernels::Gemm& gemm);

  kernels::Backend& backend_;
  std::map<Key, kernels::KernelSource> chosen_;
};

}  // namespace roofcast::runtime
