// The GPU's clocks, the empty kernel and the delay.
//
// Launch: the clock probe has one thread per multiprocessor. The scheduler spreads CTAs over an
// idle device before it doubles up; a multiprocessor that got none is omitted from the result. A
// second CTA on the same one writes a later reading of the same clocks.
#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/probes.hpp"

namespace roofcast::kernels::cuda {
namespace {

__device__ unsigned multiprocessor() {
  unsigned number = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}

__device__ std::uint64_t global_nanoseconds() {
  unsigned long long nanoseconds = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

__global__ void clock_probe_kernel(ClockReading* readings) {
  const unsigned number = multiprocessor();
  if (number >= kMaxMultiprocessors) return;
  readings[number] = {global_nanoseconds(), static_cast<std::uint64_t>(clock64())};
}

__global__ void empty_kernel() {}

__global__ void delay_kernel(std::uint64_t nanoseconds) {
  constexpr unsigned kNap = 200;  // nanoseconds between two polls
  const std::uint64_t start = global_nanoseconds();
  while (global_nanoseconds() - start < nanoseconds) __nanosleep(kNap);
}

}  // namespace

void launch_clock_probe(ClockReading* readings, int multiprocessors, CUstream_st* stream) {
  clock_probe_kernel<<<static_cast<unsigned>(multiprocessors), 1, 0, stream>>>(readings);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

void launch_empty(CUstream_st* stream) {
  empty_kernel<<<1, 1, 0, stream>>>();
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

void launch_delay(std::uint64_t nanoseconds, CUstream_st* stream) {
  delay_kernel<<<1, 1, 0, stream>>>(nanoseconds);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

}  // namespace roofcast::kernels::cuda
