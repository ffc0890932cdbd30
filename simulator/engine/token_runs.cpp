#include "simulator/engine/token_runs.hpp"

#include <algorithm>
#include <cassert>

namespace roofcast {
namespace {

// Set in the content id of a request's private content, so that it differs from all workload
// content.
constexpr std::uint64_t kPrivateRun = std::uint64_t{1} << 63;

/// Calls `use(run)` for each piece of the next `tokens` tokens, and moves the cursor past them.
template <class Use>
void walk(std::span<const TokenRun> runs, RunCursor& cursor, std::int64_t tokens, Use use) {
  while (tokens > 0) {
    assert(cursor.run < runs.size());
    const TokenRun& run = runs[cursor.run];
    const std::int64_t piece = std::min(tokens, run.tokens - cursor.offset);
    use(TokenRun{.content = run.content, .at = run.at + cursor.offset, .tokens = piece});
    tokens -= piece;
    cursor.offset += piece;
    if (cursor.offset == run.tokens) cursor = {.run = cursor.run + 1, .offset = 0};
  }
}

}  // namespace

std::vector<TokenRun> token_runs(const Request& request, RequestId id,
                                 std::span<const ContentSpan> contents, std::int64_t tokens) {
  std::vector<TokenRun> runs;
  std::int64_t covered = 0;
  for (const ContentSpan& span : contents) {
    const std::int64_t piece = std::min(span.tokens, tokens - covered);
    if (piece <= 0) break;
    runs.push_back({.content = span.content, .at = 0, .tokens = piece});
    covered += piece;
  }
  const std::int64_t left = tokens - covered;
  if (left <= 0) return runs;
  if (request.output_continues_prompt && covered == request.input_tokens && !runs.empty()) {
    runs.back().tokens += left;
  } else {
    const std::uint64_t own = kPrivateRun | static_cast<std::uint64_t>(id);
    runs.push_back({.content = own, .at = covered, .tokens = left});
  }
  return runs;
}

std::int64_t common_tokens(std::span<const TokenRun> runs, RunCursor cursor,
                           std::span<const TokenRun> other) {
  RunCursor behind;
  std::int64_t common = 0;
  while (cursor.run < runs.size() && behind.run < other.size()) {
    const TokenRun& a = runs[cursor.run];
    const TokenRun& b = other[behind.run];
    if (a.content != b.content || a.at + cursor.offset != b.at + behind.offset) break;
    const std::int64_t piece = std::min(a.tokens - cursor.offset, b.tokens - behind.offset);
    skip_tokens(runs, cursor, piece);
    skip_tokens(other, behind, piece);
    common += piece;
  }
  return common;
}

std::vector<TokenRun> take_runs(std::span<const TokenRun> runs, RunCursor& cursor,
                                std::int64_t tokens) {
  std::vector<TokenRun> taken;
  walk(runs, cursor, tokens, [&](const TokenRun& run) { taken.push_back(run); });
  return taken;
}

void skip_tokens(std::span<const TokenRun> runs, RunCursor& cursor, std::int64_t tokens) {
  walk(runs, cursor, tokens, [](const TokenRun&) {});
}

}  // namespace roofcast
