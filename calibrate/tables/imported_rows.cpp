#include "calibrate/tables/imported_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/dotted_version.hpp"
#include "base/quantity.hpp"
#include "model/curves/curve_source.hpp"
#include "model/curves/measured_curve.hpp"
#include "model/step/roofline.hpp"

namespace roofcast {

namespace {

constexpr std::size_t kShownRows = 3;
constexpr std::size_t kShownReasons = 3;

// Two collections of one kernel on two GPUs of a type are within 12 % of each other nine times out
// of ten (aiconfigurator 095f58a, 35,742 bf16 shapes of vLLM 0.18 and 0.24 on H200): twice that is
// not noise.
constexpr double kMaxDisagreement = 1.25;

// Share of a file's points: above it something else was timed throughout. aiconfigurator 095f58a:
// 22 % of the prompts of vLLM 0.19 on H200, whose times grow with KV heads, not with query heads;
// at most 2 % in the other attention tables of H200 and L40S.
constexpr double kMaxImpossible = 0.05;
constexpr double kFewImpossible = 20;  // points that condemn no file, however short

// A kernel that starts later costs less than this over its neighbours; aiconfigurator 095f58a has
// single rows of 150 times (TensorRT-LLM 1.3, latent attention of 32 sequences of 7 tokens on
// H200).
constexpr double kSpike = 3.0;
// Nor more than this over the next larger size and over the next smaller one in proportion at once:
// a kernel for the larger size does the smaller one's work, too. Of bf16 products of vLLM 0.14 on
// H100 some take 4 times as long as both say (4096 rows of [5120, 6144] 1.41 ms, 2048 rows 0.16,
// 8192 rows 0.68).
constexpr double kDisturbed = 1.5;

// A buffer this many times larger than the cache is read almost entirely from memory.
constexpr double kCacheReach = 1.5;

using KernelKey = std::pair<OperatorShape, std::string>;
using SizeKey = std::tuple<OperatorShape, std::string, double, double>;

SizeKey size_key(const TimedPoint& p) { return {p.shape, p.kernel, p.point.x, p.point.y}; }

/// Whether a profile can hold a point of this size; the sizes of the shape are already counts.
bool is_holdable(const TimedPoint& p) {
  const double max = is_sized_in_bytes(p.shape.family) ? kLargestMessage : kMaxMeasured;
  return p.point.x <= max && p.point.y <= kMaxMeasured && p.shape.ranks <= kMaxMeasuredRanks;
}

void leave_out(ImportedRows& rows, LeftOutAs as, const std::string& reason, std::size_t table,
               const std::string& place) {
  auto& list = as == LeftOutAs::duplicate ? rows.duplicates
               : as == LeftOutAs::refused ? rows.refused
                                          : rows.unused;
  LeftOut& entry = list[reason];
  ++entry.rows;
  if (entry.first.size() < kShownRows) entry.first.push_back(place);
  if (table >= rows.tables.size()) return;  // points that come from no file
  TableRows& counts = rows.tables[table];
  ++(as == LeftOutAs::duplicate ? counts.duplicates
     : as == LeftOutAs::refused ? counts.refused
                                : counts.unused);
}

/// Moves the points for which `wrong` is true from `kept` to those refused.
void refuse(ImportedRows& rows, std::vector<TimedPoint>& kept, const std::string& reason,
            const std::function<bool(const TimedPoint&)>& wrong) {
  for (const TimedPoint& p : kept) {
    if (wrong(p)) leave_out(rows, LeftOutAs::refused, reason, p);
  }
  std::erase_if(kept, wrong);
}

/// Along which a curve's points are neighbours.
enum class Axis { x, y };

/// What a point's neighbours say of it: how much longer it took than the slowest of them, and
/// whether any is larger.
struct Neighbours {
  Seconds slowest{};
  bool larger = false;
  bool disturbed = false;  // beside a smaller and a larger size along one axis
};

double size_on(Axis axis, const MeasuredPoint& point) {
  return axis == Axis::x ? point.x : point.y;
}

/// Whether the middle one of three ascending sizes along one axis took too long beside both.
bool is_disturbed(const TimedPoint& smaller, const TimedPoint& p, const TimedPoint& larger,
                  Axis axis) {
  const double least = size_on(axis, smaller.point);
  if (least <= 0 || p.point.time <= larger.point.time * kDisturbed) return false;
  double growth = size_on(axis, p.point) / least;
  // A causal prompt grows with the square of its length.
  if (p.shape.family == OperatorFamily::prefill_attention) growth *= growth;
  return p.point.time > smaller.point.time * (growth * kDisturbed);
}

/// Notes the neighbours of points along one axis; `order` has points of one curve and one place on
/// the other axis beside each other, ascending.
template <class Same>
void note_neighbours(const std::vector<TimedPoint>& points, const std::vector<std::size_t>& order,
                     Axis axis, Same same, std::vector<Neighbours>& notes) {
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    const TimedPoint& smaller = points[order[i]];
    const TimedPoint& larger = points[order[i + 1]];
    if (!same(smaller, larger)) continue;
    Neighbours& below = notes[order[i]];
    Neighbours& above = notes[order[i + 1]];
    below.slowest = std::max(below.slowest, larger.point.time);
    below.larger = true;
    above.slowest = std::max(above.slowest, smaller.point.time);
    if (i == 0 || !same(points[order[i - 1]], smaller)) continue;
    below.disturbed |= is_disturbed(points[order[i - 1]], smaller, larger, axis);
  }
}

KernelKey experts_key(const TimedPoint& p) {
  KernelKey key{p.shape, p.kernel};
  key.first.power_law = 0;
  return key;
}

constexpr const char* kCachedReads = "keys and values read from the L2 cache";

/// How to say that the point was read from the L2 cache; nullopt if what it reads does not fit the
/// cache, or its time is impossible even without reading memory.
std::optional<std::string> cached_read(const TimedPoint& p, const Gpu& gpu) {
  Work work = work_of(min_work_shape(p.shape), p.point.x, p.point.y);
  const bool streams = work.family == OperatorFamily::memory_bound;
  const Bytes read = streams ? work.bytes : work.stored_bytes;
  if (work.family == OperatorFamily::collective || read >= gpu.l2_cache * kCacheReach) return {};
  work.bytes = Bytes{};
  work.stored_bytes = Bytes{};
  if (p.point.time * kAboveStatedLimits < physical_limit(work, gpu)) return {};
  if (streams) return "activations read from the L2 cache";
  if (work.family == OperatorFamily::recurrent) return "states read from the L2 cache";
  return is_attention(work.family) ? kCachedReads : "weights read from the L2 cache";
}

/// Whole blocks read their weights, too.
bool reads_cache(const TimedPoint& p) {
  return p.shape.family == OperatorFamily::decode_attention && p.shape.projections == 0;
}

/// The time of this many tokens, linear between those timed; in proportion beyond the last.
double at_tokens(const std::map<double, double>& seconds, double tokens) {
  const auto after = seconds.lower_bound(tokens);
  if (after == seconds.begin()) return after->second;
  const auto before = std::prev(after);
  if (after == seconds.end()) return before->second * tokens / before->first;
  const double share = (tokens - before->first) / (after->first - before->first);
  return before->second + share * (after->second - before->second);
}

/// No more than any larger size takes: more tokens never take less time, so a longer time was
/// disturbed (aiconfigurator 095f58a, TensorRT-LLM 1.2.0rc5 on B200: finding scales of 1,024 and
/// 2,048 rows of 8,192 takes 25 and 42 us, of 4,096 rows 25 us; a seventh of Blackwell's rows are
/// more than a tenth longer than a larger size, of Hopper's 1 in 100).
void limit_to_larger(std::map<double, double>& seconds) {
  double least = HUGE_VAL;
  for (auto size = seconds.rbegin(); size != seconds.rend(); ++size) {
    least = size->second = std::min(size->second, least);
  }
}

// Launches of one block vary by this between its shapes and collections (aiconfigurator 095f58a,
// SGLang 0.5.14 on GB200: 1.60 and 1.68 ms at sizes that differ 64 times).
constexpr double kLaunchBound = 1.5;

// DeepSeek-V3's router (arXiv 2412.19437, n_group and topk_group of its config), and the one that
// collector/trtllm/collect_moe.py gives every model's min-latency experts.
constexpr std::int64_t kGroups = 8;
constexpr double kKeptGroups = 4;
constexpr std::int64_t kGroupedPicks = 8;
constexpr double kFilledUp = 4;  // picks a token beside those of the kept groups
constexpr std::int64_t kDeepseekExperts = 256;
constexpr std::int64_t kDeepseekHidden = 7168;
// Beyond it all of an expert's tokens take longer to compute than its weights to read.
constexpr double kReadsHidden = 2048;

/// Whether the point's experts were picked by groups.
bool picks_by_groups(const TimedPoint& p) {
  const OperatorShape& shape = p.shape;
  if (shape.family != OperatorFamily::moe) return false;
  if (shape.experts_per_token != kGroupedPicks || shape.experts % kGroups != 0) return false;
  const std::string_view source = source_of(p.kernel);
  if (is_of_engine(source, "trtllm")) return p.kernel.starts_with("moe_torch_flow_min_latency");
  if (shape.experts != kDeepseekExperts || shape.inputs != kDeepseekHidden) return false;
  const std::string_view version = source.substr(source.find(' ') + 1);
  return (is_of_engine(source, "sglang") && !is_older(version, "0.5.14")) ||
         (is_of_engine(source, "vllm") && !is_older(version, "0.24"));
}

/// What a token picks of the first rank's experts, behind a router with groups.
struct FirstRank {
  double experts = 0;  // of the rank
  double group = 0;    // experts of a group
  double spread = 0;   // picks of a token that picks one of each group
  double filled = 0;   // picks that fill up, always the same
  double picks = 0;    // all that were timed
};

FirstRank first_rank(const OperatorShape& shape) {
  const double ranks = shape.expert_ranks;
  FirstRank rank;
  rank.experts = to_double(shape.experts) / ranks;
  rank.group = to_double(shape.experts / kGroups);
  rank.spread = to_double(kGroupedPicks) / ranks;
  rank.filled = std::min(kFilledUp, rank.experts);
  rank.picks = std::min(kKeptGroups, rank.spread) + rank.filled;
  return rank;
}

bool is_over_ranks(const TimedPoint& p) { return picks_by_groups(p) && p.shape.expert_ranks > 1; }

KernelKey key_of_ranks(const TimedPoint& p) {
  KernelKey key{p.shape, p.kernel};
  key.first.expert_ranks = 0;
  return key;
}

/// What a kernel takes for each token on a rank, whoever's experts it picked: by least squares of
/// the times of the most tokens over what they pick of the first rank's experts.
std::map<KernelKey, double> seconds_a_token(const std::vector<TimedPoint>& points) {
  struct Rank {
    double tokens = 0;
    double picks = 0;
    double seconds = 0;
  };
  std::map<KernelKey, std::vector<Rank>> timed;
  for (const TimedPoint& p : points) {
    if (!is_over_ranks(p) || p.point.x < kReadsHidden) continue;
    timed[key_of_ranks(p)].push_back(
        {.tokens = p.point.x, .picks = first_rank(p.shape).picks, .seconds = p.point.time.value});
  }
  std::map<KernelKey, double> result;
  for (auto& [key, list] : timed) {
    const double most = std::ranges::max(list, {}, &Rank::tokens).tokens;
    std::erase_if(list, [&](const Rank& rank) { return rank.tokens < most; });
    const auto count = static_cast<double>(list.size());
    double picks = 0;
    double seconds = 0;
    for (const Rank& rank : list) {
      picks += rank.picks / count;
      seconds += rank.seconds / count;
    }
    double square = 0;
    double product = 0;
    for (const Rank& rank : list) {
      square += (rank.picks - picks) * (rank.picks - picks);
      product += (rank.picks - picks) * (rank.seconds - seconds);
    }
    if (square > 0) result[key] = std::max(0.0, seconds - product / square * picks) / most;
  }
  return result;
}

/// Moves rows over several ranks to the tokens that would bring the rank as much if spread.
void undo_group_limit_over_ranks(ImportedRows& rows) {
  refuse(rows, rows.points, "a rank's few experts were all picked, whatever the tokens",
         [](const TimedPoint& p) {
           if (!is_over_ranks(p)) return false;
           const FirstRank rank = first_rank(p.shape);
           return rank.filled >= rank.experts && p.point.x < rank.group;
         });
  const std::map<KernelKey, double> a_token = seconds_a_token(rows.points);
  for (TimedPoint& p : rows.points) {
    if (!is_over_ranks(p)) continue;
    const FirstRank rank = first_rank(p.shape);
    double& tokens = p.point.x;
    if (tokens < rank.group) {
      tokens += rank.filled / rank.spread * (1 - tokens / rank.group);
    } else if (tokens > rank.group) {
      const double spread = tokens * rank.picks / rank.spread;
      const auto known = a_token.find(key_of_ranks(p));
      if (known != a_token.end()) p.point.time += Seconds{known->second * (spread - tokens)};
      tokens = spread;
    }
  }
}

}  // namespace

