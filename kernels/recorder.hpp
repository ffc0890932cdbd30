// Launches recorded once and replayed: the interface that timing needs from one or more devices.
#pragma once

#include <functional>
#include <memory>
#include <optional>

namespace roofcast::kernels {

/// One replay of a recording.
struct Sample {
  double seconds = 0;
  double clock_hz = 0;  // during this replay; 0: unknown
  std::optional<double> energy_joule;
};

/// Work that was recorded once and can be replayed: a CUDA graph; on the CPU and between GPUs, a
/// list of calls.
class Recording {
 public:
  virtual ~Recording() = default;
};

class Recorder {
 public:
  virtual ~Recorder() = default;

  virtual std::unique_ptr<Recording> record(const std::function<void()>& launches) = 0;
  /// Replays once and returns when it is done.
  virtual Sample replay(Recording& recording) = 0;
  /// Waits for launches made outside recordings.
  virtual void synchronize() = 0;
};

}  // namespace roofcast::kernels
