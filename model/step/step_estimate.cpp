#include "model/step/step_estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/dotted_version.hpp"
#include "model/architecture/weights.hpp"
#include "model/curves/curve_source.hpp"
#include "model/engines/captured_prompts.hpp"
#include "model/step/error_causes.hpp"
#include "model/step/image_work.hpp"
#include "model/step/operator_time.hpp"
#include "model/step/timed_block.hpp"
#include "model/step/timed_recurrent.hpp"

namespace roofcast {

namespace {

// vLLM rebuilds the input of penalties in every step: 6 ms for 68 rows of 4,000 tokens (RTX 5090,
// vllm-project/vllm pull 47540). We count the whole context, where vLLM counts the output of each
// row at the length of the longest, because output lengths are not known here.
constexpr Seconds kPenaltyOfAToken{22e-9};

double attended_by_decodes(const StepBatch& batch) {
  return batch.decode_attended.empty() ? 0.0 : static_cast<double>(batch.decode_attended.front());
}

/// Removes what is part of a block from both lists of `operators`, block by block.
std::vector<TimedBlock> take_blocks(StepOperators& operators, const Gpu& gpu,
                                    std::string_view engine) {
  std::vector<TimedBlock> blocks;
  for (std::size_t i = 0; i < operators.blocks.size(); ++i) {
    const auto is_other = [&](const auto& op) { return op.block != static_cast<int>(i); };
    const auto take = [&](auto& list) {
      const auto first = std::stable_partition(list.begin(), list.end(), is_other);
      std::remove_reference_t<decltype(list)> taken(std::make_move_iterator(first),
                                                    std::make_move_iterator(list.end()));
      list.erase(first, list.end());
      return taken;
    };
    auto parts = take(operators.per_token);
    auto mixers = take(operators.attention);
    auto timed_otherwise = take(operators.timed_otherwise);
    auto in_own_format = take(operators.in_own_format);
    blocks.emplace_back(operators.blocks[i], std::move(parts), std::move(mixers), gpu, engine);
    blocks.back().replace(timed_otherwise, in_own_format, gpu, engine);
  }
  return blocks;
}

/// Calls of all operators' kernels.
std::int64_t calls_in(const std::vector<LinearOperator>& operators) {
  std::int64_t calls = 0;
  for (const LinearOperator& op : operators) calls += op.work.calls;
  return calls;
}

/// Those of one phase alone.
std::int64_t calls_in(const std::vector<LinearOperator>& operators, Phase phase) {
  std::int64_t calls = 0;
  for (const LinearOperator& op : operators) {
    if (op.phase == phase) calls += op.work.calls;
  }
  return calls;
}

/// Those that one operator of TensorRT-LLM computes together with attention (1.2,
/// _torch/modules/attention.py, attn_custom_op_inplace and mla_custom_op_inplace).
std::int64_t calls_in_attention(const std::vector<LinearOperator>& operators) {
  static constexpr std::array<std::string_view, 6> kNames{"qkv_a_proj",   "q_b_proj", "kv_b_proj",
                                                          "latent_norms", "rope",     "kv_write"};
  std::int64_t calls = 0;
  for (const LinearOperator& op : operators) {
    if (std::ranges::find(kNames, op.work.name) != kNames.end()) calls += op.work.calls;
  }
  return calls;
}

template <class Mixers>
std::int64_t mixer_calls_in(const Mixers& mixers) {
  std::int64_t calls = 0;
  for (const auto& op : mixers) calls += op.decode.calls;
  return calls;
}

template <class List>
Seconds graph_saving_of(const List& operators) {
  Seconds saving;
  for (const auto& op : operators) saving += op.graph_saving();
  return saving;
}

/// Takes the exchanges of experts' tokens, which two-batch overlap hides, out of `operators`.
std::vector<LinearOperator> take_exchanges(StepOperators& operators) {
  const auto stays = [](const LinearOperator& op) {
    return op.work.name != "expert_dispatch" && op.work.name != "expert_combine";
  };
  const auto first =
      std::stable_partition(operators.per_token.begin(), operators.per_token.end(), stays);
  std::vector<LinearOperator> taken(std::make_move_iterator(first),
                                    std::make_move_iterator(operators.per_token.end()));
  operators.per_token.erase(first, operators.per_token.end());
  return taken;
}

/// One of two halves of a batch, as both are on average: of a prompt's chunk the second attends to
/// the first, so that half of its pairs are those of half its tokens after n/4 more.
StepBatch half_of(const StepBatch& batch) {
  StepBatch half = batch;
  half.decode_sequences = (batch.decode_sequences + 1) / 2;
  for (std::int64_t& attended : half.decode_attended) attended = (attended + 1) / 2;
  for (PrefillChunk& chunk : half.prefills) {
    chunk.context_tokens += chunk.new_tokens / 4;
    chunk.new_tokens = (chunk.new_tokens + 1) / 2;
  }
  return half;
}

StepCounts half_of(const StepCounts& counts) {
  return {.tokens = (counts.tokens + 1) / 2,
          .rows = (counts.rows + 1) / 2,
          .decoding = (counts.decoding + 1) / 2};
}

/// Whether the engine computes the step in halves (vLLM 0.22, v1/worker/ubatch_utils.py,
/// check_ubatch_thresholds), as all ranks do when their loads are equal.
bool is_halved(const BatchOverlap& overlap, const StepBatch& batch) {
  if (!overlap.enabled) return false;
  std::int64_t tokens = batch.decode_sequences * batch.decode_new_tokens;
  for (const PrefillChunk& chunk : batch.prefills) tokens += chunk.new_tokens;
  return tokens > 1 &&
         tokens >= (batch.prefills.empty() ? overlap.decode_tokens : overlap.prefill_tokens);
}

/// Whether PyTorch runs a step that is not captured operator by operator: with --enforce-eager, and
/// on a GPU in engines that compile nothing. There these are all steps of TensorRT-LLM without a
/// graph, and SGLang's with prompts unless it captures their pieces.
bool runs_operator_by_operator(const Deployment& deployment, const StepBatch& batch) {
  const Engine& engine = deployment.engine;
  if (engine.eager) return true;
  if (is_cpu(deployment.gpu)) return false;
  if (!engine.eager_prefill) return false;
  if (engine.scheduler == SchedulerKind::tensorrt_llm) return true;
  if (batch.prefills.empty() || engine.scheduler != SchedulerKind::sglang) return false;
  const std::string_view version = stated_version(engine.version);
  return (!version.empty() && is_older(version, kFirstCapturedPrompts)) ||
         !captures_prompts(engine, deployment.model, deployment.gpu, deployment.parallel);
}

double sequences_in(const StepBatch& batch) {
  return static_cast<double>(batch.decode_sequences) + static_cast<double>(batch.prefills.size());
}

/// What the host prepares of a step and does with its tokens.
Seconds host_time(const HostOverhead& host, double sequences) {
  return host.step_base + host.output_base +
         (host.per_sequence + host.output_per_sequence) * sequences;
}

/// Whether the host prepares the next step while the GPU runs this one: asynchronous scheduling
/// does, but penalties first need this step's tokens on the host (vllm-project/vllm pull 47540).
bool prepares_ahead(const Engine& engine) {
  return engine.async_scheduling && engine.sampling != SamplingKind::penalty;
}

/// Whether one thread prepares a step ahead and then launches its kernels (TensorRT-LLM 1.2,
/// pyexecutor/py_executor.py, _executor_loop_overlap).
bool prepares_before_launching(const Engine& engine) {
  return engine.scheduler == SchedulerKind::tensorrt_llm && prepares_ahead(engine);
}

/// The estimate of an operator in a captured graph.
OperatorEstimate captured(OperatorEstimate estimate, Seconds saving) {
  estimate.time = std::max(Seconds{}, estimate.time - saving);
  return estimate;
}

}  // namespace

StepEstimate sum_of(const std::vector<StepEstimate>& steps) {
  return sum_of(steps, std::vector<double>(steps.size(), 1.0));
}

StepEstimate sum_of(const std::vector<StepEstimate>& steps, const std::vector<double>& weights) {
  StepEstimate sum;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    sum.total += steps[i].total * weights[i];
    sum.device += steps[i].device * weights[i];
    sum.host += steps[i].host * weights[i];
    for (OperatorEstimate part : steps[i].operators) {
      part.time = part.time * weights[i];
      part.roofline = part.roofline * weights[i];
      part.floor = part.floor * weights[i];
      sum.operators.push_back(std::move(part));
    }
  }
  sum.relative_uncertainty = combined_deviation(error_causes(sum));
  return sum;
}

