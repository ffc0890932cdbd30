// Ranks over MPI. All messages go between the leader and one other rank, and neither ever blocks
// until the other receives: sends are started and completed later.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/quantity.hpp"
#include "planner/evaluate_all.hpp"
#include "planner/search/late_mpi.hpp"
#include "planner/search/local_workers.hpp"
#include "planner/search/ranks.hpp"

namespace roofcast {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLeader = 0;
constexpr std::chrono::microseconds kPollWhenBusy{200};
constexpr std::chrono::microseconds kPollWhenIdle{1000};
constexpr std::chrono::seconds kHeartbeatInterval{1};

/// Message types; used as MPI's tag.
enum class Kind : int {
  ready = 1,  // from a serving rank: its threads, in digits
  heartbeat,  // from a serving rank that has sent nothing else for a while
  question,   // an id, and a text; answered with one of the next two
  answer,
  failure,   // why there is no answer
  release,   // from the leader: no more questions
  finished,  // from another rank: its last message, with a reason if it was not released
  end  // from the leader, to those that have finished; with kAllFinished if none was given up on
};

constexpr const char* kAllFinished = "all finished";

constexpr const char* kOtherInputs =
    "the processes of mpirun read different inputs: a model, profile, scenario, trace or the "
    "program itself is not the same for all";

struct Message {
  Kind kind{};
  int rank = 0;  // rank of the sender
  std::string bytes{};
};

/// The id in the machine's byte order: all ranks run one program on one kind of machine.
std::string with_id(std::int64_t id, const std::string& text) {
  std::string bytes(sizeof id, '\0');
  std::memcpy(bytes.data(), &id, sizeof id);
  return bytes + text;
}

std::pair<std::int64_t, std::string> id_and_text(const std::string& bytes) {
  std::int64_t id = 0;
  if (bytes.size() < sizeof id) throw Error("MPI: received a message of another program");
  std::memcpy(&id, bytes.data(), sizeof id);
  return {id, bytes.substr(sizeof id)};
}

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  throw Error(fmt::format("{}: {}", call, text));
}

/// Messages that this rank has sent and MPI may still read.
class Outbox {
 public:
  void send(int rank, Kind kind, std::string bytes) {
    sweep();
    Sent& sent = sent_.emplace_back(Sent{.bytes = std::move(bytes)});
    check(MPI_Isend(sent.bytes.data(), static_cast<int>(sent.bytes.size()), MPI_CHAR, rank,
                    static_cast<int>(kind), MPI_COMM_WORLD, &sent.request),
          "MPI_Isend");
  }

  bool empty() {
    sweep();
    return sent_.empty();
  }

 private:
  struct Sent {
    std::string bytes{};
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void sweep() {
    std::erase_if(sent_, [](Sent& sent) {
      int done = 0;
      check(MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      return done != 0;
    });
  }

  std::list<Sent> sent_{};  // a list: elements must not move
};

/// Messages that have arrived; does not wait.
std::vector<Message> arrived() {
  std::vector<Message> messages;
  while (true) {
    int there = 0;
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Status status{};
    check(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &handle, &status),
          "MPI_Improbe");
    if (there == 0) return messages;
    int size = 0;
    check(MPI_Get_count(&status, MPI_CHAR, &size), "MPI_Get_count");
    Message message{.kind = static_cast<Kind>(status.MPI_TAG), .rank = status.MPI_SOURCE};
    message.bytes.resize(static_cast<std::size_t>(size));
    check(MPI_Mrecv(message.bytes.data(), size, MPI_CHAR, &handle, MPI_STATUS_IGNORE), "MPI_Mrecv");
    messages.push_back(std::move(message));
  }
}

/// Another rank, as seen by the leader.
struct Peer {
  int threads = 0;  // 0: not ready
  bool finished = false;
  bool given_up = false;
  std::string reason{};  // it ended or was given up on before it was released
  Clock::time_point heard = Clock::now();
};

}  // namespace

struct Ranks::Impl {
  bool joined = false;
  int rank = kLeader;
  int count = 1;
  int on_this_machine = 1;
  Outbox outbox{};

  // for the leader
  std::vector<Peer> peers{};  // by rank; its own is unused
  Clock::time_point looked = Clock::now();
  std::vector<RankAnswer> ended{};

  void join();
  void look();
  void hear(Message message);
  void tell(Kind kind, const std::string& bytes);
  bool all_finished_or_given_up() const;
  bool release();

  // for the others
  std::string reason{};
  bool leave();
};

void Ranks::Impl::join() {
  int threading = MPI_THREAD_SINGLE;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &threading), "MPI_Init_thread");
  joined = true;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &count), "MPI_Comm_size");
  MPI_Comm machine = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine),
        "MPI_Comm_split_type");
  check(MPI_Comm_size(machine, &on_this_machine), "MPI_Comm_size");
  MPI_Comm_free(&machine);
  peers.resize(static_cast<std::size_t>(count));
}

void Ranks::Impl::hear(Message message) {
  Peer& peer = peers.at(static_cast<std::size_t>(message.rank));
  peer.heard = Clock::now();
  switch (message.kind) {
    case Kind::ready:
      peer.threads = to_number<int>(message.bytes).value_or(peer.threads);
      break;
    case Kind::answer:
    case Kind::failure: {
      auto [id, text] = id_and_text(message.bytes);
      ended.push_back({.id = id, .text = std::move(text), .failed = message.kind == Kind::failure});
      break;
    }
    case Kind::finished:
      peer.finished = true;
      peer.reason = std::move(message.bytes);
      break;
    default:
      break;
  }
}

