// The settings of an engine's flags, as text: read from a launch line and written to one. Engines
// give the same knob different names and spellings; serve_flags.hpp lists them.
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
  /// Sets the words from `text`. Throws UsageError "FLAG: 'text' is not ...".
  std::function<void(ServeWords& words, const std::string& text, const std::string& flag)> read{};
  /// The text after the flag; nullopt if it is not set, or cannot be expressed.
  std::function<std::optional<std::string>(const ServeWords& words)> write{};
};

/// All knobs by name; the engines' flags point to them.
namespace serve_knobs {

extern const ServeKnob kModel, kWeightFormat, kDtype, kBackend;
extern const ServeKnob kTensor, kPipeline, kData, kExpertRanks, kExpertParallel, kSharedExperts;
extern const ServeKnob kVllmAll2All, kSglangAll2All;
extern const ServeKnob kDataParallelAttention, kMemoryShare, kModelLen, kSglangModelLen, kMaxSeqs;
extern const ServeKnob kBatchedTokens, kChunkSize, kBlockSize, kBlocks, kKvTokens, kKvMemory;
extern const ServeKnob kVllmCacheDtype, kSglangCacheDtype, kTensorrtCacheDtype;
extern const ServeKnob kChunkedPrefill, kPrefixCaching, kEager, kNoGraphs, kAsync;
extern const ServeKnob kGraphSizes, kOldGraphSizes, kGraphSizeList, kLargestGraph, kGraphPadding,
    kPiecewiseGraph, kCaptureTokens;
extern const ServeKnob kCompilation;
extern const ServeKnob kVllmOrder, kSglangOrder, kGenerationConfig;
extern const ServeKnob kPrefillTokens, kConservativeness, kMixedChunk, kDrafts, kMaxLoras;
extern const ServeKnob kWindowTokens, kStateMemory, kWindows;
extern const ServeKnob kImageLimit, kLanguageOnly;
extern const ServeKnob kHierarchicalCache, kHicacheRatio, kHicacheSize;
extern const ServeKnob kOffloadingSize, kOffloadingBackend, kTransferConfig;
extern const ServeKnob kPooling, kRunner, kPromptInterval, kTokenIds;
extern const ServeKnob kBatchOverlap, kOverlapDecodes, kOverlapPrompts;
extern const ServeKnob kCapacityPolicy, kChunkingPolicy;
extern const ServeKnob kPromptRanks, kPromptSplit, kPromptStrategy;
extern const ServeKnob kContextRanks, kEplb, kEplbConfig, kRedundantExperts, kLora, kMaxLoraRank;
extern const ServeKnob kDraftAlgorithm, kDraftModel, kDraftSteps, kDraftBranches, kDraftTree;
extern const ServeKnob kRecvInterval, kStreamInterval, kBatchWaitIters, kBatchWaitRatio;
extern const ServeKnob kBalance, kBalanceTimeout, kBalanceWait, kMoeBackend, kVllmMoeBackend;
extern const ServeKnob kFp8GemmBackend, kTrackedStates;
extern const ServeKnob kAtomCacheDtype, kAtomDrafts, kAtomDraftCount;

}  // namespace serve_knobs

/// Knobs that only vLLM's scheduler has, with a flag of the same name: rows of the table of knobs
/// (model/engines/knobs) that are a count, a share or a switch.
struct VllmKnob {
  std::string flag{};  // "--watermark"
  bool is_switch = false;
  ServeKnob knob{};
};
const std::vector<VllmKnob>& vllm_scheduler_knobs();

/// A count as vLLM parses it: 8192, 25.6k (25,600), 8K (8,192). Throws UsageError.
std::int64_t read_serve_count(const std::string& text, const std::string& flag);

/// true, 1, on, yes and their opposites, in any case. Throws UsageError.
bool read_serve_switch(const std::string& text, const std::string& flag);

}  // namespace roofcast
