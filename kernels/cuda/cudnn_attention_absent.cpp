// Replaces cudnn_attention.cpp if the build found no sufficiently new cuDNN header.
#include <stdexcept>

#include "kernels/cuda/cudnn_attention.hpp"

namespace roofcast::kernels::cuda {

struct CudnnAttention::Implementation {};

CudnnAttention::CudnnAttention(const LibraryPlaces& /*places*/) {
  throw std::runtime_error(
      "cuDNN: this program was built without its header cudnn.h, or with one before 9.15");
}
CudnnAttention::~CudnnAttention() = default;
std::string CudnnAttention::version() const { return ""; }
bool CudnnAttention::supports(const PrefillAttention& /*attention*/) { return false; }
bool CudnnAttention::supports(const DecodeAttention& /*attention*/) { return false; }
bool CudnnAttention::supports(const LatentDecode& /*attention*/) { return false; }
void CudnnAttention::prepare(const PrefillAttention& /*attention*/) {}
void CudnnAttention::launch(const PrefillAttention& /*attention*/, CUstream_st* /*stream*/) {}
void CudnnAttention::launch(const DecodeAttention& /*attention*/, CUstream_st* /*stream*/) {}
void CudnnAttention::launch(const LatentDecode& /*attention*/, CUstream_st* /*stream*/) {}

}  // namespace roofcast::kernels::cuda
