#include "kernels/cuda/cublaslt_gemm.hpp"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/check.hpp"
#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/device_buffer.hpp"
#include "kernels/cuda/event_timer.hpp"
#include "kernels/cuda/integer_result.hpp"

namespace roofcast::kernels::cuda {
namespace {

/// The workspace that cuBLAS's documentation recommends for compute capability 9.0 and up.
constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;
constexpr int kAsked = 24;
constexpr int kTimed = 8;
constexpr int kRuns = 5;          // per timed algorithm, after one warm-up
constexpr float kEnoughMs = 4;    // total of one algorithm's runs
constexpr float kTickMs = 5e-4F;  // resolution of an event's clock
constexpr float kHopelessly = 2;  // times the best: no further runs
constexpr std::uint32_t kAlignment = kVectorBytes;
/// cuBLASLt requires each row of 128 x 128 block factors to be padded to a multiple of this (cuBLAS
/// documentation, "Scaling Factors Layouts"); the contract's rows are not padded.
constexpr int kBlockFactorMultiple = 4;
/// Tokens with factors per 1 x 128 must be a multiple of this. Not in the documentation; NVIDIA's
/// Transformer Engine requires it of its callers (gemm/cublaslt_gemm.cu, "observed").
constexpr int kBlockTokenMultiple = 8;
constexpr int kFp8Capability = 89;
constexpr int kBlockScaleCapability = 90;  // exactly this one

/// The functions used, looked up by name.
struct Library {
  LoadedLibrary library;
// NOLINTNEXTLINE(bugprone-macro-parentheses): a type and a name
#define ROOFCAST_FUNCTION(name) decltype(::name)* name = library.function<decltype(::name)>(#name)
  ROOFCAST_FUNCTION(cublasLtCreate);
  ROOFCAST_FUNCTION(cublasLtDestroy);
  ROOFCAST_FUNCTION(cublasLtGetVersion);
  ROOFCAST_FUNCTION(cublasLtGetStatusName);
  ROOFCAST_FUNCTION(cublasLtMatmul);
  ROOFCAST_FUNCTION(cublasLtMatmulAlgoGetHeuristic);
  ROOFCAST_FUNCTION(cublasLtMatmulDescCreate);
  ROOFCAST_FUNCTION(cublasLtMatmulDescDestroy);
  ROOFCAST_FUNCTION(cublasLtMatmulDescSetAttribute);
  ROOFCAST_FUNCTION(cublasLtMatrixLayoutCreate);
  ROOFCAST_FUNCTION(cublasLtMatrixLayoutDestroy);
  ROOFCAST_FUNCTION(cublasLtMatmulPreferenceCreate);
  ROOFCAST_FUNCTION(cublasLtMatmulPreferenceDestroy);
  ROOFCAST_FUNCTION(cublasLtMatmulPreferenceSetAttribute);
#undef ROOFCAST_FUNCTION

  void check(cublasStatus_t status, const char* what) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw std::runtime_error(std::string("cuBLASLt: ") + what + " failed with " +
                             cublasLtGetStatusName(status));
  }
};

cudaDataType_t data_type(Element element) {
  switch (element) {
    case Element::fp32:
      return CUDA_R_32F;
    case Element::fp16:
      return CUDA_R_16F;
    case Element::bf16:
      return CUDA_R_16BF;
    case Element::fp8_e4m3:
      return CUDA_R_8F_E4M3;
    case Element::int8:
      break;
  }
  return CUDA_R_8I;
}

/// The parameters of a product on which the choice of an algorithm depends.
struct Key {
  Element element;
  Element result;
  GemmScale scale;
  std::int64_t m;
  int n;
  int k;
  auto operator<=>(const Key&) const = default;
};

Key key_of(const Gemm& gemm) {
  return {gemm.element, gemm.result, gemm.scale, gemm.m, gemm.n, gemm.k};
}

/// cuBLASLt's descriptors of one problem. Its matrices are column-major: the weight is [k, n] and
/// transposed, the input [k, m], the output [n, m].
class Problem {
 public:
  /// `any_scale`: a device address that replaces the factors during the search for algorithms.
  Problem(const Library& library, const Key& key, const void* any_scale)
      : library_(library), is_int8_(key.element == Element::int8) {
    library.check(library.cublasLtMatmulDescCreate(
                      &operation_, is_int8_ ? CUBLAS_COMPUTE_32I : CUBLAS_COMPUTE_32F,
                      is_int8_ ? CUDA_R_32I : CUDA_R_32F),
                  "cublasLtMatmulDescCreate");
    try {
      describe(key);
      if (key.element == Element::fp8_e4m3) set_scales(any_scale, any_scale);
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~Problem() { destroy(); }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  std::vector<cublasLtMatmulHeuristicResult_t> algorithms(cublasLtHandle_t handle) const {
    cublasLtMatmulPreference_t preference = nullptr;
    library_.check(library_.cublasLtMatmulPreferenceCreate(&preference),
                   "cublasLtMatmulPreferenceCreate");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      library_.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value);
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, kAlignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, kAlignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, kAlignment);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, kAlignment);
    // Parts of k are summed in the compute type, never in the result type.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});

