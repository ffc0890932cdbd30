// Matrix products by cuBLASLt, which is opened at run time. Contract: kernels/gemm.hpp.
//
// fp32 is multiplied in fp32 (CUBLAS_COMPUTE_32F, not TF32), fp16 and bf16 with fp32 sums that no
// algorithm may round to the result in between, fp8 without "fast accumulation". int8 sums come as
// int32 and are scaled by an own kernel (integer_result.hpp), since cuBLASLt returns them as int32
// or int8 only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/cuda/loaded_library.hpp"
#include "kernels/gemm.hpp"

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

/// What the choice of an algorithm depends on.
struct CublasLtDevice {
  int compute_capability = 0;  // 90 for 9.0
  std::int64_t l2_bytes = 0;
};

/// "13.1.0" from 130100, as cublasLtGetVersion() gives it.
std::string cublaslt_version_text(std::size_t version);

/// Not to be shared between threads. Algorithms chosen and memory taken stay until the end, as
/// recorded launches may use them.
class CublasLtGemm {
 public:
  /// Throws std::runtime_error, one line, when the library is not found or does not start.
  CublasLtGemm(const LibraryPlaces& places, const CublasLtDevice& device);
  ~CublasLtGemm();
  CublasLtGemm(const CublasLtGemm&) = delete;
  CublasLtGemm& operator=(const CublasLtGemm&) = delete;

  std::string version() const;

  /// Whether the library has an algorithm for these elements and sizes; pointers are not looked at.
  bool supports(const Gemm& gemm);

  /// Times the algorithms that the library thinks best for these elements and sizes, with the
  /// operands out of L2, and keeps the fastest. Writes the output, waits, and may allocate.
  void prepare(const Gemm& gemm, CUstream_st* stream);

  /// Without prepare(): by the algorithm that the library thinks best; int8 throws
  /// std::runtime_error, as it needs memory of prepare()'s.
  void launch(const Gemm& gemm, CUstream_st* stream);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace roofcast::kernels::cuda
