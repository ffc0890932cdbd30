// A small search, to be run under mpirun and to be killed: rounds of questions, each of which
// depends on all earlier answers, so that one wrong or missing answer changes everything after it.
// Prints every answer.
//   synthetic_plan THREADS STORE MILLISECONDS     per evaluation; STORE '': no store
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "planner/search/evaluations.hpp"
#include "reports/store.hpp"

namespace roofcast {
namespace {

constexpr int kRounds = 8;
constexpr int kQuestionsOfARound = 16;
constexpr std::chrono::milliseconds kKeepEvery{10};
constexpr const char* kVersion = "synthetic";

std::uint64_t mixed(std::uint64_t hash, const std::string& text) {
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211;
  return hash;
}

/// A distinct number for every question, stored as a number of requests, which serialisation keeps
/// exactly.
Evaluator evaluator(std::chrono::milliseconds each) {
  return [each](const FigureQuestion& question) -> Figures {
    std::this_thread::sleep_for(each);
    const std::uint64_t number = mixed(1, question_text(question, kVersion));
    return CandidateFigures{.requests = static_cast<std::int64_t>(number >> 1)};
  };
}

/// Runs all rounds in order; false if it was interrupted.
bool search(Evaluations& evaluations) {
  std::uint64_t state = 1;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<FigureQuestion> questions;
    for (int i = 0; i < kQuestionsOfARound; ++i) {
      questions.push_back({.shape = static_cast<std::size_t>(state), .units = i});
    }
    const auto answers = evaluations.answers(questions, {});
    if (!answers) return false;
    for (const Figures& answer : *answers) state = mixed(state, to_text(answer));
    std::cout << state << std::endl;  // flushed: what kills this program waits for the first
  }
  return true;
}

int run(int threads, const std::string& store_path, const Evaluator& evaluate) {
  Ranks ranks(std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr);
  if (!ranks.leads()) {
    ranks.serve(evaluate, kVersion, threads);
    return 0;
  }
  std::optional<Store> store;
  std::int64_t plan = 0;
  EvaluationOptions options{
      .threads = threads, .digest = kVersion, .keep_every = kKeepEvery, .ranks = &ranks};
  if (!store_path.empty()) {
    store.emplace(store_path, Store::Mode::write);
    RunRow row;
    row.kind = "plan";
    row.tool_version = kVersion;
    plan = store->begin_plan(row);
    options.kept.find = [&](const std::string& question) {
      return store->evaluation(kVersion, question);
    };
    options.kept.keep = [&](std::span<const AnsweredQuestion> answered) {
      std::vector<EvaluationRow> rows;
      for (const AnsweredQuestion& one : answered) rows.push_back({one.question, one.answer});
      store->add_evaluations(plan, rows);
    };
  }
  Evaluations evaluations(evaluate, std::move(options));
  if (!search(evaluations)) return 1;
  evaluations.keep();
  if (store) store->end_plan(plan, {.summary = "done"}, {});
  std::cerr << evaluations.evaluated() << " evaluated, " << evaluations.evaluated_elsewhere()
            << " by other ranks\n";
  return 0;
}

}  // namespace
}  // namespace roofcast

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw roofcast::Error("usage: synthetic_plan THREADS STORE MILLISECONDS");
    const std::chrono::milliseconds each(std::stoi(argv[3]));
    return roofcast::run(std::stoi(argv[1]), argv[2], roofcast::evaluator(each));
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
