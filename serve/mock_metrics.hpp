// vLLM's metrics of a mock server, as Prometheus reads them (names, labels and buckets of
// vllm/v1/metrics/loggers.py). Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "roofcast/live.hpp"

namespace roofcast {

/// A histogram of Prometheus: counts up to each bound, and the sum.
class MetricHistogram {
 public:
  explicit MetricHistogram(std::vector<double> bounds);
  void observe(double value);
  /// Its lines, with `labels` such as `model_name="m",engine="0"`.
  std::string text(const std::string& name, const std::string& labels) const;

 private:
  std::vector<double> bounds_;  // increasing
  std::vector<std::int64_t> counts_;
  std::int64_t count_ = 0;
  double sum_ = 0;
};

/// 1, 2, 5, 10, 20, 50 ... up to `max`.
std::vector<double> bounds_1_2_5(double max);

class MockMetrics {
 public:
  MockMetrics(std::string model, const LiveFacts& facts);

  void add_tokens(const LiveTokens& before, const LiveTokens& now, std::int64_t prompt_tokens);
  void add_finished(const LiveTokens& last, std::int64_t prompt_tokens, const std::string& reason);

  /// The page at /metrics.
  std::string text(const LiveFigures& figures) const;

 private:
  std::string model_;
  LiveFacts facts_;
  std::int64_t prompt_tokens_ = 0;
  std::int64_t generated_tokens_ = 0;
  std::map<std::string, std::int64_t> finished_;  // by reason
  MetricHistogram ttft_, gap_, tpot_, e2e_, queue_, prompt_, output_;
};

}  // namespace roofcast
