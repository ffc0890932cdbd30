// Small clusters for tests.
#pragma once

#include "simulator/cluster/cluster.hpp"
#include "tests/simulator/support.hpp"

namespace roofcast::test {

inline constexpr Nanoseconds kHalfSecond = kSecond / 2;

/// A step takes one second per computed token.
inline const FakeStepTime& second_a_token() {
  static const FakeStepTime step_time([](const StepBatch& batch) {
    std::int64_t tokens = batch.decode_sequences;
    for (const PrefillChunk& chunk : batch.prefills) tokens += chunk.new_tokens;
    return Seconds{static_cast<double>(tokens)};
  });
  return step_time;
}

/// One pool of identical replicas with enough capacity for any test.
inline Cluster cluster_of(const Replica& replica, std::int32_t replicas,
                          RouterPolicy policy = RouterPolicy::round_robin) {
  Cluster cluster;
  cluster.pools.push_back({.replica = replica, .replicas = replicas});
  cluster.router.policy = policy;
  return cluster;
}

struct Asked {
  Nanoseconds arrival = 0;
  std::int64_t input = 0;
  std::int64_t output = 0;
};

inline Workload workload_of(const std::vector<Asked>& requests) {
  Workload workload;
  for (const Asked& asked : requests) {
    workload.requests.push_back(
        {.arrival = asked.arrival, .input_tokens = asked.input, .output_tokens = asked.output});
  }
  return workload;
}

inline std::vector<std::int32_t> replicas_of(const SimulationResult& result) {
  std::vector<std::int32_t> replicas;
  for (const RequestRecord& record : result.requests) replicas.push_back(record.replica);
  return replicas;
}

}  // namespace roofcast::test
