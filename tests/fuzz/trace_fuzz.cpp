// libFuzzer target: for any bytes, reading a trace gives a valid workload or one Error. Compiled
// once per format (ROOFCAST_FUZZED_FORMAT). Reading options are derived from the number of bytes,
// so that a few inputs reach all of them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "base/error.hpp"
#include "simulator/io/trace_reader.hpp"
#include "simulator/io/trace_writer.hpp"

namespace {

using namespace roofcast;

void require(bool holds) {
  if (!holds) std::abort();
}

/// The guarantees of trace_reader.hpp and workload.hpp for every workload.
void check(const Workload& workload) {
  require(!workload.requests.empty());
  Nanoseconds before = 0;
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    const Request& request = workload.requests[i];
    require(request.input_tokens >= 1 && request.input_tokens <= kMaxTokens);
    require(request.output_tokens >= 1 && request.output_tokens <= kMaxTokens);
    // Spans are compared in seconds, where ten years are exact to 64 ns.
    require(request.arrival >= 0 && request.arrival <= kLongestSpan + 64);
    require(request.follows < static_cast<RequestId>(i));
    const auto classes = static_cast<std::int64_t>(workload.class_names.size());
    require(request.slo_class == 0 || (request.slo_class > 0 && request.slo_class < classes));
    std::int64_t tokens = 0;
    for (std::uint32_t k = 0; k < request.contents_count; ++k) {
      tokens += workload.contents.at(request.contents_begin + k).tokens;
    }
    require(tokens <= request.input_tokens);
    if (request.follows != kNoRequest) continue;
    require(request.arrival >= before);
    before = request.arrival;
  }
}

void check_error(const Error& error) {
  const std::string what = error.what();
  require(!what.empty() && what.find('\n') == std::string::npos && what.size() < 1000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  TraceWorkload spec{.path = "t", .format = TraceFormat::ROOFCAST_FUZZED_FORMAT};
  spec.skip_bad_rows = size % 2 == 1;
  spec.drop_failed = size % 3 == 1;
  spec.max_requests = size % 5 == 1 ? 3 : 0;
  if (size % 7 == 1) spec.request_rate = 2.5;
  std::istringstream bytes(std::string(reinterpret_cast<const char*>(data), size));
  try {
    const Workload workload = read_trace(spec, bytes);
    check(workload);
    // A trace that was read can be written, and that can be read.
    std::ostringstream text;
    write_trace_jsonl(workload, text);
    std::istringstream written(text.str());
    const Workload again = read_trace({.path = "t", .format = TraceFormat::jsonl}, written);
    check(again);
    require(again.requests.size() == workload.requests.size());
  } catch (const Error& error) {
    check_error(error);
  }
  return 0;
}
