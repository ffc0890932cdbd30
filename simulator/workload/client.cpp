#include "simulator/workload/client.hpp"

#include <algorithm>

namespace roofcast {

Client::Client(std::vector<RequestRecord>& records, std::optional<std::int64_t> max_concurrency,
               Nanoseconds per_request)
    : records_(records), max_concurrency_(max_concurrency), per_request_(per_request) {}

void Client::send_until(Nanoseconds now) {
  while (next_ < records_.size() && has_place() && records_[next_].request.arrival <= now) {
    RequestRecord& record = records_[next_];
    record.sent = std::max(record.request.arrival, place_free_since_);
    if (!record.rejected) {
      record.queued = record.sent + per_request_;
      on_the_way_.emplace_back(record.queued, static_cast<RequestId>(next_));
      ++outstanding_;
    }
    ++next_;
  }
}

void Client::release(std::int64_t finished, Nanoseconds now) {
  if (finished == 0) return;
  if (!has_place()) place_free_since_ = now;
  outstanding_ -= finished;
  send_until(now);
}

std::optional<RequestId> Client::take_delivered(Nanoseconds now) {
  if (on_the_way_.empty() || on_the_way_.front().first > now) return std::nullopt;
  const RequestId id = on_the_way_.front().second;
  on_the_way_.pop_front();
  return id;
}

std::optional<Nanoseconds> Client::next_delivery() const {
  if (!on_the_way_.empty()) return on_the_way_.front().first;
  if (next_ == records_.size() || !has_place()) return std::nullopt;
  const RequestRecord& record = records_[next_];
  return std::max(record.request.arrival, place_free_since_) + per_request_;
}

}  // namespace roofcast
