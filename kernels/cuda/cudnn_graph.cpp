#include "kernels/cuda/cudnn_graph.hpp"

#include <array>
#include <stdexcept>
#include <utility>

namespace roofcast::kernels::cuda {
namespace {

constexpr std::int64_t kByteAlignment = 16;
constexpr std::int64_t kFirstIntermediate = 1'000'000;  // above the ids of all tensors with data
constexpr std::size_t kMessageBytes = 1024;

std::vector<std::int64_t> packed(const std::vector<std::int64_t>& dimensions) {
  std::vector<std::int64_t> strides(dimensions.size(), 1);
  for (std::size_t i = dimensions.size(); i-- > 1;) strides[i - 1] = strides[i] * dimensions[i];
  return strides;
}

/// The library's own text for its last error, on one line.
std::string last_error(const CudnnLibrary& library) {
  std::array<char, kMessageBytes> message{};
  library.cudnnGetLastErrorString(message.data(), message.size() - 1);
  std::string text = message.data();
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

}  // namespace

void CudnnLibrary::check(cudnnStatus_t status, const char* what) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string("cuDNN: ") + what + " failed with " +
                           cudnnGetErrorString(status) + ": " + last_error(*this));
}

std::string cudnn_version_text(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

CudnnLibrary open_cudnn(const LibraryPlaces& places) {
  CudnnLibrary library{.library = LoadedLibrary(cudnn_name(), places)};
  const std::size_t version = library.cudnnGetVersion();
  if (version / 10000 != CUDNN_MAJOR) {
    throw std::runtime_error("cuDNN " + cudnn_version_text(version) + " at " +
                             library.library.path() + " is not version " +
                             std::to_string(CUDNN_MAJOR));
  }
  return library;
}

// ---- descriptors

CudnnDescriptor::CudnnDescriptor(const CudnnLibrary& library, cudnnBackendDescriptorType_t type)
    : library_(&library) {
  library.check(library.cudnnBackendCreateDescriptor(type, &descriptor_),
                "cudnnBackendCreateDescriptor");
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) library_->cudnnBackendDestroyDescriptor(descriptor_);
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : library_(other.library_), descriptor_(std::exchange(other.descriptor_, nullptr)) {}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(library_, other.library_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          std::int64_t count, const void* values) {
  const std::string what = "setting attribute " + std::to_string(static_cast<int>(name));
  library_->check(library_->cudnnBackendSetAttribute(descriptor_, name, type, count, values),
                  what.c_str());
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                          const std::vector<std::int64_t>& values) {
  set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, const CudnnDescriptor& descriptor) {
  const cudnnBackendDescriptor_t value = descriptor.get();
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, static_cast<const void*>(&value));
}

void CudnnDescriptor::finalize(const char* what) {
  library_->check(library_->cudnnBackendFinalize(descriptor_), what);
}

// ---- the graph

CudnnGraph::Tensor CudnnGraph::tensor(const CudnnTensor& tensor) {
  const bool is_virtual = tensor.id == 0;
  const std::int64_t id =
      is_virtual ? kFirstIntermediate + static_cast<std::int64_t>(kept_.size()) : tensor.id;
  CudnnDescriptor& descriptor = kept_.emplace_back(*library_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, tensor.type);
  descriptor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, tensor.dimensions);
  descriptor.set(CUDNN_ATTR_TENSOR_STRIDES,
                 tensor.strides.empty() ? packed(tensor.dimensions) : tensor.strides);
  descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  descriptor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kByteAlignment);
  descriptor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual);
  descriptor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, tensor.by_value);
  if (tensor.ragged_offset != nullptr) {
    descriptor.set(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, *tensor.ragged_offset);
  }
  descriptor.finalize("a tensor");
  return descriptor;
}

CudnnDescriptor& CudnnGraph::operation(cudnnBackendDescriptorType_t type) {
  return operations_.emplace_back(*library_, type);
}