void begin_table(ImportedRows& rows, const std::string& path, const std::string& kind) {
  rows.tables.push_back({.file = std::filesystem::path(path).filename().string(), .kind = kind});
}

void count_row(ImportedRows& rows) {
  ++rows.rows;
  ++rows.tables.back().rows;
}

void leave_out(ImportedRows& rows, LeftOutAs as, const std::string& reason,
               const std::string& place) {
  leave_out(rows, as, reason, rows.tables.size() - 1, place);
}

void leave_out(ImportedRows& rows, LeftOutAs as, const std::string& reason,
               const TimedPoint& point) {
  leave_out(rows, as, reason, point.table, point.name);
}

std::string main_reasons(const ImportedRows& rows) {
  std::vector<std::pair<std::string, LeftOut>> all;
  for (const auto* list : {&rows.duplicates, &rows.refused, &rows.unused}) {
    all.insert(all.end(), list->begin(), list->end());
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second.rows > b.second.rows; });
  all.resize(std::min(all.size(), kShownReasons));
  std::vector<std::string> texts;
  for (const auto& [reason, left_out] : all) {
    texts.push_back(
        fmt::format("{} rows: {} ({})", left_out.rows, reason, fmt::join(left_out.first, ", ")));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

void add_point(ImportedRows& rows, TimedPoint point) {
  point.table = rows.tables.empty() ? 0 : rows.tables.size() - 1;
  const double time = point.point.time.value;
  if (!std::isfinite(time) || time <= 0) {
    leave_out(rows, LeftOutAs::refused, "time is not positive", point);
    return;
  }
  if (time < kShortestCall || time > kLongestCall) {
    leave_out(rows, LeftOutAs::refused,
              fmt::format("time is not between {} and {} s", kShortestCall, kLongestCall), point);
    return;
  }
  if (!is_holdable(point)) {
    leave_out(rows, LeftOutAs::refused, "larger than any operator of a profile", point);
    return;
  }
  rows.points.push_back(std::move(point));
}

void add_version(ImportedRows& rows, const std::string& what, const std::string& version) {
  std::string& known = rows.versions[what];
  const std::string listed = ", " + known + ", ";
  if (listed.find(", " + version + ", ") != std::string::npos) return;
  known += (known.empty() ? "" : ", ") + version;
}

void take_off_quantising(ImportedRows& rows) {
  // By name, source and length of a row: seconds by tokens.
  using ByLength = std::map<std::int64_t, std::map<double, double>>;
  std::map<std::string, std::map<std::string, ByLength, std::less<>>, std::less<>> parts;
  for (const TimedPoint& p : rows.points) {
    if (p.shape.name != kFindingScales && p.shape.name != kQuantising) continue;
    const double tokens = std::round(p.point.x / (to_double(p.shape.inputs) * kQuantisedBytes));
    parts[p.shape.name][std::string(source_of(p.kernel))][p.shape.inputs][tokens] =
        p.point.time.value;
  }
  for (auto& [part, sources] : parts) {
    for (auto& [source, lengths] : sources) {
      for (auto& [length, seconds] : lengths) limit_to_larger(seconds);
    }
  }
  const auto is_meant = [](const TimedPoint& p) {
    return p.shape.family == OperatorFamily::gemm && p.shape.format == "fp8" &&
           p.shape.query_heads == 0 && is_of_engine(source_of(p.kernel), "trtllm");
  };
  for (const auto& [part, reason] :
       {std::pair{kFindingScales, "computes scales that checkpoints contain"},
        std::pair{kQuantising, "quantises its input, which kernels before it do"}}) {
    const auto& sources = parts[part];
    refuse(
        rows, rows.points, fmt::format("{}, which was not timed separately", reason),
        [&](const TimedPoint& p) { return is_meant(p) && !sources.contains(source_of(p.kernel)); });
    for (TimedPoint& p : rows.points) {
      if (!is_meant(p)) continue;
      const ByLength& lengths = sources.find(source_of(p.kernel))->second;
      auto length = lengths.lower_bound(p.shape.inputs);
      if (length == lengths.end()) --length;
      p.point.time -= Seconds{at_tokens(length->second, p.point.x)};
    }
  }
  refuse(rows, rows.points, "takes no longer than quantising its input",
         [&](const TimedPoint& p) { return is_meant(p) && p.point.time.value < kShortestCall; });
}

void undo_group_limit(ImportedRows& rows) {
  refuse(rows, rows.points, "picked by a power law through a router's groups",
         [](const TimedPoint& p) { return picks_by_groups(p) && p.shape.power_law > 0; });
  undo_group_limit_over_ranks(rows);
  const auto is_meant = [](const TimedPoint& p) { return picks_by_groups(p) && !is_over_ranks(p); };
  std::map<KernelKey, std::map<double, Seconds>> times;  // by tokens
  for (const TimedPoint& p : rows.points) {
    if (is_meant(p)) times[{p.shape, p.kernel}].emplace(p.point.x, p.point.time);
  }
  const auto full = [](const TimedPoint& p) { return to_double(p.shape.experts / kGroups); };
  const auto is_beyond = [&](const TimedPoint& p) {
    return is_meant(p) && p.point.x > full(p) && p.point.x <= kReadsHidden;
  };
  refuse(rows, rows.points, "read half of the experts, and what reading them takes was not timed",
         [&](const TimedPoint& p) {
           if (!is_beyond(p)) return false;
           const auto& known = times.at({p.shape, p.kernel});
           return !known.contains(1) || !known.contains(full(p));
         });
  for (TimedPoint& p : rows.points) {
    if (is_beyond(p)) {
      const auto& known = times.at({p.shape, p.kernel});
      p.point.time += known.at(full(p)) - known.at(1);
    } else if (is_meant(p) && p.point.x <= full(p)) {
      p.point.x = (p.point.x + 1) / 2;
    }
  }
}

void add_finalizing(ImportedRows& rows, const Gpu& gpu) {
  constexpr double kBytes = 2;  // an element's
  for (TimedPoint& p : rows.points) {
    const OperatorShape& shape = p.shape;
    if (shape.family != OperatorFamily::moe || !is_of_engine(source_of(p.kernel), "trtllm") ||
        !p.kernel.starts_with("moe_torch_flow_min_latency")) {
      continue;
    }
    const double picks = to_double(shape.experts_per_token) / std::max(1, shape.expert_ranks);
    const Bytes moved{p.point.x * (picks + 1) * to_double(shape.inputs) * kBytes};
    p.point.time += moved / gpu.memory_bandwidth;
  }
}

void settle_duplicates(ImportedRows& rows) {
  std::vector<std::size_t> order(rows.points.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return size_key(rows.points[a]) < size_key(rows.points[b]);
  });
  std::vector<TimedPoint> settled;
  for (auto first = order.begin(); first != order.end();) {
    const SizeKey key = size_key(rows.points[*first]);
    const auto last = std::find_if(first, order.end(),
                                   [&](std::size_t i) { return size_key(rows.points[i]) != key; });
    const auto count = static_cast<double>(last - first);
    TimedPoint point = rows.points[*first];
    Seconds min = point.point.time;
    Seconds max = min;
    Seconds sum{};
    int samples = 0;
    for (auto i = first; i != last; ++i) {
      const MeasuredPoint& one = rows.points[*i].point;
      min = std::min(min, one.time);
      max = std::max(max, one.time);
      sum += one.time;
      samples += one.samples;
    }
    if (max > min * kMaxDisagreement) {
      for (auto i = first; i != last; ++i) {
        leave_out(rows, LeftOutAs::refused, "contradicts another row of the same size",
                  rows.points[*i]);
      }
    } else {
      point.point.time = sum / count;
      point.point.samples = samples;
      for (auto i = first + 1; i != last; ++i) {
        leave_out(rows, LeftOutAs::duplicate, "timed again at the same size: averaged",
                  rows.points[*i]);
      }
      settled.push_back(std::move(point));
    }
    first = last;
  }
  rows.points = std::move(settled);
}

