#include "simulator/cluster/kv_link.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "simulator/workload/limits.hpp"

namespace roofcast {
namespace {

/// Prompt tokens whose K and V the next token attends to, or may (sparse attention).
std::int64_t kept_tokens(const AttentionSpan& span, std::int64_t tokens) {
  return keeps_window(span) ? attended_tokens(span, tokens) - 1 : tokens;
}

Bytes group_bytes(const CacheLayout& layout, const CacheGroup& group, std::int64_t tokens) {
  const Bytes page = layout.page * static_cast<double>(group.layers);
  if (group.recurrent) return page;
  const std::int64_t block = group.block_tokens > 0 ? group.block_tokens : layout.block_tokens;
  const auto kept = static_cast<double>(kept_tokens(group.span, tokens));
  return page * (kept / static_cast<double>(block));
}

/// Rejects transfers that would exceed the range of simulated time.
void refuse_endless(const KvLink& link, Seconds transfer, const LinkUse& use) {
  if (transfer <= to_seconds(kLongestSpan) && use.busy_until <= 2 * kLongestSpan) return;
  throw Error(fmt::format(
      "`kv_link`: at {:g} bytes/s a KV transfer takes over ten years, expected more bandwidth",
      link.bandwidth.value));
}

}  // namespace

const std::vector<KvLink>& kv_link_presets() {
  // One-way: the vendors' figures for NVLink count both directions.
  static const std::vector<KvLink> presets = {
      {.name = "nvlink3",
       .bandwidth = BytesPerSecond{300e9},
       .source = "NVIDIA A100 datasheet: NVLink 600 GB/s, both ways"},
      {.name = "nvlink4",
       .bandwidth = BytesPerSecond{450e9},
       .source = "NVIDIA H100 datasheet: NVLink 900 GB/s, both ways"},
      {.name = "nvlink5",
       .bandwidth = BytesPerSecond{900e9},
       .source = "NVIDIA Blackwell architecture brief: NVLink 1.8 TB/s, both ways"},
      {.name = "pcie4",
       .bandwidth = BytesPerSecond{32e9},
       .source = "NVIDIA A100 datasheet: PCIe Gen4 x16 64 GB/s, both ways"},
      {.name = "pcie5",
       .bandwidth = BytesPerSecond{64e9},
       .source = "NVIDIA H100 datasheet: PCIe Gen5 x16 128 GB/s, both ways"},
      {.name = "infiniband-hdr",
       .bandwidth = BytesPerSecond{25e9},
       .source = "NVIDIA ConnectX-6 datasheet: 200 Gb/s a port"},
      {.name = "infiniband-ndr",
       .bandwidth = BytesPerSecond{50e9},
       .source = "NVIDIA ConnectX-7 datasheet: 400 Gb/s a port"},
      {.name = "ethernet-100g",
       .bandwidth = BytesPerSecond{12.5e9},
       .source = "IEEE 802.3: 100 Gb/s"},
  };
  return presets;
}

std::optional<KvLink> find_kv_link(std::string_view name) {
  for (const KvLink& link : kv_link_presets()) {
    if (link.name == name) return link;
  }
  return std::nullopt;
}

Bytes kv_bytes_of_prompt(const CacheLayout& layout, std::int64_t tokens) {
  Bytes total;
  for (const CacheGroup& group : layout.groups) total += group_bytes(layout, group, tokens);
  return total;
}

Nanoseconds transfer_end(const KvLink& link, const KvTransfer& transfer, LinkUse& use) {
  const Seconds seconds = transfer.bytes / link.bandwidth;
  refuse_endless(link, seconds, use);
  const Nanoseconds whole = to_nanoseconds(seconds);
  const Nanoseconds from = link.overlapped ? transfer.started : transfer.computed;
  use.busy_until = std::max(from, use.busy_until) + whole;
  Nanoseconds end = use.busy_until;
  if (link.overlapped) {
    const Nanoseconds last_layer = to_nanoseconds(seconds / static_cast<double>(transfer.layers));
    end = std::max(end, std::max(transfer.computed, use.delivered_until) + last_layer);
  }
  use.delivered_until = end;
  return end;
}

}  // namespace roofcast