namespace {

/// The host thread that launches a part of a step's operators.
enum class Launcher {
  of_step,   // the engine's; it prepared the whole step before this part
  of_part,   // the engine's; another part came first: an earlier stage, the model before its head
  of_stage,  // the stage's own, whose time is apart from the kernels'
};

/// The operators of one GPU of a pipeline stage in a step; without stages, of the whole model.
class StageOperators {
 public:
  StageOperators(StepOperators operators, const Gpu& gpu, std::string_view engine, bool overlaps,
                 Launcher launcher)
      : launcher_(launcher),
        fixed_calls_(calls_in(operators.per_token) + calls_in(operators.per_row)),
        decode_calls_(calls_in(operators.per_token, Phase::decode)),
        prompt_calls_(calls_in(operators.per_token, Phase::prefill)),
        prompt_launches_(operators.prompt_launches),
        more_launches_(operators.more_launches),
        mixer_calls_(mixer_calls_in(operators.attention) + mixer_calls_in(operators.recurrent)),
        attention_calls_(calls_in_attention(operators.per_token)),
        pieces_(mixer_calls_in(operators.attention) + 1) {
    if (overlaps) exchange = timed(take_exchanges(operators), gpu, engine);
    blocks = take_blocks(operators, gpu, engine);
    const auto of_phase = [&](Phase phase) {
      std::vector<LinearOperator> list = operators.per_token;
      std::erase_if(list, [&](const LinearOperator& op) { return op.phase != phase; });
      return timed(std::move(list), gpu, engine);
    };
    per_token = of_phase(Phase::all);
    per_decode_token = of_phase(Phase::decode);
    per_prefill_token = of_phase(Phase::prefill);
    per_context_token = of_phase(Phase::context);
    per_row = timed(std::move(operators.per_row), gpu, engine);
    for (AttentionOperator& op : operators.attention) {
      attention.emplace_back(std::move(op), gpu, engine);
    }
    for (RecurrentOperator& op : operators.recurrent) {
      recurrent.emplace_back(std::move(op), gpu, engine);
    }
    drop_cache_writes();
    token_saving_ = graph_saving_of(per_token) + graph_saving_of(per_context_token);
    decode_saving_ = graph_saving_of(per_decode_token);
    prompt_saving_ = graph_saving_of(per_prefill_token);
    exchange_saving_ = graph_saving_of(exchange);
    row_saving_ = graph_saving_of(per_row);
    mixer_saving_ = graph_saving_of(attention) + graph_saving_of(recurrent);
  }

