// Binds attention over a paged cache: pages are in random order and cold; queries stay warm.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "calibrate/bind.hpp"
#include "calibrate/random_order.hpp"
#include "model/architecture/dtype.hpp"

namespace roofcast {

using kernels::Element;

namespace {

constexpr int kPageSize = 16;        // vLLM's default block size
constexpr int kLatentPageSize = 64;  // FlashMLA's

constexpr std::uint64_t kSeed = 4711;

enum Slot { kOutput, kWorkspace };

Element cache_element(const CalibrationCase& c) {
  switch (c.shape.cache) {
    case DType::fp8:
      return Element::fp8_e4m3;
    case DType::fp16:
      return Element::fp16;
    case DType::fp32:
      return Element::fp32;
    default:
      return Element::bf16;
  }
}

std::int64_t pages_of(std::int64_t tokens, int page_size) {
  return (tokens + page_size - 1) / page_size;
}

/// The page tables of all copies, and their sizes.
struct Pages {
  std::vector<kernels::Memory> tables{};
  std::int64_t total = 0;
  int per_sequence = 0;
};

/// Pages for sequences of the given lengths: every copy has its own pages, in random order over all
/// copies.
Pages decode_pages(kernels::Backend& backend, const std::vector<std::int32_t>& lengths,
                   int page_size, int copies) {
  Pages pages;
  std::int64_t a_copy = 0;
  for (const std::int32_t length : lengths) {
    const std::int64_t own = pages_of(length, page_size);
    a_copy += own;
    pages.per_sequence = std::max(pages.per_sequence, static_cast<int>(own));
  }
  pages.total = a_copy * copies;
  RandomStream random(kSeed);
  const std::vector<std::int32_t> order = random_order(pages.total, random);
  auto next = order.begin();
  for (int copy = 0; copy < copies; ++copy) {
    std::vector<std::int32_t> table;
    for (const std::int32_t length : lengths) {
      const std::int64_t own = pages_of(length, page_size);
      table.insert(table.end(), next, next + own);
      next += own;
      table.resize(table.size() + static_cast<std::size_t>(pages.per_sequence - own), 0);
    }
    pages.tables.push_back(uploaded(backend, table));
  }
  return pages;
}

/// Pages for one sequence. Each copy has its own pages for the cached tokens; those of the new
/// tokens, which the previous operator has just written, are shared by all copies.
Pages prefill_pages(kernels::Backend& backend, std::int64_t cached, std::int64_t fresh,
                    int copies) {
  Pages pages;
  const std::int64_t own = pages_of(cached, kPageSize);
  const std::int64_t shared = pages_of(cached + fresh, kPageSize) - own;
  pages.per_sequence = static_cast<int>(own + shared);
  pages.total = own * copies + shared;
  RandomStream random(kSeed);
  const std::vector<std::int32_t> order = random_order(pages.total, random);
  for (int copy = 0; copy < copies; ++copy) {
    const auto first = order.begin() + shared + own * copy;
    std::vector<std::int32_t> table(first, first + own);
    table.insert(table.end(), order.begin(), order.begin() + shared);
    pages.tables.push_back(uploaded(backend, table));
  }
  return pages;
}

/// Keys go into the first half of the pool, values into the second.
void place_cache(Operands& operands, kernels::PagedCache& cache, const Pages& pages) {
  const double bytes = static_cast<double>(pages.total) * cache.page_size * cache.kv_heads *
                       cache.head_dim * bytes_of(cache.element);
  const ColdCopies halves = operands.cold(cache.element, bytes, 2);
  cache.keys = halves.at(0);
  cache.values = halves.at(1);
  cache.pages_per_sequence = pages.per_sequence;
}

/// Launches `call` with the page table of each copy in turn; `table_of` returns where to set it.
template <class Call, class TableOf>
BoundCase bound(kernels::Backend& backend, kernels::KernelSource source, const Call& call,
                Pages pages, TableOf table_of) {
  auto tables = std::make_shared<std::vector<kernels::Memory>>(std::move(pages.tables));
  return {.work = {.copies = static_cast<int>(tables->size()),
                   .launch =
                       [&backend, call, tables, source, table_of](int copy) {
                         Call now = call;
                         table_of(now) =
                             (*tables)[static_cast<std::size_t>(copy)].template as<std::int32_t>();
                         backend.launch(now, source);
                       }},
          .owned = {}};
}

BoundCase bind_decode(Operands& operands, const CalibrationCase& c) {
  kernels::Backend& backend = operands.backend();
  kernels::DecodeAttention call = decode_of(c);
  const auto lengths =
      decode_lengths(call.sequences, static_cast<std::int64_t>(c.y), c.role == CaseRole::check);
  const double tokens = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  const double cold_bytes =
      tokens * 2 * call.cache.kv_heads * call.cache.head_dim * bytes_of(call.cache.element);
  Pages pages =
      decode_pages(backend, lengths, call.cache.page_size, operands.copies_for(cold_bytes));
  place_cache(operands, call.cache, pages);
  const double row = c.x * call.query_heads * call.cache.head_dim * bytes_of(call.element);
  call.query = operands.warm(call.element, row);
  call.output = operands.scratch(kOutput, row);
  call.longest_length = *std::max_element(lengths.begin(), lengths.end());
  call.workspace =
      operands.scratch(kWorkspace, static_cast<double>(kernels::workspace_bytes(call)));
  kernels::Memory length = uploaded(backend, lengths);
  call.length = length.as<std::int32_t>();
  BoundCase result = bound(
      backend, c.source, call, std::move(pages),
      [](kernels::DecodeAttention& now) -> const std::int32_t*& { return now.cache.page_table; });
  result.owned.push_back(std::move(length));
  result.cold_bytes = cold_bytes;
  return result;
}

BoundCase bind_latent(Operands& operands, const CalibrationCase& c) {
  kernels::Backend& backend = operands.backend();
  kernels::LatentDecode call = latent_decode_of(c);
  const auto lengths =
      decode_lengths(call.sequences, static_cast<std::int64_t>(c.y), c.role == CaseRole::check);
  const double row_bytes = (call.latent + call.rotary) * bytes_of(call.element);
  const double cold_bytes = std::accumulate(lengths.begin(), lengths.end(), 0.0) * row_bytes;
  Pages pages = decode_pages(backend, lengths, call.page_size, operands.copies_for(cold_bytes));
  const double pool = static_cast<double>(pages.total) * call.page_size * row_bytes;
  call.cache = operands.cold(call.element, pool, 1).at(0);
  call.pages_per_sequence = pages.per_sequence;
  call.query = operands.warm(call.element, c.x * call.query_heads * row_bytes);
  call.output =
      operands.scratch(kOutput, c.x * call.query_heads * call.latent * bytes_of(call.element));
  call.longest_length = *std::max_element(lengths.begin(), lengths.end());
  call.workspace =
      operands.scratch(kWorkspace, static_cast<double>(kernels::workspace_bytes(call)));
  kernels::Memory length = uploaded(backend, lengths);
  call.length = length.as<std::int32_t>();
  BoundCase result =
      bound(backend, c.source, call, std::move(pages),
            [](kernels::LatentDecode& now) -> const std::int32_t*& { return now.page_table; });
  result.owned.push_back(std::move(length));
  result.cold_bytes = cold_bytes;
  return result;
}

BoundCase bind_prefill(Operands& operands, const CalibrationCase& c) {
  kernels::Backend& backend = operands.backend();
  kernels::PrefillAttention call = prefill_of(c);
  const double cold_bytes =
      c.y * 2 * call.cache.kv_heads * call.cache.head_dim * bytes_of(call.cache.element);
  Pages pages = prefill_pages(backend, static_cast<std::int64_t>(c.y), call.tokens,
                              operands.copies_for(cold_bytes));
  place_cache(operands, call.cache, pages);
  const double rows = c.x * call.query_heads * call.cache.head_dim * bytes_of(call.element);
  call.query = operands.warm(call.element, rows);
  call.output = operands.scratch(kOutput, rows);
  kernels::Memory first =
      uploaded(backend, std::vector<std::int32_t>{0, static_cast<std::int32_t>(call.tokens)});
  kernels::Memory length =
      uploaded(backend, std::vector<std::int32_t>{static_cast<std::int32_t>(call.longest_length)});
  call.first_query = first.as<std::int32_t>();
  call.length = length.as<std::int32_t>();
  call.cache.page_table = pages.tables.front().as<std::int32_t>();
  backend.prepare(call, c.source);
  BoundCase result = bound(
      backend, c.source, call, std::move(pages),
      [](kernels::PrefillAttention& now) -> const std::int32_t*& { return now.cache.page_table; });
  result.owned.push_back(std::move(first));
  result.owned.push_back(std::move(length));
  result.cold_bytes = cold_bytes;
  return result;
}

kernels::PagedCache cache_of(const CalibrationCase& c) {
  return {.element = cache_element(c),
          .page_size = kPageSize,
          .kv_heads = static_cast<int>(c.shape.kv_heads),
          .head_dim = static_cast<int>(c.shape.head_dim)};
}

float scale_of(const CalibrationCase& c) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(c.shape.head_dim)));
}

}  // namespace

