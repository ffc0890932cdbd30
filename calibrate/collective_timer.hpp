// Times collectives over several devices by the protocol of timer.hpp: random data, warm-up, calls
// back to back, adaptive stop. Messages are warm, as in serving, where the previous operator has
// just written them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/calibration_case.hpp"
#include "calibrate/timer.hpp"
#include "kernels/device_group.hpp"

namespace roofcast {

/// The protocol adapted to several devices: calls are queued on all of them before they run, which
/// takes the host many times longer than a small call. Warm-up and samples, measured in device
/// time, are therefore shorter.
TimingProtocol collective_protocol(TimingProtocol protocol);

/// One-sentence description for a profile.
std::string describe_collectives(const TimingProtocol& protocol);

class CollectiveTimer {
 public:
  /// `message_bytes`: message size of the largest case.
  CollectiveTimer(kernels::Peers peers, const TimingProtocol& protocol, double message_bytes,
                  Timer::Pause pause = Timer::sleep_for);

  /// Opens the group for the case's number of ranks on first use. A group that failed to open or
  /// failed later is not retried: its cases throw Error with the reason. Device exceptions pass
  /// through the first time.
  Timing time(const CalibrationCase& c);

 private:
  struct Group {
    std::unique_ptr<kernels::DeviceGroup> devices;
    std::vector<kernels::RankBuffers> buffers;
    std::unique_ptr<Timer> timer;
  };

  Group& group_of(int ranks);
  Group open(int ranks) const;
  Timing time_on(Group& group, const CalibrationCase& c) const;

  kernels::Peers peers_;
  TimingProtocol protocol_;
  double message_bytes_;
  Timer::Pause pause_;
  std::map<int, Group> groups_{};
  std::map<int, std::string> refused_{};
};

}  // namespace roofcast
