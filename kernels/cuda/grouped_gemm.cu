// The experts' matrix products in one launch: rows are sorted by expert, and each expert's rows are
// multiplied by its own matrix. The row ranges are known only on the device.
//   output[r, n] = sum_k input[r, k] weight[e(r), n, k]
//
// Shapes: input [rows, k], weight [experts, n, k], output [rows, n], first_row [experts + 1]; k
// contiguous in both operands, as mma.sync requires. FLOPs: 2 rows n k. Bytes: the weights of the
// experts used, input and output. Bound by the weights' bytes with few rows per expert, by the
// tensor cores with many.
//
// Launch: as many CTAs as the device holds at a time, each looping over output tiles. A tile
// multiplies slices of 64 of k, which cp.async brings to shared memory several slices ahead; warps
// multiply 16-bit operands with mma.sync and accumulate in fp32. A row of a slice is 128 bytes,
// eight chunks of 16; chunk c of row r is stored at c ^ (r % 8), so that neither the copies nor
// ldmatrix have bank conflicts. Tiles are ordered by groups of columns, then by row, so that
// concurrent CTAs share operands in L2.
#include <algorithm>
#include <type_traits>

#include "kernels/ceil_divide.hpp"
#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/gemm.hpp"
#include "kernels/cuda/tensor_core.cuh"
#include "kernels/cuda/vector.cuh"

namespace roofcast::kernels::cuda {
namespace {

constexpr int kMaxMatrices = 512;  // limited by shared memory next to the slices
constexpr int kSlice = 64;         // of k, in elements
constexpr int kChunk = 8;          // elements of 16 bytes
constexpr int kChunks = kSlice / kChunk;
constexpr int kStep = 16;        // of k in one mma
constexpr int kColumnGroup = 8;  // tiles whose weights concurrent CTAs share

/// A CTA's output tile, the warps that share it, and the slices in flight. Shared memory stays
/// below the 99 KiB of compute capability 8.6 and 8.9.
template <int kRowsIn, int kColumnsIn, int kRowWarpsIn, int kColumnWarpsIn, int kStagesIn>
struct Tile {
  static constexpr int kRows = kRowsIn;
  static constexpr int kColumns = kColumnsIn;
  static constexpr int kRowWarps = kRowWarpsIn;
  static constexpr int kColumnWarps = kColumnWarpsIn;
  static constexpr int kStages = kStagesIn;
  static constexpr int kThreads = kRowWarps * kColumnWarps * kWarp;
  static constexpr int kResident = kThreads == 128 ? 3 : 2;  // CTAs that SMs of 9.0 can hold
  static constexpr int kWarpRows = kRows / kRowWarps;        // per warp
  static constexpr int kWarpColumns = kColumns / kColumnWarps;
  static constexpr int kRowBlocks = kWarpRows / 16;  // mma tiles of 16 x 8
  static constexpr int kColumnBlocks = kWarpColumns / 8;
  static constexpr int kStageElements = (kRows + kColumns) * kSlice;
  static constexpr int kSharedBytes = kStages * kStageElements * 2;
  static_assert(kColumnBlocks % 2 == 0 && kSharedBytes <= 96 * 1024);
};
using FewRows = Tile<16, 128, 1, 4, 4>;
using SomeRows = Tile<64, 128, 2, 2, 3>;
using ManyRows = Tile<128, 128, 2, 4, 3>;

template <class T>
struct Arguments {
  const T* __restrict__ input;                 // [rows, k]
  const T* __restrict__ weight;                // [matrices, n, k]
  T* __restrict__ output;                      // [rows, n]
  const std::int32_t* __restrict__ first_row;  // [matrices + 1]; null: one matrix for all rows
  int matrices;
  std::int32_t rows;
  int n;
  int k;
};

/// The part of the output that a tile covers.
struct Place {
  int matrix;
  int row;     // first row
  int end;     // the matrix's last row + 1
  int column;  // first column
};

/// The rows of each matrix as tiles: matrix e has the row tiles first_tile[e] to first_tile[e + 1].
template <class TileShape, class T>
struct Schedule {
  const Arguments<T>& gemm;
  const int* first_tile;  // shared, [matrices + 1]
  int column_tiles;

  __device__ int first_row(int matrix) const {
    if (gemm.first_row == nullptr) return matrix == 0 ? 0 : gemm.rows;
    return gemm.first_row[matrix];
  }

