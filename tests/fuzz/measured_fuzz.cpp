// libFuzzer target: for any bytes, reading a result gives runs whose figures a store accepts,
// nullopt (unknown format), or one Error of one line.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "base/error.hpp"
#include "reports/importers/importer.hpp"

namespace {

using namespace roofcast;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_line(const std::string& text) {
  require(!text.empty() && text.find('\n') == std::string::npos && text.size() < 1000);
}

void check(const MeasuredRun& run) {
  for (const MetricRow& metric : run.metrics) {
    require(std::isfinite(metric.value) && !metric.name.empty() && !metric.statistic.empty());
  }
  for (const RequestRow& request : run.requests) {
    require(std::isfinite(request.arrival_s));
    require(request.input_tokens >= 0 && request.output_tokens >= 0);
    for (const auto& time :
         {request.sent_s, request.scheduled_s, request.first_token_s, request.finished_s}) {
      require(!time || std::isfinite(*time));
    }
  }
  for (const std::string& warning : run.warnings) check_line(warning);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream stream(std::string(reinterpret_cast<const char*>(data), size));
  try {
    ByteSource bytes(stream, "m");
    const auto runs = read_measured_bytes(bytes, {.meta = {{"gpu", "h100"}}});
    if (!runs) return 0;
    for (const MeasuredRun& run : *runs) check(run);
  } catch (const Error& error) {
    check_line(error.what());
  }
  return 0;
}
