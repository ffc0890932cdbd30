// The next token of each row of logits: the largest, or one sampled from the top_k and top_p most
// likely. No sort: a token's rank by descending logit matters only where a running total crosses a
// target, and that logit is found by bisection.
//
// Shapes: logits [rows, vocabulary] (rows need not be aligned to vectors); token [rows]. Bytes: the
// logits once from memory; L2 serves the later passes if it holds the rows.
//
// Launch: one CTA of 1024 threads per row. Greedy: one pass. Otherwise each of top_k, top_p and the
// draw takes 8 passes for 16-bit logits and 16 for fp32: a pass divides the range of logits into
// four. Sums have a fixed order (fp32 within a thread, then double), so a row's token does not
// depend on the rest of the batch or on the row's address.
#include <type_traits>

#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/token_operators.hpp"
#include "kernels/cuda/vector.cuh"

namespace roofcast::kernels::cuda {
namespace {

constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / kWarp;
constexpr int kPivots = 3;  // per pass: four parts

// ---- keys: integers in the order of the logits; 0 and -0 have the same key

constexpr std::uint32_t kSign16 = 0x8000U;
constexpr std::uint32_t kSign32 = 0x80000000U;

__device__ std::uint32_t ordered(std::uint32_t bits, std::uint32_t sign) {
  if (bits == sign) return sign;  // -0
  return (bits & sign) != 0 ? (sign - 1) - (bits - sign) : bits | sign;
}

__device__ std::uint32_t key_of(float logit) { return ordered(__float_as_uint(logit), kSign32); }
__device__ std::uint32_t key_of(__half logit) { return ordered(__half_as_ushort(logit), kSign16); }
__device__ std::uint32_t key_of(__nv_bfloat16 logit) {
  return ordered(__bfloat16_as_ushort(logit), kSign16);
}

template <class T>
__device__ float logit_of(std::uint32_t key) {
  constexpr std::uint32_t kSign = sizeof(T) == sizeof(float) ? kSign32 : kSign16;
  const std::uint32_t bits = (key & kSign) != 0 ? key - kSign : (kSign - 1) - key + kSign;
  if constexpr (sizeof(T) == sizeof(float)) {
    return __uint_as_float(bits);
  } else if constexpr (std::is_same_v<T, __half>) {
    return widen(__ushort_as_half(static_cast<unsigned short>(bits)));
  } else {
    return widen(__ushort_as_bfloat16(static_cast<unsigned short>(bits)));
  }
}

// ---- one row

/// Calls visit(index, logit) for this thread's share of a row: groups of kLanes neighbours, which
/// are the same whether the row is aligned (and they are vectors) or not.
template <class T, class Visit>
__device__ void for_each_logit(const T* row, int vocabulary, const Visit& visit) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(row) % kVectorBytes == 0;
  for (int start = static_cast<int>(threadIdx.x) * kLanes<T>; start < vocabulary;
       start += kThreads * kLanes<T>) {
    const int count = min(kLanes<T>, vocabulary - start);
    Vector<T> group;
    if (aligned && count == kLanes<T>) {
      group = *reinterpret_cast<const Vector<T>*>(row + start);
    } else {
#pragma unroll
      for (int i = 0; i < kLanes<T>; ++i) group.lane[i] = row[start + min(i, count - 1)];
    }
#pragma unroll
    for (int i = 0; i < kLanes<T>; ++i) {
      if (i < count) visit(start + i, group.lane[i]);
    }
  }
}

/// The largest value of all threads, returned to each.
__device__ std::uint64_t block_max(std::uint64_t value) {
  __shared__ std::uint64_t of_warp[kWarps];
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const auto other = static_cast<std::uint64_t>(
        __shfl_xor_sync(kAllLanes, static_cast<unsigned long long>(value), offset));
    value = max(value, other);
  }
  if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
  __syncthreads();
  for (int warp = 0; warp < kWarps; ++warp) value = max(value, of_warp[warp]);
  return value;
}

/// Key and index of the largest logit (the lowest index among equal ones) in one number that
/// increases with the key and decreases with the index.
template <class T>
__device__ std::uint64_t largest(const T* row, int vocabulary) {
  std::uint64_t best = 0;
  for_each_logit(row, vocabulary, [&](int index, T logit) {
    const std::uint64_t candidate =
        static_cast<std::uint64_t>(key_of(logit)) << 32 | ~static_cast<std::uint32_t>(index);
    best = max(best, candidate);
  });
  return block_max(best);
}

