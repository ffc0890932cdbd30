// A sequence as runs of content, for caches that compare token by token: two sequences share the
// tokens over which their runs agree (SGLang compares token ids).
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

/// The first `tokens` tokens of the request's prompt and output. `contents` are its prompt's spans;
/// tokens they do not cover are private to the request. Generated tokens continue the last span if
/// Request::output_continues_prompt is set and the spans cover the prompt.
std::vector<TokenRun> token_runs(const Request& request, RequestId id,
                                 std::span<const ContentSpan> contents, std::int64_t tokens);

/// A position in a sequence of runs.
struct RunCursor {
  std::size_t run = 0;
  std::int64_t offset = 0;  // tokens into that run
};

/// Length of the common prefix of `runs` from `cursor` on and `other` from its start.
std::int64_t common_tokens(std::span<const TokenRun> runs, RunCursor cursor,
                           std::span<const TokenRun> other);

/// Returns the next `tokens` tokens, which must exist, and moves the cursor past them.
std::vector<TokenRun> take_runs(std::span<const TokenRun> runs, RunCursor& cursor,
                                std::int64_t tokens);

/// Moves the cursor past the next `tokens` tokens.
void skip_tokens(std::span<const TokenRun> runs, RunCursor& cursor, std::int64_t tokens);

}  // namespace roofcast
