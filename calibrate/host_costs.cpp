#include "calibrate/host_costs.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/statistics.hpp"
#include "calibrate/timer.hpp"

namespace roofcast {

namespace {

constexpr int kRepetitions = 11;
// Few enough not to fill a GPU's launch queue (about 1024), enough for the clock's resolution.
constexpr int kLaunches = 200;
constexpr std::size_t kHostCopyBytes = std::size_t{16} << 20;

// Arrays of a decode step (calibrate/runtime/executor.cpp): tokens, positions, slots, first
// queries, lengths, page tables and sampled rows, each of a few kilobytes for some hundred
// sequences.
constexpr int kStepArrays = 7;
constexpr std::size_t kArrayBytes = 4096;

template <class Work>
double median_s(const std::function<double()>& now_s, const Work& work) {
  std::vector<double> seconds;
  for (int i = 0; i < kRepetitions; ++i) {
    const double before = now_s();
    const double excluded = work();
    seconds.push_back(std::max(now_s() - before - excluded, kClockTick));
  }
  return median(seconds);
}

double eager_launch_s(kernels::Backend& backend, const std::function<double()>& now_s) {
  const double all = median_s(now_s, [&] {
    for (int i = 0; i < kLaunches; ++i) backend.launch_nothing();
    const double before = now_s();
    backend.synchronize();
    return now_s() - before;
  });
  return std::max(all / kLaunches, kClockTick);  // on a CPU below the resolution of any clock
}

double graph_launch_s(kernels::Backend& backend, const std::function<double()>& now_s) {
  const auto recording = backend.record([&] { backend.launch_nothing(); });
  return median_s(now_s, [&] { return backend.replay(*recording).seconds; });
}

double engine_step_s(kernels::Backend& backend, const std::function<double()>& now_s) {
  const kernels::Memory memory(backend, kArrayBytes);
  std::vector<std::byte> host(kArrayBytes, std::byte{1});
  return median_s(now_s, [&] {
    for (int i = 0; i < kStepArrays; ++i) backend.upload(memory.data(), host.data(), kArrayBytes);
    backend.download(host.data(), memory.data(), kArrayBytes);
    return 0.0;
  });
}

}  // namespace

DeviceRates measure_host_costs(kernels::Backend& backend, const std::function<double()>& now_s) {
  const kernels::Memory memory(backend, kHostCopyBytes);
  std::vector<std::byte> host(kHostCopyBytes, std::byte{1});  // written to, so that the pages exist
  const double upload_s = median_s(now_s, [&] {
    backend.upload(memory.data(), host.data(), kHostCopyBytes);
    return 0.0;
  });
  const double download_s = median_s(now_s, [&] {
    backend.download(host.data(), memory.data(), kHostCopyBytes);
    return 0.0;
  });
  const Bytes copied{static_cast<double>(kHostCopyBytes)};
  return {.upload_bandwidth = copied / Seconds{upload_s},
          .download_bandwidth = copied / Seconds{download_s},
          .eager_launch = Seconds{eager_launch_s(backend, now_s)},
          .graph_launch = Seconds{graph_launch_s(backend, now_s)},
          .engine_step = Seconds{engine_step_s(backend, now_s)}};
}

}  // namespace roofcast
