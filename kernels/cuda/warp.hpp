// The hardware operations that the attention kernels use, one function each: thread indices,
// barriers, shuffles, asynchronous copies, matrix loads and mma. On the GPU they are PTX. A host
// compiler sees the same names only as declarations: tests/kernels/cuda/emulated_cta.cpp defines
// them, so that a kernel's own code runs, thread by thread, on a machine without a GPU.
#pragma once

#include <cstdint>

#include "kernels/element.hpp"

#if defined(__CUDACC__)
#define ROOFCAST_DEVICE __device__ __forceinline__
#define ROOFCAST_HOST_AND_DEVICE __host__ __device__ __forceinline__
#define ROOFCAST_UNROLL _Pragma("unroll")
#define ROOFCAST_UNROLL_BY_THREE _Pragma("unroll 3")
#define ROOFCAST_UNROLL_BY_FOUR _Pragma("unroll 4")
#else
#define ROOFCAST_DEVICE inline
#define ROOFCAST_HOST_AND_DEVICE inline
#define ROOFCAST_UNROLL
#define ROOFCAST_UNROLL_BY_THREE
#define ROOFCAST_UNROLL_BY_FOUR
#endif

namespace roofcast::kernels::cuda {

inline constexpr int kWarpThreads = 32;
inline constexpr int kChunkBytes =
    16;  // of one cp.async, one row of an 8x8 matrix of 16-bit values

/// 16 bytes.
struct alignas(kChunkBytes) Quad {
  std::uint32_t word[4];
};

// Shared memory is addressed by 32-bit numbers starting at shared_base(), the start of the CTA's
// dynamic shared memory.

#if defined(__CUDACC__)

ROOFCAST_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
ROOFCAST_DEVICE int block_index() { return static_cast<int>(blockIdx.x); }
ROOFCAST_DEVICE int block_count() { return static_cast<int>(gridDim.x); }

/// Waits for all threads of the CTA; earlier writes to shared memory are visible afterwards.
ROOFCAST_DEVICE void barrier() { __syncthreads(); }
/// The same for all threads of the warp.
ROOFCAST_DEVICE void warp_barrier() { __syncwarp(); }

ROOFCAST_DEVICE float shuffle_xor(float value, int mask) {
  return __shfl_xor_sync(0xffffffffU, value, mask);
}
ROOFCAST_DEVICE std::uint32_t shuffle(std::uint32_t value, int lane) {
  return __shfl_sync(0xffffffffU, value, lane);
}
/// The value `distance` lanes below; in the lowest lanes, their own.
ROOFCAST_DEVICE std::uint32_t shuffle_up(std::uint32_t value, int distance) {
  return __shfl_up_sync(0xffffffffU, value, static_cast<unsigned>(distance));
}
/// One bit per lane.
ROOFCAST_DEVICE std::uint32_t ballot(bool holds) { return __ballot_sync(0xffffffffU, holds); }
ROOFCAST_DEVICE int lowest_bit(std::uint32_t bits) { return __ffs(static_cast<int>(bits)) - 1; }

/// Returns the value, opaque to the compiler: computations that depend on it are not moved out of a
/// loop, where they would use registers for the rare case that needs them.
ROOFCAST_DEVICE int computed_here(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

ROOFCAST_DEVICE std::uint32_t bits_of(float value) { return __float_as_uint(value); }
ROOFCAST_DEVICE float float_of(std::uint32_t bits) { return __uint_as_float(bits); }
ROOFCAST_DEVICE float largest_of(float a, float b) { return fmaxf(a, b); }
ROOFCAST_DEVICE float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }

/// 2^value, relative error 2^-22 (PTX ISA, ex2.approx); 0 for minus infinity.
ROOFCAST_DEVICE float power_of_two(float value) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

/// Two values rounded to T: `low` in the lower half.
template <class T>
ROOFCAST_DEVICE std::uint32_t pack(float low, float high);
template <>
ROOFCAST_DEVICE std::uint32_t pack<Bf16>(float low, float high) {
  std::uint32_t result;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}
template <>
ROOFCAST_DEVICE std::uint32_t pack<Fp16>(float low, float high) {
  std::uint32_t result;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}

/// Two products of T, one per half.
template <class T>
ROOFCAST_DEVICE std::uint32_t multiply_pair(std::uint32_t a, std::uint32_t b);
template <>
ROOFCAST_DEVICE std::uint32_t multiply_pair<Bf16>(std::uint32_t a, std::uint32_t b) {
  constexpr std::uint32_t kMinusZero = 0x80008000U;  // the addend that keeps the sign of a zero
  std::uint32_t result;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(kMinusZero));
  return result;
}
template <>
ROOFCAST_DEVICE std::uint32_t multiply_pair<Fp16>(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}

/// Bytes 0, 1 of `a` and 0, 1 of `b`.
ROOFCAST_DEVICE std::uint32_t join_low(std::uint32_t a, std::uint32_t b) {
  return __byte_perm(a, b, 0x5410);
}
/// Bytes 2, 3 of `a` and 2, 3 of `b`.
ROOFCAST_DEVICE std::uint32_t join_high(std::uint32_t a, std::uint32_t b) {
  return __byte_perm(a, b, 0x7632);
}

