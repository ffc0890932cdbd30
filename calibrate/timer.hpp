// Times work on a device by one protocol (reference points: nvbench's cold measurement,
// FlashInfer's and Triton's do_bench): random data, cold weights and KV, recorded launches back to
// back, warm-up, an adaptive stop, and no sample of a clock that was throttled.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/statistics.hpp"
#include "calibrate/stopping.hpp"
#include "kernels/recorder.hpp"

namespace roofcast {

struct TimingProtocol {
  StopRule stop{};
  /// Time of one recording: long against the 0.5 us that events resolve and the 2 to 10 us that a
  /// launch takes, short enough for many samples in the time box.
  double recording_s = 200e-6;
  double warm_up_s = 25e-3;  // of the same work, for the clocks to settle; one replay at least
  /// Cold operands (weights, KV) lie in so many copies that they are this many times the device's
  /// last cache: by the time a copy comes round again, others have taken its place.
  double cold_factor = 3;
  /// Nor more than this: the weights that a step reads between two uses of the same one. Where a
  /// whole model fits the cache, its weights are warm in serving too. 0: a model of any size.
  double step_bytes = 0;
  int max_copies = 512;
  /// Places that an output goes to in turn. In a step the place was last used a layer ago, and a
  /// CPU must fetch a line before it writes to it; a GPU writes whole lines without.
  int written_places = 1;
  /// Before each matrix product its input is written anew, by a norm whose own time is taken off:
  /// half of it then lies in another core's cache, as in a step. GPUs have one cache.
  bool inputs_written = false;
  /// A sample below this share of the highest clock seen is dropped: something else than the work
  /// slowed the device. nvbench's share.
  double throttled_share = 0.75;
  double throttled_pause_s = 50e-3;
  /// After so many dropped samples of one point the low clock is the work's own (a large GEMM at
  /// the power limit): they are kept, and the point says so.
  int max_dropped = 10;
};

/// One sentence for a profile.
std::string describe(const TimingProtocol& protocol);

/// Copies of `cold_bytes` that a call reads: ceil(cold_factor * cache / bytes), or as many as make
/// step_bytes where that is less, as far as `room` bytes and max_copies allow; 1 where nothing is
/// cold.
int copies_for(const TimingProtocol& protocol, double cold_bytes, double cache_bytes, double room);

/// One operator, ready to be launched any number of times. Launch number i works on copy i modulo
/// `copies` of what is cold in serving; activations are the same in all.
struct TimedWork {
  int copies = 1;
  std::function<void(int copy)> launch{};
  /// Launched before each of them and not counted; may be absent.
  std::function<void()> before{};
};

/// A replay, as time of one call.
struct TimedSample {
  double seconds = 0;
  double clock_hz = 0;      // 0: not known
  double energy_joule = 0;  // 0: not known
  bool dropped = false;     // throttled
};

struct Timing {
  std::vector<TimedSample> samples{};  // in order of time, the dropped ones too
  int launches = 0;                    // of one recording; the last may have fewer
  int recordings = 0;                  // replayed in turn
  StopReason stop = StopReason::none;
  bool throttled = false;   // the samples are of a low clock, because all were
  Statistics statistics{};  // of those not dropped

  int dropped() const;
};

/// Times work on one device, or on several together, and remembers the highest clock that it saw.
class Timer {
 public:
  using Pause = std::function<void(double seconds)>;

  /// `pause` waits; a test may let no time pass. The device outlives the timer.
  Timer(kernels::Recorder& device, const TimingProtocol& protocol, Pause pause = sleep_for);

  /// Records, warms up and samples; first what comes before each launch, if anything does.
  /// Throws std::invalid_argument for work that takes next to no time beside what comes before it;
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
  /// Launches a recording that take about recording_s.
  int launches_for(const TimedWork& work);
  std::unique_ptr<kernels::Recording> record(const TimedWork& work, int first, int launches);
  std::vector<Recorded> record_all(const TimedWork& work);
  void warm_up(std::vector<Recorded>& recordings);
  void sample(std::vector<Recorded>& recordings, Timing& timing);

  kernels::Recorder& device_;
  TimingProtocol protocol_;
  Pause pause_;
  double highest_clock_hz_ = 0;
};

}  // namespace roofcast
