// cuDNN's graph API through its C backend: tensors and operations are descriptors collected by a
// graph, and an engine that accepts the graph turns it into an execution plan (cuDNN documentation,
// "Graph API", "Backend API"). The library is loaded at run time; types are from its header.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/loaded_library.hpp"

namespace roofcast::kernels::cuda {

/// The functions used, looked up by name.
struct CudnnLibrary {
  LoadedLibrary library;
// NOLINTNEXTLINE(bugprone-macro-parentheses): a type and a name
#define ROOFCAST_FUNCTION(name) decltype(::name)* name = library.function<decltype(::name)>(#name)
  ROOFCAST_FUNCTION(cudnnGetVersion);
  ROOFCAST_FUNCTION(cudnnGetErrorString);
  ROOFCAST_FUNCTION(cudnnGetLastErrorString);
  ROOFCAST_FUNCTION(cudnnCreate);
  ROOFCAST_FUNCTION(cudnnDestroy);
  ROOFCAST_FUNCTION(cudnnSetStream);
  ROOFCAST_FUNCTION(cudnnBackendCreateDescriptor);
  ROOFCAST_FUNCTION(cudnnBackendDestroyDescriptor);
  ROOFCAST_FUNCTION(cudnnBackendFinalize);
  ROOFCAST_FUNCTION(cudnnBackendSetAttribute);
  ROOFCAST_FUNCTION(cudnnBackendGetAttribute);
  ROOFCAST_FUNCTION(cudnnBackendExecute);
#undef ROOFCAST_FUNCTION

  /// Throws std::runtime_error "cuDNN: WHAT failed with ..." unless it succeeded.
  void check(cudnnStatus_t status, const char* what) const;
};

/// Throws a one-line std::runtime_error if the library is not found or is not version 9.
CudnnLibrary open_cudnn(const LibraryPlaces& places);

/// "9.19.0" for 91900, cudnnGetVersion()'s format.
std::string cudnn_version_text(std::size_t version);

/// Owns a descriptor of the backend API.
class CudnnDescriptor {
 public:
  CudnnDescriptor(const CudnnLibrary& library, cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor(const CudnnDescriptor&) = delete;
  CudnnDescriptor& operator=(const CudnnDescriptor&) = delete;

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values);
  template <class Value>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const Value& value) {
    set(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values);
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& descriptor);
  void finalize(const char* what);

  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  const CudnnLibrary* library_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

struct CudnnTensor {
  /// Identifies the data at execution; 0: an intermediate, which never reaches memory.
  std::int64_t id = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<std::int64_t> dimensions{};
  std::vector<std::int64_t> strides{};  // elements; empty: packed, the last dimension fastest
  bool by_value = false;                // a single number, passed at execution as a host pointer
  const CudnnDescriptor* ragged_offset = nullptr;  // start of each batch entry
};

/// A graph under construction. The descriptors that it returns live as long as the graph.
class CudnnGraph {
 public:
  using Tensor = const CudnnDescriptor&;

  explicit CudnnGraph(const CudnnLibrary& library) : library_(&library) {}

  Tensor tensor(const CudnnTensor& tensor);

  /// Lengths (int32 [batch, 1, 1, 1]) that limit rows, columns and inner elements.
  struct Overrides {
    const CudnnDescriptor* m = nullptr;
    const CudnnDescriptor* n = nullptr;
    const CudnnDescriptor* k = nullptr;
  };
  /// c = a b, accumulated in fp32.
  void matmul(Tensor a, Tensor b, Tensor c, const Overrides& overrides);

  struct Pointwise {
    cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
    cudnnDataType_t precision = CUDNN_DATA_FLOAT;  // of the arithmetic
    const CudnnDescriptor* x = nullptr;
    const CudnnDescriptor* b = nullptr;       // second operand
    const CudnnDescriptor* choice = nullptr;  // for BINARY_SELECT: x where it is true, else b
    std::optional<std::int64_t> axis{};       // for GEN_INDEX
  };
  void pointwise(const Pointwise& operation, Tensor y);

  /// y = x reduced in fp32 along the dimensions in which y has extent 1.
  void reduce(cudnnReduceTensorOp_t operation, Tensor x, Tensor y);

  /// y = the pages of `container` listed in `table`, in order.
  void load_pages(Tensor container, Tensor lengths, Tensor table, Tensor y);

  /// Any other operation.
  CudnnDescriptor& operation(cudnnBackendDescriptorType_t type);

  const CudnnLibrary& library() const { return *library_; }
  std::vector<cudnnBackendDescriptor_t> operations() const;

 private:
  const CudnnLibrary* library_;
  std::deque<CudnnDescriptor> kept_;        // tensors and modes
  std::deque<CudnnDescriptor> operations_;  // in graph order
};

/// The target of a plan: a device through a handle, or only its description.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  const CudnnDescriptor* device = nullptr;  // CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR
  int max_engines = 8;                      // to try, in the order of the library's heuristics
};

/// Why an engine proposed by the heuristics created no plan, in the library's own text.
struct CudnnRefusal {
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  std::string words{};
};

/// A plan for a graph, or why no engine created one.
struct CudnnPlan {
  std::optional<CudnnDescriptor> configuration{};  // of the engine; the plan may refer to it
  std::optional<CudnnDescriptor> plan{};
  std::int64_t workspace_bytes = 0;
  std::vector<CudnnRefusal> refusals{};  // from the engines tried before
};

/// Tries engines until one creates a plan. Compiles kernels: takes up to a second.
CudnnPlan make_plan(const CudnnGraph& graph, const CudnnTarget& target);

}  // namespace roofcast::kernels::cuda