void refuse_spikes(ImportedRows& rows) {
  const std::vector<TimedPoint>& points = rows.points;
  std::vector<Neighbours> notes(points.size());
  std::vector<std::size_t> order(points.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto curve_of = [](const TimedPoint& p) { return std::tie(p.shape, p.kernel); };
  const auto sort_by = [&](auto size) {
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const TimedPoint& one = points[a];
      const TimedPoint& two = points[b];
      if (curve_of(one) != curve_of(two)) return curve_of(one) < curve_of(two);
      return size(one.point) < size(two.point);
    });
  };
  sort_by([](const MeasuredPoint& p) { return std::pair{p.x, p.y}; });
  note_neighbours(
      points, order, Axis::y,
      [&](const TimedPoint& a, const TimedPoint& b) {
        return a.point.x == b.point.x && curve_of(a) == curve_of(b);
      },
      notes);
  sort_by([](const MeasuredPoint& p) { return std::pair{p.y, p.x}; });
  note_neighbours(
      points, order, Axis::x,
      [&](const TimedPoint& a, const TimedPoint& b) {
        return a.point.y == b.point.y && curve_of(a) == curve_of(b);
      },
      notes);
  std::vector<TimedPoint> kept;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (notes[i].larger && points[i].point.time > notes[i].slowest * kSpike) {
      leave_out(rows, LeftOutAs::refused, "over three times as long as every neighbouring size",
                points[i]);
    } else if (notes[i].disturbed) {
      leave_out(rows, LeftOutAs::refused,
                "over half as long again as the next larger size, and as the next smaller one in "
                "proportion",
                points[i]);
    } else {
      kept.push_back(points[i]);
    }
  }
  rows.points = std::move(kept);
}

