// What a sequence says, as runs of content, for caches that compare token by token: two sequences
// hold the same tokens as far as their runs agree (SGLang compares token ids).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/workload/workload.hpp"

namespace roofcast {

struct TokenRun {
  std::uint64_t content = 0;
  std::int64_t at = 0;  // its first token's position within the content
  std::int64_t tokens = 0;
};

/// The first `tokens` tokens of what the request's prompt and output say. `contents` are its
/// prompt's; what they leave open is the request's own. Generated tokens continue the last span
/// where Request::output_continues_prompt says so and the spans cover the prompt.
std::vector<TokenRun> token_runs(const Request& request, RequestId id,
                                 std::span<const ContentSpan> contents, std::int64_t tokens);

/// A place in a sequence of runs.
struct RunCursor {
  std::size_t run = 0;
  std::int64_t offset = 0;  // tokens into that run
};

/// Tokens that `runs` from `cursor` on and `other` from its beginning have in common.
std::int64_t common_tokens(std::span<const TokenRun> runs, RunCursor cursor,
                           std::span<const TokenRun> other);

/// Takes the next `tokens` tokens, which must be there, and moves the cursor behind them.
std::vector<TokenRun> take_runs(std::span<const TokenRun> runs, RunCursor& cursor,
                                std::int64_t tokens);

/// Moves the cursor behind the next `tokens` tokens.
void skip_tokens(std::span<const TokenRun> runs, RunCursor& cursor, std::int64_t tokens);

}  // namespace roofcast
