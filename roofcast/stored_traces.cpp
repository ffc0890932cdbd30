#include "roofcast/stored_traces.hpp"

#include <fmt/format.h>

#include <memory>
#include <sstream>

#include "base/dates.hpp"
#include "base/error.hpp"
#include "base/io/byte_source.hpp"
#include "simulator/io/trace_reader.hpp"

namespace roofcast {
namespace {

/// Unpacks the file once, so that no question has to unpack more than is allowed.
void check_unpacked(const std::string& name, const std::string& content, std::size_t largest) {
  std::istringstream held(content);
  ByteSource bytes(held, name);
  std::string piece(kChunkBytes, '\0');
  std::size_t size = 0;
  while (const std::size_t read = bytes.read(piece.data(), piece.size())) {
    size += read;
    if (size > largest) {
      throw UsageError(fmt::format("{}: more than {} bytes unpacked", name, largest));
    }
  }
}

}  // namespace

StoredTrace trace_for_store(const std::string& name, const std::string& content,
                            const TraceLimits& limits) {
  check_unpacked(name, content, limits.largest_unpacked);
  const Workload workload = read_trace({.path = name,
                                        .bytes = std::make_shared<const std::string>(content),
                                        .max_requests = limits.max_requests + 1});
  const std::int64_t requests = std::ssize(workload.requests);
  if (requests > limits.max_requests) {
    throw UsageError(fmt::format("{}: more than {} requests", name, limits.max_requests));
  }
  return {.name = name,
          .created_at = utc_now(),
          .requests = requests,
          .duration_s = to_seconds(last_arrival(workload)).value,
          .content = content};
}

}  // namespace roofcast