void refuse_detours(ImportedRows& rows, const Gpu& gpu) {
  constexpr double kDetour = 0.5;
  // A ring's rank sends (n - 1) / n of the message, twice if it also comes back.
  const auto sent = [](const TimedPoint& p) {
    const double ranks = p.shape.ranks;
    return p.point.x * (ranks - 1) / ranks;
  };
  struct Largest {
    double bytes = 0;
    double rate = 0;  // bytes sent by a rank per second
  };
  using Kernel = std::pair<Exchange, std::string>;
  std::map<Kernel, std::map<int, Largest>> largest;
  for (const TimedPoint& p : rows.points) {
    if (p.shape.family != OperatorFamily::collective || p.shape.ranks > gpu.gpus_per_node) continue;
    Largest& known = largest[{p.shape.exchange, p.kernel}][p.shape.ranks];
    if (p.point.x > known.bytes) known = {p.point.x, sent(p) / p.point.time.value};
  }
  const auto detours = [&](const TimedPoint& p) {
    const auto found = largest.find({p.shape.exchange, p.kernel});
    if (p.shape.family != OperatorFamily::collective || found == largest.end()) return false;
    const auto pair = found->second.find(2);
    const auto own = found->second.find(p.shape.ranks);
    return pair != found->second.end() && own != found->second.end() &&
           own->second.rate < kDetour * pair->second.rate;
  };
  std::vector<TimedPoint> kept;
  for (TimedPoint& p : rows.points) {
    if (detours(p)) {
      leave_out(rows, LeftOutAs::refused,
                "collective at less than half the rate between two GPUs: by way of the host", p);
    } else {
      kept.push_back(std::move(p));
    }
  }
  rows.points = std::move(kept);
}

