#include "kernels/cuda/cuda_backend.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <stdexcept>
#include <utility>

#include "kernels/check.hpp"
#include "kernels/cuda/attention.hpp"
#include "kernels/cuda/cublaslt_gemm.hpp"
#include "kernels/cuda/cuda_check.hpp"
#include "kernels/cuda/cudnn_attention.hpp"
#include "kernels/cuda/device_copy.hpp"
#include "kernels/cuda/device_facts.hpp"
#include "kernels/cuda/fill.hpp"
#include "kernels/cuda/gemm.hpp"
#include "kernels/cuda/graph_replay.hpp"
#include "kernels/cuda/nccl_group.hpp"
#include "kernels/cuda/nvml.hpp"
#include "kernels/cuda/probes.hpp"
#include "kernels/cuda/rms_norm.hpp"
#include "kernels/cuda/token_operators.hpp"

namespace roofcast::kernels {
namespace {

/// NVML's energy counter advances every 20 to 100 ms: at most a tenth of this.
constexpr double kShortestEnergySeconds = 1;

std::string own_name(const std::string& kernel) {
  return "roofcast " ROOFCAST_VERSION " " + kernel;
}

void require_own(KernelSource source, std::string_view family) {
  require(source == KernelSource::own, family, "this GPU has only Roofcast's kernels");
}

bool is_attention(KernelFamily family) {
  return family == KernelFamily::prefill_attention || family == KernelFamily::decode_attention ||
         family == KernelFamily::latent_decode;
}

/// A stream of one device.
class Stream {
 public:
  explicit Stream(int device) {
    ROOFCAST_CUDA_CHECK(cudaSetDevice(device));
    ROOFCAST_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class CudaBackend final : public Backend {
 public:
  CudaBackend(int device, const cuda::LibraryPlaces& places)
      : device_(device),
        places_(places),
        facts_(cuda::read_facts(device)),
        nvml_(facts_.identity),
        stream_(device),
        timer_(facts_.multiprocessors, stream_.get()) {
    facts_.power_limit_w = nvml_.power_limit_w();
    if (const auto driver = nvml_.driver_version()) facts_.versions["driver"] = *driver;
    open_libraries();
    // Excludes what this device, its libraries and their workspaces have taken so far.
    facts_.free_memory_bytes = cuda::free_memory_bytes(device);
  }

  const DeviceFacts& facts() const override { return facts_; }

  Peers peers() const override {
    Peers found = cuda::nccl_peers(device_, places_);
    use_device();
    return found;
  }

  std::vector<std::pair<KernelSource, std::string>> sources(KernelFamily family) const override {
    if (family == KernelFamily::quantized_gemm) return {};
    std::vector<std::pair<KernelSource, std::string>> found{
        {KernelSource::own, own_name(kernel_name(family))}};
    if (family == KernelFamily::gemm && cublaslt_ != nullptr) {
      found.emplace(found.begin(), KernelSource::library, "cuBLASLt " + cublaslt_->version());
    }
    if (is_attention(family) && cudnn_ != nullptr) {
      // Its kernels with Hopper's own instructions are faster in prefill.
      const bool preferred = family == KernelFamily::prefill_attention;
      found.emplace(preferred ? found.begin() : found.end(), KernelSource::library,
                    "cuDNN " + cudnn_->version());
    }
    return found;
  }

  bool supports(const Gemm& gemm, KernelSource source) const override {
    if (source == KernelSource::own) return cuda::supports_dense_gemm(gemm);
    use_device();
    return cublaslt_ != nullptr && cublaslt_->supports(gemm);
  }
  bool supports(const GroupedGemm& gemm, KernelSource source) const override {
    return source == KernelSource::own && cuda::supports_grouped_gemm(gemm);
  }
  bool supports(const Int4Gemm& gemm, KernelSource source) const override {
    return source == KernelSource::own && cuda::supports_int4_gemm(gemm);
  }
  bool supports(const PrefillAttention& attention, KernelSource source) const override {
    if (source == KernelSource::own) return cuda::supports_prefill_attention(attention);
    use_device();
    return cudnn_ != nullptr && cudnn_->supports(attention);
  }
  bool supports(const DecodeAttention& attention, KernelSource source) const override {
    if (source == KernelSource::own) return cuda::supports_decode_attention(attention);
    use_device();
    return cudnn_ != nullptr && cudnn_->supports(attention);
  }
  bool supports(const LatentDecode& attention, KernelSource source) const override {
    if (source == KernelSource::own) return cuda::supports_latent_decode(attention);
    use_device();
    return cudnn_ != nullptr && cudnn_->supports(attention);
  }

  // ---- memory

  void* allocate(std::size_t bytes) override {
    use_device();
    void* data = nullptr;
    ROOFCAST_CUDA_CHECK(cudaMalloc(&data, bytes));
    return data;
  }
  void release(void* data) noexcept override { cudaFree(data); }
  void upload(void* to, const void* from, std::size_t bytes) override {
    ROOFCAST_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream()));
    synchronize();
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    ROOFCAST_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream()));
    synchronize();
  }
  void fill_normal(void* data, Element element, std::int64_t count, std::uint64_t seed,
                   float deviation) override {
    cuda::launch_fill_normal(
        {.element = element, .data = data, .count = count, .seed = seed, .deviation = deviation},
        stream());
  }

