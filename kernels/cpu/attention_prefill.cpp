// Prefill: threads share blocks of kMaxBlockQueries rows (new tokens times the heads of a group) of
// one sequence and KV head; each block processes all tokens that it attends to.
#include <algorithm>

#include "kernels/cpu/attention.hpp"
#include "kernels/cpu/attention_rows.hpp"

namespace roofcast::kernels::cpu {
namespace {

std::int64_t rows_of(const PrefillAttention& attention, const AttentionView& view,
                     std::int64_t sequence) {
  return (attention.first_query[sequence + 1] - attention.first_query[sequence]) * view.group();
}

std::int64_t row_blocks(std::int64_t rows) {
  return (rows + kMaxBlockQueries - 1) / kMaxBlockQueries;
}

/// Block `index` among the sequences' blocks, each times the KV heads, in order.
QueryBlock block_at(const PrefillAttention& attention, const AttentionView& view,
                    std::int64_t index) {
  std::int64_t sequence = 0;
  std::int64_t blocks = row_blocks(rows_of(attention, view, 0));
  while (index >= blocks * view.kv_heads) {
    index -= blocks * view.kv_heads;
    blocks = row_blocks(rows_of(attention, view, ++sequence));
  }
  const std::int64_t rows = rows_of(attention, view, sequence);
  const std::int64_t begin = index / view.kv_heads * kMaxBlockQueries;
  const std::int64_t kv_head = index % view.kv_heads;
  return {.sequence = sequence,
          .first_token = attention.first_query[sequence],
          .first_position = attention.length[sequence] - rows / view.group(),
          .kv_heads = {.begin = kv_head, .end = kv_head + 1},
          .rows = {.begin = begin, .end = std::min(begin + kMaxBlockQueries, rows)}};
}

}  // namespace

bool supported(const PrefillAttention& attention) {
  return attention.cache.head_dim <= kMaxValueDim;
}

void prefill_attention(const PrefillAttention& attention, ThreadPool& pool, Isa isa) {
  check(attention);
  const AttentionView view = paged_view(attention);
  const AttentionFunctions functions = attention_functions(isa);
  std::int64_t blocks = 0;
  for (int s = 0; s < attention.sequences; ++s) {
    blocks += row_blocks(rows_of(attention, view, s)) * view.kv_heads;
  }
  pool.for_ranges(blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    AttentionState state;
    for (std::int64_t i = begin; i < end; ++i) {
      // In reverse order: late blocks attend to more tokens, and the longest work should not be
      // last.
      const QueryBlock block = block_at(attention, view, blocks - 1 - i);
      functions.attend(view, block, {.begin = 0, .end = attention.length[block.sequence]}, state);
      write_output(view, block, state);
    }
  });
}

}  // namespace roofcast::kernels::cpu
