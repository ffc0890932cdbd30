// Times work on a device by one protocol (compare nvbench's cold measurement, FlashInfer's and
// Triton's do_bench): random data, cold weights and KV, recorded launches back to back, warm-up,
// adaptive stop, and no samples at a throttled clock.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/statistics.hpp"
#include "calibrate/stopping.hpp"
#include "kernels/recorder.hpp"

namespace roofcast {

/// Seconds, shorter than any clock resolves; prevents division by a time of zero.
inline constexpr double kClockTick = 1e-9;

struct TimingProtocol {
  StopRule stop{};
  /// Time of one recording: long compared with the 0.5 us resolution of events and the 2 to 10 us
  /// of a launch, short enough for many samples in the time box.
  double recording_s = 200e-6;
  double warm_up_s = 25e-3;  // of the same work, for the clocks to settle; at least one replay
  /// Cold operands (weights, KV) have enough copies to total this many times the device's last
  /// cache, so that a copy has been evicted before it is used again.
  double cold_factor = 3;
  /// Upper limit: the bytes of weights that a step reads between two uses of the same one. If a
  /// whole model fits the cache, its weights are warm in serving too. 0: no limit.
  double step_bytes = 0;
  int max_copies = 512;
  /// Number of places that an output rotates through. In a step a place was last used a layer ago,
  /// and a CPU fetches a line before writing to it; a GPU writes whole lines without fetching.
  int written_places = 1;
  /// Rewrites the input before each matrix product, by a norm whose time is subtracted: half of it
  /// is then in another core's cache, as in a step. GPUs have a single last-level cache.
  bool inputs_written = false;
  /// Samples below this share of the highest clock seen are dropped, as something other than the
  /// work slowed the device. nvbench's value.
  double throttled_share = 0.75;
  double throttled_pause_s = 50e-3;
  /// After this many dropped samples of one point the low clock is caused by the work itself (a
  /// large GEMM at the power limit): samples are kept, and the point is marked throttled.
  int max_dropped = 10;
};

/// One-sentence description for a profile.
std::string describe(const TimingProtocol& protocol);

/// Number of copies of `cold_bytes`: ceil(cold_factor * cache / bytes), or fewer if that many reach
/// step_bytes, limited by `room` bytes and max_copies; 1 if nothing is cold.
int copies_for(const TimingProtocol& protocol, double cold_bytes, double cache_bytes, double room);

/// One operator that can be launched any number of times. Launch number i uses copy i modulo
/// `copies` of the operands that are cold in serving; activations are the same in all.
struct TimedWork {
  int copies = 1;
  std::function<void(int copy)> launch{};
  /// Launched before each call and not counted; may be empty.
  std::function<void()> before{};
  /// Names what `before` does, which is timed once for all work of one name; empty: each time.
  std::string before_name{};
};

/// One replay, as time per call.
struct TimedSample {
  double seconds = 0;
  double clock_hz = 0;      // 0: unknown
  double energy_joule = 0;  // 0: unknown
  bool dropped = false;     // throttled
};

struct Timing {
  std::vector<TimedSample> samples{};  // in order of time, including dropped ones
  int launches = 0;                    // per recording; the last may have fewer
  int recordings = 0;                  // replayed in turn
  StopReason stop = StopReason::none;
  bool throttled = false;   // all samples had a low clock, so they were kept
  Statistics statistics{};  // of the samples not dropped

  int dropped() const;
};

/// Times work on one device, or on several together, and tracks the highest clock seen.
class Timer {
 public:
  using Pause = std::function<void(double seconds)>;

  /// `pause` waits; tests may pass one that does not. The device must outlive the timer.
  Timer(kernels::Recorder& device, const TimingProtocol& protocol, Pause pause = sleep_for);

  /// Records, warms up and samples; first times the work before each launch, if any. Throws
  /// std::invalid_argument for work whose time is negligible compared with the work before it;
  /// exceptions of the launches pass through.
  Timing time(const TimedWork& work);

  double highest_clock_hz() const { return highest_clock_hz_; }

  static void sleep_for(double seconds);

 private:
  struct Recorded {
    std::unique_ptr<kernels::Recording> recording;
    int launches = 0;
  };

  Timing time_all(const TimedWork& work);
  double before_s(const TimedWork& work);
  /// Number of launches per recording that take about recording_s.
  int launches_for(const TimedWork& work);
  std::unique_ptr<kernels::Recording> record(const TimedWork& work, int first, int launches);
  std::vector<Recorded> record_all(const TimedWork& work);
  void warm_up(std::vector<Recorded>& recordings);
  void sample(std::vector<Recorded>& recordings, Timing& timing);

  kernels::Recorder& device_;
  TimingProtocol protocol_;
  Pause pause_;
  double highest_clock_hz_ = 0;
  std::map<std::string, double> before_s_{};  // by name
};

}  // namespace roofcast
