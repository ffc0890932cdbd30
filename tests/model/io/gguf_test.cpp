#include "model/io/gguf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/architecture/weights.hpp"
#include "model/cache/kv_cache.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast {
namespace {

using test::raw;
using test::text;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

// Value types and tensor types of docs/gguf.md that the tests write.
constexpr std::uint32_t kUint32 = 4;
constexpr std::uint32_t kString = 8;
constexpr std::uint32_t kList = 9;
constexpr std::uint32_t kF32 = 0;
constexpr std::uint32_t kF16 = 1;
constexpr std::uint32_t kQ4K = 12;
constexpr std::uint32_t kMxfp4 = 39;

std::uint64_t product(const std::vector<std::int64_t>& shape) {
  std::uint64_t result = 1;
  for (const std::int64_t size : shape) result *= static_cast<std::uint64_t>(size);
  return result;
}

/// Writes GGUF files: keys, a tensor table, and zero bytes for the tensors.
struct Writer {
  std::string values;
  std::string tensors;
  std::uint64_t value_count = 0;
  std::uint64_t tensor_count = 0;
  std::uint64_t data = 0;
  std::uint32_t version = 3;

  void value(const std::string& key, std::uint32_t type, const std::string& bytes) {
    values += text(key) + raw(type) + bytes;
    ++value_count;
  }
  void number(const std::string& key, std::uint32_t value_) { value(key, kUint32, raw(value_)); }
  void string(const std::string& key, const std::string& value_) {
    value(key, kString, text(value_));
  }

  void tensor(const std::string& name, const std::vector<std::int64_t>& shape, std::uint32_t type) {
    tensors += text(name) + raw(static_cast<std::uint32_t>(shape.size()));
    for (const std::int64_t size : shape) tensors += raw(size);
    tensors += raw(type) + raw(data);
    const std::uint64_t elements = product(shape);
    data += type == kF32   ? elements * 4
            : type == kF16 ? elements * 2
            : type == kQ4K ? elements / 256 * 144
                           : elements / 32 * 17;
    ++tensor_count;
  }

  std::string bytes() const {
    std::string file = "GGUF" + raw(version) + raw(tensor_count) + raw(value_count);
    file += values + tensors;
    file.resize((file.size() + 31) / 32 * 32, '\0');
    return file + std::string(data, '\0');
  }
};

/// A llama of 2 layers, width 256, 4 heads of 64 and 2 KV heads, FFN 512, vocabulary 1024.
Writer small_gguf() {
  Writer w;
  w.string("general.architecture", "llama");
  w.string("general.name", "Small Llama");
  w.number("llama.block_count", 2);
  w.number("llama.context_length", 4096);
  w.number("llama.embedding_length", 256);
  w.number("llama.feed_forward_length", 512);
  w.number("llama.attention.head_count", 4);
  w.number("llama.attention.head_count_kv", 2);
  w.value("tokenizer.ggml.tokens", kList,
          raw(kString) + raw(std::uint64_t{3}) + text("a") + text("bb") + text(""));
  w.tensor("token_embd.weight", {256, 1024}, kQ4K);
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    w.tensor(layer + "attn_norm.weight", {256}, kF32);
    w.tensor(layer + "attn_q.weight", {256, 256}, kQ4K);
    w.tensor(layer + "attn_k.weight", {256, 128}, kQ4K);
    w.tensor(layer + "attn_v.weight", {256, 128}, kF16);
    w.tensor(layer + "attn_output.weight", {256, 256}, kQ4K);
    w.tensor(layer + "ffn_norm.weight", {256}, kF32);
    w.tensor(layer + "ffn_gate.weight", {256, 512}, kQ4K);
    w.tensor(layer + "ffn_up.weight", {256, 512}, kQ4K);
    w.tensor(layer + "ffn_down.weight", {512, 256}, kQ4K);
  }
  w.tensor("output_norm.weight", {256}, kF32);
  w.tensor("output.weight", {256, 1024}, kF16);
  return w;
}

