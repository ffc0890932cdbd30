#include "simulator/random.hpp"

#include "base/fnv1a.hpp"

namespace roofcast {

RandomStream random_stream(std::uint64_t run_seed, std::string_view name) {
  std::uint64_t hash = kFnv1aBasis;
  for (int shift = 0; shift < 64; shift += 8) {  // the seed's bytes, least significant first
    const char byte = static_cast<char>((run_seed >> shift) & 0xff);
    hash = fnv1a({&byte, 1}, hash);
  }
  return RandomStream(fnv1a(name, hash));
}

}  // namespace roofcast