  // ---- operators

  void prepare(const Gemm& gemm, KernelSource source) override {
    if (source == KernelSource::library) product_library().prepare(gemm, stream());
  }
  void prepare(const PrefillAttention& attention, KernelSource source) override {
    if (source == KernelSource::own) return;
    use_device();
    attention_library().prepare(attention);
  }

  void launch(const Gemm& gemm, KernelSource source) override {
    if (source == KernelSource::library) return product_library().launch(gemm, stream());
    cuda::launch_dense_gemm(gemm, facts_.multiprocessors, stream());
  }
  void launch(const GroupedGemm& gemm, KernelSource source) override {
    require_own(source, "grouped GEMM");
    cuda::launch_grouped_gemm(gemm, facts_.multiprocessors, stream());
  }
  void launch(const Int4Gemm& gemm, KernelSource source) override {
    require_own(source, "int4 GEMM");
    cuda::launch_int4_gemm(gemm, facts_.multiprocessors, stream());
  }
  void launch(const PrefillAttention& attention, KernelSource source) override {
    if (source == KernelSource::library) return attention_library().launch(attention, stream());
    cuda::launch_prefill_attention(attention, stream());
  }
  void launch(const DecodeAttention& attention, KernelSource source) override {
    if (source == KernelSource::library) return attention_library().launch(attention, stream());
    cuda::launch_decode_attention(attention, facts_.multiprocessors, stream());
  }
  void launch(const LatentDecode& attention, KernelSource source) override {
    if (source == KernelSource::library) return attention_library().launch(attention, stream());
    cuda::launch_latent_decode(attention, facts_.multiprocessors, stream());
  }
  void launch(const RmsNorm& norm) override { cuda::launch_rms_norm(norm, stream()); }
  void launch(const Embedding& embedding) override { cuda::launch_embedding(embedding, stream()); }
  void launch(const Rope& rope) override { cuda::launch_rope(rope, stream()); }
  void launch(const KvWrite& write) override { cuda::launch_kv_write(write, stream()); }
  void launch(const Activation& activation) override {
    cuda::launch_activation(activation, stream());
  }
  void launch(const Sampling& sampling) override { cuda::launch_sampling(sampling, stream()); }
  void launch(const GatherRows& gather) override { cuda::launch_gather_rows(gather, stream()); }
  void launch(const Routing& routing) override { cuda::launch_routing(routing, stream()); }
  void launch(const Combine& combine) override { cuda::launch_combine(combine, stream()); }

