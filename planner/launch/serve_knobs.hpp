// What a flag of an engine decides, as text: read from a launch line and written to one. The same
// knob has other names and spellings with each engine; serve_flags.hpp says which.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/launch/serve_words.hpp"

namespace roofcast {

struct ServeKnob {
  std::string_view name{};  // "max_num_seqs", as in a scenario
  /// Puts what `text` says. Throws UsageError "FLAG: 'text' is not ...".
  std::function<void(ServeWords& words, const std::string& text, const std::string& flag)> read{};
  /// What to write after the flag; nothing when it is not set, or no value of the flag says it.
  std::function<std::optional<std::string>(const ServeWords& words)> write{};
};

/// Knobs by name, each once; the flags of an engine point into it.
namespace serve_knobs {

extern const ServeKnob kModel, kWeightFormat, kDtype, kBackend;
extern const ServeKnob kTensor, kPipeline, kData, kExpertRanks, kExpertParallel, kSharedExperts;
extern const ServeKnob kDataParallelAttention, kMemoryShare, kModelLen, kSglangModelLen, kMaxSeqs;
extern const ServeKnob kBatchedTokens, kChunkSize, kBlockSize, kBlocks, kKvTokens, kKvMemory;
extern const ServeKnob kVllmCacheDtype, kSglangCacheDtype, kTensorrtCacheDtype;
extern const ServeKnob kChunkedPrefill, kPrefixCaching, kEager, kNoGraphs, kAsync;
extern const ServeKnob kVllmOrder, kSglangOrder, kGenerationConfig;
extern const ServeKnob kPrefillTokens, kConservativeness, kMixedChunk, kDrafts, kMaxLoras;
extern const ServeKnob kOffloadingSize, kCapacityPolicy, kChunkingPolicy;

}  // namespace serve_knobs

/// Knobs that vLLM's scheduler alone has, by the flag of the same name: rows of the table of knobs
/// (model/engines/knobs) that are a count, a share or a switch.
struct VllmKnob {
  std::string flag{};  // "--watermark"
  bool is_switch = false;
  ServeKnob knob{};
};
const std::vector<VllmKnob>& vllm_scheduler_knobs();

/// A count as vLLM takes it: 8192, 25.6k (25,600), 8K (8,192). Throws UsageError.
std::int64_t read_serve_count(const std::string& text, const std::string& flag);

/// true, 1, on, yes and their opposites, in any case. Throws UsageError.
bool read_serve_switch(const std::string& text, const std::string& flag);

}  // namespace roofcast
