// The device's input for one step: a row per new token, prompts first, then one row per decoding
// sequence, with the cache slot of each token's key and value and the rows that need a next token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "calibrate/runtime/page_book.hpp"

namespace roofcast::runtime {

/// New tokens of one sequence in a step.
struct SequenceRows {
  std::int32_t request = 0;
  std::int64_t cached = 0;                 // tokens before them that are in the KV cache
  std::span<const std::int32_t> tokens{};  // the new ones
  bool samples = false;                    // the last row's logits choose the next token
  bool decodes = false;                    // one token of a sequence that generates
};

/// Sequences processed by one attention kernel.
struct SequenceGroup {
  std::vector<std::int32_t> length{};      // cached and new
  std::vector<std::int32_t> page_table{};  // [sequences, pages_per_sequence]
  std::int64_t longest_length = 0;

  int sequences() const { return static_cast<int>(length.size()); }
};

struct StepRows {
  // By row.
  std::vector<std::int32_t> token{};
  std::vector<std::int32_t> position{};
  std::vector<std::int64_t> slot{};
  SequenceGroup prompts{};  // their rows come first
  SequenceGroup decodes{};
  std::vector<std::int32_t> first_query{};  // of prompts: [prompts + 1]
  std::int64_t longest_query = 0;
  // Rows that need a next token, and the request of each.
  std::vector<std::int32_t> sampled_row{};
  std::vector<std::int32_t> sampled_request{};

  std::int64_t prompt_rows() const { return first_query.back(); }
  std::int64_t rows() const { return static_cast<std::int64_t>(token.size()); }
};

/// Lays out the sequences of a step and reserves pages for their tokens. Keeps the order within
/// prompts and within decodes. Precondition: no sequence needs more than `pages_per_sequence`
/// pages.
StepRows step_rows(std::span<const SequenceRows> sequences, PageBook& pages,
                   int pages_per_sequence);

}  // namespace roofcast::runtime
