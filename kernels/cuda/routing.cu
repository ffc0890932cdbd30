// Chooses each token's experts and sorts the token-expert pairs by expert.
//
// Shapes: logits [tokens, experts]; weight, place [tokens, top_k]; source [tokens top_k]; first_row
// [experts + 1]. Bytes: the logits, and 12 per pair. In decode both kernels are latency-bound.
//
// Launch: (1) one warp per token keeps its logits in registers and takes the largest top_k times,
// storing the choices in `place`. (2) one CTA counting-sorts the pairs: each warp counts the
// experts of a contiguous part of the pairs, a prefix sum over experts and warps turns the counts
// into start positions, and each warp places its part in order. So pairs of one expert keep the
// order of their tokens for any number of warps.
#include <algorithm>
#include <limits>

#include "kernels/ceil_divide.hpp"
#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/token_operators.hpp"
#include "kernels/cuda/vector.cuh"

namespace roofcast::kernels::cuda {
namespace {

// ---- (1) choosing

constexpr int kChooseWarps = 4;  // per CTA
constexpr int kNoExpert = std::numeric_limits<int>::max();
constexpr float kLowest = -std::numeric_limits<float>::infinity();

/// A logit and its expert; of equal logits the lower expert is better.
struct Candidate {
  float logit;
  int expert;
};

__device__ bool better(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.expert < b.expert);
}

/// The best candidate of all lanes, returned to each.
__device__ Candidate warp_best(Candidate candidate) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const Candidate other{__shfl_xor_sync(kAllLanes, candidate.logit, offset),
                          __shfl_xor_sync(kAllLanes, candidate.expert, offset)};
    if (better(other, candidate)) candidate = other;
  }
  return candidate;
}

/// kPerLane: experts per lane; kPerLane * kWarp covers all.
template <class T, int kPerLane>
__global__ void __launch_bounds__(kChooseWarps* kWarp) choose_kernel(const Routing routing) {
  const auto lane = static_cast<int>(threadIdx.x % kWarp);
  const std::int64_t token =
      static_cast<std::int64_t>(blockIdx.x) * kChooseWarps + threadIdx.x / kWarp;
  if (token >= routing.tokens) return;
  const T* logits = static_cast<const T*>(routing.logits) + token * routing.experts;

  // Lane l holds the experts l, l + 32, ...
  // A NaN counts as minus infinity, so that every choice is an expert.
  float held[kPerLane];
  unsigned taken = 0;  // bit i: held[i] is no longer a candidate
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int expert = lane + i * kWarp;
    const bool exists = expert < routing.experts;
    held[i] = exists ? fmaxf(widen(logits[expert]), kLowest) : kLowest;
    if (!exists) taken |= 1U << i;
  }

  // Take the best top_k times. Lane j keeps choice j.
  Candidate mine{kLowest, 0};
  for (int choice = 0; choice < routing.top_k; ++choice) {
    Candidate best{kLowest, kNoExpert};
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const Candidate candidate{held[i], lane + i * kWarp};
      if ((taken >> i & 1U) == 0 && better(candidate, best)) best = candidate;
    }
    best = warp_best(best);
    if (best.expert % kWarp == lane) taken |= 1U << best.expert / kWarp;
    if (lane == choice) mine = best;
  }

  // Softmax over the choices; the first is the largest.
  const float largest = __shfl_sync(kAllLanes, mine.logit, 0);
  const bool chosen = lane < routing.top_k;
  const float exponential = chosen ? expf(mine.logit - largest) : 0.0F;
  const float sum = warp_sum(exponential);
  if (!chosen) return;
  routing.weight[token * routing.top_k + lane] = exponential / sum;
  routing.place[token * routing.top_k + lane] = mine.expert;
}

