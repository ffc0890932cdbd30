// The lesson: why generation is slow, guess by guess, with the numbers of the reader's own
// deployment. Each step asks for a guess before it tells; every number is computed for the
// deployment, and sentences whose truth depends on it follow it.
//
//   LessonQuestion question;
//   question.deployment.model = "llama-3.1-8b";
//   question.deployment.gpu = "h100";
//   const LessonAnswer answer = learn(question);
//   for (const LessonStep& step : answer.steps) std::cout << step.title << "\n";
//
// Fields of an answer are described by its `members`, key by key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/progress.hpp"
#include "base/units.hpp"
#include "planner/scenario/deployment_description.hpp"
#include "planner/scenario/resolve_deployment.hpp"
#include "roofcast/envelope.hpp"
#include "roofcast/glossary.hpp"
#include "roofcast/staircase.hpp"

namespace roofcast {

/// Most tokens of prompt and of answer: a lesson times the answer's tokens one by one, twice.
inline constexpr std::int64_t kMaxLessonTokens = 10'000;

/// The lesson's deployment unless the reader names another.
inline constexpr const char* kLessonModel = "llama-3.1-8b";
inline constexpr const char* kLessonGpu = "nvidia-h100-sxm";

struct LessonQuestion {
  /// The deployment that the lesson is about. Unset, model and GPU are the lesson's; the engine is
  /// the one that runs on CPUs if the GPU is one; and max_model_len is as long as fits if the
  /// model's own does not.
  DeploymentOptions deployment{};
  /// Tokens of the prompt and of the answer, 1 and 2 up to kMaxLessonTokens; unset: 500 and 200, or
  /// what the model's context allows, in that proportion.
  std::optional<std::int64_t> prompt{};
  std::optional<std::int64_t> generate{};
  /// Speculative decoding: probability that a draft token is accepted, and drafts per step. An
  /// assumption of the lesson, to be replaced by one's own.
  double acceptance = 0.7;
  int drafts = 4;  // 1 to 100
};

struct LessonInputs {
  DeploymentInputs deployment{};
  std::int64_t prompt_tokens = 0;
  std::int64_t generated_tokens = 0;
  double acceptance = 0;
  int drafts = 0;
};

/// How a guess is given: one of the choices, a number, or a choice for every item.
enum class GuessKind { choice, number, match };

enum class Grade { right, very_close, not_far_off, off, wrong };

struct LessonChoice {
  std::string key{};
  std::string text{};
};

/// Something that one of the choices belongs to.
struct LessonItem {
  std::string key{};
  std::string text{};
  std::string right{};  // key of the choice
};

/// Guesses from `low` to below `high` (unset: any larger one) and what is said of them.
struct GuessBand {
  double low = 0;
  std::optional<double> high{};
  Grade grade = Grade::off;
  std::string said{};
};

/// The question that the reader is to answer by a guess. Numbers are judged by their ratio to the
/// truth: up to 1.15 is very close, up to 1.6 not far off; but neither "no change" where there is
/// one nor the plain guess that the step corrects.
struct LessonAsk {
  GuessKind kind = GuessKind::choice;
  std::string prompt{};
  std::vector<LessonChoice> choices{};      // for a choice or a match
  std::optional<std::string> right{};       // key of the right choice
  std::vector<LessonItem> items{};          // of a match
  std::optional<double> truth{};            // of a number
  std::optional<std::string> truth_text{};  // the same as the reveal writes it, with its unit
  std::string unit{};                       // for a number: "times", "%"
  double start = 0, low = 0, high = 0;      // for a number: where a slider starts and ends
  std::vector<GuessBand> bands{};           // for a number, ascending, from 0
};

struct LessonStep {
  std::string key{};
  std::string title{};
  std::vector<std::string> text{};  // paragraphs before the guess
  std::optional<LessonAsk> ask{};
  std::vector<std::string> reveal{};   // paragraphs after it
  std::vector<std::string> figures{};  // keys of lesson_figures (reports/pages)
  std::vector<std::string> terms{};    // keys of the glossary, in the order of their first use
};

struct TeachBack {
  std::string question{};
  std::string answer{};
};

/// Work and time of a step of `batch` sequences.
struct LessonBatch {
  std::int64_t batch = 1;
  Seconds step{};
  double tokens_per_s = 0;
  FlopsPerByte intensity{};    // FLOPs over the bytes of weights and KV cache read
  double flop_share = 0;       // of the peak, 0 to 1
  double bandwidth_share = 0;  // of the memory bandwidth, 0 to 1
};

/// A decode step in which each of `batch` sequences has draft tokens checked.
struct LessonDrafts {
  std::int64_t batch = 1;
  std::int64_t tokens = 0;  // computed: the newest one and the drafts of each sequence
  Seconds without{};        // the step without drafts
  Seconds step{};
  double gain = 1;  // tokens per second over those without drafts; the draft model's time left out
  double gain_half_right = 1;  // the same if drafts are accepted half as often
  double flop_share = 0;       // of the peak, 0 to 1
};

struct LessonFormat {
  std::string name{};
  Seconds prefill{};
  double prefill_uncertainty = 0;  // one standard deviation, as a share
  std::string prefill_source{};    // "±8 % fitted"
  Seconds decode_step{};
  double decode_uncertainty = 0;  // as prefill_uncertainty
  std::string decode_source{};
  /// Whether its times rest on figures of the same kind as the first format's. If not, a ratio of
  /// the two would be one of the sources.
  bool comparable = true;
  Bytes weights{};
  std::int64_t texts = 0;  // whole texts that fit in memory at once
};

/// How K/V memory is given out: in blocks, or a place for the longest text at once.
struct LessonBlocks {
  std::int64_t block_tokens = 1;
  bool longest = false;    // a block is a place for the longest text
  std::int64_t texts = 0;  // whole texts that fit in memory at once
  double empty_share = 0;  // of allocated slots, on average while the answer is written
};

/// A simulated load.
struct LessonLoad {
  double share = 0;            // of the most that is served; 1: all requests wait from the start
  double requests_per_s = 0;   // offered; with share 1: served
  double busy_share = 0;       // share of the time with a step in progress
  double flop_share = 0;       // of the FLOP/s, while one is (MFU)
  double bandwidth_share = 0;  // of the memory bandwidth, while one is (MBU)
  double mean_running = 0;     // sequences at once
  Seconds ttft_p95{};
  Seconds tpot_p95{};
};

/// How a batch job comes in beside chat.
enum class JobArrival {
  none,         // there is none
  at_once,      // all its requests when chat begins
  behind_chat,  // the same, but waiting requests of chat go first
  spread        // one by one, evenly over the time of chat
};

/// Chat, whose requests arrive one by one at random, beside a batch job.
struct LessonClasses {
  JobArrival job = JobArrival::none;
  Seconds ttft_p95{};  // of chat
  Seconds tpot_p95{};
  bool kept = false;   // the promise to chat
  Seconds job_done{};  // when the job's last request finishes; 0 without one
};

/// Numbers from which the lesson's sentences and figures are made.
struct LessonNumbers {
  StaircaseTimes tokens{};
  FlopsPerSecond peak{};  // in the number format of most of the model's FLOPs
  BytesPerSecond bandwidth{};
  FlopsPerByte ridge{};
  LessonBatch prefill{};               // of the prompt; its `batch` are its tokens
  std::vector<LessonBatch> batches{};  // decode steps in the middle of the answer
  std::vector<LessonDrafts> drafts{};  // the same with drafts
  std::vector<LessonFormat> formats{};
  std::vector<LessonBlocks> blocks{};  // smallest first; the last one is the longest text
  std::vector<LessonLoad> loads{};     // smallest first
  std::int64_t job_requests = 0;       // of the batch job in `classes`
  Seconds chat_span{};                 // there: from the first request of chat to the last
  std::vector<LessonClasses> classes{};
};

struct LessonAnswer {
  AnswerHead head{};
  LessonInputs inputs{};
  std::vector<std::string> notes{};  // what was set for the reader: engine, longest sequence
  LessonNumbers numbers{};
  std::vector<LessonStep> steps{};
  std::vector<TeachBack> teach_back{};
  std::string headline{};  // "llama-3.1-8b on NVIDIA H100 SXM, vllm-0.19"
};

/// Returning false from `progress` ends the simulations, and Error says so. Throws Error if the
/// model, GPU or engine is unknown or incompatible, if the model does not fit, and for
/// counts out of range.
LessonAnswer learn(const LessonQuestion& question, const Progress& progress = {});

struct Judgement {
  Grade grade = Grade::wrong;
  std::string said{};
};

/// How guesses are judged: of a choice each of its choices, in their order; of a match by how many
/// are right, from none on. Empty for a number, which has bands.
std::vector<Judgement> judgements(const LessonAsk& ask);

/// Judges a guess: the key (or number from 1) of a choice, a number, or for a match the keys (or
/// numbers) of the choices in the order of the items, separated by blanks. nullopt if it is not one
/// of these.
std::optional<Judgement> judge(const LessonAsk& ask, std::string_view guess);

/// The right answer in words: the choice, the number with its unit, or each item with its choice.
std::string answer_words(const LessonAsk& ask);

/// Whether a guess may be praised: right, or very close.
bool is_good(Grade grade);

/// Keys of all steps in their order, and of the questions at the end: "start", ... "teach-back".
std::vector<std::string> lesson_step_keys();

/// The step with that key; null if there is none.
const LessonStep* find_step(const LessonAnswer& answer, std::string_view key);

/// What `roofcast learn -o json` prints.
Json to_json(const LessonAnswer& answer);

/// Reads what to_json wrote. Throws Error naming the key and what was expected.
LessonAnswer lesson_answer_from_json(const Json& json);

/// JSON Schema (draft 2020-12) of to_json().
Json lesson_answer_schema();

template <class Visitor>
void members(Visitor& visit, LessonInputs& inputs) {
  members(visit, inputs.deployment);
  visit("prompt_tokens", inputs.prompt_tokens, "tokens of the prompt");
  visit("generated_tokens", inputs.generated_tokens, "tokens of the answer");
  visit("acceptance", inputs.acceptance, "probability that a draft token is accepted");
  visit("drafts", inputs.drafts, "draft tokens per step");
}

template <class Visitor>
void members(Visitor& visit, LessonChoice& choice) {
  visit("key", choice.key, "of the choice");
  visit("text", choice.text, "as it is shown");
}

template <class Visitor>
void members(Visitor& visit, LessonItem& item) {
  visit("key", item.key, "of the item");
  visit("text", item.text, "as it is shown");
  visit("right", item.right, "key of the choice that belongs to it");
}

template <class Visitor>
void members(Visitor& visit, GuessBand& band) {
  visit("low", band.low, "guesses from here");
  visit("high", band.high, "to below this; null: all larger ones");
  visit("grade", band.grade, "how good such a guess is");
  visit("said", band.said, "of such a guess");
}

template <class Visitor>
void members(Visitor& visit, Judgement& judgement) {
  visit("grade", judgement.grade, "how good such a guess is");
  visit("said", judgement.said, "of such a guess");
}

template <class Visitor>
void members(Visitor& visit, LessonAsk& ask) {
  std::vector<Judgement> judged = judgements(ask);
  visit("kind", ask.kind, "choice: one of the choices; number; match: a choice for every item");
  visit("prompt", ask.prompt, "what is asked");
  visit("choices", ask.choices, "of a choice or a match");
  visit.if_set("right", ask.right, "key of the right choice");
  visit("items", ask.items, "of a match");
  visit.if_set("truth", ask.truth, "of a number");
  visit.if_set("truth_text", ask.truth_text, "the same in words");
  visit("unit", ask.unit, "of a number");
  visit("start", ask.start, "of a slider");
  visit("low", ask.low, "end of a slider");
  visit("high", ask.high, "end of a slider");
  visit("bands", ask.bands, "how guesses of a number are judged, ascending");
  visit("judgements", judged,
        "of a choice: of each choice; of a match: by how many are right, from none on");
}

template <class Visitor>
void members(Visitor& visit, LessonStep& step) {
  visit("key", step.key, "name of the step");
  visit("title", step.title, "its heading");
  visit("text", step.text, "paragraphs before the guess");
  visit.if_set("ask", step.ask, "what is to be guessed");
  visit("reveal", step.reveal, "paragraphs after the guess");
  visit("figures", step.figures, "charts that belong to it");
  visit("terms", step.terms, "keys of glossary terms that it uses");
}

template <class Visitor>
void members(Visitor& visit, TeachBack& part) {
  visit("question", part.question, "to be answered aloud");
  visit("answer", part.answer, "to compare with");
}

template <class Visitor>
void members(Visitor& visit, LessonBatch& batch) {
  visit("batch", batch.batch, "sequences; of prefill: tokens of the prompt");
  visit("step_s", batch.step, "time of the step");
  visit("tokens_per_s", batch.tokens_per_s, "of all sequences");
  visit("intensity_flops_per_byte", batch.intensity,
        "FLOPs over the bytes of weights and KV cache that are read");
  visit("flop_share", batch.flop_share, "of the dense peak, 0 to 1");
  visit("bandwidth_share", batch.bandwidth_share, "of the memory bandwidth, 0 to 1");
}

template <class Visitor>
void members(Visitor& visit, LessonDrafts& drafts) {
  visit("batch", drafts.batch, "sequences");
  visit("tokens", drafts.tokens, "computed: the newest one and the drafts of each sequence");
  visit("step_without_drafts_s", drafts.without, "time of the step without drafts");
  visit("step_s", drafts.step, "with them");
  visit("gain", drafts.gain,
        "tokens per second over those without drafts; the draft model's time is left out");
  visit("gain_half_right", drafts.gain_half_right, "the same if drafts are accepted half as often");
  visit("flop_share", drafts.flop_share, "of the dense peak, 0 to 1");
}

template <class Visitor>
void members(Visitor& visit, LessonFormat& format) {
  visit("name", format.name, "number formats");
  visit("prefill_s", format.prefill, "of the prompt");
  visit("prefill_relative_uncertainty", format.prefill_uncertainty,
        "of prefill_s: one standard deviation, as a share");
  visit("prefill_source", format.prefill_source, "spread and kind of the figures behind prefill_s");
  visit("decode_step_s", format.decode_step, "mean decode step of one sequence");
  visit("decode_relative_uncertainty", format.decode_uncertainty,
        "of decode_step_s: one standard deviation, as a share");
  visit("decode_source", format.decode_source,
        "spread and kind of the figures behind decode_step_s");
  visit("comparable", format.comparable,
        "whether its times rest on the same kind of figures as the first format's");
  visit("weight_bytes_per_gpu", format.weights, "weights of the fullest GPU");
  visit("texts", format.texts, "whole texts that fit in memory at once");
}

template <class Visitor>
void members(Visitor& visit, LessonBlocks& blocks) {
  visit("block_tokens", blocks.block_tokens, "tokens of a block");
  visit("longest", blocks.longest, "true: the block is a place for the longest text");
  visit("texts", blocks.texts, "whole texts that fit in memory at once");
  visit("empty_share", blocks.empty_share,
        "of allocated slots, on average while the answer is written");
}

template <class Visitor>
void members(Visitor& visit, LessonLoad& load) {
  visit("share", load.share, "of the most that is served; 1: all requests wait from the start");
  visit("requests_per_s", load.requests_per_s, "offered; with share 1: served");
  visit("busy_share", load.busy_share, "share of the time with a step in progress");
  visit("mfu", load.flop_share, "of the FLOP/s, while a step is in progress");
  visit("mbu", load.bandwidth_share, "of the memory bandwidth, while a step is in progress");
  visit("mean_running", load.mean_running, "sequences at once");
  visit("ttft_p95_s", load.ttft_p95, "95th percentile of the time to the first token");
  visit("tpot_p95_s", load.tpot_p95, "95th percentile of the time per further token");
}

template <class Visitor>
void members(Visitor& visit, LessonClasses& classes) {
  visit("job", classes.job,
        "how the batch job comes in: none; at_once; behind_chat: at once, but waiting requests of "
        "chat go first; spread: one by one, evenly");
  visit("chat_ttft_p95_s", classes.ttft_p95, "95th percentile of chat's time to the first token");
  visit("chat_tpot_p95_s", classes.tpot_p95, "95th percentile of chat's time per further token");
  visit("chat_kept", classes.kept, "whether the promise to chat is kept");
  visit("job_done_s", classes.job_done, "when the job's last request finishes; 0 without one");
}

template <class Visitor>
void members(Visitor& visit, LessonNumbers& numbers) {
  visit("naive_token_s", numbers.tokens.naive, "time of each token without a cache");
  visit("cached_token_s", numbers.tokens.cached, "with a cache; the first is the prefill");
  visit("naive_total_s", numbers.tokens.naive_total, "sum without a cache");
  visit("cached_total_s", numbers.tokens.cached_total, "sum with a cache");
  visit("peak_flops_per_s", numbers.peak, "in the number format of most of the model's FLOPs");
  visit("memory_bandwidth_bytes_per_s", numbers.bandwidth, "of one GPU");
  visit("ridge_flops_per_byte", numbers.ridge, "first over second");
  visit("prefill", numbers.prefill, "the step that computes the prompt");
  visit("batches", numbers.batches, "decode steps in the middle of the answer");
  visit("drafts", numbers.drafts, "the same with draft tokens to check");
  visit("formats", numbers.formats, "one decode step in other number formats; the given one first");
  visit("blocks", numbers.blocks, "block sizes of the KV cache; the last: the longest text");
  visit("loads", numbers.loads, "simulated loads, smallest first");
  visit("job_requests", numbers.job_requests, "of the batch job in `classes`");
  visit("chat_span_s", numbers.chat_span, "there: from the first request of chat to the last");
  visit("classes", numbers.classes, "chat beside a batch job");
}

template <class Visitor>
void members(Visitor& visit, LessonAnswer& answer) {
  members(visit, answer.head);
  visit("inputs", answer.inputs, "the question as parsed, every knob resolved");
  visit("headline", answer.headline, "the deployment in a line");
  visit("notes", answer.notes, "what was set for the reader");
  visit("numbers", answer.numbers, "what texts and figures are made of");
  visit("steps", answer.steps, "in their order");
  visit("teach_back", answer.teach_back, "questions to answer aloud, with answers");
}

}  // namespace roofcast
