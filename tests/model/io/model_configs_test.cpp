// Published config.json files, if present: each is read, and its total is close to the size in its
// name or on its model card.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "model/architecture/weights.hpp"
#include "model/io/model_reader.hpp"
#include "tests/support/shared_data.hpp"

namespace roofcast {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> config_folders() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::recursive_directory_iterator(test::shared_data("model_configs"))) {
    if (entry.path().filename() == "config.json") folders.push_back(entry.path().parent_path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

/// "Qwen3-235B-A22B" is 235, "codellama-34b" 34; 0 for "Mixtral-8x7B", which is not a single
/// number.
double billions_in_name(const std::string& name) {
  for (std::size_t at = 0; at < name.size(); ++at) {
    const bool starts =
        std::isdigit(static_cast<unsigned char>(name[at])) && (at == 0 || name[at - 1] == '-');
    if (!starts) continue;
    std::size_t length = 0;
    const double value = std::stod(name.substr(at), &length);
    const std::size_t end = at + length;
    const bool is_size = end < name.size() && (name[end] == 'B' || name[end] == 'b') &&
                         (end + 1 == name.size() || name[end + 1] == '-');
    if (is_size) return value;
  }
  return 0;
}

// Sizes of models whose names do not contain them, in billions (model cards).
const std::map<std::string, double> kCardSizes = {
    {"MiniMax-M2.5", 230},
    {"MiniMax-M2.7", 230},
    {"MiniMax-M2.5-NVFP4", 230},
    {"DeepSeek-R1", 671},
    {"DeepSeek-V3", 671},
    {"DeepSeek-V3.2", 671},
    {"DeepSeek-V4-Pro", 1600},
    {"DeepSeek-V4-Flash-NVFP4", 284},
    {"DeepSeek-V4-Flash-FP8", 284},
    {"Kimi-K2-Instruct", 1000},
    {"Kimi-K2.5", 1000},
    {"gpt-oss-20b", 20.9},
    {"gpt-oss-120b", 116.8},
    {"GLM-5", 744},
    {"GLM-5-FP8", 744},
    {"GLM-5.1", 744},
    {"mixtral-8x7b-v0.1", 46.7},
    {"Mixtral-8x7B-v0.1", 46.7},
    {"Mixtral-8x22B-v0.1", 140.6},
    {"deepseek-v2-lite", 15.7},
    // The sizes in these names are of the active parameters, or rounded far down.
    {"Llama-4-Scout-17B-16E-Instruct", 107.8},
    {"Llama-4-Maverick-17B-128E-Instruct", 400.7},
    {"llama-4-scout-17b-16e-instruct-fp8-dynamic", 108.6}};

TEST(ModelConfigs, AllAreReadAndNoneIsRefused) {
  SKIP_WITHOUT_SHARED_DATA("model_configs");
  const std::vector<fs::path> folders = config_folders();
  EXPECT_EQ(folders.size(), 88u);
  for (const fs::path& folder : folders) {
    try {
      const Transformer model = load_model(folder.string());
      EXPECT_FALSE(model.layers.empty()) << folder;
      EXPECT_GT(model.max_context, 0) << folder;
    } catch (const std::exception& e) {
      ADD_FAILURE() << folder << " is refused: " << e.what();
    }
  }
}

TEST(ModelConfigs, TotalsAreNearTheSizesThatTheirNamesState) {
  SKIP_WITHOUT_SHARED_DATA("model_configs");
  // Names round, and count or leave out embeddings and vision towers as they like: 10 %.
  constexpr double kTolerance = 0.10;
  int compared = 0;
  for (const fs::path& folder : config_folders()) {
    const std::string name = folder.filename().string();
    const auto card = kCardSizes.find(name);
    const double stated = card != kCardSizes.end() ? card->second : billions_in_name(name);
    if (stated == 0) continue;
    const Transformer model = load_model(folder.string());
    const auto text = static_cast<double>(count_parameters(model).total) / 1e9;
    const double all = text + static_cast<double>(model.vision_parameters) / 1e9;
    const double off = std::min(std::abs(text / stated - 1), std::abs(all / stated - 1));
    EXPECT_LE(off, kTolerance) << folder << ": " << text << " to " << all << " billion";
    ++compared;
  }
  EXPECT_GE(compared, 70);
}

/// Bits per parameter of the quantised checkpoint.
double bits_per_parameter(const std::string& folder) {
  const Transformer model = load_model(test::shared_data("model_configs/" + folder).string());
  const auto total = static_cast<double>(count_parameters(model).total + model.vision_parameters);
  return weight_bytes(model, Parallelism{}).value * 8 / total;
}

TEST(ModelConfigs, QuantisedCheckpointsAreCountedAsStored) {
  SKIP_WITHOUT_SHARED_DATA("model_configs");
  // Experts in 4.5 bits (NVFP4) or 4.25 (MXFP4), attention and embeddings in 16, so a little more.
  EXPECT_NEAR(bits_per_parameter("nvidia/MiniMax-M2.5-NVFP4"), 4.7, 0.1);
  EXPECT_NEAR(bits_per_parameter("nvidia/GLM-5-NVFP4"), 4.7, 0.1);
  EXPECT_NEAR(bits_per_parameter("openai/gpt-oss-120b"), 4.47, 0.05);
  EXPECT_NEAR(bits_per_parameter("Qwen/Qwen3-235B-A22B-FP8"), 8.05, 0.05);
  EXPECT_NEAR(bits_per_parameter("moonshotai/Kimi-K2.5"), 4.63, 0.05);
}

TEST(ModelConfigs, TheFileBesideConfigSetsFormatsAndCacheDtype) {
  SKIP_WITHOUT_SHARED_DATA("model_configs");
  const auto load = [](const std::string& folder) {
    return load_model(test::shared_data("model_configs/" + folder).string());
  };
  // config.json of this one says nothing about quantisation.
  const Transformer llama = load("nvidia/Llama-3.1-70B-Instruct-FP8");
  EXPECT_EQ(llama.layers.front().mixer_format.name, "fp8");
  EXPECT_EQ(llama.lm_head_format.name, "bf16");
  EXPECT_EQ(llama.kv_cache_dtype, DType::fp8);
  // One algorithm per module: 23,552 expert matrices, Mamba projections and the LM head by name.
  const Transformer lightning = load("nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4");
  EXPECT_EQ(lightning.layers[0].mixer_format.name, "fp8");
  EXPECT_EQ(lightning.layers[1].ffn_format.name, "nvfp4");
  EXPECT_EQ(lightning.layers[1].ffn_format.compute, DType::bf16);  // W4A16
  EXPECT_EQ(lightning.layers[5].mixer_format.name, "bf16");        // attention
  EXPECT_EQ(lightning.lm_head_format.name, "nvfp4");
  // Dense feed-forward blocks parallel to the experts stay in 16 bits here.
  const Transformer gemma = load("nvidia/Gemma-4-26B-A4B-NVFP4");
  EXPECT_EQ(gemma.layers.front().ffn_format.name, "nvfp4");
  EXPECT_EQ(gemma.layers.front().shared_format.name, "bf16");
  EXPECT_EQ(gemma.layers.front().mixer_format.name, "bf16");
  // The base format is fp8 in blocks, the experts were quantised again.
  const Transformer flash = load("nvidia/DeepSeek-V4-Flash-NVFP4");
  EXPECT_EQ(flash.layers.front().mixer_format.name, "fp8_block");
  EXPECT_EQ(flash.layers.front().ffn_format.name, "nvfp4");
  EXPECT_EQ(flash.layers.front().shared_format.name, "fp8_block");
}

}  // namespace
}  // namespace roofcast
