// Runs a CUDA kernel's CTA on the host, thread by thread, with the definitions of
// kernels/cuda/warp.hpp that a host compiler lacks. Meant to find what a test on a GPU would: wrong
// indices, a missing barrier, a copy that is read before it was waited for, lanes of a warp that
// diverge before a shuffle. Threads run in random order between barriers, shared memory starts as
// NaN, and an asynchronous copy leaves NaN at its destination until its thread has waited for it.
#pragma once

#include <cstdint>
#include <functional>

namespace roofcast::kernels::test {

struct EmulatedLaunch {
  int ctas = 1;
  int threads = 32;  // a multiple of 32
  std::uint32_t shared_bytes = 0;
  std::uint32_t seed = 0;  // of the order of CTAs and threads
};

/// Runs `thread` once for each thread of each CTA, one CTA at a time. Throws std::logic_error on a
/// deadlock, on lanes of a warp that meet at different operations, on shared memory accessed out of
/// bounds or misaligned, and on copies that were never waited for. Not thread-safe.
void emulate(const EmulatedLaunch& launch, const std::function<void()>& thread);

}  // namespace roofcast::kernels::test
