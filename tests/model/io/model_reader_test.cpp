#include "model/io/model_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "model/architecture/weights.hpp"
#include "model/cache/kv_cache.hpp"

namespace roofcast {
namespace {

using nlohmann::json;
using testing::HasSubstr;
namespace fs = std::filesystem;

json small_llama() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_size", 512},
          {"intermediate_size", 1024},
          {"num_hidden_layers", 4},
          {"num_attention_heads", 8},
          {"num_key_value_heads", 2},
          {"vocab_size", 1000},
          {"max_position_embeddings", 4096},
          {"torch_dtype", "bfloat16"}};
}

Transformer parse(const json& config) { return parse_model(config.dump(), {}, "config.json"); }

Transformer parse_with(const std::string& key, const json& value) {
  json config = small_llama();
  config[key] = value;
  return parse(config);
}

std::string reader_error(const std::string& text) {
  try {
    parse_model(text, {}, "config.json");
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

std::string error_with(const std::string& key, const json& value) {
  json config = small_llama();
  config[key] = value;
  return reader_error(config.dump());
}

// RoBERTa's first position is the one after the padding token's, 1 unless stated; BERT's is 0.
TEST(ModelReader, PositionsOfRobertaBeginAfterThePaddingTokens) {
  json config = {{"architectures", {"XLMRobertaModel"}},
                 {"model_type", "xlm-roberta"},
                 {"hidden_size", 64},
                 {"intermediate_size", 128},
                 {"num_hidden_layers", 2},
                 {"num_attention_heads", 2},
                 {"vocab_size", 1000},
                 {"max_position_embeddings", 514},
                 {"type_vocab_size", 1}};
  EXPECT_EQ(parse(config).max_context, 512);
  config["pad_token_id"] = 0;
  EXPECT_EQ(parse(config).max_context, 513);
  config["architectures"] = {"BertModel"};
  config["model_type"] = "bert";
  EXPECT_EQ(parse(config).max_context, 514);
}

TEST(ModelReader, CountsASmallLlamaByHand) {
  const Transformer model = parse(small_llama());
  // Per layer: q and o 512 * 512 each, k and v 512 * 128 each, three 512 * 1024, two norms of 512;
  // embedding and LM head 1000 * 512 each; final norm 512.
  const std::int64_t layer = 2 * 512 * 512 + 2 * 512 * 128 + 3 * 512 * 1024 + 2 * 512;
  EXPECT_EQ(count_parameters(model).total, 4 * layer + 2 * 1000 * 512 + 512);
  EXPECT_EQ(model.max_context, 4096);
  EXPECT_EQ(model.model_type, "llama");
  EXPECT_EQ(model.architecture, "LlamaForCausalLM");
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(model, DType::bf16).value, 4 * 2 * 2 * 64 * 2);
}

TEST(ModelReader, BrokenJsonNamesLineAndColumn) {
  const std::string error = reader_error("{\n  \"hidden_size\": 512,\n  \"vocab_size\": ]\n}");
  EXPECT_THAT(error, testing::StartsWith("config.json:3:17: not valid JSON"));
  EXPECT_THAT(reader_error(""), HasSubstr("config.json:1:1: not valid JSON"));
  EXPECT_THAT(reader_error("{\"a\": NaN,\n]"), HasSubstr("config.json:2:1"));
  EXPECT_THAT(reader_error("[1, 2]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(reader_error("{\"a\": 1e999}"), HasSubstr("not valid JSON"));
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT(reader_error("{\"a\": " + deep + "}"), HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(reader_error("{\"a\": \"\xff\xfe\"}"), HasSubstr("not valid JSON"));
}

TEST(ModelReader, AcceptsPythonsNumbersCommentsAndAByteOrderMark) {
  std::string text = small_llama().dump();
  text.pop_back();
  text = "\xEF\xBB\xBF// a comment with NaN and \"quotes\"\n" + text +
         ", \"time_step_limit\": [0.0, Infinity], \"low\": -Infinity, \"x\": NaN /* Infinity */," +
         " \"text\": \"NaN Infinity \\\" // \"}";
  EXPECT_EQ(count_parameters(parse_model(text, {}, "config.json")).total,
            count_parameters(parse(small_llama())).total);
}

TEST(ModelReader, ANonFiniteSizeIsRefusedByName) {
  std::string text = small_llama().dump();
  text.replace(text.find("\"hidden_size\":512"), 17, "\"hidden_size\":Infinity");
  EXPECT_EQ(
      reader_error(text),
      "config.json: 'hidden_size' must be a whole number from 1 to 1000000, not \"Infinity\"");
}

TEST(ModelReader, AnUnknownArchitectureIsNamed) {
  EXPECT_THAT(reader_error(R"({"model_type": "foo", "architectures": ["FooForCausalLM"]})"),
              testing::StartsWith("config.json: architecture 'FooForCausalLM' (model_type 'foo') "
                                  "is unknown; known: llama, qwen2, "));
  EXPECT_EQ(reader_error("{}"), "config.json: has neither 'model_type' nor 'architectures'");
}

TEST(ModelReader, EveryMissingSizeIsNamed) {
  for (const char* const key : {"hidden_size", "intermediate_size", "num_hidden_layers",
                                "num_attention_heads", "vocab_size"}) {
    json config = small_llama();
    config.erase(key);
    const std::string error = reader_error(config.dump());
    EXPECT_THAT(error, HasSubstr("'" + std::string(key) + "'"));
    EXPECT_THAT(error, HasSubstr("is missing"));
    config[key] = nullptr;  // null counts as absent
    EXPECT_EQ(reader_error(config.dump()), error);
  }
}

TEST(ModelReader, HostileValuesGiveOneLine) {
  const std::vector<json> hostile = {json(-1),
                                     json(0),
                                     json(1.5),
                                     json(1e308),
                                     json("512"),
                                     json(true),
                                     json::array({512}),
                                     json::object({{"a", 1}}),
                                     json(18'446'744'073'709'551'615u),
                                     json(std::int64_t{9'223'372'036'854'775'807}),
                                     json(std::string(1'000, 'x'))};
  for (const char* const key :
       {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "vocab_size", "max_position_embeddings"}) {
    for (const json& value : hostile) {
      if (std::string(key) == "max_position_embeddings" && value == 0) continue;  // "not stated"
      const std::string error = error_with(key, value);
      EXPECT_THAT(error, testing::StartsWith("config.json: '" + std::string(key) + "' must be"));
      EXPECT_THAT(error, testing::Not(HasSubstr("\n")));
      EXPECT_LT(error.size(), 200u);
    }
  }
}

TEST(ModelReader, SizesThatMultiplyBeyondReasonAreRefused) {
  json config = small_llama();
  config["hidden_size"] = 1'000'000;
  config["intermediate_size"] = 100'000'000;
  config["num_hidden_layers"] = 10'000;
  EXPECT_THAT(reader_error(config.dump()), HasSubstr("more than any model"));
}

/// The error of the small model with one more key; empty if it is read.
std::string complaint(const std::string& key, const json& value) {
  try {
    parse_with(key, value);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(ModelReader, ASizeThatTheFamilyIsNotKnownToHaveIsRefused) {
  EXPECT_THAT(
      complaint("routed_expert_hidden_size", 3584),
      HasSubstr("config.json: 'routed_expert_hidden_size' is 3584: a size that llama models "
                "are not known to have"));
  for (const char* key :
       {"num_experts", "ffn_low_rank", "num_kv_shared_layers", "global_head_dim"}) {
    EXPECT_THAT(complaint(key, 8), HasSubstr(key));
  }
  EXPECT_THAT(complaint("ffn_widths_hidden", {512, 1024}), HasSubstr("ffn_widths_hidden"));
  // Keys that say nothing or are not sizes: synonyms of keys that were read, absent experts, words.
  EXPECT_EQ(complaint("n_layers", 4), "");
  EXPECT_EQ(complaint("num_experts", 0), "");
  EXPECT_EQ(complaint("num_experts", 1), "");
  EXPECT_EQ(complaint("q_lora_rank", nullptr), "");
  EXPECT_EQ(complaint("hidden_act", "silu"), "");
  EXPECT_EQ(complaint("hidden_dropout", 0.1), "");
  EXPECT_EQ(complaint("no_repeat_ngram_size", 3), "");
  EXPECT_EQ(complaint("brand_new_factor", 7), "");
}

TEST(ModelReader, HeadsThatDoNotDivideAreRefused) {
  EXPECT_THAT(error_with("num_key_value_heads", 3),
              HasSubstr("'num_attention_heads' is 8, which is not divisible by 3 KV heads"));
  EXPECT_THAT(error_with("num_attention_heads", 6), HasSubstr("512 is not divisible by 6"));
  json config = small_llama();
  config["hidden_size"] = 500;
  EXPECT_THAT(reader_error(config.dump()), HasSubstr("'head_dim' is missing"));
  config["head_dim"] = 64;
  EXPECT_EQ(std::get<Attention>(parse(config).layers.front().mixer).head_dim, 64);
}

TEST(ModelReader, DtypeIsReadFromEitherKey) {
  EXPECT_EQ(parse_with("torch_dtype", "float16").activation, DType::fp16);
  json config = small_llama();
  config.erase("torch_dtype");
  config["dtype"] = "float16";
  EXPECT_EQ(parse(config).activation, DType::fp16);
  // Engines serve fp32 checkpoints in bf16; that is said.
  const Transformer full = parse_with("torch_dtype", "float32");
  EXPECT_EQ(full.activation, DType::bf16);
  ASSERT_EQ(full.notes.size(), 1u);
  EXPECT_THAT(full.notes.front(), HasSubstr("fp32"));
  EXPECT_THAT(error_with("torch_dtype", "float99"), HasSubstr("'dtype' is 'float99'"));
}

TEST(ModelReader, ContextFollowsRopeScalingAsEnginesDeriveIt) {
  EXPECT_EQ(parse_with("rope_scaling", {{"type", "linear"}, {"factor", 4.0}}).max_context, 16'384);
  EXPECT_EQ(parse_with("rope_scaling", {{"rope_type", "yarn"},
                                        {"factor", 4.0},
                                        {"original_max_position_embeddings", 2048}})
                .max_context,
            8'192);
  for (const char* const type : {"llama3", "longrope", "su"}) {
    EXPECT_EQ(parse_with("rope_scaling", {{"rope_type", type}, {"factor", 8.0}}).max_context,
              4'096);
  }
  EXPECT_EQ(parse_with("rope_parameters", {{"full_attention", {{"rope_type", "default"}}},
                                           {"other", {{"rope_type", "linear"}, {"factor", 2}}}})
                .max_context,
            8'192);
  EXPECT_EQ(parse_with("model_max_length", 1024).max_context, 1024);  // the smallest field counts
  EXPECT_THAT(error_with("rope_scaling", {{"type", "linear"}, {"factor", -1.0}}),
              HasSubstr("'factor' must be above 0"));
  EXPECT_THAT(error_with("rope_scaling", "yarn"), HasSubstr("rope_scaling"));
}

TEST(ModelReader, WindowsCountOnlyWhenInForceAndShorterThanTheContext) {
  const auto span = [](const json& config) {
    return std::get<Attention>(parse(config).layers.front().mixer).span;
  };
  json config = small_llama();
  config["model_type"] = "mistral";
  config["sliding_window"] = 1024;
  EXPECT_EQ(span(config), (AttentionSpan{.kind = AttentionSpan::Kind::sliding, .tokens = 1024}));
  config["sliding_window"] = 4096;
  EXPECT_EQ(span(config), AttentionSpan{});
  config["sliding_window"] = nullptr;
  EXPECT_EQ(span(config), AttentionSpan{});
  config["model_type"] = "qwen2";
  config["sliding_window"] = 1024;
  config["use_sliding_window"] = false;
  EXPECT_EQ(span(config), AttentionSpan{});
  config["use_sliding_window"] = true;
  config["max_window_layers"] = 1;
  EXPECT_EQ(span(config), AttentionSpan{});  // layers 0 .. max_window_layers - 1 see everything
  EXPECT_EQ(std::get<Attention>(parse(config).layers[1].mixer).span.tokens, 1024);
}

TEST(ModelReader, TiedEmbeddingsFollowTheConfigThenTheFamily) {
  EXPECT_FALSE(parse(small_llama()).tied_embeddings);
  EXPECT_TRUE(parse_with("tie_word_embeddings", true).tied_embeddings);
  json gemma = small_llama();
  gemma["model_type"] = "gemma";
  EXPECT_TRUE(parse(gemma).tied_embeddings);
  EXPECT_THAT(error_with("tie_word_embeddings", 1), HasSubstr("must be true or false"));
}

TEST(ModelReader, NestedConfigsWinForSizesAndInheritTheRest) {
  json outer = {{"architectures", {"Mistral3ForConditionalGeneration"}},
                {"model_type", "mistral3"},
                {"tie_word_embeddings", true},
                {"hidden_size", 99},
                {"text_config", small_llama()}};
  outer["text_config"]["model_type"] = "mistral";
  outer["text_config"].erase("torch_dtype");
  outer["torch_dtype"] = "float16";
  const Transformer model = parse(outer);
  EXPECT_EQ(model.hidden, 512);
  EXPECT_TRUE(model.tied_embeddings);
  EXPECT_EQ(model.activation, DType::fp16);
  EXPECT_EQ(model.model_type, "mistral3");
  outer["text_config"].erase("vocab_size");
  EXPECT_THAT(reader_error(outer.dump()), HasSubstr("config.json: text_config: 'vocab_size'"));
  outer["text_config"] = 3;
  EXPECT_THAT(reader_error(outer.dump()), HasSubstr("text_config: expected a JSON object"));
}

TEST(ModelReader, Gemma3TakesClassDefaultsForWhatItsConfigLeavesOut) {
  const json sparse = {{"architectures", {"Gemma3ForConditionalGeneration"}},
                       {"model_type", "gemma3"},
                       {"text_config",
                        {{"model_type", "gemma3_text"},
                         {"hidden_size", 2560},
                         {"intermediate_size", 10'240},
                         {"num_hidden_layers", 34},
                         {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                         {"sliding_window", 1024}}}};
  const Transformer model = parse(sparse);
  EXPECT_EQ(count_parameters(model).total, 3'880'263'168);  // Gemma-3-4B, text
  EXPECT_EQ(model.max_context, 131'072);                    // stated after scaling
}

TEST(ModelReader, UnknownVisionTowersAreSaid) {
  const Transformer model = parse_with("vision_config", {{"model_type", "new_tower"}});
  EXPECT_EQ(model.vision_parameters, 0);
  ASSERT_EQ(model.notes.size(), 1u);
  EXPECT_THAT(model.notes.front(), HasSubstr("vision tower is not counted"));
}

TEST(ModelReader, DraftBlocksAreCountedApart) {
  const Transformer model = parse_with("num_nextn_predict_layers", 2);
  EXPECT_EQ(model.next_token_layers, 2);
  EXPECT_EQ(count_parameters(model).total, count_parameters(parse(small_llama())).total);
  EXPECT_THAT(model.notes.front(), HasSubstr("2 multi-token-prediction blocks"));
}

TEST(ModelReader, MistralsOwnParamsAreRead) {
  const json params = {{"dim", 512},         {"n_layers", 4},   {"n_heads", 8},
                       {"n_kv_heads", 2},    {"head_dim", 64},  {"hidden_dim", 1024},
                       {"vocab_size", 1000}, {"norm_eps", 1e-5}};
  EXPECT_EQ(count_parameters(parse(params)).total, count_parameters(parse(small_llama())).total);
  json experts = params;
  experts["moe"] = {{"num_experts", 8}, {"num_experts_per_tok", 2}};
  EXPECT_TRUE(std::holds_alternative<MoeFfn>(parse(experts).layers.front().ffn));
  json latent = params;
  latent["q_lora_rank"] = 64;
  EXPECT_THAT(reader_error(latent.dump()), HasSubstr("'q_lora_rank'"));
}

TEST(ModelReader, ListsOfTheWrongLengthAreRefused) {
  json config = small_llama();
  config["model_type"] = "gemma2";
  config["sliding_window"] = 1024;
  config["layer_types"] = {"full_attention"};
  EXPECT_THAT(reader_error(config.dump()), HasSubstr("'layer_types' has 1 entries for 4 layers"));
  config["layer_types"] = "full_attention";
  EXPECT_THAT(reader_error(config.dump()), HasSubstr("'layer_types' must be a list"));
}

TEST(ModelReader, HybridPatternsAreChecked) {
  json config = small_llama();
  config["model_type"] = "nemotron_h";
  config["hybrid_override_pattern"] = "*X";
  EXPECT_THAT(reader_error(config.dump()), HasSubstr("has 'X'"));
  config["hybrid_override_pattern"] = "*-";
  EXPECT_EQ(parse(config).layers.size(), 2u);
  config["hybrid_override_pattern"] = "M";
  EXPECT_THAT(reader_error(config.dump()), HasSubstr("'mamba_num_heads' is missing"));
  config.erase("hybrid_override_pattern");
  EXPECT_THAT(reader_error(config.dump()), HasSubstr("'layers_block_type' is missing"));
}

/// A folder for one test, removed afterwards.
class ModelFolder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() /
        (std::string("roofcast_model_") +
         testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  fs::path folder_;
};

TEST_F(ModelFolder, IsReadByFolderAndByFile) {
  write("config.json", small_llama().dump());
  EXPECT_EQ(load_model(folder_.string()).hidden, 512);
  EXPECT_EQ(load_model((folder_ / "config.json").string()).hidden, 512);
  EXPECT_EQ(load_model(folder_.string()).name, folder_.string());
}

TEST_F(ModelFolder, WithoutConfigSaysWhatWasLookedFor) {
  try {
    load_model(folder_.string());
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("no config.json, no params.json and no .gguf file"));
  }
}

TEST_F(ModelFolder, QuantConfigBesideIsRead) {
  write("config.json", small_llama().dump());
  write("hf_quant_config.json", R"({"producer": {"name": "modelopt"}, "quantization":
      {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}})");
  const Transformer model = load_model(folder_.string());
  EXPECT_EQ(model.layers.front().ffn_format.name, "fp8");
  EXPECT_EQ(model.lm_head_format.name, "bf16");
  EXPECT_EQ(model.kv_cache_dtype, DType::fp8);
  write("hf_quant_config.json", "{");
  EXPECT_THROW(load_model(folder_.string()), Error);
}

TEST_F(ModelFolder, ExactBytesOfTheCheckpointAreUsedAndDifferencesSaid) {
  write("config.json", small_llama().dump());
  write("model.safetensors.index.json", R"({"metadata": {"total_size": 123456}, "weight_map":
      {"a": "model-00001-of-00002.safetensors"}})");
  const Transformer model = load_model(folder_.string());
  ASSERT_TRUE(model.checkpoint_bytes.has_value());
  EXPECT_DOUBLE_EQ(model.checkpoint_bytes->value, 123'456);
  ASSERT_EQ(model.notes.size(), 1u);
  EXPECT_THAT(model.notes.front(), HasSubstr("the formula gives"));
}

TEST_F(ModelFolder, ExactBytesThatAgreeNeedNoNote) {
  write("config.json", small_llama().dump());
  const std::int64_t bytes = 2 * count_parameters(parse(small_llama())).total;
  write("model.safetensors.index.json",
        json({{"metadata", {{"total_size", bytes}}}, {"weight_map", {{"a", "b.safetensors"}}}})
            .dump());
  EXPECT_TRUE(load_model(folder_.string()).notes.empty());
}

TEST_F(ModelFolder, ASecondCopyOfATiedEmbeddingIsNotLoaded) {
  json config = small_llama();
  config["tie_word_embeddings"] = true;
  write("config.json", config.dump());
  const Transformer alone = parse(config);
  const std::int64_t bytes = 2 * (count_parameters(alone).total + alone.vocabulary * alone.hidden);
  write("model.safetensors.index.json",
        json({{"metadata", {{"total_size", bytes}}}, {"weight_map", {{"a", "b.safetensors"}}}})
            .dump());
  const Transformer model = load_model(folder_.string());
  EXPECT_FALSE(model.checkpoint_bytes.has_value());
  ASSERT_EQ(model.notes.size(), 1u);
  EXPECT_THAT(model.notes.front(), HasSubstr("that an engine loads"));
}

}  // namespace
}  // namespace roofcast
