// Embedding and gather: rows copied by index, memory-bound.
#include <cstddef>
#include <cstring>

#include "kernels/cpu/token_operators.hpp"

namespace roofcast::kernels::cpu {
namespace {

struct RowCopy {
  const std::byte* from;
  std::byte* to;
  const std::int32_t* row;  // of `from`
  std::size_t row_bytes;
};

void copy_rows(const RowCopy& copy, Range rows) {
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    std::memcpy(copy.to + static_cast<std::size_t>(r) * copy.row_bytes,
                copy.from + static_cast<std::size_t>(copy.row[r]) * copy.row_bytes, copy.row_bytes);
  }
}

}  // namespace

void embedding(const Embedding& embedding, Range tokens) {
  copy_rows({.from = static_cast<const std::byte*>(embedding.table),
             .to = static_cast<std::byte*>(embedding.output),
             .row = embedding.token,
             .row_bytes = static_cast<std::size_t>(embedding.hidden) * size_of(embedding.element)},
            tokens);
}

void gather_rows(const GatherRows& gather, Range rows) {
  copy_rows({.from = static_cast<const std::byte*>(gather.input),
             .to = static_cast<std::byte*>(gather.output),
             .row = gather.row,
             .row_bytes = static_cast<std::size_t>(gather.hidden) * size_of(gather.element)},
            rows);
}

}  // namespace roofcast::kernels::cpu
