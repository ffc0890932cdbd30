#include "planner/search/evaluations.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "planner/search/local_workers.hpp"

namespace roofcast {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kThisRank = 0;  // the leader answers questions too

// Interval between polls of the other ranks, whose answers wake no thread; evaluations take
// milliseconds. Without other ranks a poll only updates progress.
constexpr std::chrono::microseconds kPollRanks{200};
constexpr std::chrono::microseconds kPollAlone{20000};

/// A question that a rank is working on.
struct Assignment {
  std::int64_t index = 0;  // in Batch::questions
  int rank = kThisRank;
};

/// The unanswered questions of one call, without duplicates.
struct Batch {
  std::vector<FigureQuestion> questions{};
  std::deque<std::int64_t> open{};  // not handed out; in order, so that failures are in order too
  std::map<std::int64_t, Assignment> under_way{};  // by id
  std::int64_t left = 0;                           // open or under way
  bool ended = false;                              // cancelled by progress: hand out nothing more
  std::int64_t failed_index = std::numeric_limits<std::int64_t>::max();
  std::string failure{};

  bool failed() const { return failed_index < std::ssize(questions); }
};

}  // namespace

struct Evaluations::Impl {
  Impl(Evaluator evaluate, EvaluationOptions given)
      : options(std::move(given)), local(std::move(evaluate), options.threads) {}

  EvaluationOptions options;
  LocalWorkers local;
  std::map<FigureQuestion, Figures> known{};
  std::vector<AnsweredQuestion> unkept{};
  Clock::time_point last_kept = Clock::now();
  std::int64_t next_id = 0;
  std::int64_t evaluated = 0;
  std::int64_t elsewhere = 0;

  std::string text_of(const FigureQuestion& question) const {
    return question_text(question, options.digest);
  }
  bool is_known(const FigureQuestion& question);
  Batch batch_of(std::span<const FigureQuestion> questions);
  std::vector<ServingRank> workers();
  void hand_out(Batch& batch);
  void begin(Batch& batch, int rank);
  void collect(Batch& batch);
  void note(Batch& batch, FinishedEvaluation one);
  void note(Batch& batch, RankAnswer one);
  void keep();
};

bool Evaluations::Impl::is_known(const FigureQuestion& question) {
  if (known.contains(question)) return true;
  if (!options.kept.find) return false;
  const std::optional<std::string> kept = options.kept.find(text_of(question));
  if (!kept) return false;
  known.emplace(question, parse_figures(question.kind, *kept));
  return true;
}

Batch Evaluations::Impl::batch_of(std::span<const FigureQuestion> questions) {
  Batch batch;
  std::set<FigureQuestion> seen;
  for (const FigureQuestion& question : questions) {
    if (!seen.insert(question).second || is_known(question)) continue;
    batch.open.push_back(std::ssize(batch.questions));
    batch.questions.push_back(question);
  }
  batch.left = std::ssize(batch.questions);
  return batch;
}

std::vector<ServingRank> Evaluations::Impl::workers() {
  std::vector<ServingRank> all{{.rank = kThisRank, .threads = std::max(1, options.threads)}};
  if (options.ranks != nullptr) {
    const std::vector<ServingRank> others = options.ranks->serving();
    all.insert(all.end(), others.begin(), others.end());
  }
  return all;
}

void Evaluations::Impl::begin(Batch& batch, int rank) {
  const std::int64_t index = batch.open.front();
  batch.open.pop_front();
  const std::int64_t id = next_id++;
  batch.under_way.emplace(id, Assignment{.index = index, .rank = rank});
  const FigureQuestion& question = batch.questions[static_cast<std::size_t>(index)];
  if (rank == kThisRank) {
    local.begin(id, question);
  } else {
    options.ranks->begin(rank, id, text_of(question));
  }
}