template <class T, int kPerLane>
void choose(const Routing& routing, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(ceil_divide(routing.tokens, kChooseWarps));
  choose_kernel<T, kPerLane><<<blocks, kChooseWarps * kWarp, 0, stream>>>(routing);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

template <class T>
void choose_for(const Routing& routing, cudaStream_t stream) {
  if (routing.experts <= 2 * kWarp) return choose<T, 2>(routing, stream);
  if (routing.experts <= 4 * kWarp) return choose<T, 4>(routing, stream);
  if (routing.experts <= 8 * kWarp) return choose<T, 8>(routing, stream);
  if (routing.experts <= 16 * kWarp) return choose<T, 16>(routing, stream);
  choose<T, kMaxExperts / kWarp>(routing, stream);
}

// ---- (2) sorting

constexpr int kRowsInFlight = 8;
constexpr int kSortBytes = 96 * 1024;  // of shared memory, available on every GPU since sm_80

/// One of the 32 pairs that a warp processes at a time.
struct PairOfLane {
  std::int32_t expert;
  int rank;   // position among these pairs of the same expert
  int count;  // of these pairs with the same expert
};

/// `lanes`: the lanes that have a pair and call this.
__device__ PairOfLane pair_of_lane(std::int32_t expert, unsigned lanes) {
  const unsigned same = __match_any_sync(lanes, expert);
  const unsigned below = (1U << threadIdx.x % kWarp) - 1;
  return {expert, __popc(same & below), __popc(same)};
}

/// Calls visit(pair, pair_of_lane, lanes) for the pairs from begin to end, 32 at a time in order. A
/// warp keeps kRowsInFlight times 32 loads in flight, because it must hide their latency alone.
template <class Visit>
__device__ void for_each_pair(const std::int32_t* expert_of, std::int64_t begin, std::int64_t end,
                              const Visit& visit) {
  const auto lane = static_cast<int>(threadIdx.x % kWarp);
  for (std::int64_t start = begin; start < end; start += kRowsInFlight * kWarp) {
    std::int32_t expert[kRowsInFlight];
#pragma unroll
    for (int row = 0; row < kRowsInFlight; ++row) {
      const std::int64_t pair = start + row * kWarp + lane;
      expert[row] = pair < end ? expert_of[pair] : 0;
    }
#pragma unroll
    for (int row = 0; row < kRowsInFlight; ++row) {
      const std::int64_t pair = start + row * kWarp + lane;
      const unsigned lanes = __ballot_sync(kAllLanes, pair < end);
      if (pair < end) visit(pair, pair_of_lane(expert[row], lanes), lanes);
      __syncwarp();
    }
  }
}

/// Turns counts[warp][expert] into the start position of each warp's pairs of each expert, and
/// writes first_row. Thread e processes the experts e, e + blockDim.x, ...
__device__ void places_from_counts(std::int32_t* counts, int warps, int experts,
                                   std::int32_t* first_row) {
  const auto threads = static_cast<int>(blockDim.x);
  const auto thread = static_cast<int>(threadIdx.x);
  std::int32_t before = 0;  // pairs of all experts below this round's
  for (int start = 0; start < experts; start += threads) {
    const int expert = start + thread;
    const int end = expert < experts ? warps * experts : 0;
    std::int32_t own = 0;
    for (int at = expert; at < end; at += experts) own += counts[at];
    std::int32_t of_round = 0;
    std::int32_t place = before + block_prefix(own, of_round);
    if (expert < experts) first_row[expert] = place;
    for (int at = expert; at < end; at += experts) {
      const std::int32_t count = counts[at];
      counts[at] = place;
      place += count;
    }
    before += of_round;
  }
  if (thread == 0) first_row[experts] = before;
}

__global__ void __launch_bounds__(kMaxThreads) sort_kernel(const Routing routing) {
  extern __shared__ std::int32_t counts[];  // [warps, experts]
  const auto warps = static_cast<int>(blockDim.x / kWarp);
  const auto warp = static_cast<int>(threadIdx.x / kWarp);
  const int experts = routing.experts;
  std::int32_t* own = counts + warp * experts;
  const std::int64_t pairs = routing.tokens * routing.top_k;
  const std::int64_t share = (pairs + warps - 1) / warps;
  const std::int64_t begin = min(pairs, warp * share);
  const std::int64_t end = min(pairs, begin + share);

  for (int i = static_cast<int>(threadIdx.x); i < warps * experts;
       i += static_cast<int>(blockDim.x)) {
    counts[i] = 0;
  }
  __syncthreads();
  for_each_pair(routing.place, begin, end, [&](std::int64_t, const PairOfLane& pair, unsigned) {
    if (pair.rank == 0) own[pair.expert] += pair.count;
  });
  __syncthreads();
  places_from_counts(counts, warps, experts, routing.first_row);
  __syncthreads();

  // `place` holds the expert of each choice until its position is known.
  for_each_pair(routing.place, begin, end,
                [&](std::int64_t at, const PairOfLane& pair, unsigned lanes) {
                  const std::int32_t place = own[pair.expert] + pair.rank;
                  __syncwarp(lanes);
                  if (pair.rank == 0) own[pair.expert] += pair.count;
                  routing.place[at] = place;
                  routing.source[place] = static_cast<std::int32_t>(at) / routing.top_k;
                });
}

void sort(const Routing& routing, cudaStream_t stream) {
  const int bytes_of_warp = routing.experts * static_cast<int>(sizeof(std::int32_t));
  const int max_warps = std::min(kMaxThreads / kWarp, kSortBytes / bytes_of_warp);
  const std::int64_t pairs = routing.tokens * routing.top_k;
  const std::int64_t wanted =
      std::max(ceil_divide(pairs, kWarp), ceil_divide(routing.experts, kWarp));
  const auto warps = static_cast<int>(std::min<std::int64_t>(wanted, max_warps));
  ROOFCAST_CUDA_CHECK(
      cudaFuncSetAttribute(sort_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSortBytes));
  sort_kernel<<<1, static_cast<unsigned>(warps * kWarp),
                static_cast<std::size_t>(warps * bytes_of_warp), stream>>>(routing);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void launch_routing(const Routing& routing, CUstream_st* stream) {
  check(routing);
  if (routing.tokens > 0) {
    for_plain_element(routing.element,
                      [&](auto type) { choose_for<decltype(type)>(routing, stream); });
  }
  sort(routing, stream);
}

}  // namespace roofcast::kernels::cuda
