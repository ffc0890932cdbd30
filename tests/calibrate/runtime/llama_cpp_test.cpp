// The small engine on the weights of a GGUF file beside llama.cpp on the same file. Skips unless
// the environment variable ROOFCAST_LLAMA_CPP names a folder in which npm has installed
// node-llama-cpp and there is a `node`:
//   mkdir llama && cd llama && npm install --ignore-scripts node-llama-cpp
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "calibrate/runtime/executor.hpp"
#include "calibrate/runtime/file_weights.hpp"
#include "calibrate/runtime/page_book.hpp"
#include "calibrate/runtime/step_rows.hpp"
#include "model/io/gguf.hpp"
#include "tests/kernels/tensors.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast::test {
namespace {

namespace k = kernels;

constexpr int kHidden = 256;
constexpr int kLayers = 2;
constexpr int kHeads = 4;
constexpr int kKvHeads = 2;
constexpr int kHeadDim = 64;
constexpr int kFfn = 512;
constexpr int kVocabulary = 512;
constexpr int kTokens = 64;

/// f16, or q8_0: scale max|w| / 127 of 32 values.
std::string stored(const std::vector<float>& values, bool q8_0) {
  std::string bytes;
  if (!q8_0) {
    for (const float value : values) bytes += raw(k::from_float<k::Fp16>(value));
    return bytes;
  }
  for (std::size_t i = 0; i < values.size(); i += 32) {
    float largest = 0;
    for (std::size_t j = i; j < i + 32; ++j) largest = std::max(largest, std::abs(values[j]));
    const float scale = largest / 127;
    bytes += raw(k::from_float<k::Fp16>(scale));
    for (std::size_t j = i; j < i + 32; ++j) {
      bytes += raw(k::from_float<std::int8_t>(values[j] / scale));
    }
  }
  return bytes;
}

std::string llama_file(bool q8_0, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  GgufWriter w;
  w.string("general.architecture", "llama");
  w.number("llama.context_length", 256);
  w.number("llama.embedding_length", kHidden);
  w.number("llama.block_count", kLayers);
  w.number("llama.feed_forward_length", kFfn);
  w.number("llama.attention.head_count", kHeads);
  w.number("llama.attention.head_count_kv", kKvHeads);
  w.number("llama.attention.key_length", kHeadDim);
  w.number("llama.attention.value_length", kHeadDim);
  w.number("llama.rope.dimension_count", kHeadDim);
  w.real("llama.rope.freq_base", 20000);
  w.real("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  w.number("llama.vocab_size", kVocabulary);
  w.string("tokenizer.ggml.model", "llama");
  std::string names;
  std::string scores;
  std::string types;
  for (int i = 0; i < kVocabulary; ++i) {
    constexpr int kBytes = 3;  // after <unk>, <s>, </s> a token for each byte
    char name[16];
    const bool is_byte = i >= kBytes && i < kBytes + 256;
    std::snprintf(name, sizeof name, is_byte ? "<0x%02X>" : "w%d", is_byte ? i - kBytes : i);
    names += text(i == 0 ? "<unk>" : i == 1 ? "<s>" : i == 2 ? "</s>" : name);
    scores += raw(-static_cast<float>(i));
    types += raw(std::int32_t{i == 0 ? 2 : i < kBytes ? 3 : is_byte ? 6 : 1});
  }
  w.list("tokenizer.ggml.tokens", 8, kVocabulary, names);
  w.list("tokenizer.ggml.scores", 6, kVocabulary, scores);
  w.list("tokenizer.ggml.token_type", 5, kVocabulary, types);
  w.number("tokenizer.ggml.bos_token_id", 1);
  w.number("tokenizer.ggml.eos_token_id", 2);
  const auto matrix = [&](const std::string& name, int inputs, int outputs, float deviation) {
    std::vector<float> values(static_cast<std::size_t>(inputs) * static_cast<std::size_t>(outputs));
    for (float& value : values) value = normal(random) * deviation;
    w.tensor(name, {inputs, outputs}, q8_0 ? GgufWriter::kQ8_0 : GgufWriter::kF16,
             stored(values, q8_0));
  };
  const auto weights = [&](const std::string& name, int inputs, int outputs) {
    matrix(name, inputs, outputs, 1 / std::sqrt(static_cast<float>(inputs)));
  };
  const auto gains = [&](const std::string& name) {
    std::string bytes;
    for (int i = 0; i < kHidden; ++i) bytes += raw(1 + normal(random) / 8);
    w.tensor(name, {kHidden}, GgufWriter::kF32, bytes);
  };
  matrix("token_embd.weight", kHidden, kVocabulary, 1);
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    gains(layer + "attn_norm.weight");
    weights(layer + "attn_q.weight", kHidden, kHeads * kHeadDim);
    weights(layer + "attn_k.weight", kHidden, kKvHeads * kHeadDim);
    weights(layer + "attn_v.weight", kHidden, kKvHeads * kHeadDim);
    weights(layer + "attn_output.weight", kHeads * kHeadDim, kHidden);
    gains(layer + "ffn_norm.weight");
    weights(layer + "ffn_gate.weight", kHidden, kFfn);
    weights(layer + "ffn_up.weight", kHidden, kFfn);
    weights(layer + "ffn_down.weight", kFfn, kHidden);
  }
  gains("output_norm.weight");
  weights("output.weight", kHidden, kVocabulary);
  return w.bytes();
}

/// Logits after each token, by the engine in fp32: one at a time, and once more after the last of
/// all in one prompt.
std::vector<std::vector<double>> logits_of(const std::string& path,
                                           const std::vector<std::int32_t>& tokens) {
  constexpr int kPage = 16;
  constexpr int kPages = 2 * kTokens / kPage;
  const auto backend = k::make_cpu_backend(2);
  const GgufFile file = read_gguf(path);
  runtime::RunnableModel model =
      runtime::runnable_model(to_transformer(file), k::Element::fp32, std::nullopt);
  EXPECT_EQ(runtime::why_not_as_stored(*backend, file, model), "");
  runtime::take_formats(file, model);
  const runtime::ExecutorLimits limits{
      .rows = kTokens, .sequences = 1, .context = kTokens, .pages = kPages, .page_size = kPage};
  runtime::Executor executor(*backend, model, limits, runtime::file_weights(*backend, model, file));
  runtime::PageBook pages(limits.pages, kPage, 1);
  std::vector<std::vector<double>> logits;
  const auto run = [&](std::int32_t request, std::size_t first, std::size_t count) {
    const runtime::SequenceRows sequences[] = {{.request = request,
                                                .cached = static_cast<std::int64_t>(first),
                                                .tokens = std::span(tokens).subspan(first, count),
                                                .samples = true,
                                                .decodes = first > 0}};
    const runtime::StepRows rows =
        runtime::step_rows(sequences, pages, limits.pages_per_sequence());
    executor.prepare(rows);
    executor.run(rows);
    const auto* row = static_cast<const float*>(executor.logits());
    logits.emplace_back(row, row + kVocabulary);
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) run(0, i, 1);
  run(1, 0, tokens.size());
  return logits;
}

std::vector<std::vector<double>> probabilities_by_llama_cpp(
    const std::string& folder, const std::string& path, const std::vector<std::int32_t>& tokens) {
  std::string command = "node '" ROOFCAST_LLAMA_CPP_SCRIPT "' '" + folder + "' '" + path + "' ";
  for (const std::int32_t token : tokens) command += std::to_string(token) + ",";
  command.back() = ' ';
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe.get()) != nullptr) output += buffer;
  return nlohmann::json::parse(output).get<std::vector<std::vector<double>>>();
}