  std::vector<TimedOperator> per_token;  // of all phases
  std::vector<TimedOperator> per_decode_token;
  std::vector<TimedOperator> per_prefill_token;
  std::vector<TimedOperator> per_context_token;
  std::vector<TimedOperator> per_row;
  std::vector<TimedOperator> exchange;  // of all phases: what two-batch overlap hides
  std::vector<TimedMixer<AttentionOperator>> attention;
  std::vector<TimedRecurrent> recurrent;
  std::vector<TimedBlock> blocks;

  /// Without the exchange, which is `beside` it; `share` of the multiprocessors compute. Kernels
  /// that are launched one by one, those of the exchange among them, take at least their launches,
  /// unless a host thread of the stage's own does these.
  Seconds time(const Deployment& deployment, const StepBatch& batch, const StepCounts& counts,
               bool captured, Seconds beside = {}, double share = 1) const {
    const Gpu& gpu = deployment.gpu;
    const auto linear = [&](const std::vector<TimedOperator>& operators, std::int64_t n,
                            TwoTimes& times) {
      return sum(operators, n, captured ? times.captured : times.launched, gpu, captured);
    };
    const Seconds kernels = linear(per_token, counts.tokens, token_times_) +
                            linear(per_decode_token, counts.decoding, decode_times_) +
                            linear(per_prefill_token, counts.of(Phase::prefill), prefill_times_) +
                            linear(per_context_token, counts.of(Phase::context), context_times_) +
                            linear(per_row, counts.rows, row_times_) +
                            mixer_time(attention, batch, gpu) + mixer_time(recurrent, batch, gpu) +
                            block_time(batch, counts, gpu);
    const Seconds saved = captured ? saved_time(batch, counts) : Seconds{};
    const Seconds device = std::max(kernels - saved, Seconds{}) / share + beside;
    if (launcher_ == Launcher::of_stage) return device;
    return std::max(device, launch_time(deployment, batch, captured));
  }