void expect_refused(const std::string& path, const std::string& what) {
  EXPECT_THAT([&] { read_gguf(path); },
              ThrowsMessage<Error>(AllOf(HasSubstr(path), HasSubstr(what), Not(HasSubstr("\n")))));
}

void expect_no_model(const std::string& path, const std::string& what) {
  EXPECT_THAT([&] { to_transformer(read_gguf(path)); },
              ThrowsMessage<Error>(AllOf(HasSubstr(path), HasSubstr(what), Not(HasSubstr("\n")))));
}

TEST(Gguf, KeysAndTensorsAreRead) {
  const test::TemporaryFolder folder;
  const GgufFile file = read_gguf(folder.write("small.gguf", small_gguf().bytes()));
  EXPECT_EQ(file.version, 3);
  EXPECT_EQ(file.architecture, "llama");
  EXPECT_EQ(std::get<std::int64_t>(file.values.at("llama.block_count")), 2);
  // Token lists are counted, not kept.
  const auto& tokens = std::get<GgufList>(file.values.at("tokenizer.ggml.tokens"));
  EXPECT_EQ(tokens.length, 3);
  EXPECT_TRUE(tokens.values.empty());
  ASSERT_EQ(file.tensors.size(), 21U);
  EXPECT_EQ(file.tensors[0].type, "q4_k");
  EXPECT_EQ(file.tensors[0].elements, 256 * 1024);
  EXPECT_DOUBLE_EQ(file.tensors[0].bytes.value, 1024 * 144);  // one block of 256 a row
}

TEST(Gguf, VersionTwoReadsTheSame) {
  const test::TemporaryFolder folder;
  Writer w = small_gguf();
  w.version = 2;
  EXPECT_EQ(read_gguf(folder.write("v2.gguf", w.bytes())).tensors.size(), 21U);
}

TEST(Gguf, AShapeComesFromKeysAndTensors) {
  const test::TemporaryFolder folder;
  const Transformer model =
      to_transformer(read_gguf(folder.write("small.gguf", small_gguf().bytes())));
  EXPECT_EQ(model.name, "Small Llama");
  EXPECT_EQ(model.hidden, 256);
  EXPECT_EQ(model.vocabulary, 1024);
  EXPECT_EQ(model.max_context, 4096);
  EXPECT_FALSE(model.tied_embeddings);
  ASSERT_EQ(model.layers.size(), 2U);
  const auto& attention = std::get<Attention>(model.layers[0].mixer);
  EXPECT_EQ(attention.query_heads, 4);
  EXPECT_EQ(attention.kv_heads, 2);
  EXPECT_EQ(attention.head_dim, 64);
  EXPECT_EQ(std::get<DenseFfn>(model.layers[0].ffn), (DenseFfn{.intermediate = 512}));
  EXPECT_EQ(model.layers[0].norm_elements, 512);
  // 256 * (256 + 256 + 256) + 3 * 256 * 512 + 512 a layer; two embeddings; final norm.
  EXPECT_EQ(count_parameters(model).total,
            2 * (256 * 768 + 3 * 256 * 512 + 512) + 2 * 1024 * 256 + 256);
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(model, DType::fp16).value, 2 * 2 * 64 * 2 * 2);
}

TEST(Gguf, StorageFormatsAndBytesAreExact) {
  const test::TemporaryFolder folder;
  const Transformer model =
      to_transformer(read_gguf(folder.write("small.gguf", small_gguf().bytes())));
  // Attention: 256 * (256 + 128 + 256) elements at 4.5 bits and 256 * 128 at 16.
  const WeightFormat& mixer = model.layers[0].mixer_format;
  EXPECT_EQ(mixer.name, "q4_k");
  EXPECT_DOUBLE_EQ(mixer.bits_per_weight, (640 * 4.5 + 128 * 16) / 768);
  EXPECT_EQ(mixer.compute, DType::fp16);
  EXPECT_DOUBLE_EQ(model.layers[0].ffn_format.bits_per_weight, 4.5);
  EXPECT_EQ(model.lm_head_format, plain_format(DType::fp16));
  // 4.5 bits is 144 bytes for 256 weights.
  const double quantised = (2 * (256.0 * 640 + 3 * 256 * 512) + 1024 * 256) / 256 * 144;
  const double halves = 2 * (2 * 256.0 * 128 + 1024 * 256);
  const double norms = 4 * 5 * 256.0;
  ASSERT_TRUE(model.checkpoint_bytes.has_value());
  EXPECT_DOUBLE_EQ(model.checkpoint_bytes->value, quantised + halves + norms);
  EXPECT_DOUBLE_EQ(weight_bytes(model, {}).value, quantised + halves + norms);
}

