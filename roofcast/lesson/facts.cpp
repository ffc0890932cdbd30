#include "roofcast/lesson/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/ceil_divide.hpp"
#include "base/error.hpp"
#include "base/numbers.hpp"
#include "model/architecture/weights.hpp"
#include "model/cache/kv_cache.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/step/step_estimate.hpp"
#include "planner/flags/scenario_flags.hpp"
#include "planner/scenario/sizing.hpp"
#include "roofcast/estimate.hpp"
#include "roofcast/simulate.hpp"
#include "simulator/time.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kPrompt = 500;
constexpr std::int64_t kGenerate = 200;
constexpr int kMaxDrafts = 100;
constexpr const char* kCpuEngine = "roofcast";

// ---- what is asked

void check(const LessonQuestion& question) {
  const auto check_tokens = [](const char* key, std::optional<std::int64_t> tokens,
                               std::int64_t least) {
    if (!tokens || (*tokens >= least && *tokens <= kMaxLessonTokens)) return;
    throw Error(
        fmt::format("{}: expected {} to {} tokens", key, least, with_separators(kMaxLessonTokens)));
  };
  check_tokens("prompt", question.prompt, 1);
  check_tokens("generate", question.generate, 2);
  if (!(question.acceptance >= 0 && question.acceptance <= 1)) {
    throw Error("acceptance: expected a share from 0 to 1");
  }
  if (question.drafts < 1 || question.drafts > kMaxDrafts) {
    throw Error(fmt::format("drafts: expected 1 to {}", kMaxDrafts));
  }
}

std::int64_t longest_context(const Deployment& deployment) {
  const std::int64_t engine = deployment.engine.max_model_len;
  const std::int64_t model = deployment.model.max_context;
  return model > 0 ? std::min(engine, model) : engine;
}

/// Tokens of prompt and answer within the model's context.
void choose_lengths(const LessonQuestion& question, LessonFacts& facts) {
  const std::int64_t longest = longest_context(facts.deployment);
  facts.prompt = question.prompt.value_or(kPrompt);
  facts.generate = question.generate.value_or(kGenerate);
  if (facts.context() > longest && !(question.prompt && question.generate)) {
    if (question.prompt) {
      facts.generate = longest - facts.prompt;
    } else if (question.generate) {
      facts.prompt = longest - facts.generate;
    } else {
      facts.generate = longest * kGenerate / (kPrompt + kGenerate);
      facts.prompt = longest - facts.generate;
    }
  }
  if (facts.context() <= longest && facts.prompt >= 1 && facts.generate >= 2) return;
  throw UsageError(fmt::format("`prompt` and `generate`: {} takes sequences of up to {} tokens",
                               facts.deployment.model.name, with_separators(longest)));
}

/// The engine that was asked for; on a CPU, unless another was, the one that runs there.
void choose_engine(LessonFacts& facts) {
  DeploymentOptions& options = facts.options;
  if (!options.engine.empty()) return;
  if (!is_cpu(load_gpu(options.gpu).gpu)) return;
  options.engine = kCpuEngine;
  facts.notes.push_back("On a CPU the lesson uses this program's own small engine (roofcast).");
}

/// Shortens the longest sequence if the model's own does not fit: a learner need not know of it.
void make_fit(LessonFacts& facts) {
  facts.plan = plan_memory(facts.deployment);
  if (facts.plan.fits) return;
  const std::string reason = facts.plan.reason;
  const auto refuse = [&] {
    throw Error(fmt::format("{} does not fit: {} (roofcast memory names what would help)",
                            headline(facts.deployment), reason));
  };
  if (facts.options.overrides.max_model_len) refuse();
  const std::int64_t found = max_context_at(facts.deployment, facts.plan, 1).value_or(0);
  if (found < facts.context()) refuse();
  std::int64_t length = 1;
  while (length * 2 <= found) length *= 2;
  if (length < facts.context()) length = found;
  facts.options.overrides.max_model_len = length;
  facts.deployment = resolve(facts.options).deployment;
  facts.plan = plan_memory(facts.deployment);
  if (!facts.plan.fits) refuse();
  facts.notes.push_back(
      fmt::format("The model's longest sequence does not fit in memory, so the engine is started "
                  "with `max_model_len` {}.",
                  length));
}

// ---- steps

LessonLimit limit_of(Bound bound, const LessonWork& work) {
  switch (bound) {
    case Bound::compute:
      return work.flop_share < kNearLimit ? LessonLimit::losses : LessonLimit::compute;
    case Bound::memory:
      return work.bandwidth_share < kNearLimit ? LessonLimit::losses : LessonLimit::memory;
    case Bound::latency:
      return LessonLimit::latency;
    case Bound::communication:
      return LessonLimit::communication;
  }
  return LessonLimit::losses;
}

