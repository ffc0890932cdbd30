#include <algorithm>

#include "model/io/families.hpp"

namespace roofcast {

namespace {

constexpr ModuleNames kBlockSparse{.experts = "block_sparse_moe.experts",
                                   .shared = "block_sparse_moe.shared_experts"};
constexpr ModuleNames kQwen{.shared = "mlp.shared_expert"};
constexpr ModuleNames kLlama4{.dense = "feed_forward",
                              .experts = "feed_forward.experts",
                              .shared = "feed_forward.shared_expert"};
constexpr ModuleNames kNemotron{.attention = "mixer",
                                .state = "mixer",
                                .dense = "mixer",
                                .experts = "mixer.experts",
                                .shared = "mixer.shared_experts"};
constexpr ModuleNames kDeepSeekV4{
    .attention = "attn", .dense = "ffn", .experts = "ffn.experts", .shared = "ffn.shared_experts"};
// The dense block that runs in parallel with the experts is counted as their shared expert.
constexpr ModuleNames kGemma4{.experts = "experts", .shared = "mlp"};
constexpr ModuleNames kStep{.experts = "moe", .shared = "share_expert"};
constexpr ModuleNames kGpt2{.attention = "attn"};
constexpr ModuleNames kBert{.attention = "attention", .dense = "intermediate"};
constexpr ModuleNames kFalcon{.attention = "self_attention"};

std::vector<Family> dense_families() {
  return {
      {.kind = "llama",
       .model_types = {"llama", "mistral", "ministral3", "ministral", "granite", "seed_oss", "mimo",
                       "mistral3", "pixtral", "yi", "aquila"},
       .architectures = {"LlamaForCausalLM", "LLaMAForCausalLM", "MistralForCausalLM",
                         "GraniteForCausalLM", "SeedOssForCausalLM", "MiMoForCausalLM",
                         "YiForCausalLM", "MistralModel"},
       .build = build_llama},
      {.kind = "qwen2",
       .model_types = {"qwen2", "qwen2_vl", "qwen2_5_vl", "qwen2_vl_text", "qwen2_5_vl_text"},
       .architectures = {"Qwen2ForCausalLM", "Qwen2VLForConditionalGeneration",
                         "Qwen2_5_VLForConditionalGeneration"},
       .build = build_qwen2},
      {.kind = "qwen3",
       .model_types = {"qwen3", "qwen3_vl", "qwen3_vl_text"},
       .architectures = {"Qwen3ForCausalLM", "Qwen3VLForConditionalGeneration"},
       .build = build_qwen3},
      {.kind = "phi3",
       .model_types = {"phi3"},
       .architectures = {"Phi3ForCausalLM"},
       .build = build_phi3},
      {.kind = "olmo2",
       .model_types = {"olmo2"},
       .architectures = {"Olmo2ForCausalLM"},
       .build = build_olmo2},
      {.kind = "gpt2",
       .model_types = {"gpt2"},
       .architectures = {"GPT2LMHeadModel"},
       .build = build_gpt2,
       .tied_by_default = true,
       .names = kGpt2},
      // The head of an encoder that pools is none; "tied" leaves it out.
      {.kind = "bert",
       .model_types = {"bert", "roberta", "xlm-roberta", "camembert"},
       .architectures = {"BertModel", "RobertaModel", "XLMRobertaModel", "CamembertModel"},
       .build = build_bert,
       .tied_by_default = true,
       .names = kBert},
      {.kind = "falcon",
       .model_types = {"falcon", "RefinedWebModel", "RefinedWeb"},
       .architectures = {"FalconForCausalLM", "RWForCausalLM"},
       .build = build_falcon,
       .tied_by_default = true,
       .names = kFalcon},
      {.kind = "nemotron-nas",
       .model_types = {"nemotron-nas"},
       .architectures = {"DeciLMForCausalLM"},
       .build = build_nemotron_nas},
  };
}

std::vector<Family> gemma_families() {
  return {
      {.kind = "gemma",
       .model_types = {"gemma"},
       .architectures = {"GemmaForCausalLM"},
       .build = build_gemma,
       .tied_by_default = true},
      {.kind = "gemma2",
       .model_types = {"gemma2"},
       .architectures = {"Gemma2ForCausalLM"},
       .build = build_gemma2,
       .tied_by_default = true},
      // Gemma3TextConfig's defaults, which nested configs omit.
      {.kind = "gemma3",
       .model_types = {"gemma3", "gemma3_text"},
       .architectures = {"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"},
       .build = build_gemma3,
       .tied_by_default = true,
       .default_vocabulary = 262'208,
       .default_context = 131'072},
      {.kind = "gemma4",
       .model_types = {"gemma4", "gemma4_text"},
       .architectures = {"Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"},
       .build = build_gemma4,
       .tied_by_default = true,
       .names = kGemma4},
  };
}

std::vector<Family> expert_families() {
  return {
      {.kind = "mixtral",
       .model_types = {"mixtral"},
       .architectures = {"MixtralForCausalLM"},
       .build = build_mixtral,
       .names = kBlockSparse},
      {.kind = "qwen2_moe",
       .model_types = {"qwen2_moe"},
       .architectures = {"Qwen2MoeForCausalLM"},
       .build = build_qwen2_moe,
       .names = kQwen},
      {.kind = "qwen3_moe",
       .model_types = {"qwen3_moe", "qwen3_vl_moe", "qwen3_vl_moe_text"},
       .architectures = {"Qwen3MoeForCausalLM", "Qwen3VLMoeForConditionalGeneration"},
       .build = build_qwen3_moe,
       .names = kQwen},
      {.kind = "glm4_moe",
       .model_types = {"glm4_moe", "glm4v_moe", "glm4v_moe_text"},
       .architectures = {"Glm4MoeForCausalLM", "Glm4vMoeForConditionalGeneration"},
       .build = build_glm4_moe},
  };
}

std::vector<Family> later_expert_families() {
  return {
      {.kind = "minimax_m2",
       .model_types = {"minimax_m2"},
       .architectures = {"MiniMaxM2ForCausalLM"},
       .build = build_minimax_m2,
       .names = kBlockSparse},
      {.kind = "minimax_m3",
       .model_types = {"minimax_m3", "minimax_m3_text", "minimax_m3_vl"},
       .architectures = {"MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration"},
       .build = build_minimax_m3,
       .names = kBlockSparse},
      {.kind = "gpt_oss",
       .model_types = {"gpt_oss"},
       .architectures = {"GptOssForCausalLM"},
       .build = build_gpt_oss},
      {.kind = "llama4",
       .model_types = {"llama4", "llama4_text"},
       .architectures = {"Llama4ForCausalLM", "Llama4ForConditionalGeneration"},
       .build = build_llama4,
       .names = kLlama4},
      {.kind = "mimo_v2",
       .model_types = {"mimo_v2", "mimo_v2_flash"},
       .architectures = {"MiMoV2ForCausalLM", "MiMoV2FlashForCausalLM"},
       .build = build_mimo_v2},
      {.kind = "step3p5",
       .model_types = {"step3p5", "step3p7", "step3p7_text"},
       .architectures = {"Step3p5ForCausalLM", "Step3p7FlashForCausalLM",
                         "Step3p7ForConditionalGeneration"},
       .build = build_step3,
       .names = kStep},
      {.kind = "deepseek_v3",
       .model_types = {"deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "kimi_k25",
                       "glm_moe_dsa"},
       .architectures = {"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM",
                         "GlmMoeDsaForCausalLM", "KimiK25ForConditionalGeneration"},
       .build = build_deepseek},
      {.kind = "deepseek_v4",
       .model_types = {"deepseek_v4"},
       .architectures = {"DeepseekV4ForCausalLM"},
       .build = build_deepseek_v4,
       .names = kDeepSeekV4},
  };
}

std::vector<Family> hybrid_families() {
  return {
      {.kind = "qwen3_next",
       .model_types = {"qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"},
       .architectures = {"Qwen3NextForCausalLM", "Qwen3_5ForCausalLM",
                         "Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForCausalLM",
                         "Qwen3_5MoeForConditionalGeneration"},
       .build = build_qwen3_next,
       .names = kQwen},
      {.kind = "nemotron_h",
       .model_types = {"nemotron_h"},
       .architectures = {"NemotronHForCausalLM"},
       .build = build_nemotron_h,
       .names = kNemotron},
      {.kind = "minimax_text_01",
       .model_types = {"minimax_text_01", "minimax"},
       .architectures = {"MiniMaxText01ForCausalLM", "MiniMaxForCausalLM"},
       .build = build_minimax_text,
       .names = kBlockSparse},
      {.kind = "kimi_linear",
       .model_types = {"kimi_linear", "kimi_k3"},
       .architectures = {"KimiLinearForCausalLM", "KimiK3ForConditionalGeneration"},
       .build = build_kimi_linear,
       .names = kBlockSparse},
  };
}

std::vector<Family> make_families() {
  std::vector<Family> all;
  for (const auto& group : {dense_families(), gemma_families(), expert_families(),
                            later_expert_families(), hybrid_families()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> all = make_families();
  return all;
}

const Family* find_family(std::string_view model_type, std::string_view architecture) {
  for (const Family& family : families()) {
    if (contains(family.model_types, model_type)) return &family;
  }
  for (const Family& family : families()) {
    if (contains(family.architectures, architecture)) return &family;
  }
  return nullptr;
}

}  // namespace roofcast
