// Matrix products by cuBLASLt, which is loaded at run time. Contract: kernels/gemm.hpp.
//
// fp32 is multiplied in fp32 (CUBLAS_COMPUTE_32F, not TF32), fp16 and bf16 with fp32 sums that no
// algorithm may round to the result type in between, fp8 without "fast accumulation". int8 sums are
// int32 and scaled by our own kernel (integer_result.hpp), because cuBLASLt returns only int32 or
// int8.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/cuda/loaded_library.hpp"
#include "kernels/gemm.hpp"

struct CUstream_st;  // what cudaStream_t points to, so that this header needs no CUDA

namespace roofcast::kernels::cuda {

/// Properties of the device that the choice of an algorithm depends on.
struct CublasLtDevice {
  int compute_capability = 0;  // 90 for 9.0
  std::int64_t l2_bytes = 0;
};

/// "13.1.0" for 130100, cublasLtGetVersion()'s format.
std::string cublaslt_version_text(std::size_t version);

/// Not thread-safe. Chosen algorithms and allocated memory are kept until destruction, because
/// recorded launches may use them.
class CublasLtGemm {
 public:
  /// Throws a one-line std::runtime_error if the library is not found or fails to initialise.
  CublasLtGemm(const LibraryPlaces& places, const CublasLtDevice& device);
  ~CublasLtGemm();
  CublasLtGemm(const CublasLtGemm&) = delete;
  CublasLtGemm& operator=(const CublasLtGemm&) = delete;

  std::string version() const;

  /// Whether the library has an algorithm for these elements and sizes; ignores pointers.
  bool supports(const Gemm& gemm);

  /// Times the algorithms that the library ranks best for these elements and sizes, with the
  /// operands out of L2, and keeps the fastest. Writes the output, waits, and may allocate.
  void prepare(const Gemm& gemm, CUstream_st* stream);

  /// Without prepare(), uses the algorithm that the library ranks best; int8 throws
  /// std::runtime_error, because it needs memory allocated by prepare().
  void launch(const Gemm& gemm, CUstream_st* stream);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace roofcast::kernels::cuda