  __device__ int tiles() const { return first_tile[gemm.matrices] * column_tiles; }

  __device__ Place place(int tile) const {
    // The last matrix that starts at or before the tile; skips those without rows.
    const int row_tile = tile / column_tiles;
    int matrix = 0;
    for (int beyond = gemm.matrices; beyond - matrix > 1;) {
      const int middle = (matrix + beyond) / 2;
      (first_tile[middle] <= row_tile ? matrix : beyond) = middle;
    }
    const int row_tiles = first_tile[matrix + 1] - first_tile[matrix];
    const int within = tile - first_tile[matrix] * column_tiles;
    const int group = within / (row_tiles * kColumnGroup);
    const int within_group = within - group * row_tiles * kColumnGroup;
    const int width = min(kColumnGroup, column_tiles - group * kColumnGroup);
    return {matrix, first_row(matrix) + within_group / width * TileShape::kRows,
            first_row(matrix + 1),
            (group * kColumnGroup + within_group % width) * TileShape::kColumns};
  }
};

/// Fills first_tile; all threads must call it.
template <class TileShape, class T>
__device__ Schedule<TileShape, T> make_schedule(const Arguments<T>& gemm, int* first_tile) {
  const Schedule<TileShape, T> schedule{gemm, first_tile,
                                        (gemm.n + TileShape::kColumns - 1) / TileShape::kColumns};
  int before = 0;
  for (int start = 0; start < gemm.matrices; start += TileShape::kThreads) {
    const int matrix = start + static_cast<int>(threadIdx.x);
    const bool exists = matrix < gemm.matrices;
    const int rows = exists ? schedule.first_row(matrix + 1) - schedule.first_row(matrix) : 0;
    int of_round = 0;
    const int tiles = (rows + TileShape::kRows - 1) / TileShape::kRows;
    const int first = before + block_prefix(tiles, of_round);
    if (exists) first_tile[matrix] = first;
    before += of_round;
  }
  if (threadIdx.x == 0) first_tile[gemm.matrices] = before;
  __syncthreads();
  return schedule;
}

/// Offset of element 0 of a chunk in a slice.
__device__ int swizzled(int row, int chunk) {
  return row * kSlice + (chunk ^ (row % kChunks)) * kChunk;
}

/// Starts copying kRows rows of a slice of k; rows from `rows_left` on and chunks beyond k are
/// filled with zeros. `from` is row 0 at k = 0.
template <class TileShape, int kRows, class T>
__device__ void copy_slice(T* slice, const T* from, int rows_left, int k_begin, int k) {
  constexpr int kRowsAtOnce = TileShape::kThreads / kChunks;
  static_assert(kRows % kRowsAtOnce == 0);
  const int chunk = static_cast<int>(threadIdx.x) % kChunks;
  const int column = k_begin + chunk * kChunk;
#pragma unroll
  for (int i = 0; i < kRows / kRowsAtOnce; ++i) {
    const int row = static_cast<int>(threadIdx.x) / kChunks + i * kRowsAtOnce;
    const bool given = row < rows_left && column < k;
    const T* source = given ? from + static_cast<std::int64_t>(row) * k + column : from;
    copy_async(slice + swizzled(row, chunk), source, given);
  }
}

/// A warp's part of the output tile.
template <class TileShape>
struct Sums {
  float at[TileShape::kRowBlocks][TileShape::kColumnBlocks][4];  // in the layout of mma()
};

/// Adds the product of one slice.
template <class TileShape, class T>
__device__ void multiply_slice(const T* input, const T* weight, Sums<TileShape>& sums) {
  const auto lane = static_cast<int>(threadIdx.x % kWarp);
  const auto warp = static_cast<int>(threadIdx.x / kWarp);
  const int first_row = warp / TileShape::kColumnWarps * TileShape::kWarpRows;
  const int first_column = warp % TileShape::kColumnWarps * TileShape::kWarpColumns;
#pragma unroll
  for (int step = 0; step < kSlice / kStep; ++step) {
    // Rows of a 16 x 16 block of the input: matrices (0, 0), (8, 0), (0, 8), (8, 8) of (row, k).
    std::uint32_t a[TileShape::kRowBlocks][4];
#pragma unroll
    for (int i = 0; i < TileShape::kRowBlocks; ++i) {
      const int row = first_row + i * 16 + lane % 16;
      load_matrices(a[i], input + swizzled(row, 2 * step + lane / 16));
    }
    // Two blocks of 8 columns at a time: matrices (0, 0), (0, 8), (8, 0), (8, 8) of (column, k).
#pragma unroll
    for (int j = 0; j < TileShape::kColumnBlocks; j += 2) {
      const int column = first_column + j * 8 + lane / 16 * 8 + lane % 8;
      std::uint32_t b[4];
      load_matrices(b, weight + swizzled(column, 2 * step + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < TileShape::kRowBlocks; ++i) {
        mma<T>(sums.at[i][j], a[i], b[0], b[1]);
        mma<T>(sums.at[i][j + 1], a[i], b[2], b[3]);
      }
    }
  }
}

template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T first;
  T second;
};

template <class TileShape, class T>
__device__ void store(const Arguments<T>& gemm, const Place& place, const Sums<TileShape>& sums) {
  const auto lane = static_cast<int>(threadIdx.x % kWarp);
  const auto warp = static_cast<int>(threadIdx.x / kWarp);
  const int first_row =
      place.row + warp / TileShape::kColumnWarps * TileShape::kWarpRows + lane / 4;
  const int first_column =
      place.column + warp % TileShape::kColumnWarps * TileShape::kWarpColumns + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < TileShape::kRowBlocks; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + i * 16 + half * 8;
      if (row >= place.end) continue;
      T* output = gemm.output + static_cast<std::int64_t>(row) * gemm.n;
#pragma unroll
      for (int j = 0; j < TileShape::kColumnBlocks; ++j) {
        const int column = first_column + j * 8;
        if (column >= gemm.n) continue;
        *reinterpret_cast<Pair<T>*>(output + column) = {narrow<T>(sums.at[i][j][2 * half]),
                                                        narrow<T>(sums.at[i][j][2 * half + 1])};
      }
    }
  }
}

