#include "simulator/workload/generate_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>

#include "base/error.hpp"
#include "simulator/random.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kMaxAdapters = 100'000;
constexpr double kMaxZipf = 10;  // at this value the first adapter gets 99.9 %

void check(const LoraAdapters& lora) {
  if (lora.count < 0 || lora.count > kMaxAdapters) {
    throw Error(fmt::format("`lora_adapters` is {}, expected 0 to {}", lora.count, kMaxAdapters));
  }
  if (!(lora.zipf >= 0 && lora.zipf <= kMaxZipf)) {
    throw Error(fmt::format("`lora_zipf` is {}, expected 0 (uniform) to {}", lora.zipf, kMaxZipf));
  }
}

/// Cumulative weights of the adapters. Integers, so that a math library that differs in the last
/// bit cannot change the sums.
std::vector<std::int64_t> cumulative_weights(const LoraAdapters& lora) {
  constexpr double kScale = 1e12;  // weight of the most frequent one; 100,000 of them still fit 64
                                   // bits
  std::vector<std::int64_t> sums;
  std::int64_t sum = 0;
  for (std::int64_t k = 1; k <= lora.count; ++k) {
    sum += std::llround(kScale / std::pow(static_cast<double>(k), lora.zipf));
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace

void assign_adapters(Workload& workload, const LoraAdapters& lora, std::uint64_t seed) {
  check(lora);
  if (lora.count == 0) return;
  const auto sums = cumulative_weights(lora);
  RandomStream random = random_stream(seed, "adapters");
  boost::random::uniform_int_distribution<std::int64_t> uniform(1, sums.back());
  for (Request& request : workload.requests) {
    if (request.follows != kNoRequest) {
      request.adapter = workload.requests[static_cast<std::size_t>(request.follows)].adapter;
      continue;
    }
    const auto found = std::lower_bound(sums.begin(), sums.end(), uniform(random));
    request.adapter = static_cast<std::int32_t>(found - sums.begin());
  }
}

}  // namespace roofcast