    std::vector<cublasLtMatmulHeuristicResult_t> found(kAsked);
    int count = 0;
    const cublasStatus_t status =
        library_.cublasLtMatmulAlgoGetHeuristic(handle, operation_, weight_, input_, output_,
                                                output_, preference, kAsked, found.data(), &count);
    library_.cublasLtMatmulPreferenceDestroy(preference);
    found.resize(status == CUBLAS_STATUS_SUCCESS ? static_cast<std::size_t>(count) : 0);
    std::erase_if(found, [](const auto& one) { return one.state != CUBLAS_STATUS_SUCCESS; });
    return found;
  }

  /// `output`: the result; for int8 the int32 sums.
  cublasStatus_t multiply(cublasLtHandle_t handle, const Gemm& gemm, void* output,
                          const cublasLtMatmulAlgo_t& algorithm, void* workspace,
                          cudaStream_t stream) {
    if (gemm.element == Element::fp8_e4m3) set_scales(gemm.weight_scale, gemm.input_scale);
    const float one = 1;
    const float zero = 0;
    const std::int32_t int_one = 1;
    const std::int32_t int_zero = 0;
    const void* alpha = is_int8_ ? static_cast<const void*>(&int_one) : &one;
    const void* beta = is_int8_ ? static_cast<const void*>(&int_zero) : &zero;
    return library_.cublasLtMatmul(handle, operation_, alpha, gemm.weight, weight_, gemm.input,
                                   input_, beta, output, output_, output, output_, &algorithm,
                                   workspace, kWorkspaceBytes, stream);
  }

 private:
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    library_.check(
        library_.cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof value),
        "cublasLtMatmulDescSetAttribute");
  }

  void set_scales(const void* weight, const void* input) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, weight);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, input);
  }

  cublasLtMatrixLayout_t layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns) {
    cublasLtMatrixLayout_t created = nullptr;
    library_.check(
        library_.cublasLtMatrixLayoutCreate(&created, type, static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), rows),
        "cublasLtMatrixLayoutCreate");
    return created;
  }

  void describe(const Key& key) {
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
    if (key.scale == GemmScale::block) {
      set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F);
      set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F);
    }
    weight_ = layout(data_type(key.element), key.k, key.n);
    input_ = layout(data_type(key.element), key.k, key.m);
    output_ = layout(is_int8_ ? CUDA_R_32I : data_type(key.result), key.n, key.m);
  }

  void destroy() noexcept {
    for (cublasLtMatrixLayout_t made : {weight_, input_, output_}) {
      if (made != nullptr) library_.cublasLtMatrixLayoutDestroy(made);
    }
    if (operation_ != nullptr) library_.cublasLtMatmulDescDestroy(operation_);
  }

  const Library& library_;
  bool is_int8_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t weight_ = nullptr;
  cublasLtMatrixLayout_t input_ = nullptr;
  cublasLtMatrixLayout_t output_ = nullptr;
};

/// A problem and its algorithms, the chosen one first; empty: not supported.
struct Solution {
  std::unique_ptr<Problem> problem;
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms;
  bool timed = false;
};

/// Whether cuBLASLt can take the contract's layout at all.
bool may_support(const Key& key, int compute_capability) {
  if (key.m == 0) return true;
  if (key.element != Element::fp8_e4m3) return true;
  if (compute_capability < kFp8Capability) return false;
  if (key.scale != GemmScale::block) return true;
  return compute_capability == kBlockScaleCapability && key.m % kBlockTokenMultiple == 0 &&
         key.k / kScaleBlock % kBlockFactorMultiple == 0;
}

}  // namespace