/// Sets what most of the step's time goes to, once its shares are known.
void set_limit(const StepEstimate& step, LessonWork& work) {
  std::array<Seconds, 4> times{};
  for (const OperatorEstimate& op : step.operators) {
    times.at(static_cast<std::size_t>(op.bound)) += op.time;
  }
  // Launches and host work: time that is neither an operator's nor hidden behind one.
  times.at(static_cast<std::size_t>(Bound::latency)) =
      std::max(times.at(static_cast<std::size_t>(Bound::latency)),
               step.total - times.at(static_cast<std::size_t>(Bound::compute)) -
                   times.at(static_cast<std::size_t>(Bound::memory)) -
                   times.at(static_cast<std::size_t>(Bound::communication)));
  const auto largest = std::ranges::max_element(times);
  work.limit = limit_of(static_cast<Bound>(largest - times.begin()), work);
  work.limit_share = std::min(1.0, *largest / step.total);
  work.compute_share = times.at(static_cast<std::size_t>(Bound::compute)) / step.total;
  work.memory_share = times.at(static_cast<std::size_t>(Bound::memory)) / step.total;
}

/// Shares of the datasheet's peaks; the bytes are those of weights and cache, as in MBU.
LessonWork lesson_work(const StepEstimate& step, const Gpu& gpu, std::int64_t batch) {
  Seconds computing, reading;
  Flops flops;
  Bytes stored, products;
  for (const OperatorEstimate& op : step.operators) {
    if (op.work.family == OperatorFamily::collective) continue;
    stored += op.work.stored_bytes;
    if (op.work.family == OperatorFamily::gemm || op.work.family == OperatorFamily::moe) {
      products += op.work.stored_bytes;
    }
    if (op.work.flops.value <= 0) continue;
    flops += op.work.flops;
    computing += op.work.flops / gpu.peak_for(op.work.compute);
  }
  reading = stored / gpu.memory_bandwidth;
  LessonWork work;
  work.batch = batch;
  work.step = step.total;
  work.tokens_per_s = static_cast<double>(batch) / step.total.value;
  if (stored.value > 0) work.intensity = flops / stored;
  work.flop_share = computing / step.total;
  work.bandwidth_share = reading / step.total;
  work.product_weights = products;
  set_limit(step, work);
  return work;
}

LessonWork decode_of(const LessonFacts& facts, const RooflineStepTime& times, std::int64_t batch) {
  const std::int64_t context = facts.prompt + facts.generate / 2;
  return lesson_work(times.explain(decode_batch(facts.deployment.model, batch, context)),
                     facts.deployment.gpu, batch);
}

/// Adds drafts to the batches in `numbers`.
void add_drafts(LessonFacts& facts, const RooflineStepTime& times) {
  const Deployment& deployment = facts.deployment;
  const std::int64_t context = facts.prompt + facts.generate / 2;
  facts.tokens_per_step = tokens_per_speculative_step(facts.acceptance, facts.drafts);
  const double half_right = tokens_per_speculative_step(facts.acceptance / 2, facts.drafts);
  for (const LessonBatch& plain : facts.numbers.batches) {
    const LessonWork work = lesson_work(
        times.explain(speculative_batch(deployment.model, plain.batch, context, facts.drafts)),
        deployment.gpu, plain.batch);
    const double slower = work.step / plain.step;
    facts.numbers.drafts.push_back({.batch = plain.batch,
                                    .tokens = plain.batch * (1 + facts.drafts),
                                    .without = plain.step,
                                    .step = work.step,
                                    .gain = facts.tokens_per_step / slower,
                                    .gain_half_right = half_right / slower,
                                    .flop_share = work.flop_share});
  }
}

void add_steps(LessonFacts& facts) {
  constexpr std::int64_t kLargestDrawn = 256;
  constexpr std::int64_t kLargestAsked = 64;
  const Deployment& deployment = facts.deployment;
  const RooflineStepTime times(deployment);
  facts.prefill =
      lesson_work(times.explain(prefill_batch(1, facts.prompt)), deployment.gpu, facts.prompt);
  facts.decode = decode_of(facts, times, 1);
  facts.numbers.prefill = static_cast<const LessonBatch&>(facts.prefill);
  const std::int64_t most = std::max<std::int64_t>(
      2, std::min({facts.fitting, deployment.engine.max_num_seqs, kLargestDrawn}));
  for (std::int64_t batch = 1; batch <= most; batch *= 2) {
    const LessonWork work = decode_of(facts, times, batch);
    if (batch > 1 && batch <= kLargestAsked) facts.together = work;
    facts.numbers.batches.push_back(work);
  }
  add_drafts(facts, times);
  const auto running =
      static_cast<std::int64_t>(std::round(facts.numbers.loads.back().mean_running));
  facts.full = decode_of(facts, times, std::max<std::int64_t>(1, running));
}