  /// Kernels outside a captured graph wait for their launch: how long depends on whether compiled
  /// code launches them or PyTorch, operator by operator. Between graphs of pieces PyTorch launches
  /// attention (TensorRT-LLM 1.2, _torch/compilation/piecewise_optimizer.py).
  Seconds launch_time(const Deployment& deployment, const StepBatch& batch, bool captured) const {
    const bool in_pieces = captured && !batch.prefills.empty() && deployment.engine.eager_prefill;
    if (captured && !in_pieces) return {};
    const bool mixed = !batch.prefills.empty() && batch.decode_sequences > 0;
    const std::int64_t mixers = mixer_calls_ * (mixed ? 2 : 1);
    std::int64_t calls = fixed_calls_ + mixers;
    if (batch.decode_sequences == 0) calls -= decode_calls_;
    if (batch.prefills.empty()) calls -= prompt_calls_;
    const HostOverhead& host = deployment.engine.host;
    if (!runs_operator_by_operator(deployment, batch)) {
      return host.kernel_launch * static_cast<double>(calls);
    }
    std::int64_t launches = calls + more_launches_;
    if (batch.prefills.empty()) launches -= prompt_launches_;
    if (in_pieces) launches = attention_calls_ + mixers + pieces_;
    const Seconds each = batch.prefills.empty() ? host.eager_launch : host.prompt_launch;
    const Seconds launched = each * static_cast<double>(launches);
    if (launcher_ != Launcher::of_step || !prepares_before_launching(deployment.engine)) {
      return launched;
    }
    return host_time(host, sequences_in(batch)) + launched;
  }

  Seconds exchange_time(const StepCounts& counts, const Gpu& gpu, bool captured) const {
    const Seconds time =
        sum(exchange, counts.tokens, captured ? exchange_times_.captured : exchange_times_.launched,
            gpu, captured);
    return captured ? std::max(time - exchange_saving_, Seconds{}) : time;
  }

  /// Two halves that take turns: while one computes, the experts' tokens of the other are on their
  /// way. The first part of one and the last of the other are not hidden.
  Seconds halved_time(const Deployment& deployment, const StepBatch& batch,
                      const StepCounts& counts, bool captured) const {
    const BatchOverlap& overlap = deployment.engine.overlap;
    const StepCounts half = half_of(counts);
    const Seconds computing =
        time(deployment, half_of(batch), half, captured, {}, overlap.compute_share);
    const Seconds exchanging = exchange_time(half, deployment.gpu, captured);
    std::int64_t calls = 0;
    for (const TimedOperator& op : exchange) calls += op.calls();
    const auto turns = static_cast<double>(std::max<std::int64_t>(1, calls / 2));
    return 2.0 * std::max(computing, exchanging) + std::min(computing, exchanging) / turns;
  }

 private:
  Seconds block_time(const StepBatch& batch, const StepCounts& counts, const Gpu& gpu) const {
    Seconds total;
    for (const TimedBlock& block : blocks) total += block.time(batch, counts, gpu);
    return total;
  }

  /// Times in captured graphs, and of kernels launched one by one.
  struct TwoTimes {
    TimesByCount captured{};
    TimesByCount launched{};
  };

  static Seconds sum(const std::vector<TimedOperator>& operators, std::int64_t n,
                     TimesByCount& table, const Gpu& gpu, bool captured) {
    if (n == 0) return {};
    return table.at(n, [&] {
      Seconds total;
      for (const TimedOperator& op : operators) total += op.time(n, gpu, captured);
      return total;
    });
  }

  template <class Mixers>
  static Seconds mixer_time(const Mixers& mixers, const StepBatch& batch, const Gpu& gpu) {
    Seconds total;
    for (const auto& op : mixers) {
      if (!batch.prefills.empty()) total += op.prefill_time(batch, gpu);
      if (batch.decode_sequences > 0) total += op.decode_time(batch, gpu);
    }
    return total;
  }

  /// If all attention kernels were timed including their cache writes, these are not a separate
  /// operator; their launches still count.
  void drop_cache_writes() {
    const auto writes = [](const auto& op) { return op.writes_cache(); };
    if (attention.empty() || !std::all_of(attention.begin(), attention.end(), writes)) return;
    for (auto* list : {&per_token, &per_context_token}) {
      std::erase_if(*list, [](const TimedOperator& op) { return op.name() == "kv_write"; });
    }
  }