  void launch_copy(void* to, const void* from, std::size_t bytes) override {
    if (!all_aligned(to, from)) {
      ROOFCAST_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream()));
      return;
    }
    cuda::launch_device_copy({.source = from,
                              .destination = to,
                              .bytes = static_cast<std::int64_t>(bytes),
                              .multiprocessors = facts_.multiprocessors},
                             stream());
  }
  void launch_nothing() override { cuda::launch_empty(stream()); }

  void synchronize() override { ROOFCAST_CUDA_CHECK(cudaStreamSynchronize(stream())); }

  // ---- recording and timing

  std::unique_ptr<Recording> record(const std::function<void()>& launches) override {
    use_device();
    return timer_.record(launches);
  }

  Sample replay(Recording& recording) override {
    use_device();
    auto& graph = dynamic_cast<cuda::Graph&>(recording);
    // Query only when the result is meaningful: a query takes a millisecond.
    const bool ask = graph.last_seconds >= kShortestEnergySeconds;
    const std::optional<double> before = ask ? nvml_.energy_joule() : std::nullopt;
    Sample sample = timer_.replay(graph);
    const std::optional<double> after = before ? nvml_.energy_joule() : std::nullopt;
    if (after) sample.energy_joule = *after - *before;
    return sample;
  }

 private:
  static std::string kernel_name(KernelFamily family) {
    switch (family) {
      case KernelFamily::gemm:
        return "mma tiles";
      case KernelFamily::grouped_gemm:
        return "grouped mma tiles";
      case KernelFamily::quantized_gemm:
        return "";
      case KernelFamily::int4_gemm:
        return "int4 mma tiles";
      case KernelFamily::prefill_attention:
        return "FlashAttention-2";
      case KernelFamily::decode_attention:
        return "split-KV";
      case KernelFamily::latent_decode:
        return "latent split-KV";
      case KernelFamily::token_operators:
      case KernelFamily::copy:
        break;
    }
    return "CUDA";
  }

  void open_libraries() {
    try {
      cublaslt_ = std::make_unique<cuda::CublasLtGemm>(
          places_, cuda::CublasLtDevice{.compute_capability = cuda::compute_capability(device_),
                                        .l2_bytes = facts_.cache_bytes});
      facts_.versions["cuBLASLt"] = cublaslt_->version();
    } catch (const std::runtime_error& error) {
      facts_.versions["cuBLASLt"] = std::string("not used: ") + error.what();
    }
    try {
      cudnn_ = std::make_unique<cuda::CudnnAttention>(places_);
      facts_.versions["cuDNN"] = cudnn_->version();
    } catch (const std::runtime_error& error) {
      facts_.versions["cuDNN"] = std::string("not used: ") + error.what();
    }
  }

  cuda::CublasLtGemm& product_library() const {
    require(cublaslt_ != nullptr, "GEMM", "cuBLASLt was not found");
    return *cublaslt_;
  }
  cuda::CudnnAttention& attention_library() const {
    require(cudnn_ != nullptr, "attention", "cuDNN was not found");
    return *cudnn_;
  }

  /// CUDA calls go to the device that the calling thread selected last.
  void use_device() const { ROOFCAST_CUDA_CHECK(cudaSetDevice(device_)); }
  cudaStream_t stream() const {
    use_device();
    return stream_.get();
  }

  int device_;
  cuda::LibraryPlaces places_;
  DeviceFacts facts_;
  cuda::Nvml nvml_;
  Stream stream_;
  cuda::GraphTimer timer_;
  std::unique_ptr<cuda::CublasLtGemm> cublaslt_;  // null: not found
  std::unique_ptr<cuda::CudnnAttention> cudnn_;   // null: not found
};

}  // namespace

std::optional<std::string> why_no_cuda_device(int device) { return cuda::why_no_device(device); }

std::unique_ptr<Backend> make_cuda_backend(int device, const cuda::LibraryPlaces& places) {
  if (const auto why = why_no_cuda_device(device)) throw std::runtime_error(*why);
  return std::make_unique<CudaBackend>(device, places);
}

}  // namespace roofcast::kernels
