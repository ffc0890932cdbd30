// The order in which an engine considers waiting requests, by the engines' names: vLLM's
// --scheduling-policy and SGLang's --schedule-policy.
#pragma once

#include <optional>
#include <string_view>

namespace roofcast {

enum class QueueOrder {
  fcfs,
  priority,        // smaller first (vLLM)
  longest_prefix,  // "lpm": most cached tokens first (SGLang)
  longest_output,  // "lof": most allowed output first (SGLang)
};

const char* name_of(QueueOrder order);

/// Returns nullopt if no order has this name.
std::optional<QueueOrder> parse_queue_order(std::string_view text);

/// The accepted names, for messages.
inline constexpr const char* kQueueOrders = "fcfs, priority, lpm or lof";

}  // namespace roofcast
