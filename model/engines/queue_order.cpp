#include "model/engines/queue_order.hpp"

namespace roofcast {

const char* name_of(QueueOrder order) {
  switch (order) {
    case QueueOrder::fcfs:
      return "fcfs";
    case QueueOrder::priority:
      return "priority";
    case QueueOrder::longest_prefix:
      return "lpm";
    case QueueOrder::longest_output:
      break;
  }
  return "lof";
}

std::optional<QueueOrder> parse_queue_order(std::string_view text) {
  for (const QueueOrder order : {QueueOrder::fcfs, QueueOrder::priority, QueueOrder::longest_prefix,
                                 QueueOrder::longest_output}) {
    if (text == name_of(order)) return order;
  }
  return std::nullopt;
}

}  // namespace roofcast