template <class TileShape, class T>
__global__ void __launch_bounds__(TileShape::kThreads, TileShape::kResident)
    grouped_gemm_kernel(const Arguments<T> gemm) {
  extern __shared__ uint4 shared[];
  __shared__ int first_tile[kMaxMatrices + 1];
  T* stages = reinterpret_cast<T*>(shared);
  const Schedule<TileShape, T> schedule = make_schedule<TileShape>(gemm, first_tile);
  const int tiles = schedule.tiles();
  const int slices = (gemm.k + kSlice - 1) / kSlice;

  for (int tile = static_cast<int>(blockIdx.x); tile < tiles; tile += static_cast<int>(gridDim.x)) {
    const Place place = schedule.place(tile);
    const T* input = gemm.input + static_cast<std::int64_t>(place.row) * gemm.k;
    const T* weight =
        gemm.weight + (static_cast<std::int64_t>(place.matrix) * gemm.n + place.column) * gemm.k;
    // One group of copies per slice, even if empty, so that a fixed number is pending.
    const auto start_slice = [&](int slice) {
      if (slice < slices) {
        T* stage = stages + slice % TileShape::kStages * TileShape::kStageElements;
        copy_slice<TileShape, TileShape::kRows>(stage, input, place.end - place.row, slice * kSlice,
                                                gemm.k);
        copy_slice<TileShape, TileShape::kColumns>(stage + TileShape::kRows * kSlice, weight,
                                                   gemm.n - place.column, slice * kSlice, gemm.k);
      }
      commit_copies();
    };

    Sums<TileShape> sums{};
#pragma unroll
    for (int slice = 0; slice < TileShape::kStages - 1; ++slice) start_slice(slice);
    for (int slice = 0; slice < slices; ++slice) {
      wait_copies<TileShape::kStages - 2>();
      __syncthreads();  // this slice has arrived, and the previous one has been read, for all
      start_slice(slice + TileShape::kStages - 1);
      const T* stage = stages + slice % TileShape::kStages * TileShape::kStageElements;
      multiply_slice<TileShape>(stage, stage + TileShape::kRows * kSlice, sums);
    }
    store<TileShape>(gemm, place, sums);
    __syncthreads();  // the next tile's copies overwrite the last slices
  }
}

// ---- launching

