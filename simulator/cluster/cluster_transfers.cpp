// Disaggregated prefill and decode: K and V of a computed prompt go to a decode replica over the
// link of its prefill replica, in order of computation. Neglected: the prefill replica's blocks are
// freed as soon as the prompt is computed (engines hold them until they have been read), and
// prefixes that the decode replica has cached are sent again.
//
// The decode replica streams all tokens. vLLM's discards the first one of the prefill replica, of
// which the proxy asks max_tokens 1, computes the prompt's last token again and samples from that
// (0.19, toy_proxy_server.py and Scheduler._update_waiting_for_remote_kv). SGLang's and
// TensorRT-LLM's send it on when they first schedule the request (SGLang 0.5.15,
// process_batch_result_prebuilt; TensorRT-LLM 1.0, PyExecutor._handle_first_token_response).
#include <algorithm>

#include "simulator/cluster/cluster_run.hpp"

namespace roofcast {
namespace {

std::int64_t layers_of(const CacheLayout& layout) {
  std::int64_t layers = 0;
  for (const CacheGroup& group : layout.groups) layers += group.layers;
  return std::max<std::int64_t>(1, layers);
}

}  // namespace

void ClusterRun::send_cache(RequestId id, const Place& source) {
  if (!fleet_.lives(source)) return failed(id, source.replica);
  const auto target = fleet_.choose(Phase::decode, id, refused_);
  if (!target) {
    unsent_.push_back({id, source, now_});
    fleet_.wait_at_router(now_, 1, 0);
    return;
  }
  start_transfer(id, source, *target);
}

/// Each GPU on both sides holds its own part; the larger part determines the duration.
void ClusterRun::start_transfer(RequestId id, const Place& source, const Place& target) {
  const RequestRecord& record = table_.record(id);
  const CacheLayout& from = fleet_.pool_of(source.replica).replica.layout;
  const CacheLayout& to = fleet_.pool_of(target.replica).replica.layout;
  const std::int64_t tokens = record.request.input_tokens;
  const KvTransfer transfer{
      .started = record.scheduled,
      .computed = now_,
      .bytes = std::max(kv_bytes_of_prompt(from, tokens), kv_bytes_of_prompt(to, tokens)),
      .layers = layers_of(from)};
  LinkUse& use = cluster_.link.shared ? shared_link_ : fleet_[source.replica].link;
  const Nanoseconds end = transfer_end(cluster_.link, transfer, use);
  const Seconds handover = fleet_.pool_of(target.replica).replica.engine.host.handover;
  push(end + to_nanoseconds(cluster_.link.latency + handover),
       {.kind = Kind::received, .place = target, .source = source, .request = id});
}

void ClusterRun::receive(const Event& event) {
  const RequestId id = event.request;
  const bool sent = fleet_.lives(event.source);
  if (sent) {
    --fleet_[event.source.replica].sending;
    leave_if_drained(event.source.replica);
  }
  if (!fleet_.lives(event.place)) return failed(id, event.place.replica);
  if (!sent) {
    fleet_.release(event.place);
    leave_if_drained(event.place.replica);
    return failed(id, event.source.replica);
  }
  RequestRecord& record = table_.record(id);
  record.replica = event.place.replica;
  RequestState& state = table_.enter(id);
  const Engine& engine = fleet_.pool_of(event.place.replica).replica.engine;
  if (traits_of(engine.scheduler).recomputes_last_token) {
    state.received = record.request.input_tokens - 1;
  } else {
    state.received = record.request.input_tokens;
    state.generated = state.emitted = state.streamed = 1;
  }
  enter_engine(id, event.place);
}

}  // namespace roofcast
