// The schedulers, a row each. policy_NAME.cpp defines each one's function.
#pragma once

#include <array>
#include <memory>

#include "model/engines/engine.hpp"
#include "simulator/engine/batching_policy.hpp"

namespace roofcast {

std::unique_ptr<BatchingPolicy> vllm_v1_policy(const Engine& engine);
std::unique_ptr<BatchingPolicy> sglang_policy(const Engine& engine);
std::unique_ptr<BatchingPolicy> tensorrt_llm_policy(const Engine& engine);
std::unique_ptr<BatchingPolicy> atom_policy(const Engine& engine);
std::unique_ptr<BatchingPolicy> static_batch_policy(const Engine& engine);
std::unique_ptr<BatchingPolicy> naive_policy(const Engine& engine);

struct Scheduler {
  SchedulerKind kind;
  std::unique_ptr<BatchingPolicy> (*make)(const Engine&);
};

inline constexpr auto kSchedulers = std::to_array<Scheduler>({
    {SchedulerKind::vllm_v1, vllm_v1_policy},
    {SchedulerKind::sglang, sglang_policy},
    {SchedulerKind::tensorrt_llm, tensorrt_llm_policy},
    {SchedulerKind::atom, atom_policy},
    {SchedulerKind::static_batch, static_batch_policy},
    {SchedulerKind::naive, naive_policy},
});

}  // namespace roofcast
