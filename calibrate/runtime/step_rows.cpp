#include "calibrate/runtime/step_rows.hpp"

#include <algorithm>
#include <cassert>

namespace roofcast::runtime {
namespace {

void add_sequence(const SequenceRows& sequence, PageBook& pages, int pages_per_sequence,
                  SequenceGroup& group, StepRows& out) {
  const std::int64_t length = sequence.cached + static_cast<std::int64_t>(sequence.tokens.size());
  const std::span<const std::int32_t> held = pages.reserve(sequence.request, length);
  assert(held.size() <= static_cast<std::size_t>(pages_per_sequence));
  const auto table_end = group.page_table.size() + static_cast<std::size_t>(pages_per_sequence);
  group.page_table.insert(group.page_table.end(), held.begin(), held.end());
  group.page_table.resize(table_end, 0);
  group.length.push_back(static_cast<std::int32_t>(length));
  group.longest_length = std::max(group.longest_length, length);
  std::int64_t position = sequence.cached;
  for (const std::int32_t token : sequence.tokens) {
    out.token.push_back(token);
    out.position.push_back(static_cast<std::int32_t>(position));
    out.slot.push_back(pages.slot(sequence.request, position));
    ++position;
  }
  if (!sequence.samples) return;
  out.sampled_row.push_back(static_cast<std::int32_t>(out.token.size()) - 1);
  out.sampled_request.push_back(sequence.request);
}

}  // namespace

StepRows step_rows(std::span<const SequenceRows> sequences, PageBook& pages,
                   int pages_per_sequence) {
  StepRows out;
  out.first_query.push_back(0);
  for (const SequenceRows& sequence : sequences) {
    if (sequence.decodes) continue;
    add_sequence(sequence, pages, pages_per_sequence, out.prompts, out);
    out.first_query.push_back(static_cast<std::int32_t>(out.token.size()));
    const auto fresh = static_cast<std::int64_t>(sequence.tokens.size());
    out.longest_query = std::max(out.longest_query, fresh);
  }
  for (const SequenceRows& sequence : sequences) {
    if (!sequence.decodes) continue;
    assert(sequence.tokens.size() == 1);
    add_sequence(sequence, pages, pages_per_sequence, out.decodes, out);
  }
  return out;
}

}  // namespace roofcast::runtime