void add_staircase(LessonFacts& facts) {
  facts.counts = count_staircase(facts.prompt, facts.generate);
  facts.numbers.tokens = time_staircase(facts.deployment, facts.prompt, facts.generate);
  facts.short_prompt =
      time_staircase(facts.deployment, kShortPrompt, std::min(kComparedToken, facts.generate));
}

LessonFormat lesson_format(const FormatAnswer& one, const FormatAnswer& first) {
  return {.name = one.name,
          .prefill = one.prefill,
          .prefill_uncertainty = one.prefill_source.relative_uncertainty,
          .prefill_source = source_words(one.prefill_source),
          .decode_step = one.decode_step,
          .decode_uncertainty = one.decode_source.relative_uncertainty,
          .decode_source = source_words(one.decode_source),
          .comparable = one.decode_source.is_like(first.decode_source) &&
                        one.prefill_source.is_like(first.prefill_source),
          .weights = one.weight_bytes};
}

void add_estimate(LessonFacts& facts) {
  const EstimateAnswer found = estimate({.deployment = facts.options,
                                         .batch = 1,
                                         .input_tokens = facts.prompt,
                                         .output_tokens = facts.generate});
  facts.compute_bound_batch = found.compute_bound.products;
  facts.compute_bound_step = found.compute_bound.step;
  facts.numbers.ridge = found.ridge;
  facts.numbers.bandwidth = facts.deployment.gpu.memory_bandwidth;
  facts.numbers.peak =
      FlopsPerSecond{found.ridge.value * facts.deployment.gpu.memory_bandwidth.value};
  for (const FormatAnswer& one : found.variants) {
    facts.numbers.formats.push_back(lesson_format(one, found.variants.front()));
  }
}

// ---- blocks

/// `empty_share` is that of all moments of the answer, from the prompt alone to the whole text.
LessonBlocks blocks_of(const LessonFacts& facts, std::int64_t tokens, std::int64_t texts) {
  double written = 0, allocated = 0;
  for (std::int64_t n = facts.prompt; n <= facts.context(); ++n) {
    written += to_double(n);
    allocated += to_double((n + tokens - 1) / tokens * tokens);
  }
  return {.block_tokens = tokens, .texts = texts, .empty_share = 1 - written / allocated};
}

/// Texts that fit in whole blocks of `plan`, also where the memory rule counts tokens.
std::int64_t texts_in_blocks(const Deployment& deployment, const MemoryPlan& plan,
                             std::int64_t tokens) {
  if (deployment.engine.memory.whole_blocks) return max_batch_at(deployment, plan, tokens);
  const std::int64_t block = std::max<std::int64_t>(1, plan.layout.block_tokens);
  return max_batch_at(deployment, plan, ceil_divide(tokens, block) * block);
}

void add_blocks(LessonFacts& facts) {
  Deployment deployment = facts.deployment;
  std::vector<LessonBlocks>& all = facts.numbers.blocks;
  for (const std::int64_t size : {1, 16, 32, 64, 128, 256}) {
    deployment.engine.block_size = size;
    const MemoryPlan plan = plan_memory(deployment);
    const std::int64_t tokens = plan.layout.block_tokens;  // larger if the model has a state
    if (!all.empty() && all.back().block_tokens == tokens) continue;
    all.push_back(blocks_of(facts, tokens, texts_in_blocks(deployment, plan, facts.context())));
  }
  all.push_back(blocks_of(facts, facts.deployment.engine.max_model_len, facts.reserved));
  all.back().longest = true;
}

/// How many texts fit in each format.
void add_format_texts(LessonFacts& facts) {
  const std::vector<FormatVariant> variants = format_variants(facts.options);
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Deployment deployment = resolve(variants[i].options).deployment;
    const MemoryPlan plan = plan_memory(deployment);
    if (!plan.fits) continue;
    facts.numbers.formats.at(i).texts = texts_in_blocks(deployment, plan, facts.context());
  }
}

