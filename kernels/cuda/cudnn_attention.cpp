#include "kernels/cuda/cudnn_attention.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/check.hpp"
#include "kernels/cuda/cudnn_attention_graph.hpp"
#include "kernels/cuda/cudnn_graph.hpp"
#include "kernels/cuda/device_buffer.hpp"
#include "kernels/cuda/ragged_offsets.hpp"

namespace roofcast::kernels::cuda {
namespace {

// Versions in cudnnGetVersion()'s format. Pages are supported since 9.5; SDPA_FWD takes page tables
// and lengths since 9.15. cuDNN's own frontend refuses attention with 9.10.0 and 9.10.1, which
// compute it incorrectly.
constexpr std::size_t kFirstWithPages = 90500;
constexpr std::size_t kFirstWithPagedDecode = 91500;
constexpr std::size_t kFirstBroken = 91000;
constexpr std::size_t kLastBroken = 91001;

constexpr int kWidestHead = 256;
constexpr int kHeadMultiple = 8;

enum class Operation { prefill, decode };

struct Key {
  Operation operation;
  CudnnAttentionShape shape;
  auto operator<=>(const Key&) const = default;
};

bool is_sixteen_bits(Element element) {
  return element == Element::bf16 || element == Element::fp16;
}

/// Shared by prefill and decode.
template <class Attention>
bool is_plain_attention(const Attention& attention) {
  const PagedCache& cache = attention.cache;
  const bool sizes =
      attention.query_heads > 0 && cache.kv_heads > 0 && cache.head_dim > 0 && cache.page_size > 0;
  return sizes && is_sixteen_bits(attention.element) && cache.element == attention.element &&
         attention.window == 0 && cache.head_dim <= kWidestHead &&
         cache.head_dim % kHeadMultiple == 0;
}

/// The key does not represent a window or an fp8 cache.
template <class Attention>
void require_plain(const Attention& attention) {
  require(is_plain_attention(attention), "attention by cuDNN",
          "no window, and keys and values in the query's format, fp16 or bf16");
}

template <class Attention>
CudnnAttentionShape shape_of_heads(const Attention& attention) {
  const PagedCache& cache = attention.cache;
  const std::int64_t query_row = std::int64_t{attention.query_heads} * cache.head_dim;
  const std::int64_t token_stride = std::int64_t{cache.kv_heads} * cache.head_dim;
  return {.element = attention.element,
          .sequences = attention.sequences,
          .query_heads = attention.query_heads,
          .kv_heads = cache.kv_heads,
          .key_dim = cache.head_dim,
          .value_dim = cache.head_dim,
          .query_stride = attention.query_stride == 0 ? query_row : attention.query_stride,
          .page_size = cache.page_size,
          .pages_per_sequence = cache.pages_per_sequence,
          .key_token_stride = token_stride,
          .value_token_stride = token_stride};
}

Key key_of(const PrefillAttention& attention) {
  CudnnAttentionShape shape = shape_of_heads(attention);
  const auto longest = static_cast<std::uint64_t>(attention.longest_query);
  shape.queries = static_cast<std::int64_t>(std::bit_ceil(longest));
  // If the total equals sequences times the longest, all have equal lengths.
  shape.ragged = attention.tokens != attention.sequences * shape.queries;
  return {Operation::prefill, shape};
}

Key key_of(const DecodeAttention& attention) {
  return {Operation::decode, shape_of_heads(attention)};
}

Key key_of(const LatentDecode& attention) {
  const std::int64_t row = attention.latent + attention.rotary;
  return {Operation::decode,
          {.element = attention.element,
           .sequences = attention.sequences,
           .query_heads = attention.query_heads,
           .kv_heads = 1,
           .key_dim = row,
           .value_dim = attention.latent,
           .query_stride = attention.query_heads * row,
           .page_size = attention.page_size,
           .pages_per_sequence = attention.pages_per_sequence,
           .key_token_stride = row,
           .value_token_stride = row}};
}

/// The same key with a small batch, for all batches: what an engine supports does not depend on it.
Key kind_of(Key key) {
  constexpr std::int64_t kSequences = 2;
  constexpr std::int64_t kQueries = 128;
  constexpr std::int64_t kTokens = 512;
  CudnnAttentionShape& shape = key.shape;
  shape.sequences = kSequences;
  shape.queries = key.operation == Operation::prefill ? kQueries : 1;
  shape.ragged = false;
  shape.pages_per_sequence = std::max<std::int64_t>(1, kTokens / shape.page_size);
  return key;
}

/// A plan and the memory that its launches use.
struct Prepared {
  CudnnPlan made;
  void* workspace;
  DeviceBuffer query_lengths;  // int32 [sequences]
  DeviceBuffer offsets;        // int64, of queries [sequences + 1], then of outputs; if ragged
};

/// Data of a graph's tensors, by id.
class Operands {
 public:
  void add(CudnnAttentionTensor id, const void* data) {
    ids_.push_back(id);
    data_.push_back(const_cast<void*>(data));
  }
  CudnnDescriptor pack(const CudnnLibrary& library, void* workspace) const {
    const auto count = static_cast<std::int64_t>(ids_.size());
    CudnnDescriptor pack(library, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids_);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, data_.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    pack.finalize("a variant pack");
    return pack;
  }

