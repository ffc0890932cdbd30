#include "calibrate/collective_timer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "calibrate/collective_cases.hpp"

namespace roofcast {

namespace {

constexpr double kWarmUpSeconds = 2e-3;
constexpr double kTimeBoxSeconds = 20e-3;

constexpr std::uint64_t kMessageSeed = 20252;

}  // namespace

TimingProtocol collective_protocol(TimingProtocol protocol) {
  protocol.warm_up_s = std::min(protocol.warm_up_s, kWarmUpSeconds);
  protocol.stop.time_box_s = std::min(protocol.stop.time_box_s, kTimeBoxSeconds);
  return protocol;
}

std::string describe_collectives(const TimingProtocol& protocol) {
  const TimingProtocol own = collective_protocol(protocol);
  return fmt::format(
      "collectives: all calls of a sample are queued on all devices before the first one is timed; "
      "out of place, bf16, at most {:.3g} ms of warm-up and {:.3g} ms of samples",
      own.warm_up_s * 1e3, own.stop.time_box_s * 1e3);
}

CollectiveTimer::CollectiveTimer(kernels::Peers peers, const TimingProtocol& protocol,
                                 double message_bytes, Timer::Pause pause)
    : peers_(std::move(peers)),
      protocol_(collective_protocol(protocol)),
      message_bytes_(message_bytes),
      pause_(std::move(pause)) {}

Timing CollectiveTimer::time(const CalibrationCase& c) {
  const int ranks = c.shape.ranks;
  if (const auto refused = refused_.find(ranks); refused != refused_.end()) {
    throw Error(refused->second);
  }
  try {
    return time_on(group_of(ranks), c);
  } catch (const std::runtime_error& error) {
    refused_[ranks] = error.what();
    throw;
  }
}

CollectiveTimer::Group& CollectiveTimer::group_of(int ranks) {
  const auto found = groups_.find(ranks);
  return found != groups_.end() ? found->second : groups_.emplace(ranks, open(ranks)).first->second;
}

CollectiveTimer::Group CollectiveTimer::open(int ranks) const {
  Group group{.devices = peers_.open(ranks), .buffers = {}, .timer = nullptr};
  const auto bytes = static_cast<std::size_t>(message_bytes_);
  const auto elements = static_cast<std::int64_t>(bytes / kernels::size_of(kernels::Element::bf16));
  for (int rank = 0; rank < ranks; ++rank) {
    void* input = group.devices->allocate(rank, bytes);
    group.devices->fill_normal(rank, input, kernels::Element::bf16, elements,
                               kMessageSeed + static_cast<std::uint64_t>(rank));
    group.buffers.push_back({.input = input, .output = group.devices->allocate(rank, bytes)});
  }
  group.devices->synchronize();
  group.timer = std::make_unique<Timer>(*group.devices, protocol_, pause_);
  return group;
}

Timing CollectiveTimer::time_on(Group& group, const CalibrationCase& c) const {
  kernels::Collective call = collective_of(c);
  call.buffers = group.buffers;
  return group.timer->time({.launch = [&](int) { group.devices->launch(call); }});
}

}  // namespace roofcast
