#include "simulator/io/trace_reader.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "base/fnv1a.hpp"
#include "base/io/byte_source.hpp"
#include "base/text.hpp"
#include "simulator/io/trace_formats.hpp"

namespace roofcast {
namespace {

void check_positive(const TraceWorkload& spec, const char* key, std::optional<double> value) {
  if (!value || (*value > 0 && std::isfinite(*value))) return;
  throw Error(fmt::format("{}: {} is {}, expected a positive number", spec.path, key, *value));
}

void check(const TraceWorkload& spec) {
  check_positive(spec, "time_scale", spec.time_scale);
  check_positive(spec, "rate_scale", spec.rate_scale);
  check_positive(spec, "request_rate", spec.request_rate);
  const int scales =
      (spec.time_scale != 1.0 ? 1 : 0) + (spec.rate_scale ? 1 : 0) + (spec.request_rate ? 1 : 0);
  if (scales > 1) {
    throw Error(
        fmt::format("{}: expected at most one of time_scale, rate_scale and request_rate, not {}",
                    spec.path, scales));
  }
  if (spec.max_requests < 0) {
    throw Error(fmt::format("{}: max_requests is {}, expected 0 (all) or more", spec.path,
                            spec.max_requests));
  }
  if (spec.block_size && (*spec.block_size < 1 || *spec.block_size > kLargestTraceBlock)) {
    throw Error(fmt::format("{}: trace_block_size is {}, expected 1 to {}", spec.path,
                            *spec.block_size, kLargestTraceBlock));
  }
}

TraceFormat sniff(std::string_view head) {
  head = without_byte_order_mark(head);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return TraceFormat::csv;
  if (head[first] != '{' && head[first] != '[') return TraceFormat::csv;
  // Only in results of vLLM and SGLang, before their arrays.
  for (const std::string_view key : {"\"request_throughput\"", "\"input_lens\""}) {
    if (head.find(key) != std::string_view::npos) return TraceFormat::bench;
  }
  return TraceFormat::jsonl;
}

Workload read(ByteSource& bytes, const TraceWorkload& spec) {
  check(spec);
  const TraceFormat format =
      spec.format == TraceFormat::automatic ? sniff(bytes.peek()) : spec.format;
  switch (format) {
    case TraceFormat::jsonl:
      return read_trace_jsonl(bytes, spec);
    case TraceFormat::bench:
      return read_trace_bench(bytes, spec);
    case TraceFormat::automatic:
    case TraceFormat::csv:
      break;
  }
  return read_trace_csv(bytes, spec);
}

}  // namespace

std::string trace_hash(const TraceWorkload& spec) {
  std::uint64_t hash = kFnv1aBasis;
  if (spec.bytes) {
    hash = fnv1a(*spec.bytes);
  } else {
    std::ifstream file(spec.path, std::ios::binary);
    std::string piece(kChunkBytes, '\0');
    while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())).gcount() > 0) {
      hash =
          fnv1a(std::string_view(piece).substr(0, static_cast<std::size_t>(file.gcount())), hash);
    }
    if (!file.eof()) return "";
  }
  return fmt::format("{:016x}", hash);
}

Workload read_trace(const TraceWorkload& spec) {
  if (spec.bytes) {
    std::istringstream held(*spec.bytes);
    return read_trace(spec, held);
  }
  ByteSource bytes(spec.path);
  return read(bytes, spec);
}

Workload read_trace(const TraceWorkload& spec, std::istream& stream) {
  ByteSource bytes(stream, spec.path);
  return read(bytes, spec);
}

}  // namespace roofcast