std::vector<std::int32_t> decode_lengths(std::int64_t sequences, std::int64_t mean, bool skewed) {
  const auto count = static_cast<std::size_t>(sequences);
  std::vector<std::int32_t> lengths(count, static_cast<std::int32_t>(mean));
  if (!skewed || sequences < 2) return lengths;
  const std::int64_t all = sequences * mean;
  const std::int64_t each = std::max<std::int64_t>(1, all / 2 / (sequences - 1));
  std::fill(lengths.begin(), lengths.end(), static_cast<std::int32_t>(each));
  lengths[count / 2] = static_cast<std::int32_t>(all - each * (sequences - 1));
  return lengths;
}

kernels::PrefillAttention prefill_of(const CalibrationCase& c) {
  const auto fresh = static_cast<std::int64_t>(c.x);
  return {.element = c.element,
          .sequences = 1,
          .query_heads = static_cast<int>(c.shape.query_heads),
          .scale = scale_of(c),
          .cache = cache_of(c),
          .tokens = fresh,
          .longest_query = fresh,
          .longest_length = fresh + static_cast<std::int64_t>(c.y)};
}

kernels::DecodeAttention decode_of(const CalibrationCase& c) {
  return {.element = c.element,
          .sequences = static_cast<int>(c.x),
          .query_heads = static_cast<int>(c.shape.query_heads),
          .scale = scale_of(c),
          .cache = cache_of(c),
          .longest_length = static_cast<std::int64_t>(c.y)};
}

kernels::LatentDecode latent_decode_of(const CalibrationCase& c) {
  return {.element = c.element,
          .sequences = static_cast<int>(c.x),
          .query_heads = static_cast<int>(c.shape.query_heads),
          .latent = static_cast<int>(c.shape.value_dim),
          .rotary = static_cast<int>(c.shape.head_dim - c.shape.value_dim),
          .page_size = kLatentPageSize,
          .scale = scale_of(c),
          .longest_length = static_cast<std::int64_t>(c.y)};
}

BoundCase bind_attention(Operands& operands, const CalibrationCase& c) {
  if (c.kind == CaseKind::prefill_attention) return bind_prefill(operands, c);
  return c.shape.latent ? bind_latent(operands, c) : bind_decode(operands, c);
}

}  // namespace roofcast