std::string cublaslt_version_text(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

struct CublasLtGemm::Implementation {
  Library library;
  CublasLtDevice device;
  cublasLtHandle_t handle = nullptr;
  DeviceBuffer workspace{};
  DeviceBuffer flush{};              // as large as L2; written to evict other data
  std::vector<DeviceBuffer> sums{};  // of int8; the last is the largest, others may be recorded
  std::map<Key, Solution> solutions{};

  Implementation(const LibraryPlaces& places, const CublasLtDevice& device_in)
      : library{.library = {cublaslt_name(), places}}, device(device_in) {
    library.check(library.cublasLtCreate(&handle), "cublasLtCreate");
    workspace = DeviceBuffer(kWorkspaceBytes);
  }
  ~Implementation() {
    solutions.clear();
    if (handle != nullptr) library.cublasLtDestroy(handle);
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  Solution& solution(const Key& key) {
    const auto known = solutions.find(key);
    if (known != solutions.end()) return known->second;
    Solution made;
    if (key.m > 0 && may_support(key, device.compute_capability)) {
      try {
        made.problem = std::make_unique<Problem>(library, key, workspace.data());
        made.algorithms = made.problem->algorithms(handle);
      } catch (const std::runtime_error&) {
        // The installed version does not know these elements or this way of scaling.
      }
    }
    return solutions.emplace(key, std::move(made)).first->second;
  }

  Solution& solution_or_throw(const Gemm& gemm) {
    Solution& found = solution(key_of(gemm));
    if (found.algorithms.empty()) {
      throw std::runtime_error("cuBLASLt has no algorithm for " +
                               std::string(name_of(gemm.element)) + " " + std::to_string(gemm.m) +
                               " x " + std::to_string(gemm.n) + " x " + std::to_string(gemm.k));
    }
    return found;
  }

  /// Where the product is written: int8 sums go to a separate buffer unless the results have their
  /// size.
  void* product_output(const Gemm& gemm) {
    if (gemm.element != Element::int8 || gemm.result == Element::fp32) return gemm.output;
    const std::size_t bytes = sums_bytes(gemm);
    if (sums.empty() || sums.back().size() < bytes) {
      throw std::runtime_error("cuBLASLt: an int8 product must be prepared before its launch");
    }
    return sums.back().data();
  }

  static std::size_t sums_bytes(const Gemm& gemm) {
    return static_cast<std::size_t>(gemm.m) * static_cast<std::size_t>(gemm.n) *
           sizeof(std::int32_t);
  }

  void reserve_sums(const Gemm& gemm) {
    if (gemm.element != Element::int8 || gemm.result == Element::fp32) return;
    const std::size_t bytes = sums_bytes(gemm);
    if (sums.empty() || sums.back().size() < bytes) sums.emplace_back(bytes);
  }

  /// Median time of one product with one algorithm; absent if it does not run. `best`: that of the
  /// previous algorithms, if any.
  std::optional<float> time(const Gemm& gemm, Problem& problem,
                            const cublasLtMatmulAlgo_t& algorithm, std::optional<float> best,
                            cudaStream_t stream) {
    void* output = product_output(gemm);
    EventTimer timer;
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    const auto run = [&] {
      ROOFCAST_CUDA_CHECK(cudaMemsetAsync(flush.data(), 0, flush.size(), stream));
      return timer.milliseconds(stream, [&] {
        status = problem.multiply(handle, gemm, output, algorithm, workspace.data(), stream);
      });
    };
    run();  // loads the kernel
    std::vector<float> times{run()};
    if (status != CUBLAS_STATUS_SUCCESS) return std::nullopt;
    const bool hopeless = best && times.front() > kHopelessly * *best;
    const int more = hopeless ? 0 : static_cast<int>(kEnoughMs / std::max(times.front(), kTickMs));
    for (int i = 0; i < std::min(more, kRuns - 1); ++i) times.push_back(run());
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }
};

CublasLtGemm::CublasLtGemm(const LibraryPlaces& places, const CublasLtDevice& device)
    : implementation_(std::make_unique<Implementation>(places, device)) {}

CublasLtGemm::~CublasLtGemm() = default;

std::string CublasLtGemm::version() const {
  return cublaslt_version_text(implementation_->library.cublasLtGetVersion());
}

bool CublasLtGemm::supports(const Gemm& gemm) {
  return gemm.m == 0 || !implementation_->solution(key_of(gemm)).algorithms.empty();
}

void CublasLtGemm::prepare(const Gemm& gemm, CUstream_st* stream) {
  check(gemm);
  if (gemm.m == 0) return;
  Solution& solution = implementation_->solution_or_throw(gemm);
  implementation_->reserve_sums(gemm);
  if (solution.timed || solution.algorithms.size() == 1) return;
  if (implementation_->flush.size() == 0) {
    implementation_->flush =
        DeviceBuffer(static_cast<std::size_t>(implementation_->device.l2_bytes));
  }
  std::optional<float> best;
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(kTimed, solution.algorithms.size()); ++i) {
    const std::optional<float> time =
        implementation_->time(gemm, *solution.problem, solution.algorithms[i].algo, best, stream);
    if (!time || (best && *time >= *best)) continue;
    best = time;
    chosen = i;
  }
  std::swap(solution.algorithms.front(), solution.algorithms[chosen]);
  solution.timed = true;
}

void CublasLtGemm::launch(const Gemm& gemm, CUstream_st* stream) {
  check(gemm);
  if (gemm.m == 0) return;
  Implementation& implementation = *implementation_;
  Solution& solution = implementation.solution_or_throw(gemm);
  void* output = implementation.product_output(gemm);
  implementation.library.check(solution.problem->multiply(implementation.handle, gemm, output,
                                                          solution.algorithms.front().algo,
                                                          implementation.workspace.data(), stream),
                               "cublasLtMatmul");
  if (gemm.element != Element::int8) return;
  launch_integer_result({.result = gemm.result,
                         .count = gemm.m * gemm.n,
                         .sums = static_cast<const std::int32_t*>(output),
                         .input_scale = gemm.input_scale,
                         .weight_scale = gemm.weight_scale,
                         .output = gemm.output},
                        stream);
}

}  // namespace roofcast::kernels::cuda
