// The operators between matrices and attention: each reads and writes every element about once and
// is memory-bound. One contract each; all pointers are on the device and aligned to 16 bytes, and
// so is every row (strides and row lengths are multiples of 16 bytes, except for logits).
// Arithmetic is in fp32; results are rounded to the element. bytes_moved() counts each tensor once
// and neglects indices and rotation tables, a few bytes per row.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attention.hpp"
#include "kernels/element.hpp"

namespace roofcast::kernels {

/// output[t] = table[token[t]].
struct Embedding {
  Element element = Element::bf16;
  std::int64_t tokens = 0;
  int hidden = 0;
  int vocabulary = 0;
  const std::int32_t* token = nullptr;  // [tokens], 0 <= token < vocabulary
  const void* table = nullptr;          // [vocabulary, hidden]
  void* output = nullptr;               // [tokens, hidden]
};
double bytes_moved(const Embedding& embedding);  // the rows read and written
void check(const Embedding& embedding);

/// Rotary position embedding in the half-split form of Hugging Face's Llama (RoFormer, arXiv
/// 2104.09864): elements i and i + head_dim / 2 of a head are rotated by position * base^(-2i /
/// head_dim). In place, on queries and keys in one row of `stride` elements per token.
struct Rope {
  Element element = Element::bf16;
  std::int64_t tokens = 0;
  int query_heads = 0;
  int kv_heads = 0;
  int head_dim = 0;         // half a head is a multiple of 16 bytes
  std::int64_t stride = 0;  // elements from one token's row to the next
  void* query = nullptr;    // [tokens, query_heads, head_dim] within rows of `stride`
  void* key = nullptr;      // [tokens, kv_heads, head_dim] within rows of `stride`
  const std::int32_t* position = nullptr;  // [tokens]
  const float* cosine = nullptr;           // [positions, head_dim / 2], from rope_table()
  const float* sine = nullptr;
};
double bytes_moved(const Rope& rope);  // queries and keys read and written
void check(const Rope& rope);

/// cos and sin of position * base^(-2i / head_dim), computed in double: [positions, head_dim / 2].
struct RopeTable {
  std::vector<float> cosine;
  std::vector<float> sine;
};
RopeTable rope_table(std::int64_t positions, int head_dim, double base);

/// Copies each token's key and value to its slot in the cache; for an fp8 cache they are divided by
/// key_scale and value_scale and saturated. Slots must be distinct.
struct KvWrite {
  Element element = Element::bf16;  // of key and value
  std::int64_t tokens = 0;
  std::int64_t stride = 0;    // elements from one token's row to the next
  const void* key = nullptr;  // [tokens, kv_heads, head_dim] within rows of `stride`
  const void* value = nullptr;
  const std::int64_t* slot = nullptr;  // [tokens]: page * page_size + index in the page
  PagedCache cache{};                  // its page table is not read
};
double bytes_moved(const KvWrite& write);  // keys and values read and written
void check(const KvWrite& write);

/// The nonlinearity of a feed-forward block.
///   silu_mul: output[i] = silu(input[i]) * input[width + i] (SwiGLU, arXiv 2002.05202)
///   gelu_mul: the same with gelu (GeGLU)
///   gelu:     output[i] = gelu(input[i]), input has `width` columns
/// silu(x) = x / (1 + exp(-x)); gelu(x) = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), the
/// tanh form (arXiv 1606.08415, 2).
enum class ActivationKind { silu_mul, gelu_mul, gelu };
struct Activation {
  ActivationKind kind = ActivationKind::silu_mul;
  Element element = Element::bf16;
  std::int64_t rows = 0;
  int width = 0;                // columns of the output
  const void* input = nullptr;  // [rows, 2 * width]; [rows, width] for gelu
  void* output = nullptr;       // [rows, width]; may be the input of gelu
};
double bytes_moved(const Activation& activation);
void check(const Activation& activation);

/// Selects the next token of each row of logits.
///   top_k 1: greedy, the largest logit (the lowest index among equal ones).
///   otherwise tokens are sorted by descending logit (equal ones by ascending index); the first
///   top_k
///   (0: all) are kept, with p = softmax(logits / temperature) over these; then the shortest prefix
///   whose p reaches top_p. The sampled token is the first at which the running sum of p exceeds
///   uniform[r] times the sum of the p kept.
struct Sampling {
  std::int64_t rows = 0;
  int vocabulary = 0;
  Element element = Element::bf16;  // of the logits
  const void* logits = nullptr;     // [rows, vocabulary]
  int top_k = 1;
  float top_p = 1;
  float temperature = 1;
  const float* uniform = nullptr;  // [rows], in [0, 1); unused when greedy
  std::int32_t* token = nullptr;   // [rows]
  void* workspace = nullptr;       // of size workspace_bytes(sampling)
};
double bytes_moved(const Sampling& sampling);  // the logits once
/// 4096 bytes per row: 512 partial maxima with their indices, or a histogram of 512 bins with count
/// and mass. Backends may not use it.
std::int64_t workspace_bytes(const Sampling& sampling);
void check(const Sampling& sampling);

/// output[r] = input[row[r]]: last tokens before the LM head, tokens sorted for their experts.
struct GatherRows {
  Element element = Element::bf16;
  std::int64_t rows = 0;
  int hidden = 0;
  const std::int32_t* row = nullptr;  // [rows]
  const void* input = nullptr;        // [at least max(row) + 1, hidden]
  void* output = nullptr;             // [rows, hidden]; must not be the input
};
double bytes_moved(const GatherRows& gather);  // rows read and written
void check(const GatherRows& gather);

inline constexpr int kMaxExperts = 1024;
inline constexpr int kMaxChoices = 32;

/// Chooses each token's experts and sorts the token-expert pairs by expert. The weights are the
/// softmax over the chosen logits, which equals the renormalised softmax over all (Mixtral, arXiv
/// 2401.04088, 2.1). Of equal logits the lower expert is first. Pairs of the same expert keep the
/// order of their tokens.
struct Routing {
  std::int64_t tokens = 0;
  int experts = 0;                    // at most kMaxExperts
  int top_k = 0;                      // at most kMaxChoices, and experts
  Element element = Element::bf16;    // of the logits
  const void* logits = nullptr;       // [tokens, experts]
  std::int32_t* first_row = nullptr;  // [experts + 1]: start of each expert's pairs
  std::int32_t* source = nullptr;     // [tokens * top_k]: the token of each sorted pair
  std::int32_t* place = nullptr;      // [tokens, top_k]: the sorted pair of each choice
  float* weight = nullptr;            // [tokens, top_k], choices by descending logit
  void* workspace = nullptr;          // of workspace_bytes(routing)
};
double bytes_moved(const Routing& routing);  // logits; source, place and weight
/// int32: the expert of each choice, and the number of pairs per expert in each kRoutingBlock
/// tokens and in total. Backends may not use it.
std::int64_t workspace_bytes(const Routing& routing);
inline constexpr int kRoutingBlock = 32;
void check(const Routing& routing);

/// output[t] = sum_j weight[t, j] * input[place[t, j]]: returns the experts' results to their
/// tokens.
struct Combine {
  Element element = Element::bf16;
  std::int64_t tokens = 0;
  int top_k = 0;
  int hidden = 0;
  const void* input = nullptr;          // [tokens * top_k, hidden]
  const std::int32_t* place = nullptr;  // [tokens, top_k]
  const float* weight = nullptr;        // [tokens, top_k]
  void* output = nullptr;               // [tokens, hidden]; must not be the input
};
double bytes_moved(const Combine& combine);  // input and output once
void check(const Combine& combine);

}  // namespace roofcast::kernels