void refuse_beyond_physics(ImportedRows& rows, const Gpu& gpu) {
  std::vector<TimedPoint> kept;
  std::set<KernelKey> too_fast;                           // experts, however they are picked
  std::vector<double> impossible(rows.tables.size(), 0);  // points of each file
  std::vector<double> all(rows.tables.size(), 0);
  for (TimedPoint& p : rows.points) {
    if (p.table < all.size()) ++all[p.table];
    if (!beats_physics(p.shape, p.point, gpu)) {
      kept.push_back(std::move(p));
      continue;
    }
    const auto cached = cached_read(p, gpu);
    leave_out(rows, LeftOutAs::refused,
              cached ? *cached : "faster than the GPU's peaks and bandwidths allow", p);
    if (cached) continue;
    if (p.table < all.size()) ++impossible[p.table];
    if (p.shape.family == OperatorFamily::moe) too_fast.insert(experts_key(p));
  }
  refuse(rows, kept, "in a file of which more than a twentieth is impossible",
         [&](const TimedPoint& p) {
           return p.table < all.size() &&
                  impossible[p.table] > std::max(kFewImpossible, kMaxImpossible * all[p.table]);
         });
  refuse(rows, kept, "beside impossible rows: fewer experts were read than stated",
         [&](const TimedPoint& p) {
           return p.shape.family == OperatorFamily::moe && too_fast.contains(experts_key(p));
         });
  rows.points = std::move(kept);
}