__device__ std::int32_t index_in(std::uint64_t best) {
  return static_cast<std::int32_t>(~static_cast<std::uint32_t>(best));
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    greedy_kernel(const T* __restrict__ logits, int vocabulary, std::int32_t* __restrict__ token) {
  const auto row = static_cast<std::int64_t>(blockIdx.x);
  const std::uint64_t best = largest(logits + row * vocabulary, vocabulary);
  if (threadIdx.x == 0) token[row] = index_in(best);
}

// ---- drawing

template <class T>
struct Row {
  const T* logits;
  int vocabulary;
  float largest;
  float factor;  // log2(e) / temperature

  /// Likelihood of a token, relative to the most likely one.
  __device__ float weight(float logit) const { return exp2f((logit - largest) * factor); }
};

/// The tokens from the most likely one down to a given logit.
struct Total {
  int count = 0;
  double weight = 0;
};

__device__ Total operator+(const Total& a, const Total& b) {
  return {a.count + b.count, a.weight + b.weight};
}

__device__ Total shuffled(const Total& total, int offset) {
  return {__shfl_xor_sync(kAllLanes, total.count, offset),
          __shfl_xor_sync(kAllLanes, total.weight, offset)};
}

/// Sums over all threads, with the same bits in each.
template <int kCount>
__device__ void block_totals(Total (&totals)[kCount]) {
  __shared__ Total of_warp[kCount][kWarps];
  const unsigned warp = threadIdx.x / kWarp;
  const unsigned lane = threadIdx.x % kWarp;
  __syncthreads();  // an earlier call may still be reading
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
      totals[i] = totals[i] + shuffled(totals[i], offset);
    }
    if (lane == 0) of_warp[i][warp] = totals[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    totals[i] = of_warp[i][lane];
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
      totals[i] = totals[i] + shuffled(totals[i], offset);
    }
  }
}

static_assert(kWarps == kWarp, "a warp sums the warps' totals");

/// totals[i]: over the tokens with a key of pivots[i] or more.
template <class T, int kCount>
__device__ void totals_from(const Row<T>& row, const std::uint32_t (&pivots)[kCount],
                            Total (&totals)[kCount]) {
  int count[kCount] = {};
  float weight[kCount] = {};
  for_each_logit(row.logits, row.vocabulary, [&](int, T logit) {
    const std::uint32_t key = key_of(logit);
    const float own = row.weight(widen(logit));
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (key < pivots[i]) continue;
      ++count[i];
      weight[i] += own;
    }
  });
#pragma unroll
  for (int i = 0; i < kCount; ++i) totals[i] = {count[i], weight[i]};
  block_totals(totals);
}

/// The tokens with the logit at which a running total crosses a target.
struct Crossing {
  std::uint32_t key = 0;
  Total above{};  // tokens with a greater key
  Total with{};   // including these; unknown if the key is find_crossing()'s `low`
};

/// The greatest key in [low, high) for which reached(total of the tokens from that key on) is true.
/// Assumed true for `low` and false for `high`, which is beyond every key. Totals grow as keys
/// fall, in fp32 too (rounding is monotone), so the key found is one of the row's, or `low`.
template <class T, class Reached>
__device__ Crossing find_crossing(const Row<T>& row, std::uint32_t low, std::uint32_t high,
                                  const Reached& reached) {
  Crossing crossing{};
  while (high - low > 1) {
    std::uint32_t pivots[kPivots];
#pragma unroll
    for (unsigned i = 0; i < kPivots; ++i) {
      pivots[i] =
          low + static_cast<std::uint32_t>(std::uint64_t{high - low} * (i + 1) / (kPivots + 1));
    }
    Total totals[kPivots];
    totals_from(row, pivots, totals);

    // The greatest pivot that reaches the target is the new low, the next one the new high. In a
    // range of 2 or 3 keys a pivot may be the old low.
#pragma unroll
    for (int i = 0; i < kPivots; ++i) {
      if (pivots[i] <= low || pivots[i] >= high) continue;
      if (reached(totals[i])) {
        low = pivots[i];
        crossing.with = totals[i];
      } else {
        high = pivots[i];
        crossing.above = totals[i];
      }
    }
  }
  crossing.key = low;
  return crossing;
}

/// The tokens kept: those with a greater key, and the first `ties` of those with this one. Key 0,
/// which no logit has, means all tokens.
struct Kept {
  std::uint32_t key = 0;
  int ties = 0;
  double weight = 0;  // of all
};

__device__ int ties_kept(const Crossing& crossing, const Kept& kept) {
  return crossing.key == kept.key ? kept.ties : crossing.with.count - crossing.above.count;
}

template <class T>
__device__ Kept keep_all(const Row<T>& row) {
  const std::uint32_t lowest[1] = {0};
  Total total[1];
  totals_from(row, lowest, total);
  return {0, 0, total[0].weight};
}