/// Hands out one question to each rank in turn until all are busy. While there are more questions
/// than threads, each rank gets one more than it can run at once, so that it need not wait for the
/// next; not at the end of a batch, where that question would wait while another rank is idle.
void Evaluations::Impl::hand_out(Batch& batch) {
  const std::vector<ServingRank> ranks = workers();
  std::map<int, int> room;  // by rank
  int threads = 0;
  for (const ServingRank& one : ranks) threads += one.threads;
  const int ahead = std::ssize(batch.open) > threads ? 1 : 0;
  for (const ServingRank& one : ranks) room[one.rank] = one.threads + ahead;
  std::erase_if(batch.under_way, [&](const auto& entry) {
    const auto found = room.find(entry.second.rank);
    if (found == room.end()) {  // the leader gave up on its rank
      batch.open.push_front(entry.second.index);
      return true;
    }
    --found->second;
    return false;
  });
  if (batch.ended || batch.failed()) return;
  for (bool gave = true; gave;) {
    gave = false;
    for (auto& [rank, left] : room) {
      if (left <= 0 || batch.open.empty()) continue;
      begin(batch, rank);
      --left;
      gave = true;
    }
  }
}

void Evaluations::Impl::note(Batch& batch, FinishedEvaluation one) {
  const auto found = batch.under_way.find(one.id);
  if (found == batch.under_way.end()) return;  // from a rank given up on too soon
  const auto [index, rank] = found->second;
  batch.under_way.erase(found);
  if (one.failed) {
    if (index < batch.failed_index) batch.failure = std::move(one.failure);
    batch.failed_index = std::min(batch.failed_index, index);
    return;
  }
  --batch.left;
  ++evaluated;
  if (rank != kThisRank) ++elsewhere;
  const FigureQuestion& question = batch.questions[static_cast<std::size_t>(index)];
  if (options.kept.keep) {
    unkept.push_back({.question = text_of(question), .answer = to_text(one.figures)});
  }
  known.emplace(question, std::move(one.figures));
}

void Evaluations::Impl::note(Batch& batch, RankAnswer one) {
  const auto found = batch.under_way.find(one.id);
  if (found == batch.under_way.end()) return;  // from a rank given up on too soon
  FinishedEvaluation finished{.id = one.id, .failed = one.failed};
  if (one.failed) {
    finished.failure = std::move(one.text);
  } else {
    const auto index = static_cast<std::size_t>(found->second.index);
    finished.figures = parse_figures(batch.questions[index].kind, one.text);
  }
  note(batch, std::move(finished));
}

void Evaluations::Impl::collect(Batch& batch) {
  const bool alone = options.ranks == nullptr || options.ranks->count() == 1;
  for (FinishedEvaluation& one : local.finished(alone ? kPollAlone : kPollRanks)) {
    note(batch, std::move(one));
  }
  if (alone) return;
  for (RankAnswer& one : options.ranks->finished()) note(batch, std::move(one));
}

void Evaluations::Impl::keep() {
  last_kept = Clock::now();
  if (unkept.empty()) return;
  options.kept.keep(unkept);
  unkept.clear();
}

Evaluations::Evaluations(Evaluator evaluate, EvaluationOptions options)
    : impl_(std::make_unique<Impl>(std::move(evaluate), std::move(options))) {}

Evaluations::~Evaluations() {
  try {
    impl_->keep();
  } catch (const std::exception&) {  // no caller is left
  }
}

std::optional<std::vector<Figures>> Evaluations::answers(std::span<const FigureQuestion> questions,
                                                         const Progress& progress) {
  Impl& impl = *impl_;
  Batch batch = impl.batch_of(questions);
  const std::int64_t all = std::ssize(questions);
  while (true) {
    if (progress && !batch.ended) batch.ended = !progress(all - batch.left, all);
    impl.hand_out(batch);
    if (batch.under_way.empty()) break;
    impl.collect(batch);
    if (Clock::now() - impl.last_kept >= impl.options.keep_every) impl.keep();
  }
  // Evaluations that were ended from within have failed, too.
  if (batch.ended) return std::nullopt;
  if (batch.failed()) throw Error(batch.failure);
  std::vector<Figures> found;
  found.reserve(questions.size());
  for (const FigureQuestion& question : questions) found.push_back(impl.known.at(question));
  return found;
}

void Evaluations::keep() { impl_->keep(); }

std::int64_t Evaluations::evaluated() const { return impl_->evaluated; }

std::int64_t Evaluations::evaluated_elsewhere() const { return impl_->elsewhere; }

}  // namespace roofcast
