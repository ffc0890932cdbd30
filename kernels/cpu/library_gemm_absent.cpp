// Without oneDNN: no product is supported.
#include <stdexcept>

#include "kernels/cpu/library_gemm.hpp"

namespace roofcast::kernels::cpu {

struct LibraryGemm::State {};

LibraryGemm::LibraryGemm(ThreadPool& pool) : pool_(pool) {}
LibraryGemm::~LibraryGemm() = default;

std::string LibraryGemm::name() const { return ""; }
std::string LibraryGemm::version() const { return ""; }

bool LibraryGemm::supports(const Gemm& /*gemm*/) const { return false; }

void LibraryGemm::prepare(const Gemm& gemm) { launch(gemm); }

void LibraryGemm::launch(const Gemm& gemm) {
  check(gemm);
  throw std::invalid_argument("GEMM: this program was built without oneDNN");
}

}  // namespace roofcast::kernels::cpu
