// Turns each model family's config.json into layers: one function per family, found by model_type
// or architecture. A family reads only its own fields; a missing required field is an Error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/transformer.hpp"
#include "model/io/config_fields.hpp"

namespace roofcast {

/// The families' names for the parts of a layer in checkpoints; quantisation lists use them after
/// "model.layers.N.".
struct ModuleNames {
  std::string_view attention = "self_attn";
  std::string_view state = "linear_attn";
  std::string_view dense = "mlp";
  std::string_view experts = "mlp.experts";
  std::string_view shared = "mlp.shared_experts";
};

struct Family {
  std::string_view kind;  // its best-known model_type
  std::vector<std::string_view> model_types;
  std::vector<std::string_view> architectures;
  void (*build)(const Fields& config, Transformer& model);  // layers, norms, special ends
  bool tied_by_default = false;                             // class default of tie_word_embeddings
  ModuleNames names{};
  std::int64_t default_vocabulary = 0;  // class default of sparse configs; 0: required
  std::int64_t default_context = 0;
};

/// All families, in a fixed order.
const std::vector<Family>& families();

/// By model_type, then by architecture; null when neither is known.
const Family* find_family(std::string_view model_type, std::string_view architecture);

// Dense, grouped-query attention.
void build_llama(const Fields& config, Transformer& model);
void build_qwen2(const Fields& config, Transformer& model);
void build_qwen3(const Fields& config, Transformer& model);
void build_phi3(const Fields& config, Transformer& model);
void build_olmo2(const Fields& config, Transformer& model);
void build_gpt2(const Fields& config, Transformer& model);
void build_bert(const Fields& config, Transformer& model);
void build_falcon(const Fields& config, Transformer& model);
void build_nemotron_nas(const Fields& config, Transformer& model);
// Gemma.
void build_gemma(const Fields& config, Transformer& model);
void build_gemma2(const Fields& config, Transformer& model);
void build_gemma3(const Fields& config, Transformer& model);
void build_gemma4(const Fields& config, Transformer& model);
// Mixture of experts with grouped-query attention.
void build_mixtral(const Fields& config, Transformer& model);
void build_qwen2_moe(const Fields& config, Transformer& model);
void build_qwen3_moe(const Fields& config, Transformer& model);
void build_glm4_moe(const Fields& config, Transformer& model);
void build_minimax_m2(const Fields& config, Transformer& model);
void build_minimax_m3(const Fields& config, Transformer& model);
void build_gpt_oss(const Fields& config, Transformer& model);
void build_llama4(const Fields& config, Transformer& model);
void build_mimo_v2(const Fields& config, Transformer& model);
void build_step3(const Fields& config, Transformer& model);
// Latent or compressed attention.
void build_deepseek(const Fields& config, Transformer& model);
void build_deepseek_v4(const Fields& config, Transformer& model);
// Recurrent state in some layers.
void build_qwen3_next(const Fields& config, Transformer& model);
void build_nemotron_h(const Fields& config, Transformer& model);
void build_minimax_text(const Fields& config, Transformer& model);
void build_kimi_linear(const Fields& config, Transformer& model);

}  // namespace roofcast
