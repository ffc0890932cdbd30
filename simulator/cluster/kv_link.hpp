// The way of K and V from a prefill replica to a decode replica.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "model/cache/kv_cache.hpp"
#include "simulator/time.hpp"

namespace roofcast {

/// What carries K and V. Each GPU of a replica sends its own part over a link of its own, at the
/// same time as the others.
struct KvLink {
  std::string name{};              // of a preset; empty: stated
  BytesPerSecond bandwidth{50e9};  // of one GPU, one way
  Seconds latency{};               // added to each transfer; does not occupy the link
  bool shared = false;             // all prefill replicas take turns, not only those of a replica
  bool overlapped = false;         // layer by layer, while the prompt is being computed
  std::string source{};
};

/// Links by name: peak one-way bandwidth per GPU as its maker states it, without latency, which
/// they do not state. Transfers over real networks reach less: state your own where it is known.
const std::vector<KvLink>& kv_link_presets();
std::optional<KvLink> find_kv_link(std::string_view name);
inline constexpr std::string_view kDefaultKvLink = "infiniband-ndr";  // the NIC of an H100 server

/// What one GPU holds of the K and V of a prompt: all tokens in full-attention layers, the last
/// ones in windows, and the recurrent state. Whole tokens; blocks are not rounded up.
Bytes kv_bytes_of_prompt(const CacheLayout& layout, std::int64_t tokens);

/// One transfer as the link sees it.
struct KvTransfer {
  Nanoseconds started = 0;   // the prompt's first step began
  Nanoseconds computed = 0;  // its last step ended: all K and V are there
  Bytes bytes{};             // of one GPU
  std::int64_t layers = 1;   // that it is made of
};

/// What a link has been given to do.
struct LinkUse {
  Nanoseconds busy_until = 0;       // with all that could be sent
  Nanoseconds delivered_until = 0;  // the end of the latest transfer
};

/// When a transfer has left the link, after all that was given to the link before, which it is
/// added to. A transfer begins when the prompt is computed. An overlapped one begins when the
/// prompt starts to be, takes its turn then, and keeps back its last layer, which is sent when the
/// prompt is computed; the last layers of a batch take turns. Neglected: while these are sent,
/// layers of the next batch can be too. Latency comes on top.
Nanoseconds transfer_end(const KvLink& link, const KvTransfer& transfer, LinkUse& use);

}  // namespace roofcast