TEST(Gguf, ExpertsBiasesSinksAndWindowsOfGptOss) {
  const test::TemporaryFolder folder;
  Writer w;
  w.string("general.architecture", "gpt-oss");
  w.number("gpt-oss.block_count", 2);
  w.number("gpt-oss.context_length", 131072);
  w.number("gpt-oss.embedding_length", 256);
  w.number("gpt-oss.feed_forward_length", 128);
  w.number("gpt-oss.expert_feed_forward_length", 128);
  w.number("gpt-oss.expert_count", 8);
  w.number("gpt-oss.expert_used_count", 2);
  w.number("gpt-oss.attention.head_count", 4);
  w.number("gpt-oss.attention.head_count_kv", 2);
  w.number("gpt-oss.attention.key_length", 32);
  w.number("gpt-oss.attention.value_length", 32);
  w.number("gpt-oss.attention.sliding_window", 128);
  w.tensor("token_embd.weight", {256, 1024}, kF16);
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    w.tensor(layer + "attn_norm.weight", {256}, kF32);
    w.tensor(layer + "attn_q.weight", {256, 128}, kF16);
    w.tensor(layer + "attn_q.bias", {128}, kF32);
    w.tensor(layer + "attn_k.weight", {256, 64}, kF16);
    w.tensor(layer + "attn_k.bias", {64}, kF32);
    w.tensor(layer + "attn_v.weight", {256, 64}, kF16);
    w.tensor(layer + "attn_v.bias", {64}, kF32);
    w.tensor(layer + "attn_output.weight", {128, 256}, kF16);
    w.tensor(layer + "attn_output.bias", {256}, kF32);
    w.tensor(layer + "attn_sinks.weight", {4}, kF32);
    w.tensor(layer + "post_attention_norm.weight", {256}, kF32);
    w.tensor(layer + "ffn_gate_inp.weight", {256, 8}, kF32);
    w.tensor(layer + "ffn_gate_inp.bias", {8}, kF32);
    w.tensor(layer + "ffn_gate_exps.weight", {256, 128, 8}, kMxfp4);
    w.tensor(layer + "ffn_gate_exps.bias", {128, 8}, kF32);
    w.tensor(layer + "ffn_up_exps.weight", {256, 128, 8}, kMxfp4);
    w.tensor(layer + "ffn_up_exps.bias", {128, 8}, kF32);
    w.tensor(layer + "ffn_down_exps.weight", {128, 256, 8}, kMxfp4);
    w.tensor(layer + "ffn_down_exps.bias", {256, 8}, kF32);
  }
  w.tensor("output_norm.weight", {256}, kF32);
  const GgufFile file = read_gguf(folder.write("oss.gguf", w.bytes()));
  const Transformer model = to_transformer(file);
  EXPECT_TRUE(model.tied_embeddings);
  const auto& attention = std::get<Attention>(model.layers[0].mixer);
  EXPECT_TRUE(attention.qkv_bias);
  EXPECT_TRUE(attention.output_bias);
  EXPECT_EQ(attention.sink_elements, 4);
  EXPECT_EQ(attention.span, (AttentionSpan{AttentionSpan::Kind::sliding, 128}));
  EXPECT_EQ(std::get<Attention>(model.layers[1].mixer).span, AttentionSpan{});
  MoeFfn moe;
  moe.experts = 8;
  moe.experts_per_token = 2;
  moe.expert_intermediate = 128;
  moe.router_bias = true;
  moe.expert_bias = true;
  EXPECT_EQ(std::get<MoeFfn>(model.layers[0].ffn), moe);
  EXPECT_EQ(model.layers[0].ffn_format.name, "mxfp4");
  EXPECT_DOUBLE_EQ(model.layers[0].ffn_format.bits_per_weight, 4.25);
  // Every element of the tensor table is counted, and nothing else.
  std::int64_t elements = 0;
  for (const GgufTensor& tensor : file.tensors) elements += tensor.elements;
  EXPECT_EQ(count_parameters(model).total, elements);
}