void refuse_launch_bound(ImportedRows& rows) {
  const auto key_of = [](const TimedPoint& p) {
    KernelKey key{p.shape, p.kernel};
    key.first.prompts = 1;
    return key;
  };
  std::map<KernelKey, Seconds> shortest;
  for (const TimedPoint& p : rows.points) {
    if (!rows.eager_kernels.contains(p.kernel)) continue;
    const auto [place, fresh] = shortest.try_emplace(key_of(p), p.point.time);
    if (!fresh) place->second = std::min(place->second, p.point.time);
  }
  if (shortest.empty()) return;
  refuse(rows, rows.points, "launched outside a graph, so launch time dominates",
         [&](const TimedPoint& p) {
           const auto found = shortest.find(key_of(p));
           return found != shortest.end() && p.point.time < found->second * kLaunchBound;
         });
}

void refuse_cached_reads(ImportedRows& rows, const Gpu& gpu) {
  std::map<KernelKey, Seconds> shortest;
  for (const TimedPoint& p : rows.points) {
    if (!reads_cache(p)) continue;
    const auto [place, fresh] = shortest.try_emplace({p.shape, p.kernel}, p.point.time);
    if (!fresh) place->second = std::min(place->second, p.point.time);
  }
  std::vector<TimedPoint> kept;
  for (TimedPoint& p : rows.points) {
    if (reads_cache(p)) {
      const Bytes read = shape_work(p.shape, p.point.x, p.point.y, 1).stored_bytes;
      const Seconds cold = shortest[{p.shape, p.kernel}] + read / gpu.memory_bandwidth;
      if (read < gpu.l2_cache * kCacheReach && p.point.time < cold &&
          p.point.time > shortest[{p.shape, p.kernel}]) {
        leave_out(rows, LeftOutAs::refused, kCachedReads, p);
        continue;
      }
    }
    kept.push_back(std::move(p));
  }
  rows.points = std::move(kept);
}

}  // namespace roofcast
