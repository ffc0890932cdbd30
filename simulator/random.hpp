// Named random streams: the numbers of one stream do not depend on how many another has drawn.
// Generators and distributions are Boost's, whose results do not differ between platforms as those
// of the standard library may.
#pragma once

#include <boost/random/mersenne_twister.hpp>
#include <cstdint>
#include <string_view>

namespace roofcast {

using RandomStream = boost::random::mt19937_64;

/// The stream called `name` of the run seeded with `run_seed`, at its beginning.
RandomStream random_stream(std::uint64_t run_seed, std::string_view name);

}  // namespace roofcast