 private:
  std::vector<std::int64_t> ids_;
  std::vector<void*> data_;
};

/// Shared by prefill and decode over a paged cache.
template <class Attention>
void add_paged(Operands& operands, const Attention& attention, const void* query_lengths) {
  const PagedCache& cache = attention.cache;
  operands.add(kCudnnQuery, attention.query);
  operands.add(kCudnnOutput, attention.output);
  operands.add(kCudnnKeys, cache.keys);
  operands.add(kCudnnValues, cache.values);
  operands.add(kCudnnPageTable, cache.page_table);
  operands.add(kCudnnValuePageTable, cache.page_table);
  operands.add(kCudnnQueryLengths, query_lengths);
  operands.add(kCudnnCacheLengths, attention.length);
  operands.add(kCudnnScale, &attention.scale);
}

}  // namespace

struct CudnnAttention::Implementation {
  CudnnLibrary library;
  std::size_t version = 0;
  cudnnHandle_t handle = nullptr;
  // Launches run in order, so all share the last workspace, which is the largest; recordings may
  // use the others.
  std::vector<DeviceBuffer> workspaces{};
  std::map<Key, std::optional<Prepared>> prepared{};  // absent: no engine supports it

  explicit Implementation(const LibraryPlaces& places)
      : library(open_cudnn(places)), version(library.cudnnGetVersion()) {
    if (version < kFirstWithPages || (version >= kFirstBroken && version <= kLastBroken)) {
      throw std::runtime_error("cuDNN " + cudnn_version_text(version) +
                               " has no reliable attention over paged caches");
    }
    library.check(library.cudnnCreate(&handle), "cudnnCreate");
  }
  ~Implementation() {
    prepared.clear();  // descriptors must be destroyed first
    library.cudnnDestroy(handle);
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  void* workspace_of(std::int64_t bytes) {
    if (bytes == 0) return nullptr;
    const auto wanted = static_cast<std::size_t>(bytes);
    const std::size_t held = workspaces.empty() ? 0 : workspaces.back().size();
    // At least doubles each time, so that all together are at most twice the largest.
    if (held < wanted) workspaces.emplace_back(std::max(wanted, 2 * held));
    return workspaces.back().data();
  }

  std::optional<Prepared> make(const Key& key) {
    if (key.operation == Operation::decode && version < kFirstWithPagedDecode) return {};
    const CudnnAttentionShape& shape = key.shape;
    CudnnGraph graph(library);
    std::optional<CudnnPlan> made;
    try {
      key.operation == Operation::prefill ? describe_prefill(graph, shape)
                                          : describe_decode(graph, shape);
      made = make_plan(graph, {.handle = handle});
    } catch (const std::runtime_error&) {
      return {};  // refused before any engine was asked
    }
    if (!made->plan) return {};
    const std::vector<std::int32_t> lengths(static_cast<std::size_t>(shape.sequences),
                                            static_cast<std::int32_t>(shape.queries));
    const std::size_t offsets = shape.ragged ? 2 * (lengths.size() + 1) : 0;
    void* const workspace = workspace_of(made->workspace_bytes);
    Prepared result{.made = std::move(*made),
                    .workspace = workspace,
                    .query_lengths = DeviceBuffer(lengths.size() * sizeof(std::int32_t)),
                    .offsets = DeviceBuffer(offsets * sizeof(std::int64_t))};
    result.query_lengths.copy_from_host(lengths.data(), lengths.size() * sizeof(std::int32_t));
    return result;
  }

  /// Null if no engine supports it.
  Prepared* find(const Key& key) {
    auto found = prepared.find(key);
    if (found == prepared.end()) found = prepared.emplace(key, make(key)).first;
    return found->second ? &*found->second : nullptr;
  }

  Prepared& find_or_throw(const Key& key) {
    Prepared* const found = find(key);
    require(found != nullptr, "attention by cuDNN", "no engine supports these sizes");
    return *found;
  }

  void execute(Prepared& plan, const Operands& operands, CUstream_st* stream) const {
    library.check(library.cudnnSetStream(handle, stream), "cudnnSetStream");
    const CudnnDescriptor pack = operands.pack(library, plan.workspace);
    library.check(library.cudnnBackendExecute(handle, plan.made.plan->get(), pack.get()),
                  "cudnnBackendExecute");
  }
};

CudnnAttention::CudnnAttention(const LibraryPlaces& places)
    : implementation_(std::make_unique<Implementation>(places)) {}
CudnnAttention::~CudnnAttention() = default;

std::string CudnnAttention::version() const { return cudnn_version_text(implementation_->version); }

bool CudnnAttention::supports(const PrefillAttention& attention) {
  return is_plain_attention(attention) &&
         implementation_->find(kind_of(key_of(attention))) != nullptr;
}

bool CudnnAttention::supports(const DecodeAttention& attention) {
  return is_plain_attention(attention) &&
         implementation_->find(kind_of(key_of(attention))) != nullptr;
}

bool CudnnAttention::supports(const LatentDecode& attention) {
  return is_sixteen_bits(attention.element) && attention.query_heads > 0 &&
         attention.page_size > 0 && implementation_->find(kind_of(key_of(attention))) != nullptr;
}

void CudnnAttention::prepare(const PrefillAttention& attention) {
  check(attention);
  if (attention.tokens == 0) return;
  require_plain(attention);
  implementation_->find_or_throw(key_of(attention));
}

void CudnnAttention::launch(const PrefillAttention& attention, CUstream_st* stream) {
  check(attention);
  if (attention.tokens == 0) return;
  require_plain(attention);
  const Key key = key_of(attention);
  Prepared& plan = implementation_->find_or_throw(key);
  Operands operands;
  if (key.shape.ragged) {
    auto* const query_offsets = static_cast<std::int64_t*>(plan.offsets.data());
    std::int64_t* const output_offsets = query_offsets + attention.sequences + 1;
    launch_ragged_offsets({.sequences = attention.sequences,
                           .first_query = attention.first_query,
                           .query_stride = key.shape.query_stride,
                           .output_stride = key.shape.query_heads * key.shape.value_dim,
                           .query_length = static_cast<std::int32_t*>(plan.query_lengths.data()),
                           .query_offset = query_offsets,
                           .output_offset = output_offsets},
                          stream);
    operands.add(kCudnnQueryOffsets, query_offsets);
    operands.add(kCudnnOutputOffsets, output_offsets);
  }
  const float minus_infinity = -std::numeric_limits<float>::infinity();
  add_paged(operands, attention, plan.query_lengths.data());
  operands.add(kCudnnMinusInfinity, &minus_infinity);
  implementation_->execute(plan, operands, stream);
}

void CudnnAttention::launch(const DecodeAttention& attention, CUstream_st* stream) {
  check(attention);
  if (attention.sequences == 0) return;
  require_plain(attention);
  Prepared& plan = implementation_->find_or_throw(key_of(attention));
  Operands operands;
  add_paged(operands, attention, plan.query_lengths.data());
  implementation_->execute(plan, operands, stream);
}

void CudnnAttention::launch(const LatentDecode& attention, CUstream_st* stream) {
  check(attention);
  if (attention.sequences == 0) return;
  Prepared& plan = implementation_->find_or_throw(key_of(attention));
  Operands operands;
  operands.add(kCudnnQuery, attention.query);
  operands.add(kCudnnOutput, attention.output);
  operands.add(kCudnnKeys, attention.cache);
  operands.add(kCudnnValues, attention.cache);
  operands.add(kCudnnPageTable, attention.page_table);
  operands.add(kCudnnValuePageTable, attention.page_table);
  operands.add(kCudnnQueryLengths, plan.query_lengths.data());
  operands.add(kCudnnCacheLengths, attention.length);
  operands.add(kCudnnScale, &attention.scale);
  implementation_->execute(plan, operands, stream);
}

}  // namespace roofcast::kernels::cuda