/// The lesson's own model on the same machine, where fewer bits make no difference to the
/// deployment's decode steps.
void add_narrow_example(LessonFacts& facts) {
  const auto apart = [](const LessonFormat& wide, const LessonFormat& narrow) {
    return LessonFacts::can_tell_apart(wide, narrow) && narrow.decode_step < wide.decode_step;
  };
  if (apart(facts.format(kWideFormat), facts.format(kNarrowFormat))) return;
  NarrowExample example{.model = kLessonModel};
  EstimateQuestion question{
      .batch = 1, .input_tokens = facts.prompt, .output_tokens = facts.generate};
  question.deployment.model = kLessonModel;
  question.deployment.gpu = facts.options.gpu;
  question.deployment.engine = facts.options.engine;
  const EstimateAnswer found = estimate(question);
  if (!found.fits) return;
  for (const FormatAnswer& one : found.variants) {
    LessonFormat format = lesson_format(one, found.variants.front());
    if (format.name == kWideFormat) example.wide = format;
    if (format.name == kNarrowFormat) example.narrow = format;
  }
  if (apart(example.wide, example.narrow)) facts.narrow_example = std::move(example);
}

// ---- loads

/// As many requests as fill the engine some times over, so that beginning and end of the run hardly
/// count.
std::int64_t requests_for(const LessonFacts& facts) {
  constexpr std::int64_t kTimesFull = 4, kFewest = 200, kMaxRequests = 2000;
  const std::int64_t most = std::min(facts.fitting, facts.deployment.engine.max_num_seqs);
  return std::clamp(kTimesFull * most, kFewest, kMaxRequests);
}

/// `rate` requests of the lesson's lengths a second, one by one at random.
SyntheticWorkload requests_at(const LessonFacts& facts, double rate) {
  return {.num_prompts = requests_for(facts),
          .request_rate = rate,
          .input = fixed_length(facts.prompt),
          .output = fixed_length(facts.generate)};
}

void refuse_if_it_did_not_run(const SimulationAnswer& answer) {
  if (answer.stopped) throw Error("cancelled");
  if (!answer.fits) throw Error(answer.reason.value_or("the model does not fit"));
}

LessonLoad simulated(const LessonFacts& facts, double share, double rate,
                     const Progress& progress) {
  SimulationQuestion question{.scenario =
                                  with_options({}, ScenarioOptions{.deployment = facts.options})};
  question.scenario.workload = requests_at(facts, rate);
  const SimulationAnswer answer = simulate(question, progress);
  refuse_if_it_did_not_run(answer);
  const PoolUtilisation use =
      answer.utilisation.empty() ? PoolUtilisation{} : answer.utilisation[0];
  return {.share = share,
          .requests_per_s = share == 1 ? answer.load.request_rate_per_s : rate,
          .busy_share = answer.engine.busy_share,
          .flop_share = use.mfu,
          .bandwidth_share = use.mbu,
          .mean_running = answer.engine.mean_running,
          .ttft_p95 = Seconds{answer.load.ttft.p95},
          .tpot_p95 = Seconds{answer.load.tpot.p95}};
}

void add_loads(LessonFacts& facts, const Progress& progress) {
  const LessonLoad most = simulated(facts, 1, kAllAtOnce, progress);
  for (const double share : {0.1, 0.3, kTrapShare, 0.9}) {
    facts.numbers.loads.push_back(simulated(facts, share, share * most.requests_per_s, progress));
  }
  facts.numbers.loads.push_back(most);
}

// ---- chat and batch

constexpr std::int32_t kChatClass = 0, kBatchClass = 1;
constexpr double kPercentile = 95;

/// The promise to chat; a batch job is promised its end only.
Slo promises() {
  return {.classes = {{.name = "chat",
                       .share = kChatShare / (kChatShare + kJobShare),
                       .targets = {{.metric = LatencyMetric::ttft,
                                    .percentile = kPercentile,
                                    .limit = kChatFirstToken},
                                   {.metric = LatencyMetric::tpot,
                                    .percentile = kPercentile,
                                    .limit = kChatFurtherToken}}},
                      {.name = "batch", .share = kJobShare / (kChatShare + kJobShare)}}};
}

/// `chat`, and beside it the job's requests.
Workload with_job(Workload chat, const LessonFacts& facts, JobArrival arrival) {
  if (arrival == JobArrival::none) return chat;
  const std::int64_t requests = facts.numbers.job_requests;
  const Seconds apart = facts.numbers.chat_span / to_double(requests);
  for (std::int64_t i = 0; i < requests; ++i) {
    chat.requests.push_back(
        {.arrival = arrival == JobArrival::spread ? to_nanoseconds(apart * to_double(i)) : 0,
         .input_tokens = facts.prompt,
         .output_tokens = facts.generate,
         .slo_class = kBatchClass,
         .priority = 1});
  }
  std::ranges::stable_sort(chat.requests, {}, &Request::arrival);
  return chat;
}

