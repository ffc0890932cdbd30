// Batches of questions answered by all threads and ranks, and none of them twice: what an earlier
// run has kept is not evaluated again, so a run that was cut short resumes where it was.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/search/evaluator.hpp"
#include "planner/search/ranks.hpp"

namespace roofcast {

/// A question with its answer, as texts.
struct AnsweredQuestion {
  std::string question{};
  std::string answer{};
};

/// Answers that outlive the process. Both are called by the thread that asks; either may be empty.
struct KeptAnswers {
  std::function<std::optional<std::string>(const std::string& question)> find{};
  std::function<void(std::span<const AnsweredQuestion>)> keep{};
};

struct EvaluationOptions {
  int threads = 1;  // of this process
  /// What all questions rest on: in texts they end in it, so that other inputs find no answers.
  std::string digest{};
  KeptAnswers kept{};
  std::chrono::milliseconds keep_every{1000};  // what a run that is killed may lose
  Ranks* ranks = nullptr;                      // outlives the evaluations; null: no other process
};

/// For one thread: the one that joined the ranks.
class Evaluations {
 public:
  Evaluations(Evaluator evaluate, EvaluationOptions options);
  ~Evaluations();  // keeps what is not kept yet, if it can
  Evaluations(const Evaluations&) = delete;
  Evaluations& operator=(const Evaluations&) = delete;

  /// In the order of the questions, the same whatever the threads, the ranks and what was kept, as
  /// long as the caller asks the same batches in the same order. `progress`, where there is one,
  /// gets (answered, questions); nothing is returned once it returns false. Throws Error with what
  /// the evaluator threw, of several the one that stands first; failures are not kept.
  std::optional<std::vector<Figures>> answers(
      std::span<const FigureQuestion> questions,
      const std::function<bool(std::int64_t, std::int64_t)>& progress);

  /// Keeps what is not kept yet.
  void keep();

  /// Answers that were evaluated, not found: what this run cost. Differs between a run and its
  /// resumption, so it has no place in an answer.
  std::int64_t evaluated() const;
  std::int64_t evaluated_elsewhere() const;  // of these, by other ranks

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace roofcast