template <class T>
__device__ Kept keep_top_k(const Row<T>& row, std::uint32_t high, int top_k) {
  const Crossing crossing =
      find_crossing(row, 0, high, [&](const Total& total) { return total.count >= top_k; });
  const int ties = top_k - crossing.above.count;
  const double one = row.weight(logit_of<T>(crossing.key));
  return {crossing.key, ties, crossing.above.weight + ties * one};
}

template <class T>
__device__ Kept keep_top_p(const Row<T>& row, std::uint32_t high, const Kept& kept, float top_p) {
  const double target = double{top_p} * kept.weight;
  const Crossing crossing = find_crossing(
      row, kept.key, high, [&](const Total& total) { return total.weight >= target; });
  const double one = row.weight(logit_of<T>(crossing.key));
  const double wanted = ceil((target - crossing.above.weight) / one);
  const int max_ties = ties_kept(crossing, kept);
  const int ties = wanted < max_ties ? max(1, static_cast<int>(wanted)) : max_ties;
  return {crossing.key, ties, crossing.above.weight + ties * one};
}

/// Index of tie number `wanted` (from 0) among the tokens with this key, in index order. Each warp
/// searches a contiguous part of the row.
template <class T>
__device__ std::int32_t index_of_tie(const Row<T>& row, std::uint32_t key, int wanted) {
  __shared__ int ties_of_warp[kWarps];
  __shared__ std::int32_t found;
  const auto warp = static_cast<int>(threadIdx.x / kWarp);
  const auto lane = static_cast<int>(threadIdx.x % kWarp);
  const int share = (row.vocabulary + kThreads - 1) / kThreads * kWarp;
  const auto ties_at = [&](int start) {
    const int index = start + lane;
    return __ballot_sync(kAllLanes, index < row.vocabulary && key_of(row.logits[index]) == key);
  };
  const int begin = warp * share;
  const int end = min(row.vocabulary, begin + share);

  int ties = 0;
  for (int start = begin; start < end; start += kWarp) ties += __popc(ties_at(start));
  if (lane == 0) ties_of_warp[warp] = ties;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();

  int before = 0;
  for (int i = 0; i < warp; ++i) before += ties_of_warp[i];
  const bool mine = wanted >= before && wanted < before + ties;
  for (int start = begin; mine && start < end; start += kWarp) {
    const unsigned here = ties_at(start);
    const int rank = before + __popc(here & ((1U << lane) - 1));
    if ((here >> lane & 1U) != 0 && rank == wanted) found = start + lane;
    before += __popc(here);
  }
  __syncthreads();
  return found;
}

template <class T>
__global__ void __launch_bounds__(kThreads) draw_kernel(const Sampling sampling) {
  constexpr float kLog2E = 1.44269504F;
  const auto r = static_cast<std::int64_t>(blockIdx.x);
  const T* logits = static_cast<const T*>(sampling.logits) + r * sampling.vocabulary;
  const auto largest_key = static_cast<std::uint32_t>(largest(logits, sampling.vocabulary) >> 32);
  const Row<T> row{.logits = logits,
                   .vocabulary = sampling.vocabulary,
                   .largest = logit_of<T>(largest_key),
                   .factor = kLog2E / sampling.temperature};
  const std::uint32_t high = largest_key + 1;

  // Restrict to top_k, then to top_p of the rest.
  const bool cut = sampling.top_k > 0 && sampling.top_k < sampling.vocabulary;
  Kept kept = cut ? keep_top_k(row, high, sampling.top_k) : keep_all(row);
  if (sampling.top_p < 1) kept = keep_top_p(row, high, kept, sampling.top_p);

  // The first token where the running total exceeds the target.
  const double target = double{sampling.uniform[r]} * kept.weight;
  const Crossing crossing =
      find_crossing(row, kept.key, high, [&](const Total& total) { return total.weight > target; });
  const double tie =
      (target - crossing.above.weight) / double{row.weight(logit_of<T>(crossing.key))};
  const int max_ties = ties_kept(crossing, kept);
  const int wanted = tie < max_ties ? max(0, static_cast<int>(tie)) : max_ties - 1;
  const std::int32_t token = index_of_tie(row, crossing.key, wanted);
  if (threadIdx.x == 0) sampling.token[r] = token;
}

}  // namespace

void launch_sampling(const Sampling& sampling, CUstream_st* stream) {
  check(sampling);
  if (sampling.rows == 0) return;
  const auto rows = static_cast<unsigned>(sampling.rows);
  for_plain_element(sampling.element, [&](auto type) {
    using T = decltype(type);
    if (sampling.top_k == 1) {
      greedy_kernel<T><<<rows, kThreads, 0, stream>>>(static_cast<const T*>(sampling.logits),
                                                      sampling.vocabulary, sampling.token);
    } else {
      draw_kernel<T><<<rows, kThreads, 0, stream>>>(sampling);
    }
    ROOFCAST_CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace roofcast::kernels::cuda
