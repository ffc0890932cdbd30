// Times collectives over several devices by the protocol of timer.hpp: random data, warm-up, calls
// back to back, an adaptive stop. A message is warm, as it is in serving, where the operator before
// has just written it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/calibration_case.hpp"
#include "calibrate/timer.hpp"
#include "kernels/device_group.hpp"

namespace roofcast {

/// The protocol of one device, for several: calls are queued on all of them before they run, which
/// takes the host many times the time of a small call. So warm-up and samples, which go by the
/// devices' time, are shorter.
TimingProtocol collective_protocol(TimingProtocol protocol);

/// One sentence for a profile.
std::string describe_collectives(const TimingProtocol& protocol);

class CollectiveTimer {
 public:
  /// `message_bytes`: of the largest case.
  CollectiveTimer(kernels::Peers peers, const TimingProtocol& protocol, double message_bytes,
                  Timer::Pause pause = Timer::sleep_for);

  /// Opens the group of the case's ranks when it is the first of them. A group that did not open,
  /// or that failed, is not tried again: its cases throw Error with the reason. What the devices
  /// throw the first time passes through.
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
