// A workload: requests with arrival times and lengths, from a trace or drawn from distributions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "simulator/time.hpp"
#include "simulator/workload/length_table.hpp"
#include "simulator/workload/limits.hpp"
#include "simulator/workload/synthetic.hpp"
#include "simulator/workload/trace_workload.hpp"

namespace roofcast {

/// Index of a request in its workload. Requests that follow no other are in order of arrival (ties
/// keep their order); one that follows another comes anywhere after it.
using RequestId = std::int32_t;
inline constexpr RequestId kNoRequest = -1;

/// A stretch of a prompt, identified by its content. Two spans with the same content hold the same
/// tokens, up to the length of the shorter one, if each begins a prompt or comes after equal spans.
struct ContentSpan {
  std::uint64_t content = 0;
  std::int64_t tokens = 0;
};

/// Values of Request::max_tokens that are not a limit.
inline constexpr std::int64_t kNoMaxTokens = 0;      // the client declares no limit
inline constexpr std::int64_t kExactMaxTokens = -1;  // it declares exactly what is generated

struct Request {
  /// Time of creation at the client, >= 0 for the first request of a workload. If it follows
  /// another request: the pause (think time) between that one's last token and this one's creation.
  Nanoseconds arrival = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;  // generated in full (ignore_eos)
  /// The limit on its output that the client declares, at least `output_tokens`, or one of the
  /// constants above. Engines that reserve K and V ahead reserve for it, not for the output.
  std::int64_t max_tokens = kExactMaxTokens;
  std::int32_t slo_class = 0;  // index into Workload::class_names; 0 if there are none
  /// Images among its tokens, one after the other from `images_begin` on, `image_tokens`
  /// each.
  std::uint16_t images = 0;
  std::uint16_t image_tokens = 0;
  std::int64_t priority = 0;  // smaller first, for QueueOrder::priority
  std::int16_t stage = 0;     // index into Workload::stages; 0 if there are none
  /// The generated tokens continue the prompt's last span (the next turn repeats them).
  bool output_continues_prompt = false;
  std::int32_t adapter = -1;       // LoRA adapter; -1: the base model
  RequestId follows = kNoRequest;  // the previous turn of its session
  /// Its prompt in Workload::contents: `contents_count` spans from `contents_begin`, whose tokens
  /// sum to at most input_tokens; the rest of the prompt is unshared. No spans: the whole prompt
  /// is.
  std::uint32_t contents_begin = 0;
  std::uint32_t contents_count = 0;
  std::int32_t images_begin = 0;
};
static_assert(sizeof(Request) == 72, "a run keeps every request twice");

/// Its prompt without the images: what is tokenised.
inline std::int64_t text_tokens(const Request& request) {
  return request.input_tokens - std::int64_t{request.images} * request.image_tokens;
}

using WorkloadSpec = std::variant<SyntheticWorkload, TraceWorkload>;

/// A part of the load that is reported separately.
struct LoadStage {
  std::string name{};    // "10 /s for 60 s", "warm-up"
  bool reported = true;  // if false (warm-up), its requests are served but left out of all
                         // statistics
};

/// Whether the statistics count a request: its stage is reported, or there is only one.
inline bool is_reported(std::span<const LoadStage> stages, std::size_t stage) {
  return stages.empty() || stages[stage].reported;
}
inline bool is_reported(std::span<const LoadStage> stages, const Request& request) {
  return is_reported(stages, static_cast<std::size_t>(request.stage));
}

/// Requests in order of arrival (ties keep file order; those that follow others are at their
/// session's position), and what was left out in reading or drawing them.
struct Workload {
  std::vector<Request> requests;
  std::vector<ContentSpan> contents;     // see Request::contents_begin
  std::vector<LoadStage> stages;         // indexed by Request::stage; empty if there is only one
  std::string description;               // "azure_conv.csv: 19,366 requests over 3,501.6 s"
  std::vector<std::string> class_names;  // indexed by Request::slo_class; empty if there is only
                                         // one class
  std::int64_t rows_skipped = 0;         // bad rows, if skip_bad_rows is set
  /// Maximum requests in flight, if the recording says that its client had such a limit. What
  /// applies to a run is Scenario::max_concurrency.
  std::optional<std::int64_t> recorded_limit{};
  std::vector<std::string> notes;  // what was changed: empty outputs, reordered rows
};

/// Arrival of the last request that follows no other; 0 of an empty workload.
Nanoseconds last_arrival(const Workload& workload);

/// Draws a synthetic workload, session by session if it has sessions. Every part has its own
/// stream, seeded from (seed, name): changing one distribution leaves the draws of the others
/// unchanged. `tables` holds the files of empirical lengths. Throws Error naming the parameter that
/// is out of range.
Workload generate(const SyntheticWorkload& given, std::uint64_t seed,
                  const std::vector<LengthTable>& tables = {});

/// Sets max_tokens of every request: to `declared` tokens, or kNoMaxTokens; nullopt leaves them as
/// they are. Longer outputs are cut to it, with a note.
void declare_max_tokens(Workload& workload, std::optional<std::int64_t> declared);

}  // namespace roofcast
