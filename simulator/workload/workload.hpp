// What arrives: requests with arrival times and lengths, from a trace or drawn from distributions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "simulator/results/slo.hpp"
#include "simulator/time.hpp"
#include "simulator/workload/length_table.hpp"
#include "simulator/workload/limits.hpp"
#include "simulator/workload/synthetic.hpp"
#include "simulator/workload/trace_workload.hpp"

namespace roofcast {

/// Index of a request in its workload. Requests that follow no other stand in order of arrival
/// (ties keep their order); one that follows another stands anywhere after it.
using RequestId = std::int32_t;
inline constexpr RequestId kNoRequest = -1;

/// A stretch of a prompt by what it says. A span that begins a prompt, or comes after equal spans,
/// holds the same tokens as another with its content, as far as the shorter one goes.
struct ContentSpan {
  std::uint64_t content = 0;
  std::int64_t tokens = 0;
};

struct Request {
  /// Created at the client, first request of a workload at >= 0. Of a request that follows another:
  /// the pause (think time) between that one's last token and this one's creation.
  Nanoseconds arrival = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;  // generated in full (ignore_eos)
  std::int32_t slo_class = 0;      // index into Workload::class_names; 0 when there are none
  std::int64_t priority = 0;       // smaller first, for QueueOrder::priority
  std::int32_t stage = 0;          // index into Workload::stages; 0 when there are none
  std::int32_t adapter = -1;       // LoRA adapter; -1: the base model
  RequestId follows = kNoRequest;  // the turn of its session before this one
  /// Its prompt in Workload::contents: so many spans from there, their tokens summing to at most
  /// input_tokens; what is left is shared with nobody. None: the whole prompt is.
  std::uint32_t contents_begin = 0;
  std::uint32_t contents_count = 0;
  /// The generated tokens continue the prompt's last span (the next turn repeats them).
  bool output_continues_prompt = false;
};

using WorkloadSpec = std::variant<SyntheticWorkload, TraceWorkload>;

/// A part of the load that is reported by itself.
struct LoadStage {
  std::string name{};    // "10 /s for 60 s", "warm-up"
  bool reported = true;  // a warm-up's requests are served and left out of all statistics
};

/// Requests in order of arrival (ties keep file order; those that follow others are where their
/// session puts them), and what was left out on the way.
struct Workload {
  std::vector<Request> requests;
  std::vector<ContentSpan> contents;     // of Request::contents_begin
  std::vector<LoadStage> stages;         // of Request::stage; empty when there is but one
  std::string description;               // "azure_conv.csv: 19,366 requests over 3,501.6 s"
  std::vector<std::string> class_names;  // of Request::slo_class; empty when all are alike
  std::int64_t rows_skipped = 0;         // bad rows, with skip_bad_rows
  /// Requests in flight at most, where what was recorded says that its client had such a limit.
  std::optional<std::int64_t> max_concurrency{};
  std::vector<std::string> notes;  // what was altered: empty outputs, reordered rows
};

/// Draws a synthetic workload, session by session where there are sessions. Every part has a stream
/// of its own, seeded from (seed, name): changing one distribution leaves the others' draws as they
/// were. `tables` holds the files of empirical lengths. Throws Error naming the knob that is out of
/// range.
Workload generate(const SyntheticWorkload& given, std::uint64_t seed,
                  const std::vector<LengthTable>& tables = {});

/// Gives every request its class of `slo`: by the trace's class names where it has them, else drawn
/// by share from stream "slo_class", the turns of a session alike. Without classes in `slo` those
/// of a trace stay. Throws Error for a class that `slo` does not list.
void assign_slo_classes(Workload& workload, const Slo& slo, std::uint64_t seed);

}  // namespace roofcast
