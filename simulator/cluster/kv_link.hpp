// Transfer of K and V from a prefill replica to a decode replica.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "model/cache/kv_cache.hpp"
#include "simulator/time.hpp"

namespace roofcast {

/// The link that carries K and V. Each GPU of a replica sends its own part over its own link, in
/// parallel with the others.
struct KvLink {
  std::string name{};              // of a preset; empty: specified by the user
  BytesPerSecond bandwidth{50e9};  // per GPU, one way
  Seconds latency{};               // added to each transfer; does not occupy the link
  bool shared = false;             // all prefill replicas take turns on one link, instead of one
                                   // link per replica
  bool overlapped = false;         // sent layer by layer while the prompt is computed
  std::string source{};
};

/// Link presets: peak one-way bandwidth per GPU according to the vendor, without latency, which
/// vendors do not state. Real networks reach less: specify measured values if known.
const std::vector<KvLink>& kv_link_presets();
std::optional<KvLink> find_kv_link(std::string_view name);
inline constexpr std::string_view kDefaultKvLink = "infiniband-ndr";  // the NIC of an H100 server

/// Bytes of a prompt's K and V on one GPU: all tokens in full-attention layers, the last ones in
/// windows, and the recurrent state. Whole tokens; blocks are not rounded up.
Bytes kv_bytes_of_prompt(const CacheLayout& layout, std::int64_t tokens);

/// One transfer over the link.
struct KvTransfer {
  Nanoseconds started = 0;   // the prompt's first step began
  Nanoseconds computed = 0;  // its last step ended: all K and V are there
  Bytes bytes{};             // of one GPU
  std::int64_t layers = 1;   // in which it is sent
};

/// Work already scheduled on a link.
struct LinkUse {
  Nanoseconds busy_until = 0;       // with everything that could be sent so far
  Nanoseconds delivered_until = 0;  // the end of the latest transfer
};

/// Returns when the transfer has left the link, and adds it to `use`. It waits for all transfers
/// added before. It begins when the prompt is computed; an overlapped one takes its turn when the
/// prompt starts to be computed, and sends its last layer when the prompt is done; the last layers
/// of a batch take turns. Neglected: layers of the next batch could be sent meanwhile. Latency is
/// added on top.
Nanoseconds transfer_end(const KvLink& link, const KvTransfer& transfer, LinkUse& use);

}  // namespace roofcast
