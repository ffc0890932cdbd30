// Assembles a synthetic workload from the parts drawn elsewhere.
#include <algorithm>

#include "simulator/workload/arrivals.hpp"
#include "simulator/workload/generate_parts.hpp"
#include "simulator/workload/length_sampler.hpp"
#include "simulator/workload/shared_prefix.hpp"
#include "simulator/workload/workload.hpp"

namespace roofcast {
namespace {

/// The spec with its range ratio applied to the lengths.
SyntheticWorkload with_ranges(SyntheticWorkload spec) {
  const RangeRatio& ratio = spec.range_ratio;
  spec.input = with_range(spec.input, ratio.input, ratio.style, "input");
  spec.output = with_range(spec.output, ratio.output, ratio.style, "output");
  return spec;
}

/// Draws one request per arrival.
void draw_requests(Workload& workload, const SyntheticWorkload& spec, const Arrivals& arrivals,
                   std::uint64_t seed, const std::vector<LengthTable>& tables) {
  LengthPairSampler lengths(spec.input, spec.output, seed, tables);
  workload.requests.reserve(arrivals.times.size());
  for (Nanoseconds time : arrivals.times) {
    const auto [input, output] = lengths.draw();
    workload.requests.push_back({.arrival = time, .input_tokens = input, .output_tokens = output});
  }
  lengths.add_notes(workload.notes);
  if (spec.shared_prefix) add_shared_prefixes(workload, *spec.shared_prefix, seed, tables);
}

}  // namespace

Workload generate(const SyntheticWorkload& given, std::uint64_t seed,
                  const std::vector<LengthTable>& tables) {
  const SyntheticWorkload spec = with_ranges(given);
  const Arrivals arrivals = draw_arrivals(spec, seed);
  Workload workload;
  if (spec.sessions) {
    draw_sessions(workload, spec, arrivals, seed, tables);
  } else {
    draw_requests(workload, spec, arrivals, seed, tables);
  }
  add_stages(workload, spec, arrivals);
  assign_adapters(workload, spec.lora, seed);
  add_images(workload, spec);
  workload.description = describe(spec, std::ssize(arrivals.times), std::ssize(workload.requests));
  return workload;
}

Nanoseconds last_arrival(const Workload& workload) {
  Nanoseconds last = 0;
  for (const Request& request : workload.requests) {
    if (request.follows == kNoRequest) last = std::max(last, request.arrival);
  }
  return last;
}

}  // namespace roofcast
