// Attention blocks timed whole: a layer's projections, norms of latents, rotary embedding, cache
// write, indexer and attention, with dummy weights, on one rank of `num_heads` heads (`tp_size`
// only says how a model comes to them). Prompts: `batch_size` of `isl` tokens, each after `step`
// cached ones. Decoding: `step` is the context, in SGLang without the new token. What blocks
// consist of follows from the model that the row names.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "calibrate/tables/table_rows.hpp"
#include "model/io/model_reader.hpp"
#include "model/step/attention_block.hpp"

namespace roofcast {

namespace {

/// Checkpoints in the tables that the catalogue knows under another name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kCheckpoints{{
    {"nvidia/GLM-5.2-NVFP4", "glm-5.2"},
    {"zai-org/GLM-5.2-FP8", "glm-5.2"},
    {"zai-org/GLM-5-FP8", "glm-5"},
    {"sgl-project/DeepSeek-V4-Pro-FP8", "deepseek-v4-pro"},
    {"sgl-project/DeepSeek-V4-Flash-FP8", "deepseek-v4-flash"},
}};

/// DeepEP's attention tables before they named it (SGLang 0.5.6): its deployment's model.
constexpr const char* kDeepEpModel = "deepseek-ai/DeepSeek-V3";

/// Which of a model's blocks: by tokens of a cached entry, and whether they select what they attend
/// to themselves (GLM-5.2 reuses selections between layers).
using BlockKey = std::tuple<std::string, std::int64_t, bool>;

struct Block {
  Layer layer{};
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  DType activation = DType::bf16;
};

std::int64_t entry_tokens(const Layer& layer) {
  const auto* attention = std::get_if<Attention>(&layer.mixer);
  return attention == nullptr ? 1 : attention->cache_compression;
}

std::int64_t& heads_of(Layer& layer) {
  auto* attention = std::get_if<Attention>(&layer.mixer);
  return attention == nullptr ? std::get<LatentAttention>(layer.mixer).query_heads
                              : attention->query_heads;
}

bool selects(const Layer& layer) {
  const auto* attention = std::get_if<Attention>(&layer.mixer);
  return (attention == nullptr ? std::get<LatentAttention>(layer.mixer).index_heads
                               : attention->index_heads) > 0;
}

bool is_sparse(const Layer& layer) {
  const auto* attention = std::get_if<Attention>(&layer.mixer);
  const AttentionSpan& span =
      attention == nullptr ? std::get<LatentAttention>(layer.mixer).span : attention->span;
  return span.kind == AttentionSpan::Kind::sparse;
}

std::optional<Block> find_block(const BlockKey& key) {
  const auto& [checkpoint, entry, skips] = key;
  std::string name = checkpoint;
  for (const auto& [theirs, ours] : kCheckpoints) {
    if (theirs == checkpoint) name = ours;
  }
  Transformer model;
  try {
    model = load_model(name);
  } catch (const Error&) {
    return std::nullopt;
  }
  for (Layer& layer : model.layers) {
    if (!block_shapes(layer, model.hidden, model.activation, {}, DType::bf16)) continue;
    if (entry_tokens(layer) != entry || (is_sparse(layer) && selects(layer) == skips)) continue;
    const std::int64_t heads = heads_of(layer);
    return Block{
        .layer = layer, .hidden = model.hidden, .heads = heads, .activation = model.activation};
  }
  return std::nullopt;
}

/// The block of a row; each is looked for once.
const std::optional<Block>& block_of(const BlockKey& key) {
  thread_local std::map<BlockKey, std::optional<Block>> known;
  const auto [place, fresh] = known.try_emplace(key);
  if (fresh) place->second = find_block(key);
  return place->second;
}

/// The block's shapes on a rank of `heads`: of a model split among ranks, or of one with more heads
/// than the real one.
std::optional<BlockShapes> shapes_of(const Block& block, std::int64_t heads,
                                     const std::string& format, DType cache) {
  Layer layer = block.layer;
  Parallelism parallel;
  if (block.heads % heads == 0) {
    parallel.tensor = static_cast<int>(block.heads / heads);
  } else {
    heads_of(layer) = heads;
  }
  auto shapes = block_shapes(layer, block.hidden, block.activation, parallel, cache);
  if (!shapes) return std::nullopt;
  shapes->decode.format = format;
  shapes->prefill.format = format;
  return shapes;
}

/// Timed launch by launch: sparse prompts of vLLM and SGLang, whose graphs would keep too much
/// memory, and those of DeepEP's deployments.
bool is_eager(const TableFile& table, bool generation) {
  if (generation) return false;
  const std::string& op = table.text("op_name");
  return op == "mla_context" ||
         (op.starts_with("dsa_context") && table.text("framework") != "TRTLLM");
}

std::string source_of_block(const TableFile& table, bool generation) {
  std::string kernel =
      is_eager(table, generation) ? "whole block, launched eagerly" : "whole block";
  // DeepEP's attention was timed with several backends of one version.
  if (table.text("op_name").starts_with("mla_") && !table.text("op_name").ends_with("module")) {
    kernel += " with " + table.text("kernel_source");
  }
  return kernel + ", " + engine_of(table);
}

}  // namespace

void read_block(const TableFile& table, ImportedRows& rows) {
  const std::string& op = table.text("op_name");
  const bool generation = op.find("generation") != std::string::npos;
  const std::string& gemm =
      table.has("gemm_type") ? table.text("gemm_type") : table.text("mla_dtype");
  const auto format = format_of(gemm);
  const auto cache = cache_of(table.text("kv_cache_dtype"));
  if (!format || !cache) {
    leave_out(rows, LeftOutAs::unused,
              "blocks in " + gemm + " with a cache of " + table.text("kv_cache_dtype"),
              table.place());
    return;
  }
  const auto heads = table.count("num_heads", 1);
  const auto batch = table.count("batch_size", 1);
  const auto isl = table.count("isl", 1);
  const auto step = table.count("step");
  const auto entry = table.has("compress_ratio") ? table.count("compress_ratio", 1)
                                                 : std::optional<std::int64_t>(1);
  if (!heads || !batch || !isl || !step || !entry) return refuse_number(table, rows);
  const std::string model = table.has("model") ? table.text("model") : kDeepEpModel;
  const std::optional<Block>& block = block_of({model, *entry, op.ends_with("skip_indexer")});
  const auto shapes = block ? shapes_of(*block, *heads, *format, *cache) : std::nullopt;
  if (!shapes) {
    leave_out(rows, LeftOutAs::unused, "blocks of " + model + ", which the catalogue lacks",
              table.place());
    return;
  }
  const std::string kernel = source_of_block(table, generation);
  if (is_eager(table, generation)) rows.eager_kernels.insert(kernel);
  if (generation) {
    const bool past = table.text("framework") == "SGLang";
    const std::int64_t context =
        op == "mla_generation" ? *isl + *step + 1 : *step + (past ? *isl : 0);
    add_row(table, shapes->decode, kernel, static_cast<double>(*batch),
            static_cast<double>(std::max<std::int64_t>(1, context)), rows);
    return;
  }
  OperatorShape shape = shapes->prefill;
  shape.prompts = static_cast<int>(*batch);
  shape.fp8_arithmetic = table.text("mla_dtype") == "fp8";
  add_row(table, shape, kernel, static_cast<double>(*isl), static_cast<double>(*step), rows);
}

void read_block_part(const TableFile& table, ImportedRows& rows) {
  leave_out(rows, LeftOutAs::duplicate,
            "a kernel of sparse attention, whose blocks were timed whole", table.place());
}

}  // namespace roofcast
