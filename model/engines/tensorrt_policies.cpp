#include "model/engines/tensorrt_policies.hpp"

#include <cctype>

namespace roofcast {
namespace {

std::string upper(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return result;
}

}  // namespace

std::string name_of(CapacityPolicy policy) {
  switch (policy) {
    case CapacityPolicy::guaranteed_no_evict:
      return "GUARANTEED_NO_EVICT";
    case CapacityPolicy::max_utilization:
      return "MAX_UTILIZATION";
    case CapacityPolicy::static_batch:
      return "STATIC_BATCH";
  }
  return "";
}

std::string name_of(ChunkingPolicy policy) {
  return policy == ChunkingPolicy::equal_progress ? "EQUAL_PROGRESS" : "FIRST_COME_FIRST_SERVED";
}

std::optional<CapacityPolicy> parse_capacity_policy(std::string_view text) {
  const std::string name = upper(text);
  for (const CapacityPolicy policy :
       {CapacityPolicy::guaranteed_no_evict, CapacityPolicy::max_utilization,
        CapacityPolicy::static_batch}) {
    if (name == name_of(policy)) return policy;
  }
  return std::nullopt;
}

std::optional<ChunkingPolicy> parse_chunking_policy(std::string_view text) {
  const std::string name = upper(text);
  for (const ChunkingPolicy policy :
       {ChunkingPolicy::first_come_first_served, ChunkingPolicy::equal_progress}) {
    if (name == name_of(policy)) return policy;
  }
  return std::nullopt;
}

}  // namespace roofcast
