#include "calibrate/timer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>

namespace roofcast {

namespace {

/// The first estimate of a call's time includes the cost of a replay; longer recordings improve it,
/// at most this many times.
constexpr int kGuesses = 3;

/// If work adds less than this share to the time of what precedes it, it is lost in their noise.
constexpr double kMinOwnShare = 0.05;

/// Per recording, to limit its memory however short a call is.
constexpr int kMaxLaunches = 1000;

std::vector<double> kept_seconds(const std::vector<TimedSample>& samples) {
  std::vector<double> seconds;
  for (const TimedSample& sample : samples) {
    if (!sample.dropped) seconds.push_back(sample.seconds);
  }
  return seconds;
}

TimedSample per_call(const kernels::Sample& replay, int launches) {
  return {.seconds = replay.seconds / launches,
          .clock_hz = replay.clock_hz,
          .energy_joule = replay.energy_joule.value_or(0) / launches};
}

}  // namespace

std::string describe(const TimingProtocol& protocol) {
  std::string text = fmt::format(
      "random data; weights and KV rotated over {:.3g} times the last-level cache, or over the "
      "model's size if that is less; recordings of about {:.3g} us replayed after {:.3g} ms of "
      "warm-up; median of at least {} samples, until their deviation is below {:.3g} % or stable, "
      "or {:.3g} ms have passed; samples below {:.3g} % of the highest clock dropped",
      protocol.cold_factor, protocol.recording_s * 1e6, protocol.warm_up_s * 1e3,
      protocol.stop.min_samples_in_time_box, protocol.stop.quiet_deviation * 100,
      protocol.stop.time_box_s * 1e3, protocol.throttled_share * 100);
  if (protocol.written_places > 1) {
    text += fmt::format("; outputs rotate over {} buffers", protocol.written_places);
  }
  if (protocol.inputs_written) text += "; inputs of products are rewritten before each call";
  return text;
}

int copies_for(const TimingProtocol& protocol, double cold_bytes, double cache_bytes, double room) {
  if (cold_bytes <= 0) return 1;
  double together = protocol.cold_factor * cache_bytes;
  if (protocol.step_bytes > 0) together = std::min(together, protocol.step_bytes);
  const double wanted = std::ceil(together / cold_bytes);
  const double fitting = std::floor(room / cold_bytes);
  const double copies = std::min({wanted, fitting, static_cast<double>(protocol.max_copies)});
  return std::max(1, static_cast<int>(copies));
}

int Timing::dropped() const {
  return static_cast<int>(std::count_if(samples.begin(), samples.end(),
                                        [](const TimedSample& s) { return s.dropped; }));
}

Timer::Timer(kernels::Recorder& device, const TimingProtocol& protocol, Pause pause)
    : device_(device), protocol_(protocol), pause_(std::move(pause)) {}

void Timer::sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

std::unique_ptr<kernels::Recording> Timer::record(const TimedWork& work, int first, int launches) {
  return device_.record([&] {
    for (int i = 0; i < launches; ++i) {
      if (work.before) work.before();
      work.launch((first + i) % work.copies);
    }
  });
}

int Timer::launches_for(const TimedWork& work) {
  int launches = 1;
  for (int guess = 0; guess < kGuesses; ++guess) {
    const auto recording = record(work, 0, launches);
    const double call_s = std::max(device_.replay(*recording).seconds / launches, kClockTick);
    const double wanted = std::ceil(protocol_.recording_s / call_s);
    const int next = static_cast<int>(std::clamp(wanted, 1.0, double{kMaxLaunches}));
    if (next <= launches) return next;
    launches = next;
  }
  return launches;
}

/// Uses every copy equally often, so that all others are used between two uses of one: one
/// recording of a whole number of turns, or one turn split into recordings of similar length.
std::vector<Timer::Recorded> Timer::record_all(const TimedWork& work) {
  const int wanted = launches_for(work);
  std::vector<Recorded> recordings;
  if (wanted >= work.copies) {
    const int launches = (wanted + work.copies - 1) / work.copies * work.copies;
    recordings.push_back({record(work, 0, launches), launches});
    return recordings;
  }
  const int count = (work.copies + wanted - 1) / wanted;
  const int launches = (work.copies + count - 1) / count;
  for (int first = 0; first < work.copies; first += launches) {
    const int here = std::min(launches, work.copies - first);
    recordings.push_back({record(work, first, here), here});
  }
  return recordings;
}

/// At least three calls, together with the launch outside a recording and the first estimate.
void Timer::warm_up(std::vector<Recorded>& recordings) {
  double elapsed_s = 0;
  std::size_t i = 0;
  do {
    const kernels::Sample replay = device_.replay(*recordings[i].recording);
    highest_clock_hz_ = std::max(highest_clock_hz_, replay.clock_hz);
    elapsed_s += std::max(replay.seconds, kClockTick);
    i = (i + 1) % recordings.size();
  } while (elapsed_s < protocol_.warm_up_s);
}

void Timer::sample(std::vector<Recorded>& recordings, Timing& timing) {
  double elapsed_s = 0;
  int dropped = 0;
  for (std::size_t i = 0; timing.stop == StopReason::none; i = (i + 1) % recordings.size()) {
    const kernels::Sample replay = device_.replay(*recordings[i].recording);
    TimedSample sample = per_call(replay, recordings[i].launches);
    highest_clock_hz_ = std::max(highest_clock_hz_, sample.clock_hz);
    elapsed_s += replay.seconds;
    const bool slow =
        sample.clock_hz > 0 && sample.clock_hz < protocol_.throttled_share * highest_clock_hz_;
    sample.dropped = slow && !timing.throttled;
    timing.samples.push_back(sample);
    if (sample.dropped) {
      if (++dropped >= protocol_.max_dropped) timing.throttled = true;
      pause_(protocol_.throttled_pause_s);
      continue;
    }
    timing.stop = why_stop(protocol_.stop, kept_seconds(timing.samples), elapsed_s);
  }
}

double Timer::before_s(const TimedWork& work) {
  const auto known = before_s_.find(work.before_name);
  if (!work.before_name.empty() && known != before_s_.end()) return known->second;
  const TimedWork before{.launch = [&work](int) { work.before(); }};
  const double seconds = time_all(before).statistics.median;
  if (!work.before_name.empty()) before_s_[work.before_name] = seconds;
  return seconds;
}

Timing Timer::time(const TimedWork& work) {
  if (!work.before) return time_all(work);
  const double before = before_s(work);
  Timing timing = time_all(work);
  if (timing.statistics.median < before * (1 + kMinOwnShare)) {
    throw std::invalid_argument("too short to separate from writing its input");
  }
  for (TimedSample& sample : timing.samples) {
    sample.seconds = std::max(sample.seconds - before, kClockTick);
  }
  timing.statistics = summarise(kept_seconds(timing.samples));
  return timing;
}

Timing Timer::time_all(const TimedWork& work) {
  work.launch(0);  // loads modules
  device_.synchronize();
  std::vector<Recorded> recordings = record_all(work);
  Timing timing{.launches = recordings.front().launches,
                .recordings = static_cast<int>(recordings.size())};
  warm_up(recordings);
  sample(recordings, timing);
  // A clock that was low throughout is due to the work itself: serving will see the same.
  if (timing.throttled) {
    for (TimedSample& sample : timing.samples) sample.dropped = false;
  }
  timing.statistics = summarise(kept_seconds(timing.samples));
  return timing;
}

}  // namespace roofcast
