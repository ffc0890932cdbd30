// The contracts of kernels/gemm.hpp in double precision. The contract's pointers are on the host;
// its output is not written.
#pragma once

#include "kernels/gemm.hpp"
#include "tests/kernels/reference.hpp"

namespace roofcast::kernels {

/// [m, n]
Sums gemm_reference(const Gemm& gemm);

/// [first_row[experts], n]
Sums grouped_gemm_reference(const GroupedGemm& gemm);

/// [m, n]
Sums int4_gemm_reference(const Int4Gemm& gemm);

}  // namespace roofcast::kernels