  /// Time that individually timed kernels save in a captured graph. The graph of a step with
  /// prompts excludes attention (vLLM's piecewise graphs).
  Seconds saved_time(const StepBatch& batch, const StepCounts& counts) const {
    Seconds saved = token_saving_;
    if (counts.rows > 0) saved += row_saving_;
    if (batch.decode_sequences > 0) saved += decode_saving_;
    return saved + (batch.prefills.empty() ? mixer_saving_ : prompt_saving_);
  }

  Launcher launcher_ = Launcher::of_step;
  std::int64_t fixed_calls_ = 0;
  std::int64_t decode_calls_ = 0;     // absent from steps without decodes
  std::int64_t prompt_calls_ = 0;     // and without prompts,
  std::int64_t prompt_launches_ = 0;  // as are these where PyTorch runs operator by operator
  std::int64_t more_launches_ = 0;    // beyond them where PyTorch runs operator by operator
  std::int64_t mixer_calls_ = 0;
  std::int64_t attention_calls_ = 0;  // between graphs of pieces, beside the mixers'
  std::int64_t pieces_ = 0;           // such graphs
  Seconds token_saving_{};            // in a captured graph
  Seconds decode_saving_{}, prompt_saving_{};
  Seconds exchange_saving_{};
  Seconds row_saving_{};
  Seconds mixer_saving_{};
  mutable TwoTimes token_times_;
  mutable TwoTimes decode_times_;
  mutable TwoTimes prefill_times_;
  mutable TwoTimes context_times_;
  mutable TwoTimes exchange_times_;
  mutable TwoTimes row_times_;
};

/// Stages that differ, and which of them each stage equals.
struct Stages {
  std::vector<StageOperators> different{};
  std::vector<std::size_t> of_stage{};
};

/// Middle stages with the same layers are timed once.
Stages stages_of(const Deployment& deployment) {
  const int count = deployment.parallel.pipeline;
  const auto launcher_of = [&](int stage) {
    if (deployment.engine.stage_hosts != StageHosts::one) return Launcher::of_stage;
    return stage == 0 ? Launcher::of_step : Launcher::of_part;
  };
  Stages stages;
  std::vector<std::vector<Layer>> middle;  // layers of each middle stage that differs
  for (int stage = 0; stage < count; ++stage) {
    const LayerRange range = pipeline_stage(std::ssize(deployment.model.layers), count, stage);
    const std::vector<Layer> layers(deployment.model.layers.begin() + range.first,
                                    deployment.model.layers.begin() + range.last);
    const bool is_middle = stage > 0 && stage < count - 1;
    const auto same = std::ranges::find(middle, layers);
    if (is_middle && same != middle.end()) {
      stages.of_stage.push_back(1 + static_cast<std::size_t>(same - middle.begin()));
      continue;
    }
    if (is_middle) middle.push_back(layers);
    stages.of_stage.push_back(stages.different.size());
    stages.different.emplace_back(stage_operators(deployment, stage), deployment.gpu,
                                  deployment.engine.version, deployment.engine.overlap.enabled,
                                  launcher_of(stage));
  }
  return stages;
}

}  // namespace

struct RooflineStepTime::Impl {
  explicit Impl(Deployment subject)
      : deployment(std::move(subject)),
        spans(attention_spans(deployment.model)),
        whole(step_operators(deployment), deployment.gpu, deployment.engine.version,
              deployment.engine.overlap.enabled, Launcher::of_step) {
    if (deployment.parallel.pipeline > 1) stages = stages_of(deployment);
    if (deployment.engine.speculation.timed_head) {
      head.emplace(draft_operators(deployment), deployment.gpu, deployment.engine.version, false,
                   Launcher::of_part);
    }
    asks_for_longest = std::any_of(whole.attention.begin(), whole.attention.end(),
                                   [](const auto& op) { return op.has_tail(); });
    deployment.gpu.measured.reset();  // every operator has its own curves by now
    deployment.gpu.tables.reset();
  }

  Deployment deployment;
  std::vector<AttentionSpan> spans;
  StageOperators whole;
  Stages stages;                       // unless there is only one
  std::optional<StageOperators> head;  // one pass of a draft head
  bool asks_for_longest = false;
  mutable StagedTime divided;
  mutable std::map<std::pair<std::int64_t, std::int64_t>, Seconds> images;

