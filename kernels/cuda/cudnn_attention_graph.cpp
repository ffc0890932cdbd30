#include "kernels/cuda/cudnn_attention_graph.hpp"

#include <vector>

namespace roofcast::kernels::cuda {
namespace {

using Dimensions = std::vector<std::int64_t>;
using Tensor = CudnnGraph::Tensor;

/// The cache's pages are addressed through the table. Their number, which no contract states, is
/// not used for any access: a bound that keeps offsets within 64 bits.
constexpr std::int64_t kMaxPages = std::int64_t{1} << 24;

cudnnDataType_t data_type(Element element) {
  return element == Element::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
}

Dimensions scores(const CudnnAttentionShape& shape) {
  return {shape.sequences, shape.query_heads, shape.queries,
          shape.pages_per_sequence * shape.page_size};
}

Dimensions rows(const CudnnAttentionShape& shape) {
  return {shape.sequences, shape.query_heads, shape.queries, 1};
}

Tensor number(CudnnGraph& graph, CudnnAttentionTensor id) {
  return graph.tensor({.id = id, .dimensions = {1, 1, 1, 1}, .by_value = true});
}

Tensor lengths(CudnnGraph& graph, CudnnAttentionTensor id, const CudnnAttentionShape& shape) {
  return graph.tensor(
      {.id = id, .type = CUDNN_DATA_INT32, .dimensions = {shape.sequences, 1, 1, 1}});
}

Tensor page_table(CudnnGraph& graph, CudnnAttentionTensor id, const CudnnAttentionShape& shape) {
  return graph.tensor({.id = id,
                       .type = CUDNN_DATA_INT32,
                       .dimensions = {shape.sequences, 1, shape.pages_per_sequence, 1}});
}

/// Pages of keys or values: [pages, kv_heads, page_size, dim], with tokens outermost in a page's
/// memory.
Tensor container(CudnnGraph& graph, CudnnAttentionTensor id, const CudnnAttentionShape& shape,
                 std::int64_t dim, std::int64_t token_stride) {
  return graph.tensor({.id = id,
                       .type = data_type(shape.element),
                       .dimensions = {kMaxPages, shape.kv_heads, shape.page_size, dim},
                       .strides = {shape.page_size * token_stride, dim, token_stride, 1}});
}

/// Queries or outputs: [sequences, query_heads, queries, dim], with tokens outside heads in memory.
Tensor by_token(CudnnGraph& graph, CudnnAttentionTensor id, const CudnnAttentionShape& shape,
                std::int64_t dim, std::int64_t stride, const CudnnDescriptor* offsets) {
  return graph.tensor({.id = id,
                       .type = data_type(shape.element),
                       .dimensions = {shape.sequences, shape.query_heads, shape.queries, dim},
                       .strides = {shape.queries * stride, dim, stride, 1},
                       .ragged_offset = offsets});
}

const CudnnDescriptor* offsets(CudnnGraph& graph, CudnnAttentionTensor id,
                               const CudnnAttentionShape& shape) {
  if (!shape.ragged) return nullptr;
  return &graph.tensor(
      {.id = id, .type = CUDNN_DATA_INT64, .dimensions = {shape.sequences + 1, 1, 1, 1}});
}

/// y = x OPERATION b, both of size `size`; an intermediate.
Tensor combined(CudnnGraph& graph, cudnnPointwiseMode_t mode, Tensor x, Tensor b,
                const Dimensions& size) {
  Tensor y = graph.tensor({.dimensions = size});
  graph.pointwise({.mode = mode, .x = &x, .b = &b}, y);
  return y;
}

/// Row or column numbers of the scores.
Tensor indices(CudnnGraph& graph, Tensor of, std::int64_t axis, const Dimensions& size) {
  Tensor y = graph.tensor({.type = CUDNN_DATA_INT32, .dimensions = size});
  graph.pointwise({.mode = CUDNN_POINTWISE_GEN_INDEX, .x = &of, .axis = axis}, y);
  return y;
}

Tensor whole_numbers(CudnnGraph& graph, cudnnPointwiseMode_t mode, Tensor x, Tensor b,
                     const Dimensions& size) {
  Tensor y = graph.tensor({.type = CUDNN_DATA_INT32, .dimensions = size});
  graph.pointwise({.mode = mode, .precision = CUDNN_DATA_INT32, .x = &x, .b = &b}, y);
  return y;
}

Tensor truth(CudnnGraph& graph, cudnnPointwiseMode_t mode, Tensor x, Tensor b,
             const Dimensions& size) {
  Tensor y = graph.tensor({.type = CUDNN_DATA_BOOLEAN, .dimensions = size});
  graph.pointwise({.mode = mode, .precision = CUDNN_DATA_BOOLEAN, .x = &x, .b = &b}, y);
  return y;
}

/// x where `choice` is true, else `other`.
Tensor chosen(CudnnGraph& graph, Tensor x, Tensor other, Tensor choice, const Dimensions& size) {
  Tensor y = graph.tensor({.dimensions = size});
  graph.pointwise({.mode = CUDNN_POINTWISE_BINARY_SELECT, .x = &x, .b = &other, .choice = &choice},
                  y);
  return y;
}

/// Minus infinity where there is no query or no token, and where the token is later than the query,
/// whose position in the sequence is its row + tokens - queries. The engines recognise the pattern
/// only if indices are generated separately for each of the two masks.
Tensor masked(CudnnGraph& graph, Tensor score, Tensor queries, Tensor tokens,
              const Dimensions& size) {
  Tensor minus_infinity = number(graph, kCudnnMinusInfinity);
  Tensor row = indices(graph, score, 2, size);
  Tensor column = indices(graph, score, 3, size);
  Tensor is_query = truth(graph, CUDNN_POINTWISE_CMP_LT, row, queries, size);
  Tensor is_token = truth(graph, CUDNN_POINTWISE_CMP_LT, column, tokens, size);
  Tensor exists = truth(graph, CUDNN_POINTWISE_LOGICAL_AND, is_query, is_token, size);
  Tensor padded = chosen(graph, score, minus_infinity, exists, size);

  Tensor row_again = indices(graph, padded, 2, size);
  Tensor column_again = indices(graph, padded, 3, size);
  Tensor from_end = whole_numbers(graph, CUDNN_POINTWISE_ADD, row_again, tokens, size);
  Tensor place = whole_numbers(graph, CUDNN_POINTWISE_SUB, from_end, queries, size);
  Tensor is_seen = truth(graph, CUDNN_POINTWISE_CMP_GE, place, column_again, size);
  return chosen(graph, padded, minus_infinity, is_seen, size);
}

/// softmax(score), rounded to `type`. The logarithm of the sums is not used, but without it no
/// engine recognises the pattern.
Tensor softmax(CudnnGraph& graph, Tensor score, const CudnnAttentionShape& shape) {
  const Dimensions size = scores(shape);
  const Dimensions row = rows(shape);
  Tensor largest = graph.tensor({.dimensions = row});
  graph.reduce(CUDNN_REDUCE_TENSOR_MAX, score, largest);
  Tensor below = combined(graph, CUDNN_POINTWISE_SUB, score, largest, size);
  Tensor exponential = graph.tensor({.dimensions = size});
  graph.pointwise({.mode = CUDNN_POINTWISE_EXP, .x = &below}, exponential);
  Tensor sum = graph.tensor({.dimensions = row});
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, exponential, sum);
  Tensor logarithm = graph.tensor({.dimensions = row});
  graph.pointwise({.mode = CUDNN_POINTWISE_LOG, .x = &sum}, logarithm);
  combined(graph, CUDNN_POINTWISE_ADD, largest, logarithm, row);
  Tensor probability = graph.tensor({.type = data_type(shape.element), .dimensions = size});
  graph.pointwise({.mode = CUDNN_POINTWISE_DIV, .x = &exponential, .b = &sum}, probability);
  return probability;
}

}  // namespace

