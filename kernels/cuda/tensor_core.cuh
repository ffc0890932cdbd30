// The instructions that matrix kernels are built from, one function each: tensor-core products,
// loads of their fragments from shared memory, and asynchronous copies to it, which are grouped by
// commit_copies() and wait_copies() of kernels/cuda/warp.hpp. All require compute capability 8.0
// (PTX ISA 8.0, 9.7.14 "mma", "ldmatrix"; 9.7.9.25 "cp.async").
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/cuda/warp.hpp"

namespace roofcast::kernels::cuda {

/// c += a b for one 16 x 8 tile and 16 of k. Lane l holds, with g = l / 4 and t = l % 4:
///   a[0] (g, 2t), a[1] (g + 8, 2t), a[2] (g, 2t + 8), a[3] (g + 8, 2t + 8): (row, k), two
///   neighbours of k each, the first in the low half; b[0] (2t, g), b[1] (2t + 8, g): (k, column);
///   c[0..1] (g, 2t..2t + 1), c[2..3] (g + 8, 2t..2t + 1): (row, column).
template <class T>
__device__ void mma(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);

template <>
__device__ inline void mma<__half>(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                   std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ inline void mma<__nv_bfloat16>(float (&c)[4], const std::uint32_t (&a)[4],
                                          std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Loads four 8 x 8 matrices of 16-bit elements: lane 8 i + r gives the address of row r of matrix
/// i. Lane l receives elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4 of each.
__device__ inline void load_matrices(std::uint32_t (&matrix)[4], const void* row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(matrix[0]), "=r"(matrix[1]), "=r"(matrix[2]), "=r"(matrix[3])
               : "r"(address)
               : "memory");
}

/// Starts copying 16 bytes from global to shared memory, or writing zeros if `given` is false; then
/// `from` is not read but must be a valid address. Both are aligned to 16 bytes.
__device__ inline void copy_async(void* to, const void* from, bool given) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  const int bytes = given ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(address), "l"(from), "r"(bytes)
               : "memory");
}

}  // namespace roofcast::kernels::cuda
