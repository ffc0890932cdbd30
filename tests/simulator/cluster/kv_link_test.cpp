#include "simulator/cluster/kv_link.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "tests/simulator/support.hpp"

namespace roofcast::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

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

TEST(KvLink, AChunkSendsWhatItHoldsSoFar) {
  // 10 B a token. Chunks of 24: the last 4 of 100 tokens are in the chunk that begins with the
  // 97th; of 96, which is four chunks, the next token attends to none.
  CacheLayout layout;
  layout.block_tokens = 8;
  layout.page = Bytes{80};
  layout.groups = {{.layers = 1, .span = {.kind = AttentionSpan::Kind::chunked, .tokens = 24}}};
  EXPECT_DOUBLE_EQ(kv_bytes_of_prompt(layout, 100).value, 40);
  EXPECT_DOUBLE_EQ(kv_bytes_of_prompt(layout, 96).value, 0);
}

TEST(KvLink, ATransferStartsWhenThePromptIsComputedAndTheLinkIsFree) {
  // 3,000 B at 1,000 B/s take 3 s.
  const KvTransfer transfer{.started = 0, .computed = 10 * kSecond, .bytes = Bytes{3000}};
  LinkUse use;
  EXPECT_EQ(transfer_end(link_of(1000), transfer, use), 13 * kSecond);
  EXPECT_EQ(transfer_end(link_of(1000), transfer, use), 16 * kSecond);
}

KvLink overlapped(double bytes_per_second) {
  KvLink link = link_of(bytes_per_second);
  link.overlapped = true;
  return link;
}

TEST(KvLink, AnOverlappedTransferLeavesTheLastLayer) {
  // Computed from 0 to 10 s, the 3 s are long over: one of 30 layers is left, 0.1 s.
  KvTransfer transfer{.computed = 10 * kSecond, .bytes = Bytes{3000}, .layers = 30};
  LinkUse use;
  EXPECT_EQ(transfer_end(overlapped(1000), transfer, use), 10 * kSecond + kSecond / 10);
  // Computed in 1 s, the link is what takes time.
  transfer.computed = 1 * kSecond;
  use = {};
  EXPECT_EQ(transfer_end(overlapped(1000), transfer, use), 3 * kSecond);
  EXPECT_EQ(transfer_end(overlapped(1000), transfer, use), 6 * kSecond);
}

TEST(KvLink, OverlappedTransfersOfABatchFillTheTimeThatItIsComputedIn) {
  // Three prompts of 3 s of the link, computed together from 0 to 10 s: all but the last layers is
  // gone by then, and these follow each other, 0.1 s each. The next batch has the link from 10 s.
  KvTransfer transfer{.computed = 10 * kSecond, .bytes = Bytes{3000}, .layers = 30};
  LinkUse use;
  EXPECT_EQ(transfer_end(overlapped(1000), transfer, use), 10 * kSecond + 1 * kSecond / 10);
  EXPECT_EQ(transfer_end(overlapped(1000), transfer, use), 10 * kSecond + 2 * kSecond / 10);
  EXPECT_EQ(transfer_end(overlapped(1000), transfer, use), 10 * kSecond + 3 * kSecond / 10);
  transfer.started = 10 * kSecond;
  transfer.computed = 12 * kSecond;
  EXPECT_EQ(transfer_end(overlapped(1000), transfer, use), 13 * kSecond);
}

TEST(KvLink, ALinkThatTakesYearsIsRefused) {
  // Ten years are 3.154e8 s.
  KvTransfer transfer{.bytes = Bytes{1e9}};
  LinkUse use;
  const auto refusal = ThrowsMessage<Error>(HasSubstr("`kv_link`: at 1 bytes/s"));
  EXPECT_THAT([&] { transfer_end(link_of(1), transfer, use); }, refusal);
  transfer.bytes = Bytes{3e8};
  EXPECT_THAT(
      [&] {
        for (int i = 0; i < 4; ++i) transfer_end(link_of(1), transfer, use);
      },
      refusal);
}

TEST(KvLink, PresetsAreFoundByNameAndSayWhereTheyAreFrom) {
  // 400 Gb/s is 50 GB/s.
  EXPECT_DOUBLE_EQ(find_kv_link("infiniband-ndr")->bandwidth.value, 50e9);
  EXPECT_FALSE(find_kv_link("tin-can"));
  for (const KvLink& link : kv_link_presets()) EXPECT_FALSE(link.source.empty()) << link.name;
}

}  // namespace
}  // namespace roofcast::test