/// Receives messages and gives up on silent ranks. Messages that arrived while the leader was busy
/// count from now.
void Ranks::Impl::look() {
  const Clock::time_point now = Clock::now();
  if (now - looked > kHeartbeatInterval) {
    for (Peer& peer : peers) peer.heard = now;
  }
  looked = now;
  for (Message& message : arrived()) hear(std::move(message));
  for (Peer& peer : peers) {
    if (peer.threads == 0 || peer.finished || Clock::now() - peer.heard <= kRankSilence) continue;
    peer.given_up = true;
    peer.reason = "no answer, given up";
  }
}

bool Ranks::Impl::all_finished_or_given_up() const {
  return std::all_of(peers.begin() + 1, peers.end(),
                     [](const Peer& peer) { return peer.finished || peer.given_up; });
}

void Ranks::Impl::tell(Kind kind, const std::string& bytes) {
  for (int other = 1; other < count; ++other) {
    if (!peers[static_cast<std::size_t>(other)].given_up) outbox.send(other, kind, bytes);
  }
}

/// For the leader: waits until the others have finished, including those that have not started to
/// serve, but waits no longer than kRankSilence for each, as during the work. Returns whether all
/// did.
bool Ranks::Impl::release() {
  tell(Kind::release, "");
  for (Peer& peer : peers)
    peer = {.threads = 1, .finished = peer.finished, .given_up = peer.given_up};
  while (!all_finished_or_given_up()) {
    std::this_thread::sleep_for(kPollWhenIdle);
    look();
  }
  const bool all =
      std::none_of(peers.begin() + 1, peers.end(), [](const Peer& peer) { return peer.given_up; });
  tell(Kind::end, all ? kAllFinished : "");
  return all;
}

/// For another rank: returns whether all have finished.
bool Ranks::Impl::leave() {
  outbox.send(kLeader, Kind::finished, reason);
  const Clock::time_point start = Clock::now();
  while (Clock::now() - start < 2 * kRankSilence) {  // the leader waits for others meanwhile
    for (const Message& message : arrived()) {
      if (message.kind == Kind::end) return message.bytes == kAllFinished;
    }
    std::this_thread::sleep_for(kPollWhenIdle);
  }
  return false;
}

Ranks::Ranks(bool started_together) : impl_(std::make_unique<Impl>()) {
  if (started_together) impl_->join();
}

Ranks::~Ranks() {
  if (!impl_->joined) return;
  bool all = false;
  try {
    all = leads() ? impl_->release() : impl_->leave();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): MPI is about to end anyway
  }
  // MPI_Finalize waits for all the others: if one is lost, these processes just end.
  if (all) MPI_Finalize();
}

bool Ranks::leads() const { return impl_->rank == kLeader; }

int Ranks::count() const { return impl_->count; }

int Ranks::threads_each() const {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores / impl_->on_this_machine, 1, available_threads());
}

std::vector<ServingRank> Ranks::serving() {
  if (impl_->count == 1) return {};
  impl_->look();
  std::vector<ServingRank> all;
  for (int rank = 1; rank < impl_->count; ++rank) {
    const Peer& peer = impl_->peers[static_cast<std::size_t>(rank)];
    if (peer.threads > 0 && !peer.finished && !peer.given_up) {
      all.push_back({.rank = rank, .threads = peer.threads});
    }
  }
  return all;
}

void Ranks::begin(int rank, std::int64_t id, const std::string& question) {
  impl_->outbox.send(rank, Kind::question, with_id(id, question));
}

std::vector<RankAnswer> Ranks::finished() {
  if (impl_->count > 1) impl_->look();
  return std::exchange(impl_->ended, {});
}

std::vector<std::string> Ranks::absent() const {
  std::vector<std::string> texts;
  for (std::size_t rank = 1; rank < impl_->peers.size(); ++rank) {
    const std::string& reason = impl_->peers[rank].reason;
    if (!reason.empty()) texts.push_back(fmt::format("rank {}: {}", rank, reason));
  }
  return texts;
}

void Ranks::excuse(const std::string& reason) { impl_->reason = reason; }

void Ranks::serve(const Evaluator& evaluate, const std::string& digest, int threads) {
  LocalWorkers local(evaluate, threads);
  Outbox& outbox = impl_->outbox;
  Clock::time_point sent = Clock::now();
  const auto send = [&](Kind kind, std::string bytes) {
    outbox.send(kLeader, kind, std::move(bytes));
    sent = Clock::now();
  };
  send(Kind::ready, std::to_string(threads));
  std::int64_t under_way = 0;
  while (true) {
    for (const FinishedEvaluation& one :
         local.finished(under_way > 0 ? kPollWhenBusy : kPollWhenIdle)) {
      --under_way;
      send(one.failed ? Kind::failure : Kind::answer,
           with_id(one.id, one.failed ? one.failure : to_text(one.figures)));
    }
    if (Clock::now() - sent >= kHeartbeatInterval) send(Kind::heartbeat, "");
    for (const Message& message : arrived()) {
      if (message.kind == Kind::release) return;
      const auto [id, text] = id_and_text(message.bytes);
      const std::optional<FigureQuestion> question = parse_question(text);
      if (!question || !text.ends_with(digest)) {
        send(Kind::failure, with_id(id, kOtherInputs));
        continue;
      }
      local.begin(id, *question);
      ++under_way;
    }
  }
}

}  // namespace roofcast