/// When the last request of the job finishes.
Seconds end_of_job(const SimulationResult& result) {
  Nanoseconds last = 0;
  for (const RequestRecord& record : result.requests) {
    if (record.request.slo_class == kBatchClass) last = std::max(last, record.finished);
  }
  return to_seconds(last);
}

LessonClasses simulated_classes(const LessonFacts& facts, const Workload& chat, JobArrival arrival,
                                const Progress& progress) {
  ScenarioOptions options{.deployment = facts.options};
  if (arrival == JobArrival::behind_chat) {
    options.deployment.overrides.scheduling_policy = QueueOrder::priority;
  }
  SimulationQuestion question{.scenario = with_options({}, options),
                              .recorded = with_job(chat, facts, arrival)};
  question.scenario.slo = promises();
  const SimulationOutcome outcome =
      simulate_in_steps(question, {.requests = progress, .simulations = progress});
  refuse_if_it_did_not_run(outcome.answer);
  const std::vector<TargetOutcome>& targets = outcome.run.result.slo;
  return {.job = arrival,
          .ttft_p95 = Seconds{targets.at(0).achieved},
          .tpot_p95 = Seconds{targets.at(1).achieved},
          .kept = outcome.answer.slo.met.value_or(false),
          .job_done = end_of_job(outcome.run.result)};
}

/// Chat alone, and with a batch job that comes in one way or another.
void add_classes(LessonFacts& facts, const Progress& progress) {
  const double most = facts.numbers.loads.back().requests_per_s;
  Workload chat = generate(requests_at(facts, kChatShare * most), 0);
  chat.class_names = {"chat", "batch"};
  for (Request& request : chat.requests) request.slo_class = kChatClass;
  facts.numbers.chat_span = to_seconds(chat.requests.back().arrival);
  facts.numbers.job_requests =
      std::max<std::int64_t>(1, std::llround(kJobShare * most * facts.numbers.chat_span.value));
  std::vector<JobArrival> arrivals{JobArrival::none, JobArrival::at_once};
  const std::vector<QueueOrder>& orders = find_preset(facts.deployment.engine.version).orders;
  if (std::ranges::find(orders, QueueOrder::priority) != orders.end()) {
    arrivals.push_back(JobArrival::behind_chat);
  }
  arrivals.push_back(JobArrival::spread);
  for (const JobArrival arrival : arrivals) {
    facts.numbers.classes.push_back(simulated_classes(facts, chat, arrival, progress));
  }
}

}  // namespace

Bytes LessonFacts::cache_of(std::int64_t tokens) const {
  return cache_bytes_per_sequence(deployment.model, deployment.engine.kv_cache_dtype, tokens);
}

const LessonLoad& LessonFacts::load_at(double share) const {
  return *std::ranges::find(numbers.loads, share, &LessonLoad::share);
}

const LessonFormat& LessonFacts::format(std::string_view name) const {
  return *std::ranges::find(numbers.formats, name, &LessonFormat::name);
}

bool LessonFacts::can_tell_apart(const LessonFormat& one, const LessonFormat& other) {
  const Seconds spread =
      one.decode_step * one.decode_uncertainty + other.decode_step * other.decode_uncertainty;
  const Seconds apart =
      std::max(one.decode_step, other.decode_step) - std::min(one.decode_step, other.decode_step);
  return one.comparable && other.comparable && apart > spread;
}

LessonFacts lesson_facts(const LessonQuestion& question, const Progress& progress) {
  check(question);
  LessonFacts facts{
      .options = question.deployment, .acceptance = question.acceptance, .drafts = question.drafts};
  if (facts.options.model.empty()) facts.options.model = kLessonModel;
  if (facts.options.gpu.empty()) facts.options.gpu = kLessonGpu;
  choose_engine(facts);
  facts.deployment = resolve(facts.options).deployment;
  choose_lengths(question, facts);
  make_fit(facts);
  facts.parameters = count_parameters(facts.deployment.model).total;
  facts.weights = weight_bytes(facts.deployment.model, facts.deployment.parallel);
  facts.kv_per_token =
      kv_bytes_per_token(facts.deployment.model, facts.deployment.engine.kv_cache_dtype);
  facts.fitting = texts_in_blocks(facts.deployment, facts.plan, facts.context());
  facts.reserved = facts.plan.max_batch;
  add_staircase(facts);
  add_estimate(facts);
  add_format_texts(facts);
  add_narrow_example(facts);
  add_loads(facts, progress);
  add_classes(facts, progress);
  add_steps(facts);
  add_blocks(facts);
  return facts;
}

}  // namespace roofcast
