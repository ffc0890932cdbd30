// Contents of third-party kernel tables: timed points, and the rows that were not used, by reason.
// Every row is accounted for.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "calibrate/curve_fit.hpp"

namespace roofcast {

/// Rows left out for one reason.
struct LeftOut {
  std::int64_t rows = 0;
  std::vector<std::string> first{};  // a few examples: "gemm.csv line 12"
};

/// Attributes of a decode kernel's curve in addition to its points (MeasuredCurve).
struct DecodeKernel {
  OperatorShape shape{};
  std::string kernel{};
  Seconds empty_tile{};
  Seconds tail_token{};
};

/// Attributes of all curves of a source (MeasuredCurve).
struct KernelSource {
  std::string kernel{};
  Seconds graph_saving{};
  bool attention_writes_cache = false;
};

/// What became of the rows of one file. Rows that are none of these became points.
struct TableRows {
  std::string file{};  // without its folders
  std::string kind{};  // "gemm", "moe", ...
  std::int64_t rows = 0;
  std::int64_t duplicates = 0;
  std::int64_t refused = 0;
  std::int64_t unused = 0;

  std::int64_t used() const { return rows - duplicates - refused - unused; }
};

/// Why a row is not a point of its own.
enum class LeftOutAs {
  duplicate,  // another row has its time
  refused,    // impossible or unreadable
  unused,     // possible, but not usable here
};

struct ImportedRows {
  std::vector<TimedPoint> points{};
  std::int64_t rows = 0;
  std::int64_t mixed = 0;  // calls over prompts and decodes, few of which become points
  std::map<std::string, LeftOut> duplicates{};    // by reason
  std::map<std::string, LeftOut> refused{};       // by reason
  std::map<std::string, LeftOut> unused{};        // by reason
  std::vector<TableRows> tables{};                // in the order in which they were read
  std::map<std::string, std::int64_t> devices{};  // as named in the tables, with their row counts
  std::map<std::string, std::string> versions{};  // "vLLM" -> "0.24.0"; several are joined by
                                                  // commas
  std::vector<DecodeKernel> decode_kernels{};
  std::vector<KernelSource> sources{};
  std::set<std::string> eager_kernels{};  // launched one by one, outside a graph
};

/// Bytes of an activation that is quantised: read in 16 bits, written in 8. Points of quantisation
/// are by tokens times inputs times these.
constexpr double kQuantisedBytes = 3.0;
/// The shape's name of what finding the scales of rows takes beyond using known ones.
constexpr const char* kFindingScales = "activation_scales";
/// The shape's name of quantising by a known scale.
constexpr const char* kQuantising = "quantise_activations";

/// Starts the account of a file; further rows are its.
void begin_table(ImportedRows& rows, const std::string& path, const std::string& kind);

/// Counts a row of the last table.
void count_row(ImportedRows& rows);

/// Notes why a row of the last table is not a point.
void leave_out(ImportedRows& rows, LeftOutAs as, const std::string& reason,
               const std::string& place);

/// The same for a point that was added earlier.
void leave_out(ImportedRows& rows, LeftOutAs as, const std::string& reason,
               const TimedPoint& point);

/// "2,000 rows: sliding windows (table.csv line 2, ...); 896 rows: ...": the most frequent reasons
/// for which rows of any kind are left out.
std::string main_reasons(const ImportedRows& rows);

/// Adds the point. Refuses it if its time is not a finite number above 0, or if time or size exceed
/// what a profile can hold (model/curves/measured_curve.hpp).
void add_point(ImportedRows& rows, TimedPoint point);

void add_version(ImportedRows& rows, const std::string& what, const std::string& version);

/// Takes what quantising its input costs off each fp8 product of TensorRT-LLM, as its tables state
/// it in the same version: finding scales, and writing the input by them. They were timed on
/// weights without input scales and inputs in 16 bits, so that the layer finds scales and quantises
/// in each call (aiconfigurator 095f58a, collector/trtllm/collect_gemm.py and
/// collect_computescale.py). ModelOpt's checkpoints, which the engine is served with, bring scales,
/// and kernels before most products write their input quantised (is_quantised_before in
/// model/step/deployment_operators.cpp). Refuses products in whose version that was not timed.
void take_off_quantising(ImportedRows& rows);

/// Gives experts behind a router that picks by groups (DeepSeek-V3's: 4 of 8 groups) the sizes that
/// they were timed at. The collectors score one expert of each group for a token (aiconfigurator
/// 095f58a, collector/helper.py, balanced_logits; sglang/collect_moe.py from 0.5.14 on,
/// vllm/collect_moe.py from 0.24 on; trtllm's min-latency experts), of which the router keeps four
/// and fills up with four equal ones, always the same: n tokens hit 4 n + 4 experts instead of 8 n,
/// and from E / 8 tokens on never more than E / 2 + 4. So rows up to there are those of (n + 1) / 2
/// spread tokens. Rows beyond get what reading the other experts takes: as many as the rows between
/// one token and E / 8 differ by. Beyond 2,048 tokens arithmetic hides the reads, and rows stay as
/// they are. SGLang 0.5.14's rows of DeepSeek-V3 on H200, corrected so, are within 5.3 % (median of
/// 105; TP 1 to 16, up to 2,048 tokens) of 0.5.9's, the same Triton kernel timed without groups;
/// uncorrected they take half.
///
/// Of experts over R ranks the first was timed, which has the groups that are kept and the experts
/// that fill up: min(4, 8 / R) + min(4, E / R) picks a token instead of 8 / R. Rows over two ranks
/// take as long as over one (SGLang, vLLM and TensorRT-LLM), and SGLang's of 16,384 tokens on H100
/// 2.0 ms + 1.98 ms a pick within 3 % over 2 to 256 ranks. Up to E / 8 tokens the fillers are read
/// in addition, from there on all of a rank's experts, so that the rest of the rows are those of as
/// many spread tokens as make the same picks, with what the additional tokens take by themselves
/// (the 2.0 ms).
///
/// Refuses such experts' rows picked by a power law, whose groups depend on chance.
void undo_group_limit(ImportedRows& rows);

/// Adds to TensorRT-LLM's min-latency experts what summing each token's outputs takes, in 16 bits
/// at the memory's bandwidth. They were timed without (aiconfigurator 095f58a,
/// collector/trtllm/collect_moe.py, do_finalize=not min_latency_mode), as the engine runs them only
/// for the few tokens whose sum the all-reduce makes (1.3.0rc20, modeling_deepseekv3.py,
/// DeepseekV3DecoderLayer, forward_MoE), to which nothing is added that counts. SGLang's rows of
/// the same kernels with DeepSeek-V3's experts on B200, which sum, take 0.144 and 0.276 ms longer
/// at 8,192 and 16,384 tokens, whether they are split by width over four or eight; added are 0.132
/// and 0.264. Precondition: undo_group_limit().
void add_finalizing(ImportedRows& rows, const Gpu& gpu);

/// Replaces points at the same size of one shape and kernel by their mean if they agree. If the
/// slowest takes over a quarter longer than the fastest, none can be trusted and all are refused.
/// All but one of those that agree are duplicates.
void settle_duplicates(ImportedRows& rows);

/// Refuses single points that took more than three times as long as every neighbouring size of
/// their curve, larger ones among them, or one and a half times as long as the next larger size and
/// as the next smaller one in proportion: a disturbed timing, which would else stand for all larger
/// sizes, since more work never takes less time (MeasuredTimes). Precondition: settle_duplicates().
void refuse_spikes(ImportedRows& rows);

/// Refuses points that are faster than the GPU's peaks and bandwidths allow. Those that only its
/// memory rules out, and whose weights, keys and values fit the L2 cache one and a half times, were
/// read from there and are refused as such. A file of which more than a twentieth (and 20 points)
/// is impossible is refused whole: what was timed is not what it states. Experts that beat the
/// memory were fewer than stated (a router that picks groups first), at every size: all points of
/// such experts and kernel are refused, however they are picked.
void refuse_beyond_physics(ImportedRows& rows, const Gpu& gpu);

/// Refuses collectives over several GPUs of a node that pass on less than half of what two of them
/// do (bytes per second and GPU of each kernel's largest message, by a ring's share): that machine
/// had no path between some of its GPUs but by way of the host, which says nothing of others.
/// Links of one switch stay above three fifths (aiconfigurator 095f58a, RTX PRO 6000 with four and
/// eight); its L40S with four and eight (NCCL) pass on 26 and 8 %.
void refuse_detours(ImportedRows& rows, const Gpu& gpu);

/// Refuses points of kernels launched outside a graph that take less than half as long again as the
/// shortest call of their kernel: their launches, not their work, decided. In a step the host
/// launches ahead.
void refuse_launch_bound(ImportedRows& rows);

/// Refuses decode points whose keys and values fit the L2 cache one and a half times and that took
/// less than the shortest call of their kernel plus reading from memory: a benchmark that reads one
/// buffer repeatedly finds it in the cache; an engine, a layer later, does not.
void refuse_cached_reads(ImportedRows& rows, const Gpu& gpu);

}  // namespace roofcast
