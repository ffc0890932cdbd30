// Attention of new tokens over a paged KV cache: softmax(scale * Q K^T) V, causal, query heads in
// groups that share a KV head (GQA, arXiv 2305.13245). Softmax and sums are in fp32.
// The new tokens' own keys and values must be in the cache before the call (KvWrite in
// kernels/token_operators.hpp). Pointers are aligned to 16 bytes.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/element.hpp"

namespace roofcast::kernels {

/// Keys and values in pages of `page_size` tokens, as in vLLM and SGLang.
struct PagedCache {
  Element element = Element::bf16;  // the query's, or fp8_e4m3 with key_scale and value_scale
  int page_size = 16;               // a power of two
  int kv_heads = 0;
  int head_dim = 0;                          // a multiple of 16 bytes
  void* keys = nullptr;                      // [pages, page_size, kv_heads, head_dim]
  void* values = nullptr;                    // [pages, page_size, kv_heads, head_dim]
  const std::int32_t* page_table = nullptr;  // [sequences, pages_per_sequence]
  int pages_per_sequence = 0;
  float key_scale = 1;  // key = stored fp8 key * key_scale; 1 for other elements
  float value_scale = 1;
};

/// Throws std::invalid_argument "FAMILY: EXPECTED" if the cache cannot hold keys and values of
/// `element`. Does not check the page table, which writing does not need; attention's own check()
/// does.
void check_cache(const PagedCache& cache, Element element, std::string_view family);

/// New tokens of prompts, ragged: sequence s has the query rows first_query[s] to first_query[s +
/// 1], which are the last of the length[s] tokens in its pages. Query row i of n attends to the
/// tokens up to length - n + i.
struct PrefillAttention {
  Element element = Element::bf16;  // of query and output: fp16, bf16; fp32 on the CPU
  int sequences = 0;
  int query_heads = 0;            // a multiple of cache.kv_heads
  float scale = 0;                // usually 1 / sqrt(head_dim)
  int window = 0;                 // tokens attended, including its own; 0: all
  const void* query = nullptr;    // [tokens, query_heads, head_dim] within rows of query_stride
  std::int64_t query_stride = 0;  // elements from one token's row to the next; 0: contiguous
  void* output = nullptr;         // [tokens, query_heads, head_dim], contiguous
  const std::int32_t* first_query = nullptr;  // [sequences + 1], on the device
  const std::int32_t* length = nullptr;       // [sequences], on the device: cached + new
  PagedCache cache{};
  // Known on the host, for the launch: upper bounds of the values in the device arrays.
  std::int64_t tokens = 0;         // first_query[sequences]
  std::int64_t longest_query = 0;  // most new tokens in a sequence
  std::int64_t longest_length = 0;
};

void check(const PrefillAttention& attention);

/// One new token per sequence.
struct DecodeAttention {
  Element element = Element::bf16;
  int sequences = 0;
  int query_heads = 0;
  float scale = 0;
  int window = 0;                 // 0: all
  const void* query = nullptr;    // [sequences, query_heads, head_dim] within rows of query_stride
  std::int64_t query_stride = 0;  // elements from one row to the next; 0: contiguous
  void* output = nullptr;         // [sequences, query_heads, head_dim], contiguous
  const std::int32_t* length = nullptr;  // [sequences], on the device; 1 or more, the new token
                                         // included
  PagedCache cache{};
  std::int64_t longest_length = 0;  // on the host: an upper bound
  void* workspace = nullptr;        // of workspace_bytes(attention), for partial results
};

/// Maximum parts that a sequence is divided into, each with its own partial softmax ("split KV",
/// Flash-Decoding, Dao et al. 2023).
inline constexpr int kMaxSplits = 128;

/// Parts per sequence that the workspace has room for: at most kMaxSplits, each of at least 32
/// tokens, and together no more than fill any GPU several times over, but always 8 if there are
/// enough tokens, for a long sequence among short ones.
int max_splits(const DecodeAttention& attention);

/// fp32 partial outputs, maxima and sums: sequences * query_heads * max_splits * (head_dim + 2)
/// * 4.
std::int64_t workspace_bytes(const DecodeAttention& attention);

void check(const DecodeAttention& attention);

/// Multi-head latent attention in its absorbed form (DeepSeek-V2, arXiv 2405.04434, 2.1): per token
/// the cache holds one row of latent + rotary elements for all heads; its first `latent` elements
/// are also the value.
struct LatentDecode {
  Element element = Element::bf16;
  int sequences = 0;
  int query_heads = 0;
  int latent = 512;
  int rotary = 64;
  int page_size = 64;  // a power of two
  float scale = 0;
  const void* query = nullptr;               // [sequences, query_heads, latent + rotary]
  void* output = nullptr;                    // [sequences, query_heads, latent]
  const void* cache = nullptr;               // [pages, page_size, latent + rotary]
  const std::int32_t* page_table = nullptr;  // [sequences, pages_per_sequence]
  int pages_per_sequence = 0;
  const std::int32_t* length = nullptr;  // [sequences], on the device; 1 or more
  std::int64_t longest_length = 0;       // on the host: an upper bound
  void* workspace = nullptr;             // of workspace_bytes(attention)
};

/// As for DecodeAttention.
int max_splits(const LatentDecode& attention);

/// sequences * query_heads * max_splits * (latent + 2) * 4.
std::int64_t workspace_bytes(const LatentDecode& attention);

void check(const LatentDecode& attention);

/// The work of a call, from lengths on the host. Neglects the softmax, as FlashAttention's authors
/// do (arXiv 2307.08691, 4.1).
struct AttentionWork {
  /// 4 head_dim query_heads per pair of query and visible token; latent: 2 (2 latent + rotary)
  /// query_heads.
  double flops = 0;
  /// Keys and values that any query attends to, once each, plus queries and outputs.
  double bytes = 0;
};

/// `new_tokens[s]` of the `length[s]` tokens of each sequence are queries (1 in decode).
AttentionWork work_of(const PrefillAttention& attention, const std::int32_t* new_tokens,
                      const std::int32_t* length);
AttentionWork work_of(const DecodeAttention& attention, const std::int32_t* length);
AttentionWork work_of(const LatentDecode& attention, const std::int32_t* length);

}  // namespace roofcast::kernels
