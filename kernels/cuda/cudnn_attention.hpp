// Attention by cuDNN, which is opened at run time. Contracts: kernels/attention.hpp. Decode, and
// latent decode, by its operation SDPA_FWD; prefill by a composed graph
// (cudnn_attention_graph.hpp).
#pragma once

#include <memory>
#include <string>

#include "kernels/attention.hpp"
#include "kernels/cuda/loaded_library.hpp"

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

/// Not to be shared between threads. Plans made and memory taken stay until the end, as recorded
/// launches may use them.
class CudnnAttention {
 public:
  /// On the current device. Throws std::runtime_error, one line, when the library is not found, is
  /// too old or does not start; also in a build without cuDNN's header.
  explicit CudnnAttention(const LibraryPlaces& places);
  ~CudnnAttention();
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  std::string version() const;

  /// Whether an engine of the library takes these elements, head dims and numbers of heads; sizes
  /// of the batch and pointers are not looked at. The first question about such a kind makes a
  /// plan, which may allocate and takes up to a second. Not with a window or an fp8 cache.
  bool supports(const PrefillAttention& attention);
  bool supports(const DecodeAttention& attention);
  bool supports(const LatentDecode& attention);

  /// Makes the plan for these sizes: the first launch needs none then. Rows of prompts that differ
  /// in length, or whose length is no power of two, are counted up to the next one, so that a
  /// changing batch needs few plans. std::invalid_argument when no engine takes it.
  void prepare(const PrefillAttention& attention);

  /// As with any launch nothing is allocated, but in the first one of sizes that were not prepared.
  void launch(const PrefillAttention& attention, CUstream_st* stream);
  void launch(const DecodeAttention& attention, CUstream_st* stream);
  void launch(const LatentDecode& attention, CUstream_st* stream);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace roofcast::kernels::cuda