ROOFCAST_DEVICE std::uint32_t shared_base() {
  extern __shared__ __align__(1024) unsigned char shared_storage[];
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_storage));
}

ROOFCAST_DEVICE std::uint32_t load_shared(std::uint32_t address) {
  std::uint32_t value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}
ROOFCAST_DEVICE Quad load_shared_quad(std::uint32_t address) {
  Quad q;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(q.word[0]), "=r"(q.word[1]), "=r"(q.word[2]), "=r"(q.word[3])
               : "r"(address)
               : "memory");
  return q;
}
ROOFCAST_DEVICE void store_shared(std::uint32_t address, std::uint32_t value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
ROOFCAST_DEVICE void store_shared_pair(std::uint32_t address, std::uint32_t a, std::uint32_t b) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(a), "r"(b) : "memory");
}
ROOFCAST_DEVICE void store_shared_quad(std::uint32_t address, const Quad& q) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(q.word[0]),
               "r"(q.word[1]), "r"(q.word[2]), "r"(q.word[3])
               : "memory");
}

/// Queues the copy of 16 bytes from global to shared memory, or of 16 zero bytes if not `valid`
/// (then nothing is read). Bypasses L1, so that data read once do not evict data read often.
ROOFCAST_DEVICE void copy_async(std::uint32_t to, const void* from, bool valid) {
  const int bytes = valid ? kChunkBytes : 0;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(bytes)
               : "memory");
}
/// Closes the group of copies that this thread has queued so far.
ROOFCAST_DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most kPending of this thread's newest groups are in flight.
template <int kPending>
ROOFCAST_DEVICE void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// Four 8x8 matrices of 16-bit values: lane i gives the address of row i % 8 of matrix i / 8. Word
/// m of each lane receives elements 2 (lane % 4) and the next of row lane / 4 of matrix m.
ROOFCAST_DEVICE Quad load_matrices(std::uint32_t row_address) {
  Quad q;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(q.word[0]), "=r"(q.word[1]), "=r"(q.word[2]), "=r"(q.word[3])
               : "r"(row_address)
               : "memory");
  return q;
}
/// The same with each matrix transposed: rows 2 (lane % 4) and the next of column lane / 4.
ROOFCAST_DEVICE Quad load_matrices_transposed(std::uint32_t row_address) {
  Quad q;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(q.word[0]), "=r"(q.word[1]), "=r"(q.word[2]), "=r"(q.word[3])
               : "r"(row_address)
               : "memory");
  return q;
}

/// c[16, 8] += a[16, 16] b[16, 8], in fp32. Which lane holds which elements: attention_tile.hpp.
template <class T>
ROOFCAST_DEVICE void matrix_multiply_add(float (&c)[4], const Quad& a, std::uint32_t b0,
                                         std::uint32_t b1);
template <>
ROOFCAST_DEVICE void matrix_multiply_add<Bf16>(float (&c)[4], const Quad& a, std::uint32_t b0,
                                               std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b0), "r"(b1));
}
template <>
ROOFCAST_DEVICE void matrix_multiply_add<Fp16>(float (&c)[4], const Quad& a, std::uint32_t b0,
                                               std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b0), "r"(b1));
}

/// Lets the next kernel of the stream be set up now, if it was launched that way ("programmatic
/// dependent launch", sm_90).
ROOFCAST_DEVICE void let_next_kernel_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
/// Waits until the previous kernel has ended and its writes are visible; returns at once if
/// launched without it.
ROOFCAST_DEVICE void wait_for_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#else  // a host compiler: declared here, defined by the emulation

int thread_index();
int block_index();
int block_count();
void barrier();
void warp_barrier();
float shuffle_xor(float value, int mask);
std::uint32_t shuffle(std::uint32_t value, int lane);
std::uint32_t shuffle_up(std::uint32_t value, int distance);
std::uint32_t ballot(bool holds);
int lowest_bit(std::uint32_t bits);
int computed_here(int value);
std::uint32_t bits_of(float value);
float float_of(std::uint32_t bits);
float largest_of(float a, float b);
float multiply_add(float a, float b, float c);
float power_of_two(float value);
template <class T>
std::uint32_t pack(float low, float high);
template <class T>
std::uint32_t multiply_pair(std::uint32_t a, std::uint32_t b);
std::uint32_t join_low(std::uint32_t a, std::uint32_t b);
std::uint32_t join_high(std::uint32_t a, std::uint32_t b);
std::uint32_t shared_base();
std::uint32_t load_shared(std::uint32_t address);
Quad load_shared_quad(std::uint32_t address);
void store_shared(std::uint32_t address, std::uint32_t value);
void store_shared_pair(std::uint32_t address, std::uint32_t a, std::uint32_t b);
void store_shared_quad(std::uint32_t address, const Quad& q);
void copy_async(std::uint32_t to, const void* from, bool valid);
void commit_copies();
template <int kPending>
void wait_copies();
Quad load_matrices(std::uint32_t row_address);
Quad load_matrices_transposed(std::uint32_t row_address);
template <class T>
void matrix_multiply_add(float (&c)[4], const Quad& a, std::uint32_t b0, std::uint32_t b1);
void let_next_kernel_start();
void wait_for_previous_kernel();

#endif

}  // namespace roofcast::kernels::cuda
