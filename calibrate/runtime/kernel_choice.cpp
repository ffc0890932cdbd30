#include "calibrate/runtime/kernel_choice.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "base/error.hpp"

namespace roofcast::runtime {
namespace {

constexpr int kReplays = 3;  // the first warms up, the faster of the others counts

double time_of(kernels::Backend& backend, const kernels::Gemm& gemm, kernels::KernelSource source) {
  backend.prepare(gemm, source);
  const auto recording = backend.record([&] { backend.launch(gemm, source); });
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kReplays; ++i) {
    const double seconds = backend.replay(*recording).seconds;
    if (i > 0) fastest = std::min(fastest, seconds);
  }
  return fastest;
}

}  // namespace

GemmChooser::Key GemmChooser::key_of(const kernels::Gemm& gemm) {
  return {gemm.element, std::bit_ceil(static_cast<std::uint64_t>(gemm.m)), gemm.n, gemm.k};
}

void GemmChooser::choose(const kernels::Gemm& gemm) {
  const Key key = key_of(gemm);
  if (gemm.m == 0) return;
  if (const auto known = chosen_.find(key); known != chosen_.end()) {
    // The source selects its algorithm for this exact row count; that search is not part of a step.
    backend_.prepare(gemm, known->second);
    return;
  }
  double fastest = std::numeric_limits<double>::infinity();
  for (const auto& [source, name] : backend_.sources(kernels::KernelFamily::gemm)) {
    if (!backend_.supports(gemm, source)) continue;
    const double seconds = time_of(backend_, gemm, source);
    if (seconds < fastest) chosen_[key] = source;
    fastest = std::min(fastest, seconds);
  }
  if (!chosen_.contains(key)) {
    throw Error(backend_.facts().name + " has no kernel for a product of " +
                std::to_string(gemm.m) + " x " + std::to_string(gemm.n) + " x " +
                std::to_string(gemm.k) + " in " + std::string(name_of(gemm.element)));
  }
}

kernels::KernelSource GemmChooser::chosen(const kernels::Gemm& gemm) const {
  const auto found = chosen_.find(key_of(gemm));
  if (found != chosen_.end()) return found->second;
  for (const auto& [source, name] : backend_.sources(kernels::KernelFamily::gemm)) {
    if (backend_.supports(gemm, source)) return source;
  }
  return kernels::KernelSource::own;
}

}  // namespace roofcast::runtime
