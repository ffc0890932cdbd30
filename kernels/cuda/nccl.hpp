// Collectives between the GPUs of this machine by NCCL, which is loaded at run time. One process
// drives all ranks; rank r is the r-th device given.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/loaded_library.hpp"
#include "kernels/device_group.hpp"
#include "kernels/element.hpp"

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

/// "2.28.9" for 22809, ncclGetVersion()'s format.
std::string nccl_version_text(int version);

/// Version of the library that would be loaded. Throws a one-line std::runtime_error if there is
/// none.
std::string nccl_version(const LibraryPlaces& places);

/// A failed call throws std::runtime_error. Calls queue work on each rank's own stream and return.
class Collectives {
 public:
  /// Throws a one-line std::runtime_error if the library is not found or fails to initialise.
  Collectives(std::vector<int> devices, const LibraryPlaces& places);
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  int ranks() const;
  CUstream_st* stream(int rank) const;

  // `count`: elements that each rank contributes; for reduce_scatter, that each rank receives; for
  // all_to_all, that each rank sends to each. `buffers`: one per rank.

  /// output[i] = sum over the ranks of input[i]; [count] both.
  void all_reduce(Element element, std::int64_t count, const std::vector<RankBuffers>& buffers);
  /// output = the inputs in the order of the ranks; [count], [ranks, count].
  void all_gather(Element element, std::int64_t count, const std::vector<RankBuffers>& buffers);
  /// output[i] = sum over the ranks of input[rank][i]; [ranks, count], [count].
  void reduce_scatter(Element element, std::int64_t count, const std::vector<RankBuffers>& buffers);
  /// output[s] = input[rank] of rank s; [ranks, count] both.
  void all_to_all(Element element, std::int64_t count, const std::vector<RankBuffers>& buffers);

  /// Waits for all ranks.
  void synchronize();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace roofcast::kernels::cuda