template <class TileShape, class T>
void launch(const Arguments<T>& gemm, int multiprocessors, cudaStream_t stream) {
  const auto kernel = grouped_gemm_kernel<TileShape, T>;
  ROOFCAST_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           TileShape::kSharedBytes));
  int resident = 0;  // CTAs that an SM holds
  ROOFCAST_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &resident, kernel, TileShape::kThreads, TileShape::kSharedBytes));
  // Each matrix has at most one partial tile.
  const std::int64_t row_tiles =
      gemm.rows / TileShape::kRows + std::min<std::int64_t>(gemm.matrices, gemm.rows);
  const std::int64_t tiles = row_tiles * ceil_divide(gemm.n, TileShape::kColumns);
  require(tiles <= kMaxRows, "grouped GEMM", "the output must be at most 2^31 - 1 tiles");
  const std::int64_t blocks =
      std::min(tiles, std::int64_t{multiprocessors} * std::max(1, resident));
  kernel<<<static_cast<unsigned>(blocks), TileShape::kThreads, TileShape::kSharedBytes, stream>>>(
      gemm);
  ROOFCAST_CUDA_CHECK(cudaGetLastError());
}

/// The tile that fits the rows per matrix if they are spread evenly.
template <class T>
void launch_for_rows(const Arguments<T>& gemm, int multiprocessors, cudaStream_t stream) {
  if (gemm.rows == 0) return;
  const std::int64_t rows = ceil_divide(gemm.rows, gemm.matrices);
  if (rows <= FewRows::kRows) return launch<FewRows>(gemm, multiprocessors, stream);
  if (rows <= SomeRows::kRows) return launch<SomeRows>(gemm, multiprocessors, stream);
  launch<ManyRows>(gemm, multiprocessors, stream);
}

template <class T>
void launch_typed(const GroupedGemm& gemm, int multiprocessors, cudaStream_t stream) {
  launch_for_rows<T>({.input = static_cast<const T*>(gemm.input),
                      .weight = static_cast<const T*>(gemm.weight),
                      .output = static_cast<T*>(gemm.output),
                      .first_row = gemm.first_row,
                      .matrices = gemm.experts,
                      .rows = static_cast<std::int32_t>(gemm.rows),
                      .n = gemm.n,
                      .k = gemm.k},
                     multiprocessors, stream);
}

template <class T>
void launch_typed(const Gemm& gemm, int multiprocessors, cudaStream_t stream) {
  launch_for_rows<T>({.input = static_cast<const T*>(gemm.input),
                      .weight = static_cast<const T*>(gemm.weight),
                      .output = static_cast<T*>(gemm.output),
                      .first_row = nullptr,
                      .matrices = 1,
                      .rows = static_cast<std::int32_t>(gemm.m),
                      .n = gemm.n,
                      .k = gemm.k},
                     multiprocessors, stream);
}

bool is_sixteen_bit(Element element) {
  return element == Element::fp16 || element == Element::bf16;
}

}  // namespace

bool supports_grouped_gemm(const GroupedGemm& gemm) {
  return is_sixteen_bit(gemm.element) && gemm.experts <= kMaxMatrices;
}

void launch_grouped_gemm(const GroupedGemm& gemm, int multiprocessors, CUstream_st* stream) {
  check(gemm);
  require(supports_grouped_gemm(gemm), "grouped GEMM on CUDA",
          "the element must be fp16 or bf16, with at most 512 experts");
  if (gemm.element == Element::fp16) return launch_typed<__half>(gemm, multiprocessors, stream);
  launch_typed<__nv_bfloat16>(gemm, multiprocessors, stream);
}

bool supports_dense_gemm(const Gemm& gemm) {
  return is_sixteen_bit(gemm.element) && gemm.result == gemm.element &&
         whole_vectors(gemm.element, gemm.n) && whole_vectors(gemm.element, gemm.k);
}

void launch_dense_gemm(const Gemm& gemm, int multiprocessors, CUstream_st* stream) {
  check(gemm);
  require(supports_dense_gemm(gemm), "GEMM by Roofcast's kernel on CUDA",
          "input and output must be fp16 or bf16, n and k multiples of 8");
  if (gemm.element == Element::fp16) return launch_typed<__half>(gemm, multiprocessors, stream);
  launch_typed<__nv_bfloat16>(gemm, multiprocessors, stream);
}

}  // namespace roofcast::kernels::cuda
