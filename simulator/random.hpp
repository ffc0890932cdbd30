// Named random streams: the numbers drawn from one stream do not depend on how many another has
// drawn. Uses Boost's generators and distributions, which give the same results on every platform;
// those of the standard library may not.
#pragma once

#include <boost/random/mersenne_twister.hpp>
#include <cstdint>
#include <string_view>

namespace roofcast {

using RandomStream = boost::random::mt19937_64;

/// Returns the stream called `name` of the run seeded with `run_seed`, at its start.
RandomStream random_stream(std::uint64_t run_seed, std::string_view name);

}  // namespace roofcast
