// Metrics of vLLM: PrometheusStatLogger in vllm/v1/metrics/loggers.py. Of NVIDIA's GPUs: NVML's
// nvmlUtilization_t ("percent of time ... during which one or more kernels was executing") and the
// fields of dcgm-exporter (etc/dcp-metrics-included.csv).
#include "roofcast/glossary.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "roofcast/answer_json.hpp"

namespace roofcast {
namespace {

constexpr const char* kGlossaryCommand = "glossary";

struct Entry {
  const char* term;
  std::vector<std::string> spellings;
  const char* meaning;
  const char* where;
};

std::vector<Entry> text_and_model() {
  return {
      {"token",
       {"tokens"},
       "A word or a piece of a word; models read and write text in tokens.",
       "The tokeniser of the model counts them; vLLM reports vllm:generation_tokens_total."},
      {"model",
       {"models"},
       "A function with billions of fixed numbers that turns a text into a score for every token "
       "that may come next.",
       "roofcast models"},
      {"weights",
       {"weight"},
       "The fixed numbers of a model; every step reads all of those that it uses from memory.",
       "roofcast memory (weights), roofcast models (weight_bytes)"},
      {"layer",
       {"layers"},
       "One of the equal stages that a token passes through; each has attention and a feed-forward "
       "part with weights of its own.",
       "roofcast models NAME"},
      {"attention",
       {},
       "The part of a layer in which a token looks back at the tokens before it and takes over "
       "what matters for it.",
       "roofcast estimate --ops (prefill_attention, decode_attention)"},
      {"head",
       {"heads", "attention head", "attention heads"},
       "One of the parts of attention that look back side by side, each with keys and values of "
       "its "
       "own or shared with other heads.",
       "roofcast models NAME (heads, kv_heads)"},
      {"keys and values",
       {"K and V", "K/V", "key and value", "KV"},
       "Two lists of numbers that each token leaves behind in each layer: the key, by which later "
       "tokens find it, and the value, which they take from it.",
       "roofcast models (kv_bytes_per_token)"},
      {"KV cache",
       {"KV caches"},
       "Memory that keeps the keys and values of all tokens so far, so that they are computed only "
       "once.",
       "roofcast memory (kv_cache); vLLM reports vllm:kv_cache_usage_perc."},
      {"vocabulary", {}, "All tokens that a model knows.", "roofcast models NAME"},
      {"prompt",
       {"prompts", "prompt token", "prompt tokens"},
       "The text that is sent to the model.",
       "--input-len, --isl"},
      {"output",
       {"output tokens", "output token"},
       "The text that the model writes: its answer.",
       "--output-len, --osl"},
      {"context",
       {"longest sequence"},
       "The tokens that the model has before it: prompt and answer so far; each model has a "
       "largest context.",
       "--max-model-len, roofcast memory --solve context"},
      {"sequence",
       {"sequences"},
       "One text in progress: a prompt and its answer so far.",
       "vLLM reports vllm:num_requests_running."},
      {"request",
       {"requests"},
       "One prompt that someone sends, and the answer they wait for.",
       "roofcast simulate (completed)"},
      {"draft",
       {"drafts", "draft tokens", "draft token"},
       "A cheap guess at the next tokens, from a small model or from repeated text, that the model "
       "then checks.",
       "--speculative-config, roofcast staircase --acceptance"},
      {"acceptance",
       {},
       "The probability that the model agrees with a drafted token, given that it agreed with "
       "those before it.",
       "roofcast simulate (draft acceptance)"},
      {"speculative decoding",
       {"speculation"},
       "Guessing several tokens cheaply and checking them all in one step of the model.",
       "roofcast staircase --acceptance P"},
      {"staircase",
       {},
       "The picture of token times without a KV cache: every step is a little longer than the one "
       "before.",
       "roofcast staircase"},
      {"waste factor",
       {},
       "How many times as many keys and values are computed without a cache as with one.",
       "roofcast staircase (waste_factor)"},
  };
}

std::vector<Entry> phases_and_limits() {
  return {
      {"step",
       {"steps"},
       "One pass of the engine through the whole model, for all sequences of the batch together.",
       "roofcast estimate (decode_step_s)"},
      {"prefill",
       {},
       "The first phase of a request: all tokens of the prompt are computed together.",
       "roofcast estimate (prefill_s)"},
      {"decode",
       {"decoding"},
       "The second phase of a request: each step yields the next token of the answer.",
       "roofcast estimate (decode_step_s)"},
      {"FLOP",
       {"FLOPs"},
       "One floating-point operation: one multiplication or one addition.",
       "roofcast estimate --ops (GFLOP: 10^9)"},
      {"FLOP/s",
       {"TFLOP/s", "GFLOP/s"},
       "Floating-point operations per second; the peak is the most that the hardware can do.",
       "roofcast gpus (TFLOP/s: 10^12)"},
      {"bandwidth",
       {"memory bandwidth", "TB/s", "GB/s"},
       "How many bytes per second come from memory to where the arithmetic is done.",
       "roofcast gpus (TB/s: 10^12 bytes a second)"},
      {"GPU memory",
       {"HBM"},
       "The large memory of a GPU, in which weights and KV cache lie; in servers it is HBM "
       "(high-bandwidth memory).",
       "roofcast memory, nvidia-smi"},
      {"us",
       {"microsecond", "microseconds"},
       "A millionth of a second; 1,000 us are 1 ms.",
       "all times that the program prints"},
      {"GiB",
       {"MiB"},
       "2^30 bytes, about 1.07 billion; a MiB is 2^20 bytes, about 1.05 million.",
       "roofcast memory"},
      {"arithmetic intensity",
       {"intensity"},
       "FLOPs that a piece of work does for each byte that it reads.",
       "roofcast estimate --ops (FLOP/byte)"},
      {"roofline",
       {},
       "A drawing of the two limits of a machine: the speed at which it reads and the speed at "
       "which it computes; no work is above either.",
       "roofcast report profile, roofcast estimate"},
      {"ridge point",
       {"ridge", "ridge points"},
       "The arithmetic intensity at which reading and computing take equally long: the peak in "
       "FLOP/s divided by the bandwidth.",
       "roofcast estimate (ridge point), roofcast gpus NAME"},
      {"compute-bound",
       {},
       "Limited by arithmetic: more memory bandwidth would not make it faster.",
       "roofcast estimate --ops (Bound)"},
      {"memory-bound",
       {},
       "Limited by reading memory: more FLOP/s would not make it faster.",
       "roofcast estimate --ops (Bound)"},
      {"kernel",
       {"kernels"},
       "A program that runs on the GPU, such as one matrix product; starting one takes some "
       "microseconds however little it does.",
       "roofcast estimate --ops (Calls)"},
      {"MFU",
       {"model FLOP utilisation"},
       "Model FLOP utilisation: FLOPs of the model's matrices and attention, as a share of what "
       "the peak could do in that time.",
       "roofcast estimate (MFU of prefill); DCGM_FI_PROF_PIPE_TENSOR_ACTIVE is near it."},
      {"MBU",
       {"model bandwidth utilisation"},
       "Model bandwidth utilisation: bytes of weights and KV cache that are read, as a share of "
       "what the bandwidth could bring in that time.",
       "roofcast estimate (MBU of decode); DCGM_FI_PROF_DRAM_ACTIVE is near it."},
      {"host time",
       {"host work", "host"},
       "What the CPU does around each step: the engine's own program chooses requests, prepares "
       "inputs and reads results; part of it runs beside the GPU's work.",
       "roofcast estimate and simulate (host)"},
      {"GPU utilisation",
       {"engine busy", "busy", "utilisation"},
       "The share of time in which anything at all runs on the GPU; it says nothing about how much "
       "of the GPU that work uses.",
       "nvidia-smi and DCGM_FI_DEV_GPU_UTIL; roofcast simulate (step in progress)"},
  };
}

std::vector<Entry> serving() {  // NOLINT(readability-function-size): a list
  return {
      {"engine",
       {"engines"},
       "The program that serves a model: it decides what runs in each step and keeps the KV cache "
       "(vLLM, SGLang, TensorRT-LLM).",
       "--engine"},
      {"GPU",
       {"GPUs"},
       "Graphics processing unit: the processor with the memory that most models run on.",
       "roofcast gpus"},
      {"CPU",
       {},
       "The main processor of a computer; small models run on it, too.",
       "roofcast calibrate --device cpu"},
      {"hardware profile",
       {"hardware profiles"},
       "A file with what is known of a machine: peaks, bandwidth, memory and measured times.",
       "roofcast gpus NAME|FILE, roofcast calibrate"},
      {"replica",
       {"replicas"},
       "One copy of the engine with its GPUs; several of them share the requests.",
       "--replicas"},
      {"tensor parallelism",
       {"TP"},
       "Every layer split over several GPUs, which compute each step together.",
       "--tensor-parallel-size"},
      {"prefill context parallelism",
       {"PCP"},
       "Each prompt's new tokens divided over several ranks, all of which keep its K and V.",
       "--prefill-context-parallel-size"},
      {"batch",
       {"batches", "batching", "continuous batching"},
       "The sequences that share a step; engines let each join and leave whenever it is ready.",
       "--max-num-seqs; vLLM reports vllm:num_requests_running."},
      {"block",
       {"blocks", "page", "pages", "paging"},
       "A small piece of the KV cache for a fixed number of tokens; a sequence takes one more when "
       "it has filled the last.",
       "--block-size, roofcast memory (kv_blocks)"},
      {"KV empty",
       {},
       "Share of the KV cache that is allocated to sequences but holds no keys and values.",
       "roofcast simulate (KV empty)"},
      {"PagedAttention",
       {},
       "vLLM's way to keep the KV cache: in blocks of a few tokens that need not lie side by side, "
       "so that no room is reserved for text that is never written.",
       "roofcast learn paging; Kwon et al., SOSP 2023"},
      {"reservation",
       {"reserved"},
       "How an engine without blocks sets memory aside for a sequence: for the longest one allowed "
       "(max), the next power of two (pow2) or, in theory, exactly what it will need (oracle).",
       "--kv-reservation"},
      {"KV use",
       {},
       "Share of the KV cache that is allocated to sequences.",
       "roofcast simulate (KV use); vLLM reports vllm:kv_cache_usage_perc."},
      {"KV stranded",
       {},
       "Share of the KV cache that is free, but in pieces too small for the next sequence.",
       "roofcast simulate (KV stranded)"},
      {"chunked prefill",
       {},
       "Computing a long prompt in pieces over several steps, so that the answers of others go on "
       "meanwhile.",
       "--enable-chunked-prefill, --max-num-batched-tokens"},
      {"CUDA graph",
       {"CUDA graphs"},
       "Kernels of a step recorded once and started together, which spares the CPU starting each.",
       "--enforce-eager, --cuda-graph-max-bs"},
      {"expert",
       {"experts", "mixture of experts", "MoE"},
       "One of several feed-forward parts of a layer, of which each token uses only a few.",
       "roofcast models NAME, --enable-expert-parallel"},
      {"fragmentation",
       {},
       "Memory that is set aside but holds nothing: the unused end of a reservation or of a block.",
       "roofcast learn paging"},
      {"preemption",
       {"preempted"},
       "Stopping a sequence because the KV cache is full; it is computed again later.",
       "roofcast simulate (preemptions); vLLM reports vllm:num_preemptions_total."},
      {"prefix cache",
       {"prefix caching"},
       "Keys and values of a beginning that several prompts share, kept and used again.",
       "--enable-prefix-caching; vLLM reports vllm:prefix_cache_hits_total."},
      {"quantisation",
       {"quantised"},
       "Storing weights, or keys and values, in fewer bits: less to read, at some cost in "
       "accuracy.",
       "--quantization, --kv-cache-dtype, roofcast estimate (other number formats)"},
      {"bf16", {}, "A number format of 16 bits, or 2 bytes; the usual one for weights.", "--dtype"},
      {"fp8",
       {},
       "A number format of 8 bits, or 1 byte: half the size of bf16.",
       "--quantization fp8, --kv-cache-dtype fp8"},
      {"AWQ",
       {},
       "A way to store weights in 4 bits each; they are widened again before they are multiplied.",
       "--quantization awq"},
  };
}

std::vector<Entry> terms_of_promises() {  // NOLINT(readability-function-size): a list
  return {
      {"latency",
       {"latencies"},
       "How long someone waits.",
       "roofcast simulate (TTFT, TPOT, ITL, E2E)"},
      {"TTFT",
       {"time to first token"},
       "Time to first token: from sending the prompt to the first token of the answer.",
       "roofcast simulate (ttft_s); vLLM reports vllm:time_to_first_token_seconds."},
      {"TPOT",
       {"time per output token"},
       "Time per output token: the mean time from one token of an answer to the next, after the "
       "first.",
       "roofcast simulate (tpot_s)"},
      {"ITL",
       {"inter-token latency"},
       "Inter-token latency: each single wait between two tokens of an answer.",
       "roofcast simulate (itl_s)"},
      {"E2E",
       {"end to end"},
       "End to end: from sending the prompt to the last token of the answer.",
       "roofcast simulate (e2e_s); vLLM reports vllm:e2e_request_latency_seconds."},
      {"makespan",
       {},
       "The time from the first request to the end of the last one.",
       "roofcast simulate (makespan)"},
      {"burstiness",
       {},
       "How regularly requests arrive: 1 is at random (Poisson), larger is more regular, smaller "
       "comes in bursts.",
       "roofcast simulate --burstiness"},
      {"throughput",
       {},
       "How much is done per second: requests or tokens.",
       "roofcast simulate (output_tokens_per_s)"},
      {"goodput",
       {},
       "Requests per second that were served within all of their limits.",
       "roofcast simulate --goodput"},
      {"percentile",
       {"p50", "p95", "p99"},
       "The p95 of a latency is the time within which 95 % of the requests are served.",
       "roofcast simulate, every latency"},
      {"queue",
       {"queueing"},
       "Requests that have arrived and wait for the engine to take them in.",
       "roofcast simulate (queue); vLLM reports vllm:num_requests_waiting."},
      {"saturation",
       {"saturated"},
       "More load than the engine can serve: the queue grows as long as the load lasts.",
       "roofcast simulate, roofcast capacity"},
      {"interval",
       {"intervals"},
       "Two numbers between which the true one lies with a stated probability, here 80 %.",
       "roofcast simulate (80 %)"},
      {"median",
       {},
       "The middle of all values: half are smaller, half are larger; the same as p50.",
       "roofcast measure"},
      {"provenance",
       {"fitted", "datasheet"},
       "Where a time comes from: measured on such a machine, interpolated between measurements, "
       "fitted to runs of servers, or derived from a datasheet's peaks; the first is the surest.",
       "roofcast estimate (the column beside a time)"},
      {"SLO",
       {"SLOs", "service level objective"},
       "Service level objective: the promise that is made to users, such as a p95 of TTFT of at "
       "most half a second.",
       "--slo p95:ttft:500ms"},
      {"SLO class",
       {"SLO classes"},
       "Requests that were promised the same: people who chat wait for each token, a batch job "
       "only for the end.",
       "the class of a row of a trace, roofcast simulate --trace"},
      {"capacity",
       {},
       "The most requests per second that a deployment serves within its SLO.",
       "roofcast capacity"},
      {"deployment",
       {},
       "A model on some GPUs with an engine and its settings.",
       "roofcast memory, roofcast plan"},
      {"logit",
       {"logits", "score", "scores"},
       "The score that the model gives a token of its vocabulary as the next one.",
       "roofcast learn sampling"},
      {"sampling",
       {"sampled"},
       "Choosing the next token at random by its probability.",
       "roofcast learn sampling"},
      {"temperature",
       {},
       "A number that scores are divided by before they become probabilities: below 1 favours the "
       "likely tokens, above 1 the unlikely ones.",
       "roofcast learn sampling --temperature T"},
      {"top-k", {}, "Keeps only the k likeliest tokens.", "roofcast learn sampling --top-k K"},
      {"top-p",
       {},
       "Keeps the likeliest tokens until their probabilities sum to p, and drops the rest (nucleus "
       "sampling).",
       "roofcast learn sampling --top-p P"},
  };
}

bool is_word_letter(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0; }

/// Abbreviations keep their case: "TP" is a term, "tp" in a flag is not.
bool is_abbreviation(std::string_view spelling) {
  return std::ranges::none_of(spelling, [](char c) { return c >= 'a' && c <= 'z'; });
}

/// Where the spelling is first used as whole words.
std::size_t place_of(std::string_view spelling, std::string_view text, std::string_view lowered) {
  const std::string small = lower(spelling);
  const bool exact = is_abbreviation(spelling);
  const std::string_view sought = exact ? spelling : std::string_view(small);
  const std::string_view within = exact ? text : lowered;
  for (auto at = within.find(sought); at != std::string_view::npos;
       at = within.find(sought, at + 1)) {
    const auto end = at + sought.size();
    const bool starts = at == 0 || !is_word_letter(within[at - 1]);
    if (starts && (end == within.size() || !is_word_letter(within[end]))) return at;
  }
  return std::string_view::npos;
}

}  // namespace

const std::vector<GlossaryTerm>& glossary() {
  static const std::vector<GlossaryTerm> all = [] {
    std::vector<GlossaryTerm> terms;
    for (const auto& part :
         {text_and_model(), phases_and_limits(), serving(), terms_of_promises()}) {
      for (const Entry& entry : part) {
        terms.push_back({.key = slug(entry.term),
                         .term = entry.term,
                         .spellings = entry.spellings,
                         .meaning = entry.meaning,
                         .where = entry.where});
      }
    }
    std::ranges::sort(terms, {}, [](const GlossaryTerm& term) { return lower(term.term); });
    return terms;
  }();
  return all;
}

const GlossaryTerm* find_term(std::string_view name) {
  const std::string sought = lower(name);
  for (const GlossaryTerm& term : glossary()) {
    const bool is_spelled = std::ranges::any_of(
        term.spellings, [&](const std::string& one) { return lower(one) == sought; });
    if (term.key == sought || lower(term.term) == sought || is_spelled) return &term;
  }
  return nullptr;
}

std::vector<GlossaryTerm> terms_with(std::string_view text) {
  const std::string sought = lower(text);
  const auto any_name = [](const GlossaryTerm& term, const auto& has) {
    return has(term.key) || has(term.term) || std::ranges::any_of(term.spellings, has);
  };
  const auto contains = [&](const std::string& name) {
    return lower(name).find(sought) != std::string::npos;
  };
  const auto has_word = [&](const std::string& name) {
    const std::string lowered = lower(name);
    return place_of(sought, lowered, lowered) != std::string::npos;
  };
  std::vector<GlossaryTerm> words, parts;
  for (const GlossaryTerm& term : glossary()) {
    if (!any_name(term, contains)) continue;
    (any_name(term, has_word) ? words : parts).push_back(term);
  }
  words.insert(words.end(), parts.begin(), parts.end());
  return words;
}

std::vector<std::string> terms_of(std::string_view text) {
  struct Use {
    std::size_t at, size;
    std::string key;
  };
  std::vector<std::pair<std::string, const GlossaryTerm*>> spellings;
  for (const GlossaryTerm& term : glossary()) {
    spellings.emplace_back(term.term, &term);
    for (const std::string& one : term.spellings) spellings.emplace_back(one, &term);
  }
  std::ranges::stable_sort(spellings, std::ranges::greater(),
                           [](const auto& one) { return one.first.size(); });
  std::string left(text);  // longer spellings are blanked once they are counted
  std::vector<Use> uses;
  for (const auto& [spelling, term] : spellings) {
    std::string lowered = lower(left);
    for (auto at = place_of(spelling, left, lowered); at != std::string::npos;
         at = place_of(spelling, left, lowered)) {
      uses.push_back({at, spelling.size(), term->key});
      left.replace(at, spelling.size(), spelling.size(), '\n');
      lowered.replace(at, spelling.size(), spelling.size(), '\n');
    }
  }
  std::ranges::sort(uses, {}, &Use::at);
  std::vector<std::string> keys;
  for (const Use& use : uses) {
    if (std::ranges::find(keys, use.key) == keys.end()) keys.push_back(use.key);
  }
  return keys;
}

GlossaryAnswer glossary_answer(std::vector<GlossaryTerm> terms) {
  return {.head = answer_head(kGlossaryCommand), .inputs = {}, .terms = std::move(terms)};
}

Json to_json(const GlossaryAnswer& answer) { return record_to_json(answer); }

GlossaryAnswer glossary_answer_from_json(const Json& json) {
  return answer_from_json<GlossaryAnswer>(json, kGlossaryCommand);
}

Json glossary_answer_schema() { return schema_document<GlossaryAnswer>("roofcast learn glossary"); }

}  // namespace roofcast
