// Attention by cuDNN, which is loaded at run time. Contracts: kernels/attention.hpp. Decode and
// latent decode use its operation SDPA_FWD; prefill uses a composed graph
// (cudnn_attention_graph.hpp).
#pragma once

#include <memory>
#include <string>

#include "kernels/attention.hpp"
#include "kernels/cuda/loaded_library.hpp"

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

/// Not thread-safe. Plans and memory are kept until destruction, because recorded launches may use
/// them.
class CudnnAttention {
 public:
  /// Uses the current device. Throws a one-line std::runtime_error if the library is not found, is
  /// too old or fails to initialise, and always in a build without cuDNN's header.
  explicit CudnnAttention(const LibraryPlaces& places);
  ~CudnnAttention();
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  std::string version() const;

  /// Whether an engine of the library supports these elements, head dims and numbers of heads;
  /// ignores batch sizes and pointers. The first query for such a combination creates a plan, which
  /// may allocate and takes up to a second. False with a window or an fp8 cache.
  bool supports(const PrefillAttention& attention);
  bool supports(const DecodeAttention& attention);
  bool supports(const LatentDecode& attention);

  /// Creates the plan for these sizes, so that the first launch does not have to. Row counts of
  /// prompts with different lengths, or with a length that is not a power of two, are rounded up to
  /// the next power of two, so that changing batches need few plans. Throws std::invalid_argument
  /// if no engine supports it.
  void prepare(const PrefillAttention& attention);

  /// Allocates nothing, except in the first launch of sizes that were not prepared.
  void launch(const PrefillAttention& attention, CUstream_st* stream);
  void launch(const DecodeAttention& attention, CUstream_st* stream);
  void launch(const LatentDecode& attention, CUstream_st* stream);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace roofcast::kernels::cuda