  bool is_captured(const StepBatch& batch, const StepCounts& counts) const {
    const Engine& engine = deployment.engine;
    if (!engine.cuda_graphs) return false;
    if (engine.eager_prefill && !batch.prefills.empty()) {
      return std::ranges::binary_search(engine.prompt_graph_sizes, counts.tokens);  // padded
    }
    if (!batch.prefills.empty()) return graph_holds(engine, counts.tokens);
    return engine.exact_graphs ||
           graph_holds(engine, graph_size(engine, batch.decode_sequences, batch.decode_new_tokens));
  }

  Seconds time_of(const StageOperators& operators, const StepBatch& batch) const {
    if (deployment.parallel.context == 1) return time_on_rank(operators, batch, 1);
    const RankBatch own = batch_of_rank(deployment, batch);
    return time_on_rank(operators, own.batch, own.prompt_ranks);
  }

  Seconds time_on_rank(const StageOperators& operators, const StepBatch& batch,
                       std::int64_t prompt_ranks) const {
    StepCounts counts = step_counts(deployment.engine, batch);
    counts.prompt_ranks = prompt_ranks;
    if (counts.tokens == 0) return {};
    const bool captured = is_captured(batch, counts);
    if (is_halved(deployment.engine.overlap, batch)) {
      return operators.halved_time(deployment, batch, counts, captured);
    }
    const Seconds exchanging = operators.exchange.empty()
                                   ? Seconds{}
                                   : operators.exchange_time(counts, deployment.gpu, captured);
    return operators.time(deployment, batch, counts, captured, exchanging);
  }

  /// Times of the stages on their devices, one after the other.
  void device_times(const StepBatch& batch, std::vector<Seconds>& times) const {
    times.clear();
    if (stages.of_stage.empty()) {
      times.push_back(time_of(whole, batch));
    } else {
      std::vector<Seconds> different;
      for (const StageOperators& stage : stages.different) {
        different.push_back(time_of(stage, batch));
      }
      for (const std::size_t index : stages.of_stage) times.push_back(different[index]);
    }
    if (batch.images > 0) times.front() += time_of_images(batch);
    times.back() += draft_time(batch);
  }

  /// Of the tokens that the target computed the head needs the logits of one of each sequence.
  StepCounts first_pass_counts(const StepBatch& batch) const {
    StepCounts counts = step_counts(deployment.engine, batch);
    counts.rows = batch.decode_sequences;
    for (const PrefillChunk& chunk : batch.prefills) counts.rows += chunk.emits_token ? 1 : 0;
    return counts;
  }

  /// The head's passes: the first over the tokens that the target computed, the others over one of
  /// each sequence, or over the branches of its tree (vLLM 0.19, v1/spec_decode/eagle.py, propose;
  /// SGLang 0.5.15, speculative/eagle_worker_v2.py; TensorRT-LLM 1.1, _torch/speculative/mtp.py).
  /// Neglects the host's work between them.
  Seconds draft_time(const StepBatch& batch) const {
    if (!head) return {};
    const bool captured = captures_head(batch);
    const auto pass_time = [&](const StepBatch& pass, const StepCounts& counts) {
      return counts.tokens == 0 ? Seconds{} : head->time(deployment, pass, counts, captured);
    };
    const Seconds first = pass_time(batch, first_pass_counts(batch));
    if (later_passes() == 0) return first;
    const StepBatch later = later_pass(batch);
    return first + pass_time(later, step_counts(deployment.engine, later)) *
                       static_cast<double>(later_passes());
  }

  /// Pieces of steps with prompts are of the target alone (TensorRT-LLM 1.2, pyexecutor/
  /// model_engine.py compiles its layers).
  bool captures_head(const StepBatch& batch) const {
    const bool in_pieces = deployment.engine.eager_prefill && !batch.prefills.empty();
    return !in_pieces && is_captured(batch, step_counts(deployment.engine, batch));
  }

  std::int64_t later_passes() const { return deployment.engine.speculation.draft_tokens - 1; }

