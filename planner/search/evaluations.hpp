// Answers batches of questions on all threads and ranks, each question once: stored answers of
// earlier runs are not evaluated again, so an interrupted run resumes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "planner/search/evaluator.hpp"
#include "planner/search/ranks.hpp"

namespace roofcast {

/// A question with its answer, as texts.
struct AnsweredQuestion {
  std::string question{};
  std::string answer{};
};

/// Persistent answers. Both functions are called by the thread that asks; either may be empty.
struct KeptAnswers {
  std::function<std::optional<std::string>(const std::string& question)> find{};
  std::function<void(std::span<const AnsweredQuestion>)> keep{};
};

struct EvaluationOptions {
  int threads = 1;  // of this process
  /// Digest of all inputs. Texts of questions end in it, so that other inputs find no answers.
  std::string digest{};
  KeptAnswers kept{};
  std::chrono::milliseconds keep_every{1000};  // at most this much work is lost when killed
  Ranks* ranks = nullptr;  // must outlive the evaluations; null: no other process
};

/// Not thread-safe: use from the thread that joined the ranks.
class Evaluations {
 public:
  Evaluations(Evaluator evaluate, EvaluationOptions options);
  ~Evaluations();  // stores the remaining answers if possible
  Evaluations(const Evaluations&) = delete;
  Evaluations& operator=(const Evaluations&) = delete;

  /// Answers in the order of the questions, independent of threads, ranks and stored answers as
  /// long as the caller asks the same batches in the same order. `progress`, if not empty, gets
  /// (answered, questions); returns nullopt once it returns false, whatever the evaluator then
  /// throws. Throws Error with what the evaluator threw, for several failures that of the first
  /// question; failures are not stored.
  std::optional<std::vector<Figures>> answers(std::span<const FigureQuestion> questions,
                                              const Progress& progress);

  /// Stores answers that are not stored yet.
  void keep();

  /// Number of answers evaluated rather than found in the store. Differs between a run and its
  /// resumption, so it must not be part of an answer.
  std::int64_t evaluated() const;
  std::int64_t evaluated_elsewhere() const;  // of these, by other ranks

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace roofcast
