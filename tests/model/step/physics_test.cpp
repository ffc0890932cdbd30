// No estimate may be faster than physics: required FLOPs at the dense peak, required bytes at the
// memory bandwidth. The bound is computed here from the shapes, independently of model/.
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "model/io/gpu_reader.hpp"
#include "model/io/model_reader.hpp"
#include "model/step/step_estimate.hpp"
#include "tests/model/step/step_time_cases.hpp"
#include "tests/support/shapes.hpp"
#include "tests/support/trials.hpp"

namespace roofcast {
namespace {

using test::deployment_of;
using test::kSanitised;

double d(std::int64_t count) { return static_cast<double>(count); }

/// Minimum work of one layer. Mixers other than attention count as nothing.
struct LayerFloor {
  double used = 0;   // matrix weights that every token multiplies with
  double read = 0;   // matrix weights that a step with one token or more reads
  double cache = 0;  // elements cached per token
  double pair = 0;   // FLOPs per pair of query and attended token
  AttentionSpan span{};
  double bits = 16;
  DType compute = DType::bf16;
};

void add_mixer(const Layer& layer, double hidden, LayerFloor& f) {
  if (const auto* a = std::get_if<Attention>(&layer.mixer)) {
    const double q = d(a->query_heads * a->head_dim);
    const double kv = a->reuses_earlier_cache ? 0 : d(a->kv_heads * a->head_dim);
    if (a->q_lora_rank > 0) return;
    f.used += hidden * (q + (a->keys_are_values ? 1 : 2) * kv) + q * hidden;
    f.cache = d(a->kv_heads * a->head_dim) * (a->keys_are_values ? 1 : 2);
    f.pair = 4 * q;
    f.span = a->span;
  }
  if (const auto* a = std::get_if<LatentAttention>(&layer.mixer)) {
    const double heads = d(a->query_heads);
    const double q_in = a->q_lora_rank > 0 ? d(a->q_lora_rank) : hidden;
    if (a->q_lora_rank > 0) f.used += hidden * q_in;
    f.used += q_in * heads * d(a->nope_dim + a->rope_dim);
    f.used += hidden * d(a->kv_lora_rank + a->rope_dim);
    f.used += d(a->kv_lora_rank) * heads * d(a->nope_dim + a->value_head_dim);
    f.used += heads * d(a->value_head_dim) * hidden;
    f.cache = d(a->kv_lora_rank + a->rope_dim);
    f.pair = 2 * heads * d(a->nope_dim + a->rope_dim + a->value_head_dim);  // less than absorbed
    f.span = a->span;
  }
}

void add_ffn(const Layer& layer, double hidden, LayerFloor& f) {
  if (const auto* dense = std::get_if<DenseFfn>(&layer.ffn)) {
    f.used += hidden * d(dense->intermediate) * (dense->gated ? 3 : 2);
  }
  if (const auto* moe = std::get_if<MoeFfn>(&layer.ffn); moe != nullptr && moe->latent == 0) {
    const double expert = hidden * d(moe->expert_intermediate) * (moe->gated ? 3 : 2);
    f.used += expert * d(moe->experts_per_token);
    f.used += hidden * d(moe->shared_intermediate) * (moe->gated ? 3 : 2);
  }
}

LayerFloor floor_of(const Layer& layer, const Transformer& model) {
  LayerFloor f;
  add_mixer(layer, d(model.hidden), f);
  add_ffn(layer, d(model.hidden), f);
  f.read = f.used;  // a single token's experts at least
  f.bits = std::min(layer.mixer_format.bits_per_weight, layer.ffn_format.bits_per_weight);
  f.compute = layer.ffn_format.compute;
  return f;
}

double pairs_of(const AttentionSpan& span, std::int64_t fresh, std::int64_t context) {
  double pairs = 0;
  for (std::int64_t i = 0; i < fresh; ++i) pairs += d(attended_tokens(span, context + i));
  return pairs;
}

/// The whole model over `ranks` GPUs with a perfect split.
double lower_bound(const Deployment& deployment, const StepBatch& batch) {
  const Transformer& model = deployment.model;
  const Gpu& gpu = deployment.gpu;
  std::int64_t tokens = batch.decode_sequences;
  std::int64_t rows = batch.decode_sequences;
  for (const PrefillChunk& chunk : batch.prefills) {
    tokens += chunk.new_tokens;
    rows += chunk.emits_token ? 1 : 0;
  }
  const double cache_bytes = bits_of(deployment.engine.kv_cache_dtype) / 8.0;
  const std::vector<AttentionSpan> spans = attention_spans(model);
  double compute = 0;
  double bytes = 0;
  for (const Layer& layer : model.layers) {
    const LayerFloor f = floor_of(layer, model);
    double pairs = 0;
    double cached = 0;
    const auto span = std::find(spans.begin(), spans.end(), f.span);
    if (f.pair > 0 && batch.decode_sequences > 0) {
      const auto attended =
          d(batch.decode_attended[static_cast<std::size_t>(span - spans.begin())]);
      pairs += attended;
      cached += attended - d(batch.decode_sequences);  // the new token's need not be read back
    }
    for (const PrefillChunk& chunk : batch.prefills) {
      pairs += f.pair > 0 ? pairs_of(f.span, chunk.new_tokens, chunk.context_tokens) : 0;
    }
    compute += 2 * f.used * d(tokens) / gpu.peak_for(f.compute).value;
    compute += f.pair * pairs / gpu.peak_for(model.activation).value;
    bytes += f.read * f.bits / 8 + cached * f.cache * cache_bytes;
  }
  const double head = d(model.vocabulary) * d(model.hidden);
  const WeightFormat& format =
      model.tied_embeddings ? model.embedding_format : model.lm_head_format;
  compute += 2 * head * d(rows) / gpu.peak_for(format.compute).value;
  if (rows > 0) bytes += head * format.bits_per_weight / 8;
  const double ranks = deployment.parallel.tensor;
  return std::max(compute, bytes / gpu.memory_bandwidth.value) / ranks;
}

std::vector<WeightFormat> formats() {
  return {plain_format(DType::bf16),
          {.name = "fp8", .bits_per_weight = 8, .compute = DType::fp8},
          {.name = "awq", .bits_per_weight = 4.16, .compute = DType::bf16},
          {.name = "nvfp4", .bits_per_weight = 4.5, .compute = DType::fp4}};
}

std::vector<Transformer> models() {
  return {test::llama_3_1_8b(),   test::llama_3_1_70b(),   test::mixtral_8x7b(),
          test::qwen3_30b_a3b(),  test::deepseek_v3(),     test::gemma_3_27b(),
          test::qwen3_next_80b(), test::nemotron_3_nano(), test::llama_4_scout(),
          test::gpt2_small(),     test::minimax_text_01(), test::gpt_oss_20b()};
}

std::vector<StepBatch> batches(const Transformer& model) {
  std::vector<StepBatch> list;
  for (const std::int64_t sequences : {1, 3, 64, 500}) {
    for (const std::int64_t context : {0, 700, 20000}) {
      list.push_back(decode_batch(model, sequences, context));
    }
  }
  for (const std::int64_t tokens : {1, 17, 512, 5000}) list.push_back(prefill_batch(2, tokens));
  StepBatch mixed = decode_batch(model, 9, 1500);
  mixed.prefills = {{.new_tokens = 300, .context_tokens = 3000, .emits_token = false}};
  list.push_back(mixed);
  return list;
}

/// `model` with all layer matrices in `format`.
Transformer in_format(Transformer model, const WeightFormat& format) {
  for (Layer& layer : model.layers) {
    layer.mixer_format = layer.ffn_format = layer.shared_format = format;
  }
  return model;
}

/// Runs every batch of batches() on this deployment; stops at the first violation.
void expect_no_faster_than_physics(const Deployment& deployment) {
  const RooflineStepTime step_time(deployment);
  for (const StepBatch& batch : batches(deployment.model)) {
    ASSERT_GE(step_time.seconds(batch).value, lower_bound(deployment, batch) * (1 - 1e-9))
        << deployment.gpu.name << " " << deployment.model.name << " TP "
        << deployment.parallel.tensor << ", " << batch.decode_sequences << " decoding, "
        << batch.prefills.size() << " prefills";
  }
}

TEST(Physics, NoStepIsFasterThanItsFlopsAndBytesAllow) {
  std::size_t count = 0;
  for (const std::string& name : gpu_names()) {
    if (kSanitised && count++ % 4 != 0) continue;
    const Gpu gpu = load_gpu(name).gpu;
    for (const Transformer& model : models()) {
      for (const WeightFormat& format : formats()) {
        Deployment deployment = deployment_of(in_format(model, format), gpu);
        if (format.compute == DType::fp8) deployment.engine.kv_cache_dtype = DType::fp8;
        expect_no_faster_than_physics(deployment);
      }
    }
  }
}

TEST(Physics, SharingOverGpusBreaksNoLimit) {
  for (const std::string& name : gpu_names()) {
    const Gpu gpu = load_gpu(name).gpu;
    for (const Transformer& model : {test::llama_3_1_70b(), test::qwen3_30b_a3b()}) {
      for (const int tensor : {2, 4, 8}) {
        expect_no_faster_than_physics(deployment_of(model, gpu, {.tensor = tensor}));
      }
    }
  }
}

TEST(Physics, NoCatalogueModelIsFasterThanPhysics) {
  const std::vector<std::string> gpus = gpu_names();
  const int each = kSanitised ? 1 : 3;  // GPUs a model, which change from model to model
  std::size_t next = 0;
  for (const CatalogueEntry& entry : catalogue()) {
    const Transformer model = load_model(entry.name);
    for (int i = 0; i < each; ++i) {
      expect_no_faster_than_physics(deployment_of(model, load_gpu(gpus[next]).gpu));
      next = (next + 1) % gpus.size();
    }
  }
}

TEST(Physics, NoOperatorIsFasterThanItsOwnLimit) {
  for (const std::string& name : gpu_names()) {
    const Gpu gpu = load_gpu(name).gpu;
    for (const Transformer& model : models()) {
      const RooflineStepTime step_time(deployment_of(model, gpu));
      for (const StepBatch& batch : batches(model)) {
        for (const OperatorEstimate& op : step_time.explain(batch).operators) {
          ASSERT_GE(op.time, physical_limit(op.work, gpu)) << name << " " << op.work.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace roofcast