TEST(Gguf, SplitFilesAreReadTogether) {
  const test::TemporaryFolder folder;
  Writer first = small_gguf();
  first.value("split.count", 2, raw(std::uint16_t{2}));
  Writer second;
  second.tensor("rope_freqs.weight", {32}, kF32);
  const std::string path = folder.write("m-00001-of-00002.gguf", first.bytes());
  EXPECT_FALSE(read_gguf(path).complete);
  expect_no_model(path, "one of 2 parts");
  folder.write("m-00002-of-00002.gguf", second.bytes());
  const GgufFile file = read_gguf(path);
  EXPECT_TRUE(file.complete);
  EXPECT_EQ(file.parts, 2);
  EXPECT_EQ(file.tensors.size(), 22U);
  EXPECT_EQ(to_transformer(file).layers.size(), 2U);
}

TEST(Gguf, FilesThatAreNotGgufAreRefused) {
  const test::TemporaryFolder folder;
  expect_refused(folder.path() + "/absent.gguf", "cannot be read");
  expect_refused(folder.write("empty.gguf", ""), "incomplete, or not GGUF");
  expect_refused(folder.write("other.gguf", "PK\x03\x04 something else entirely"), "not a GGUF");
  Writer old = small_gguf();
  old.version = 1;
  expect_refused(folder.write("old.gguf", old.bytes()), "GGUF version 1");
  old.version = 0x03000000;
  expect_refused(folder.write("big.gguf", old.bytes()), "big-endian");
}

TEST(Gguf, EveryTruncationIsRefusedInOneLine) {
  const test::TemporaryFolder folder;
  const std::string whole = small_gguf().bytes();
  // Within the header every length; within the data a few.
  for (std::size_t length = 0; length + 1 < whole.size(); length += length < 2000 ? 7 : 100'000) {
    const std::string path = folder.write("cut.gguf", whole.substr(0, length));
    EXPECT_THAT([&] { read_gguf(path); },
                ThrowsMessage<Error>(AllOf(HasSubstr(path), Not(HasSubstr("\n")))))
        << length;
  }
  const std::string path = folder.write("cut.gguf", whole.substr(0, whole.size() - 1));
  expect_refused(path, "after the end of the file");
}

TEST(Gguf, HugeCountsAndLengthsAreRefusedWithoutAllocating) {
  const test::TemporaryFolder folder;
  const std::uint64_t huge = ~std::uint64_t{0};
  const std::string head = "GGUF" + raw(std::uint32_t{3});
  expect_refused(folder.write("t.gguf", head + raw(huge) + raw(std::uint64_t{0})), "claims");
  expect_refused(folder.write("k.gguf", head + raw(std::uint64_t{0}) + raw(huge)), "claims");

  Writer long_key;
  long_key.values = raw(huge) + std::string(100, 'x');
  long_key.value_count = 1;
  expect_refused(folder.write("key.gguf", long_key.bytes()), "a key of");

  Writer long_text;
  long_text.value("general.name", kString, raw(huge));
  expect_refused(folder.write("text.gguf", long_text.bytes()), "ends within 'general.name'");

  Writer long_list;
  long_list.value("l", kList, raw(kUint32) + raw(huge));
  expect_refused(folder.write("list.gguf", long_list.bytes()), "claims");

  Writer nested;
  nested.value("l", kList, raw(kList) + raw(std::uint64_t{1}));
  expect_refused(folder.write("nested.gguf", nested.bytes()), "list of the unknown type 9");

  Writer unknown;
  unknown.value("v", 99, "abcdefgh");
  expect_refused(folder.write("unknown.gguf", unknown.bytes()), "unknown value type 99");
}