double log_sum(const std::vector<double>& logits) {
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit);
  return std::log(sum);
}

/// Both engines round what a matrix multiplies, and nothing else that matters: `rounding` is the
/// standard deviation of that relative to its size, independent in each of the `roundings` places
/// whose results are added to the same sum. So logits differ by `rounding * sqrt(2 roundings)` of
/// their size, and so do logarithms of probabilities; of 33,000 differences none is eight
/// deviations.
void expect_agreement(bool q8_0, double rounding, double roundings) {
  const char* folder = std::getenv("ROOFCAST_LLAMA_CPP");  // NOLINT(concurrency-mt-unsafe)
  if (folder == nullptr) GTEST_SKIP() << "ROOFCAST_LLAMA_CPP names no folder with node-llama-cpp";
  if (std::system("node --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no node";
  const std::uint32_t seed = k::test::fresh_seed();
  const TemporaryFolder temporary;
  const std::string path = temporary.write("model.gguf", llama_file(q8_0, seed));
  std::mt19937 random(seed);
  std::vector<std::int32_t> tokens;
  for (int i = 0; i < kTokens; ++i) {
    tokens.push_back(static_cast<std::int32_t>(3 + random() % (kVocabulary - 3)));
  }
  const auto ours = logits_of(path, tokens);
  const auto theirs = probabilities_by_llama_cpp(folder, path, tokens);
  ASSERT_EQ(theirs.size(), tokens.size());
  ASSERT_EQ(ours.size(), tokens.size() + 1);
  double squares = 0;
  double size = 0;
  double largest = 0;
  double count = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::vector<double>& reference = theirs[std::min(i, theirs.size() - 1)];
    ASSERT_EQ(reference.size(), ours[i].size());
    const double sum = log_sum(ours[i]);
    for (std::size_t token = 0; token < reference.size(); ++token) {
      const double difference = ours[i][token] - sum - std::log(reference[token]);
      squares += difference * difference;
      size += ours[i][token] * ours[i][token];
      largest = std::max(largest, std::abs(difference));
      ++count;
    }
  }
  const double deviation = rounding * std::sqrt(2 * roundings) * std::sqrt(size / count);
  testing::Test::RecordProperty("deviation", std::to_string(std::sqrt(squares / count)));
  testing::Test::RecordProperty("largest", std::to_string(largest));
  EXPECT_LE(std::sqrt(squares / count), deviation);
  EXPECT_LE(largest, 8 * deviation);
  EXPECT_GT(std::sqrt(size / count), 0.5);  // there is something to agree about
}

/// llama.cpp rounds the inputs of products and the cache to fp16, we to fp32: up to 2^-11 of the
/// size in eight places of a layer (inputs of qkv, output, gate and up, down; query, key, value and
/// probabilities in attention) and the LM head's input.
TEST(LlamaCpp, AgreesOnTheNextTokensOfAnF16File) {
  expect_agreement(false, 0x1p-11, 8 * kLayers + 1);
}

/// Both quantise the inputs of products to steps of max|x| / 127 of 32 values. Uniform over a step,
/// the error's deviation is a step over sqrt(12), and the maximum of 32 normal values at most 4 of
/// their deviations in all but one of 500 blocks. In four places of a layer and the LM head's
/// input, beside which fp16 does not count.
TEST(LlamaCpp, AgreesOnTheNextTokensOfAQ8File) {
  expect_agreement(true, 4 / (127 * std::sqrt(12.0)), 4 * kLayers + 1);
}

}  // namespace
}  // namespace roofcast::test