  /// The batch of a head's later passes.
  StepBatch later_pass(const StepBatch& batch) const {
    StepBatch pass;
    pass.decode_sequences = batch.decode_sequences;
    pass.decode_new_tokens = deployment.engine.speculation.topk;
    pass.decode_attended = batch.decode_attended;
    pass.decode_attended.resize(spans.size());
    pass.decode_longest = batch.decode_longest;
    for (const PrefillChunk& chunk : batch.prefills) {
      if (!chunk.emits_token) continue;
      ++pass.decode_sequences;
      for (std::size_t i = 0; i < spans.size(); ++i) {
        pass.decode_attended[i] +=
            attended_tokens(spans[i], chunk.context_tokens + chunk.new_tokens);
      }
    }
    return pass;
  }

  /// All images of a run have the same number of tokens, and few batch sizes occur: kept.
  Seconds time_of_images(const StepBatch& batch) const {
    const auto key = std::pair(batch.images, batch.image_tokens);
    const auto known = images.find(key);
    if (known != images.end()) return known->second;
    const Seconds time = image_time(deployment, batch.images, batch.image_tokens);
    images.emplace(key, time);
    return time;
  }

  /// What each stage's own host thread does: every one of them prepares the whole batch.
  void host_times(const StepBatch& batch, std::vector<StageHost>& hosts) const {
    hosts.clear();
    const HostOverhead& terms = deployment.engine.host;
    const bool captured = is_captured(batch, step_counts(deployment.engine, batch));
    const Seconds prepares = host_time(terms, sequences_in(batch)) + terms.graph_launch +
                             terms.per_other_request * static_cast<double>(batch.other_requests);
    for (const std::size_t index : stages.of_stage) {
      const Seconds launches = stages.different[index].launch_time(deployment, batch, captured);
      hosts.push_back({.prepares = prepares, .launches = launches});
    }
  }

  void divide(const StepBatch& batch, StagedTime& time) const {
    device_times(batch, time.stages);
    time.hosts.clear();
    if (deployment.engine.stage_hosts == StageHosts::one) {
      const Seconds device = std::accumulate(time.stages.begin(), time.stages.end(), Seconds{});
      time.before = total_time(device, batch) - device;
      return;
    }
    time.before = {};
    host_times(batch, time.hosts);
    time.hosts_wait = deployment.engine.stage_hosts == StageHosts::waiting;
    time.stages.back() += penalty_time(batch) + sampler_time(batch);
  }

  /// Of the whole step: without what the host prepares and what it does with the tokens.
  Seconds device_time(const StepBatch& batch) const {
    device_times(batch, divided.stages);
    divided.hosts.clear();
    if (deployment.engine.stage_hosts != StageHosts::one) {
      host_times(batch, divided.hosts);
      for (StageHost& host : divided.hosts) host.prepares = {};
    }
    divided.before = {};
    return divided.path();
  }

  Seconds step_time(const StepBatch& batch) const {
    if (deployment.engine.stage_hosts == StageHosts::one)
      return total_time(device_time(batch), batch);
    divide(batch, divided);
    return divided.path();
  }

  Seconds penalty_time(const StepBatch& batch) const {
    const bool penalties = deployment.engine.sampling == SamplingKind::penalty;
    return kPenaltyOfAToken * (penalties ? attended_by_decodes(batch) : 0.0);
  }

  /// What the host does with a step's tokens while the GPU waits.
  Seconds sampler_time(const StepBatch& batch) const {
    return deployment.engine.host.serial_per_sequence * sequences_in(batch);
  }

  Seconds total_time(Seconds device, const StepBatch& batch) const {
    const HostOverhead& terms = deployment.engine.host;
    const Seconds launched = device + terms.graph_launch;
    const Seconds host = host_time(terms, sequences_in(batch)) + penalty_time(batch);
    const Seconds overlapped =
        prepares_ahead(deployment.engine) ? std::max(launched, host) : launched + host;
    return overlapped + sampler_time(batch);
  }
};

RooflineStepTime::RooflineStepTime(Deployment deployment)
    : impl_(std::make_unique<Impl>(std::move(deployment))) {}

RooflineStepTime::~RooflineStepTime() = default;

const std::vector<AttentionSpan>& RooflineStepTime::spans() const { return impl_->spans; }

bool RooflineStepTime::asks_for_longest() const { return impl_->asks_for_longest; }

Seconds RooflineStepTime::seconds(const StepBatch& batch) const { return impl_->step_time(batch); }

int RooflineStepTime::stages() const { return impl_->deployment.parallel.pipeline; }

