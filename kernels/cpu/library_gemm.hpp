// Matrix products by oneDNN (Debian's libdnnl), the second source of kernels/gemm.hpp on the CPU:
// fp32, bf16, fp16 and int8 (with VNNI). fp16, and bf16 where the processor has no instructions for
// it, are widened to fp32 a few columns of the weight at a time: 512 rows of 4096 x 4096 on two
// cores of a Cascade Lake took 110 ms so, in fp32 115, by the library's emulation 390 and by our
// own kernels 190 to 240.
//
// - oneDNN runs single-threaded, and the pool's threads divide the columns (or rows) of a product.
//   Its own OpenMP threads are not used: they spin while waiting, which ruins all timings as soon
//   as another program takes a core, and they are not the pinned ones.
// - The weight is passed as stored, row-major, but for the columns that are being widened.
// Repacking it once to the library's own layout was
//   not faster where the library is used: 4096 x 4096 on one core of a Granite Rapids, fp32 150
//   against 152 GFLOP/s at 256 rows, bf16 (AMX) 620 against 440; below 64 rows our own kernels read
//   the weight at memory speed (kernels/cpu/gemm.hpp). So a second copy of all weights gains
//   nothing.
#pragma once

#include <memory>
#include <string>

#include "kernels/cpu/thread_pool.hpp"
#include "kernels/gemm.hpp"

namespace roofcast::kernels::cpu {

class LibraryGemm {
 public:
  /// `pool` must outlive this.
  explicit LibraryGemm(ThreadPool& pool);
  ~LibraryGemm();
  LibraryGemm(const LibraryGemm&) = delete;
  LibraryGemm& operator=(const LibraryGemm&) = delete;

  /// "oneDNN 2.6.3"; empty if the program was built without it or the library is not installed.
  std::string name() const;
  std::string version() const;

  bool supports(const Gemm& gemm) const;

  /// Compiles the library's kernels for the shape, which takes milliseconds and memory. launch()
  /// does so for shapes that were not prepared.
  void prepare(const Gemm& gemm);

  /// Returns when the output is written. Throws std::invalid_argument for a bad or unsupported
  /// shape, std::runtime_error if the library fails.
  void launch(const Gemm& gemm);

 private:
  struct State;
  ThreadPool& pool_;
  std::unique_ptr<State> state_;
};

}  // namespace roofcast::kernels::cpu
