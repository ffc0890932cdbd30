#include "simulator/cluster/client.hpp"

#include <algorithm>

namespace roofcast {

Client::Client(std::vector<RequestRecord>& records, std::optional<std::int64_t> max_concurrency)
    : records_(records), max_concurrency_(max_concurrency) {
  link_followers();
  skip_followers();
}

void Client::link_followers() {
  const bool any = std::any_of(records_.begin(), records_.end(), [](const RequestRecord& record) {
    return record.request.follows != kNoRequest;
  });
  if (!any) return;
  first_follower_.assign(records_.size(), kNoRequest);
  next_follower_.assign(records_.size(), kNoRequest);
  // In reverse, so that each list is in order of id.
  for (std::size_t i = records_.size(); i-- > 0;) {
    const RequestId followed = records_[i].request.follows;
    if (followed == kNoRequest) continue;
    RequestId& first = first_follower_[static_cast<std::size_t>(followed)];
    next_follower_[i] = first;
    first = static_cast<RequestId>(i);
  }
}

void Client::skip_followers() {
  while (next_ < records_.size() && records_[next_].request.follows != kNoRequest) ++next_;
}

RequestId Client::first_follower(RequestId id) const {
  return first_follower_.empty() ? kNoRequest : first_follower_[static_cast<std::size_t>(id)];
}

RequestId Client::next_follower(RequestId id) const {
  return next_follower_[static_cast<std::size_t>(id)];
}

/// The earliest unsent request, by (creation, id).
std::optional<Client::Creation> Client::next_creation() const {
  std::optional<Creation> next;
  if (next_ < records_.size()) {
    next = Creation{records_[next_].request.arrival, static_cast<RequestId>(next_)};
  }
  if (!created_.empty() && (!next || created_.top() < *next)) next = created_.top();
  return next;
}

void Client::take(const Creation& creation) {
  if (!created_.empty() && created_.top() == creation) {
    created_.pop();
    return;
  }
  ++next_;
  skip_followers();
}

std::optional<Nanoseconds> Client::next_send() const {
  if (!has_place()) return std::nullopt;
  const auto next = next_creation();
  return next ? std::optional(next->first) : std::nullopt;
}

std::optional<RequestId> Client::send(Nanoseconds now) {
  while (has_place()) {
    const auto next = next_creation();
    if (!next || next->first > now) return std::nullopt;
    take(*next);
    const RequestId id = next->second;
    record(id).sent = now;
    if (!record(id).rejected) {
      ++outstanding_;
      return id;
    }
    create_followers(id, now);
  }
  return std::nullopt;
}

void Client::create_followers(RequestId id, Nanoseconds now) {
  for (RequestId next = first_follower(id); next != kNoRequest; next = next_follower(next)) {
    Request& request = record(next).request;
    request.arrival += now;
    created_.emplace(request.arrival, next);
  }
}

void Client::finished(RequestId id, Nanoseconds now) {
  --outstanding_;
  create_followers(id, now);
}

std::int64_t Client::lost(RequestId id, Nanoseconds now) {
  --outstanding_;
  std::int64_t rejected = 0;
  std::vector<RequestId> open = {id};
  while (!open.empty()) {
    const RequestId ended = open.back();
    open.pop_back();
    for (RequestId next = first_follower(ended); next != kNoRequest; next = next_follower(next)) {
      if (!record(next).rejected) ++rejected;
      record(next).rejected = true;
      open.push_back(next);
    }
  }
  create_followers(id, now);
  return rejected;
}

std::int64_t reject_followers(std::vector<RequestRecord>& records) {
  std::int64_t rejected = 0;
  for (RequestRecord& record : records) {
    if (record.rejected || record.request.follows == kNoRequest) continue;
    record.rejected = records[static_cast<std::size_t>(record.request.follows)].rejected;
    if (record.rejected) ++rejected;
  }
  return rejected;
}

}  // namespace roofcast