void RooflineStepTime::divide(const StepBatch& batch, StagedTime& time) const {
  impl_->divide(batch, time);
}

namespace {

/// What `stage` takes of a batch, operator by operator.
std::vector<OperatorEstimate> explain_stage(const StageOperators& stage, const Gpu& gpu,
                                            const StepBatch& batch, const StepCounts& counts,
                                            bool in_graph) {
  std::vector<OperatorEstimate> operators;
  const auto add_mixers = [&](const auto& mixers) {
    for (const auto& op : mixers) {
      if (!batch.prefills.empty()) operators.push_back(op.explain_prefill(batch, gpu));
      if (batch.decode_sequences == 0) continue;
      const Seconds saved = in_graph && batch.prefills.empty() ? op.graph_saving() : Seconds{};
      operators.push_back(captured(op.explain_decode(batch, gpu), saved));
    }
  };
  const auto add_linear = [&](const std::vector<TimedOperator>& list, std::int64_t n) {
    if (n == 0) return;
    for (const TimedOperator& op : list) {
      const Seconds saved = in_graph ? op.graph_saving() : Seconds{};
      operators.push_back(captured(op.explain(n, gpu, in_graph), saved));
    }
  };
  add_linear(stage.per_token, counts.tokens);
  add_linear(stage.exchange, counts.tokens);
  add_linear(stage.per_decode_token, counts.of(Phase::decode));
  add_linear(stage.per_prefill_token, counts.of(Phase::prefill));
  add_linear(stage.per_context_token, counts.of(Phase::context));
  for (const TimedBlock& block : stage.blocks) {
    for (OperatorEstimate& part : block.explain(batch, counts, gpu)) {
      operators.push_back(std::move(part));
    }
  }
  add_mixers(stage.attention);
  add_mixers(stage.recurrent);
  add_linear(stage.per_row, counts.rows);
  return operators;
}

}  // namespace

StepEstimate RooflineStepTime::explain(const StepBatch& batch) const {
  const Gpu& gpu = impl_->deployment.gpu;
  const RankBatch own = batch_of_rank(impl_->deployment, batch);
  const StepBatch& of_rank = own.batch;
  StepCounts counts = step_counts(impl_->deployment.engine, of_rank);
  counts.prompt_ranks = own.prompt_ranks;
  const bool in_graph = impl_->is_captured(of_rank, counts);
  StepEstimate result{.operators = explain_stage(impl_->whole, gpu, of_rank, counts, in_graph)};
  const bool head_in_graph = impl_->captures_head(of_rank);
  const auto add_pass = [&](const StepBatch& pass, const StepCounts& of_pass, std::int64_t times) {
    for (OperatorEstimate& part : explain_stage(*impl_->head, gpu, pass, of_pass, head_in_graph)) {
      Work& work = part.work;
      const auto repeats = static_cast<double>(times);
      work.name = "draft." + work.name;
      work.calls *= times;
      work.flops = work.flops * repeats;
      work.bytes = work.bytes * repeats;
      work.stored_bytes = work.stored_bytes * repeats;
      part.time = part.time * repeats;
      result.operators.push_back(std::move(part));
    }
  };
  if (impl_->head && counts.tokens > 0) {
    add_pass(of_rank, impl_->first_pass_counts(of_rank), 1);
    const StepBatch later = impl_->later_pass(of_rank);
    const StepCounts later_counts = step_counts(impl_->deployment.engine, later);
    if (impl_->later_passes() > 0) add_pass(later, later_counts, impl_->later_passes());
  }
  for (const Work& work : image_work(impl_->deployment, of_rank.images, of_rank.image_tokens)) {
    result.operators.push_back(estimate(work, gpu));
  }
  for (OperatorEstimate& part : result.operators) {
    part.roofline = roofline_time(part.work, gpu);
    const bool by_roofline =
        part.provenance == Provenance::fitted || part.provenance == Provenance::datasheet;
    if (by_roofline && part.work.family != OperatorFamily::collective) {
      part.floor = floor_of(part.work, gpu) * static_cast<double>(part.work.calls);
    }
  }
  result.device = impl_->device_time(batch);
  result.total = seconds(batch);
  result.host = result.total - result.device;
  result.relative_uncertainty = combined_deviation(error_causes(result, impl_->deployment));
  return result;
}

}  // namespace roofcast
