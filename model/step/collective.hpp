// Time of communication between GPUs. Within a node: the profile's measured all-reduces, else a
// ring over the link. Between nodes: NCCL's rings and trees over all NICs of a node together, and
// the exchange of experts' tokens as DeepEP sends them.
#pragma once

#include <cstdint>

#include "model/step/roofline.hpp"

namespace roofcast {

/// The share of a message that a rank sends in one call: ring algorithms (nccl-tests,
/// PERFORMANCE.md).
double ring_share(Exchange exchange, int ranks);

/// The least share of a collective's message that crosses a node's border: of one rank's message to
/// other nodes for an all-to-all, else into or out of a whole node. 0 within a node.
double off_node_share(const Work& work, const Gpu& gpu);

/// Time of a collective including latencies. Within a node the profile's measured all-reduces, else
/// the link; between nodes NCCL's rings and trees over all NICs of a node, and for experts what
/// their exchange sends. Never faster than within one node. Throws Error as link_between.
Seconds collective_time(const Work& work, const Gpu& gpu);
/// Time of a collective's bytes at the links' stated bandwidths.
Seconds link_limit(const Work& work, const Gpu& gpu);
/// Nodes that hold `ranks` GPUs.
int nodes_of(const Gpu& gpu, std::int64_t ranks);
/// The link between `ranks` GPUs, between nodes one NIC. Throws Error if the profile has none.
const Link& link_between(const Gpu& gpu, int ranks);

}  // namespace roofcast
