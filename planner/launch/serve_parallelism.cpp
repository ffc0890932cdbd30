#include "planner/launch/serve_parallelism.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace roofcast {
namespace {

/// SGLang and TensorRT-LLM set a number of expert ranks; here it is all ranks or none.
std::optional<bool> all_experts(const ServeWords& words, int ranks,
                                std::vector<std::string>& notes) {
  if (words.degrees.expert_parallel) return words.degrees.expert_parallel;
  if (!words.expert_ranks) return std::nullopt;
  const int asked = *words.expert_ranks;
  if (asked > 1 && asked != ranks) {
    notes.push_back(
        fmt::format("experts spread over {} of {} ranks are modelled as spread over all of them",
                    asked, ranks));
  }
  return asked > 1;
}

/// SGLang's data-parallel attention multiplies schedule_conservativeness by 0.3
/// (_handle_data_parallelism in sglang/srt/server_args.py); as a fraction, so that a written value
/// is read back exactly.
constexpr double kSharedNumerator = 3;
constexpr double kSharedDenominator = 10;

/// `all` over `ranks`, rounded down as SGLang does. Throws UsageError if the result is 0.
std::int64_t divided(const char* flag, std::int64_t all, int ranks) {
  if (all > 0 && all < ranks) {
    throw UsageError(
        fmt::format("{}: {} is too few for the {} ranks of --enable-dp-attention, which share them",
                    flag, all, ranks));
  }
  return all / ranks;
}

}  // namespace

EngineOverrides of_one_rank(ServeEngine engine, const ServeWords& words) {
  EngineOverrides knobs = words.overrides;
  const int ranks = words.degrees.data.value_or(1);
  const bool shared = words.data_parallel_attention.value_or(false) && ranks > 1;
  if (engine != ServeEngine::sglang || !shared) return knobs;
  if (auto& count = knobs.max_num_seqs) count = divided("--max-running-requests", *count, ranks);
  if (auto& tokens = knobs.max_num_batched_tokens) {
    tokens = divided("--chunked-prefill-size", *tokens, ranks);
  }
  if (auto& factor = knobs.schedule_conservativeness) {
    factor = *factor * kSharedNumerator / kSharedDenominator;
  }
  return knobs;
}

void put_of_all_ranks(ServeEngine engine, ServeWords& words) {
  const int ranks = words.degrees.data.value_or(1);
  const bool shared = words.data_parallel_attention.value_or(false) && ranks > 1;
  if (engine != ServeEngine::sglang || !shared) return;
  EngineOverrides& knobs = words.overrides;
  if (knobs.max_num_seqs) *knobs.max_num_seqs *= ranks;
  if (knobs.max_num_batched_tokens) *knobs.max_num_batched_tokens *= ranks;
  if (auto& factor = knobs.schedule_conservativeness) {
    factor = *factor * kSharedDenominator / kSharedNumerator;
  }
}

namespace {

/// The ranks of --tp-size that are left for each of `parts`, which `flag` gives.
int share_of(int ranks, int parts, const char* flag, const char* who) {
  if (ranks % parts == 0) return ranks / parts;
  throw UsageError(
      fmt::format("{}: {} does not divide {} ranks of --tp-size, as {}", flag, parts, ranks, who));
}

/// With --enable-dp-attention every GPU is a rank of its own (0.1.2, engine_core_mgr.py).
ParallelismOptions understood_by_atom(const ServeWords& words, std::vector<std::string>& notes) {
  ParallelismOptions parallel = words.degrees;
  const int data = parallel.data.value_or(1);
  if (words.data_parallel_attention.value_or(false)) {
    parallel.data = parallel.tensor.value_or(1) * data;
    parallel.tensor = 1;
  } else if (data > 1) {
    notes.push_back(
        "--data-parallel-size without --enable-dp-attention starts independent engines; if the "
        "model has experts, they are modelled as shared");
  }
  return parallel;
}

}  // namespace

ParallelismOptions understood(ServeEngine engine, const ServeWords& words,
                              std::vector<std::string>& notes) {
  ParallelismOptions parallel = words.degrees;
  if (engine == ServeEngine::vllm) return parallel;
  if (engine == ServeEngine::atom) return understood_by_atom(words, notes);
  const int ranks = words.degrees.tensor.value_or(1);
  parallel.expert_parallel = all_experts(words, ranks, notes);
  const int context = words.degrees.context.value_or(1);
  if (context > 1 && !words.divides_prompts.value_or(false)) {
    notes.push_back("--attn-cp-size is modelled as with --enable-prefill-cp");
  }
  const std::string strategy = words.prompt_strategy.value_or("zigzag");
  if (context > 1 && strategy != "zigzag" && strategy != "in-seq-split") {
    notes.push_back("--cp-strategy " + strategy + " is modelled as zigzag");
  }
  const bool shared = words.data_parallel_attention.value_or(false);
  // TensorRT-LLM's attention is data parallel over all ranks of a stage, or not at all.
  const int data = engine == ServeEngine::tensorrt_llm ? ranks : words.degrees.data.value_or(1);
  if (!shared) {
    if (parallel.data.value_or(1) > 1) {
      notes.push_back(
          "--dp-size without --enable-dp-attention starts independent servers; if the model has "
          "experts, they are modelled as shared");
    }
    if (context > 1)
      parallel.tensor = share_of(ranks, context, "--attn-cp-size", "SGLang requires");
    return parallel;
  }
  const int shares = share_of(ranks, data, "--dp-size", "--enable-dp-attention requires");
  parallel.tensor = share_of(shares, context, "--attn-cp-size", "SGLang requires");
  parallel.data = data;
  return parallel;
}

void put_parallelism(ServeEngine engine, const ParallelismOptions& parallel, bool has_experts,
                     ServeWords& words, std::vector<std::string>& notes) {
  words.degrees = parallel;
  if (engine == ServeEngine::vllm) return;
  if (engine == ServeEngine::atom) {
    const bool shares = parallel.data.value_or(1) > 1 && has_experts;
    if (shares && parallel.tensor.value_or(1) == 1) {
      words.degrees.tensor = parallel.data;
      words.degrees.data.reset();
      words.data_parallel_attention = true;
    } else if (shares) {
      notes.push_back("ATOM shares experts among data-parallel ranks of one GPU only");
    }
    return;
  }
  words.degrees.expert_parallel.reset();
  const int data = parallel.data.value_or(1);
  const int context = parallel.context.value_or(1);
  const int ranks = parallel.tensor.value_or(1) * context * data;
  const bool experts = parallel.expert_parallel.value_or(false);
  if (experts && ranks > 1) words.expert_ranks = ranks;
  if (context > 1) {
    words.degrees.tensor = ranks / data;
    words.divides_prompts = true;
    words.prompt_strategy = "zigzag";
  }
  if (data == 1) return;
  if (engine == ServeEngine::tensorrt_llm) {
    words.degrees.data.reset();
    if (parallel.tensor.value_or(1) > 1 || !(has_experts || experts)) {
      notes.push_back(
          fmt::format("TensorRT-LLM has no flags for {} data-parallel ranks with TP {}: start {} "
                      "such servers behind a load balancer",
                      data, parallel.tensor.value_or(1), data));
      if (experts) words.expert_ranks = parallel.tensor.value_or(1);
      return;
    }
  }
  if (!has_experts && !experts) return;
  words.degrees.tensor = ranks;
  words.data_parallel_attention = true;
}

}  // namespace roofcast
