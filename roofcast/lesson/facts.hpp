// Facts behind the lesson's sentences, computed for one deployment. Internal to roofcast/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/memory/memory_plan.hpp"
#include "model/step/roofline.hpp"
#include "roofcast/learn.hpp"

namespace roofcast {

/// The limit that most of a step's time goes to. `losses`: its operators count as memory- or
/// compute-bound, but use so little of the bandwidth or peak that the limit explains less than half
/// of the time.
enum class LessonLimit { compute, memory, latency, communication, losses };

/// A step and what limits it.
struct LessonWork : LessonBatch {
  LessonLimit limit = LessonLimit::memory;
  double limit_share = 0;                      // of the time, 0 to 1
  double compute_share = 0, memory_share = 0;  // time of operators that wait for either
  Bytes product_weights{};                     // read by matrix products, of the fullest GPU
};

/// Least share of the bandwidth or peak that is in use where it is called the limit: below it,
/// reading or arithmetic would take less than half of the step even at full speed.
inline constexpr double kNearLimit = 0.5;

/// The promise to people who chat, as the page's own default: 95 of 100 requests have their first
/// token within half a second and the further ones at 20 a second, faster than people read.
inline constexpr Seconds kChatFirstToken{0.5};
inline constexpr Seconds kChatFurtherToken{0.05};

/// Share of the most that is served, for the load whose utilisation misleads.
inline constexpr double kTrapShare = 0.6;

/// Shares of the most that is served: chat, and the batch job beside it. Together they are less
/// than the most, so the deployment could serve both.
inline constexpr double kChatShare = 0.6;
inline constexpr double kJobShare = 0.3;

/// Names of the formats whose times are compared.
inline constexpr const char* kWideFormat = "bf16 weights";
inline constexpr const char* kNarrowFormat = "fp8 weights";

/// Formats of a model whose decode steps are limited by reading its weights.
struct NarrowExample {
  std::string model{};
  LessonFormat wide{}, narrow{};
};

struct LessonFacts {
  DeploymentOptions options{};  // with engine and longest sequence as chosen
  Deployment deployment{};
  MemoryPlan plan{};
  std::vector<std::string> notes{};
  std::int64_t prompt = 0, generate = 0;
  double acceptance = 0;
  int drafts = 0;

  std::int64_t parameters = 0;
  Bytes weights{};       // of the fullest GPU
  Bytes kv_per_token{};  // all layers, all GPUs
  Staircase counts{};
  StaircaseTimes short_prompt{};  // of kShortPrompt tokens
  LessonNumbers numbers{};
  LessonWork prefill{}, decode{};  // of one sequence; decode in the middle of the answer
  LessonWork together{};           // decode of several sequences, for the question on batches
  double tokens_per_step = 1;      // with drafts
  /// Texts from which on a decode step's products, and the step as a whole, are compute-bound;
  /// unset: never.
  std::optional<std::int64_t> compute_bound_batch{}, compute_bound_step{};
  std::int64_t fitting = 0;   // sequences of prompt and answer that fit in memory
  std::int64_t reserved = 0;  // sequences that fit if each has room for the longest one
  LessonWork full{};          // decode with as many sequences as run when all requests wait
  /// Where fewer bits do make decode faster on this machine; unset if they do for the deployment,
  /// or if no such model fits.
  std::optional<NarrowExample> narrow_example{};

  std::int64_t context() const { return prompt + generate; }
  bool on_cpu() const { return is_cpu(deployment.gpu); }
  /// Weights that a decode step of one text reads. Not all: of the embedding it looks up one row.
  Bytes read_per_step() const { return decode.product_weights; }
  /// K, V and state of one sequence of this many tokens: all layers, all GPUs.
  Bytes cache_of(std::int64_t tokens) const;
  /// "GPU" or "CPU"
  std::string_view machine() const { return on_cpu() ? "CPU" : "GPU"; }
  const LessonLoad& load_at(double share) const;
  const LessonFormat& format(std::string_view name) const;
  /// Whether the decode steps of two formats differ by more than the spread of their estimates, and
  /// rest on figures of the same kind.
  static bool can_tell_apart(const LessonFormat& one, const LessonFormat& other);
};

inline constexpr std::int64_t kShortPrompt = 10;

/// The token that is compared with the first one; fewer if the answer is shorter.
inline constexpr std::int64_t kComparedToken = 40;

/// Throws Error as learn() does.
LessonFacts lesson_facts(const LessonQuestion& question, const Progress& progress);

}  // namespace roofcast