TEST(Gguf, ImpossibleTensorsAreRefused) {
  const test::TemporaryFolder folder;
  const auto refuse = [&](const std::vector<std::int64_t>& shape, std::uint32_t type,
                          const std::string& what) {
    Writer w;
    w.tensors = text("t") + raw(static_cast<std::uint32_t>(shape.size()));
    for (const std::int64_t size : shape) w.tensors += raw(size);
    w.tensors += raw(type) + raw(std::uint64_t{0});
    w.tensor_count = 1;
    expect_refused(folder.write("t.gguf", w.bytes()), what);
  };
  refuse({-1}, kF32, "invalid size");
  refuse({0, 4}, kF32, "invalid size");
  refuse({std::int64_t{1} << 40, std::int64_t{1} << 40}, kF32, "invalid size");
  refuse({1, 1, 1, 1, 1}, kF32, "5 dimensions");
  refuse({100}, kQ4K, "rows of 100 elements");
  refuse({256}, 4, "unknown type 4");
  refuse({1 << 20}, kF32, "after the end");
}

TEST(Gguf, RepeatedKeysAreRefused) {
  const test::TemporaryFolder folder;
  Writer w = small_gguf();
  w.number("llama.block_count", 3);
  expect_refused(folder.write("twice.gguf", w.bytes()), "'llama.block_count' is duplicated");
}

TEST(Gguf, UnknownArchitecturesAreNamedWithWhatIsKnown) {
  const test::TemporaryFolder folder;
  Writer w;
  w.string("general.architecture", "rwkv7");
  expect_no_model(folder.write("rwkv.gguf", w.bytes()), "architecture 'rwkv7'");
  expect_no_model(folder.write("none.gguf", Writer{}.bytes()), "general.architecture");
}

TEST(Gguf, MissingKeysAndTensorsAreNamed) {
  const test::TemporaryFolder folder;
  Writer w;
  w.string("general.architecture", "llama");
  expect_no_model(folder.write("m.gguf", w.bytes()), "'llama.embedding_length', which is missing");
  w.number("llama.embedding_length", 256);
  w.number("llama.context_length", 4096);
  w.number("llama.block_count", 1'000'000);
  expect_no_model(folder.write("m.gguf", w.bytes()),
                  "'llama.block_count' is 1000000, expected 0 to 10000");
  // Larger than what a config.json may have.
  Writer wide;
  wide.string("general.architecture", "llama");
  wide.number("llama.embedding_length", 1'000'001);
  expect_no_model(folder.write("m.gguf", wide.bytes()),
                  "'llama.embedding_length' is 1000001, expected 0 to 1000000");
  Writer few = small_gguf();
  few.tensor("blk.7.attn_q.weight", {256, 256}, kF16);
  expect_no_model(folder.write("m.gguf", few.bytes()), "does not belong to any layer below 2");
  Writer signed_zero = small_gguf();
  signed_zero.tensor("blk.-0.attn_q.weight", {256, 256}, kF16);
  expect_no_model(folder.write("m.gguf", signed_zero.bytes()),
                  "does not belong to any layer below 2");
}

TEST(Gguf, KeysThatContradictTheTensorsAreRefused) {
  const test::TemporaryFolder folder;
  Writer w = small_gguf();
  // Twice the stated number of FFN elements in layer 1.
  w.tensor("blk.1.ffn_extra.weight", {512, 768}, kF16);
  expect_no_model(folder.write("m.gguf", w.bytes()), "layer 1 stores");
}

}  // namespace
}  // namespace roofcast