void CudnnGraph::matmul(Tensor a, Tensor b, Tensor c, const Overrides& overrides) {
  CudnnDescriptor& mode = kept_.emplace_back(*library_, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  mode.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  mode.finalize("a matrix product's mode");
  CudnnDescriptor& product = operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  product.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, mode);
  product.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
  product.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
  product.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
  const auto override_if_given = [&](cudnnBackendAttributeName_t name,
                                     const CudnnDescriptor* lengths) {
    if (lengths != nullptr) product.set(name, *lengths);
  };
  override_if_given(CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, overrides.m);
  override_if_given(CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, overrides.n);
  override_if_given(CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, overrides.k);
  product.finalize("a matrix product");
}

void CudnnGraph::pointwise(const Pointwise& operation_in, Tensor y) {
  CudnnDescriptor& mode = kept_.emplace_back(*library_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  mode.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, operation_in.mode);
  mode.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, operation_in.precision);
  if (operation_in.axis) {
    mode.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, *operation_in.axis);
  }
  mode.finalize("a pointwise mode");
  CudnnDescriptor& pointwise = operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  pointwise.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, mode);
  pointwise.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *operation_in.x);
  if (operation_in.b != nullptr) {
    pointwise.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *operation_in.b);
  }
  if (operation_in.choice != nullptr) {
    pointwise.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *operation_in.choice);
  }
  pointwise.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  pointwise.finalize("a pointwise operation");
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t operation_in, Tensor x, Tensor y) {
  CudnnDescriptor& mode = kept_.emplace_back(*library_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  mode.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, operation_in);
  mode.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  mode.finalize("a reduction's mode");
  CudnnDescriptor& reduction = operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  reduction.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, mode);
  reduction.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
  reduction.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
  reduction.finalize("a reduction");
}

void CudnnGraph::load_pages(Tensor container, Tensor lengths, Tensor table, Tensor y) {
  CudnnDescriptor& load = operation(CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR);
  load.set(CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC, container);
  load.set(CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC, lengths);
  load.set(CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC, table);
  load.set(CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_YDESC, y);
  load.finalize("a load of pages");
}

std::vector<cudnnBackendDescriptor_t> CudnnGraph::operations() const {
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const CudnnDescriptor& operation : operations_) operations.push_back(operation.get());
  return operations;
}

// ---- the plan

namespace {

/// Engine configurations, in the order of the library's ranking.
std::vector<CudnnDescriptor> proposals(const CudnnLibrary& library, const CudnnDescriptor& graph,
                                       const CudnnTarget& target) {
  CudnnDescriptor heuristics(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  if (target.device != nullptr) {
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target.device);
  }
  heuristics.finalize("the engines' heuristics");
  std::vector<CudnnDescriptor> configurations;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int i = 0; i < target.max_engines; ++i) {
    raw.push_back(configurations.emplace_back(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  }
  std::int64_t count = 0;
  library.check(library.cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, target.max_engines,
                                                 &count, raw.data()),
                "asking for engines");
  while (static_cast<std::int64_t>(configurations.size()) > count) configurations.pop_back();
  return configurations;
}

}  // namespace

CudnnPlan make_plan(const CudnnGraph& graph, const CudnnTarget& target) {
  const CudnnLibrary& library = graph.library();
  CudnnPlan result;
  CudnnDescriptor operations(library, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  const std::vector<cudnnBackendDescriptor_t> list = graph.operations();
  operations.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 static_cast<std::int64_t>(list.size()), list.data());
  if (target.handle != nullptr) {
    operations.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
  }
  operations.finalize("the graph");
  for (CudnnDescriptor& configuration : proposals(library, operations, target)) {
    CudnnDescriptor plan(library, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    if (target.handle != nullptr) {
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
    }
    if (target.device != nullptr) {
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target.device);
    }
    const cudnnStatus_t status = library.cudnnBackendFinalize(plan.get());
    if (status != CUDNN_STATUS_SUCCESS) {
      result.refusals.push_back(
          {.status = status,
           .words = std::string(library.cudnnGetErrorString(status)) + ": " + last_error(library)});
      continue;
    }
    std::int64_t count = 0;
    library.check(
        library.cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                         CUDNN_TYPE_INT64, 1, &count, &result.workspace_bytes),
        "asking for the workspace's size");
    result.plan.emplace(std::move(plan));
    result.configuration.emplace(std::move(configuration));
    return result;
  }
  return result;
}

}  // namespace roofcast::kernels::cuda