void describe_prefill(CudnnGraph& graph, const CudnnAttentionShape& shape) {
  const std::int64_t longest = shape.pages_per_sequence * shape.page_size;
  Tensor queries = lengths(graph, kCudnnQueryLengths, shape);
  Tensor tokens = lengths(graph, kCudnnCacheLengths, shape);
  Tensor query = by_token(graph, kCudnnQuery, shape, shape.key_dim, shape.query_stride,
                          offsets(graph, kCudnnQueryOffsets, shape));
  Tensor output =
      by_token(graph, kCudnnOutput, shape, shape.value_dim, shape.query_heads * shape.value_dim,
               offsets(graph, kCudnnOutputOffsets, shape));

  // Keys are the columns of a matrix: [head element, token].
  Tensor keys =
      graph.tensor({.type = data_type(shape.element),
                    .dimensions = {shape.sequences, shape.kv_heads, shape.key_dim, longest},
                    .strides = {shape.kv_heads * shape.key_dim * longest, shape.key_dim * longest,
                                1, shape.key_dim}});
  graph.load_pages(container(graph, kCudnnKeys, shape, shape.key_dim, shape.key_token_stride),
                   tokens, page_table(graph, kCudnnPageTable, shape), keys);
  Tensor values =
      graph.tensor({.type = data_type(shape.element),
                    .dimensions = {shape.sequences, shape.kv_heads, longest, shape.value_dim}});
  graph.load_pages(container(graph, kCudnnValues, shape, shape.value_dim, shape.value_token_stride),
                   tokens, page_table(graph, kCudnnValuePageTable, shape), values);

  Tensor product = graph.tensor({.dimensions = scores(shape)});
  graph.matmul(query, keys, product, {.m = &queries, .n = &tokens});
  Tensor score =
      combined(graph, CUDNN_POINTWISE_MUL, product, number(graph, kCudnnScale), scores(shape));
  Tensor probability = softmax(graph, masked(graph, score, queries, tokens, scores(shape)), shape);
  graph.matmul(probability, values, output, {.m = &queries, .k = &tokens});
}

void describe_decode(CudnnGraph& graph, const CudnnAttentionShape& shape) {
  CudnnDescriptor& attention = graph.operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
  attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC,
                by_token(graph, kCudnnQuery, shape, shape.key_dim, shape.query_stride, nullptr));
  attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC,
                container(graph, kCudnnKeys, shape, shape.key_dim, shape.key_token_stride));
  attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC,
                container(graph, kCudnnValues, shape, shape.value_dim, shape.value_token_stride));
  attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC,
                by_token(graph, kCudnnOutput, shape, shape.value_dim,
                         shape.query_heads * shape.value_dim, nullptr));
  attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, number(graph, kCudnnScale));
  attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_KDESC,
                page_table(graph, kCudnnPageTable, shape));
  attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_VDESC,
                page_table(graph, kCudnnValuePageTable, shape));
  attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC,
                lengths(graph, kCudnnQueryLengths, shape));
  attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC,
                lengths(graph, kCudnnCacheLengths, shape));
  attention.finalize("the attention operation");
}

}  // namespace roofcast::kernels::cuda
