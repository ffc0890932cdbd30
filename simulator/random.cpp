#include "simulator/random.hpp"

namespace roofcast {
namespace {

// FNV-1a, 64 bits (Fowler, Noll and Vo): offset basis and prime.
constexpr std::uint64_t kOffsetBasis = 0xcbf29ce484222325;
constexpr std::uint64_t kPrime = 0x100000001b3;

std::uint64_t hash_byte(std::uint64_t hash, std::uint64_t byte) { return (hash ^ byte) * kPrime; }

}  // namespace

RandomStream random_stream(std::uint64_t run_seed, std::string_view name) {
  std::uint64_t hash = kOffsetBasis;
  for (int shift = 0; shift < 64; shift += 8) hash = hash_byte(hash, (run_seed >> shift) & 0xff);
  for (char letter : name) hash = hash_byte(hash, static_cast<unsigned char>(letter));
  return RandomStream(hash);
}

}  // namespace roofcast
