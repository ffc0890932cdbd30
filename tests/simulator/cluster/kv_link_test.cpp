#include "simulator/cluster/kv_link.hpp"

#include <gtest/gtest.h>

#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

KvLink link_of(double bytes_per_second) { return {.bandwidth = BytesPerSecond{bytes_per_second}}; }

TEST(KvLink, APromptsBytesFollowItsLayers) {
  // Llama 3.1 8B in bf16: 32 layers of 8 KV heads of 128, K and V: 131,072 B a token. A page holds
  // 16 tokens of one layer: 65,536 B.
  CacheLayout layout;
  layout.block_tokens = 16;
  layout.page = Bytes{65'536};
  layout.layers_per_row = 32;
  layout.groups = {{.layers = 32}};
  EXPECT_DOUBLE_EQ(kv_bytes_of_prompt(layout, 1000).value, 131'072'000);
}

TEST(KvLink, WindowsSendWhatTheNextTokenAttendsToAndStatesGoWhole) {
  // Pages of 80 B, 8 tokens: 10 B a token and layer. Full: 2 layers * 100 tokens. A window of 21
  // tokens: the next token and 20 before it, 3 layers. State: 5 layers of one page.
  CacheLayout layout;
  layout.block_tokens = 8;
  layout.page = Bytes{80};
  const AttentionSpan window{.kind = AttentionSpan::Kind::sliding, .tokens = 21};
  layout.groups = {{.layers = 2},
                   {.layers = 3, .span = window},
                   {.layers = 5, .recurrent = true, .rows_per_sequence = 2}};
  EXPECT_DOUBLE_EQ(kv_bytes_of_prompt(layout, 100).value, 2 * 1000 + 3 * 200 + 5 * 80);
}

TEST(KvLink, ATransferStartsWhenThePromptIsComputedAndTheLinkIsFree) {
  // 3,000 B at 1,000 B/s take 3 s.
  const KvTransfer transfer{.started = 0, .computed = 10 * kSecond, .bytes = Bytes{3000}};
  EXPECT_EQ(transfer_end(link_of(1000), transfer, 0), 13 * kSecond);
  EXPECT_EQ(transfer_end(link_of(1000), transfer, 12 * kSecond), 15 * kSecond);
}

TEST(KvLink, AnOverlappedTransferLeavesTheLastLayer) {
  KvLink link = link_of(1000);
  link.overlapped = true;
  // Computed from 0 to 10 s, the 3 s are long over: one of 30 layers is left, 0.1 s.
  KvTransfer transfer{.computed = 10 * kSecond, .bytes = Bytes{3000}, .layers = 30};
  EXPECT_EQ(transfer_end(link, transfer, 0), 10 * kSecond + kSecond / 10);
  // Computed in 1 s, the link is what takes time.
  transfer.computed = 1 * kSecond;
  EXPECT_EQ(transfer_end(link, transfer, 0), 3 * kSecond);
  EXPECT_EQ(transfer_end(link, transfer, 2 * kSecond), 5 * kSecond);
}

TEST(KvLink, PresetsAreFoundByNameAndSayWhereTheyAreFrom) {
  // 400 Gb/s is 50 GB/s.
  EXPECT_DOUBLE_EQ(find_kv_link("infiniband-ndr")->bandwidth.value, 50e9);
  EXPECT_FALSE(find_kv_link("tin-can"));
  for (const KvLink& link : kv_link_presets()) EXPECT_FALSE(link.source.empty()) << link.name;
}

}  // namespace
}  // namespace roofcast::test
