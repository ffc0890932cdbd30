#include "validate/server_arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "validate/measured_deployment.hpp"

namespace roofcast::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ServerArguments, SglangsServerInfoIsReadLikeItsFlags) {
  MeasuredSetting setting{.engine = "sglang"};
  setting.other["server_info"] =
      R"({"model_path": "org/m", "tp_size": 2, "mem_fraction_static": 0.5,
          "max_running_requests": 2, "chunked_prefill_size": 4096, "max_prefill_tokens": 8192,
          "context_length": null, "kv_cache_dtype": "fp8_e5m2", "disable_radix_cache": true,
          "disable_overlap_schedule": false, "disable_cuda_graph": true, "page_size": 16,
          "schedule_policy": "lpm", "schedule_conservativeness": 0.5, "enable_mixed_chunk": true,
          "max_total_tokens": 65536, "enable_torch_compile": true, "enable_dp_lm_head": false,
          "attention_backend": "fa3", "trust_remote_code": true, "internal_states": [{}]})";
  const ServerArguments said = server_arguments_of(setting);
  const EngineOverrides& knobs = said.overrides;
  EXPECT_EQ(knobs.gpu_memory_utilization, 0.5);
  EXPECT_EQ(knobs.max_num_seqs, 2);
  EXPECT_EQ(knobs.max_num_batched_tokens, 4096);
  EXPECT_EQ(knobs.max_prefill_tokens, 8192);
  EXPECT_FALSE(knobs.max_model_len);
  EXPECT_EQ(knobs.kv_cache_dtype, DType::fp8);
  EXPECT_EQ(knobs.enable_prefix_caching, false);
  EXPECT_EQ(knobs.async_scheduling, true);
  EXPECT_EQ(knobs.enforce_eager, true);
  EXPECT_EQ(knobs.block_size, 16);
  EXPECT_EQ(knobs.scheduling_policy, QueueOrder::longest_prefix);
  EXPECT_EQ(knobs.schedule_conservativeness, 0.5);
  EXPECT_EQ(knobs.enable_mixed_chunk, true);
  EXPECT_EQ(knobs.num_gpu_blocks_override, 4096);  // 65536 tokens in pages of 16
  EXPECT_THAT(said.not_modelled, ElementsAre("enable_torch_compile"));
}

TEST(ServerArguments, AKeyOfItsOwnGoesBeforeServerInfo) {
  MeasuredSetting setting{.engine = "sglang"};
  setting.other["server_info"] = R"({"mem_fraction_static": 0.5, "max_running_requests": 2})";
  setting.other["mem_fraction_static"] = R"("0.8")";  // --meta gives texts
  const EngineOverrides knobs = server_arguments_of(setting).overrides;
  EXPECT_EQ(knobs.gpu_memory_utilization, 0.8);
  EXPECT_EQ(knobs.max_num_seqs, 2);
}

// 256 requests of all eight ranks are 32 of each; the chunk is of one rank already.
TEST(ServerArguments, RequestsOfSharedAttentionAreOfAllRanks) {
  MeasuredSetting setting{.engine = "sglang", .tensor = 1, .data = 8};
  setting.other["server_info"] =
      R"({"enable_dp_attention": true, "max_running_requests": 256, "chunked_prefill_size": 1024})";
  const EngineOverrides shared = server_arguments_of(setting).overrides;
  EXPECT_EQ(shared.max_num_seqs, 32);
  EXPECT_EQ(shared.max_num_batched_tokens, 1024);
  setting.other["enable_dp_attention"] = "false";
  EXPECT_EQ(server_arguments_of(setting).overrides.max_num_seqs, 256);
}

TEST(ServerArguments, TensorrtLlmsReportIsReadLikeItsFlagsAndKeys) {
  MeasuredSetting setting{.engine = "tensorrt-llm"};
  setting.other = {{"backend", R"("Pytorch")"},
                   {"kv_cache_dtype", R"("FP8")"},
                   {"ep_size", "4"},
                   {"max_batch_size", "64"},
                   {"max_num_tokens", "2048"},
                   {"scheduling_policy", R"("Max Utilization")"},
                   {"kv_cache_percentage", "85.0"},
                   {"max_sequence_length", "4096"}};
  const ServerArguments said = server_arguments_of(setting);
  EXPECT_EQ(said.overrides.kv_cache_dtype, DType::fp8);
  EXPECT_EQ(said.overrides.max_num_seqs, 64);
  EXPECT_EQ(said.overrides.max_num_batched_tokens, 2048);
  EXPECT_EQ(said.overrides.capacity_scheduler_policy, CapacityPolicy::max_utilization);
  EXPECT_EQ(said.overrides.gpu_memory_utilization, 0.85);
  EXPECT_EQ(said.overrides.max_model_len, 4096);
  EXPECT_THAT(said.not_modelled, IsEmpty());
  setting.other["kv_cache_percentage"] = "0.85";
  EXPECT_EQ(server_arguments_of(setting).overrides.gpu_memory_utilization, 0.85);
}

TEST(ServerArguments, WhatCannotBeReadIsNamed) {
  MeasuredSetting setting{.engine = "sglang"};
  setting.other["server_info"] = R"({"max_running_requests": "many"})";
  try {
    server_arguments_of(setting);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    FAIL() << "no flag is wrong: " << error.what();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("max_running_requests: 'many' is not"));
  }
  setting.other["server_info"] = "[1, 2]";
  EXPECT_FALSE(server_arguments_of(setting).overrides.max_num_seqs);
}

TEST(ServerArguments, WhatIsNotModelledIsTold) {
  MeasuredSetting setting{.engine = "sglang", .engine_version = "0.5.6"};
  EXPECT_THAT(assumptions_of(setting), IsEmpty());
  setting.other["server_info"] = R"({"enable_torch_compile": true, "enable_dp_lm_head": true})";
  EXPECT_THAT(
      assumptions_of(setting),
      ElementsAre("the server ran with enable_dp_lm_head, enable_torch_compile, which is not "
                  "modelled: predicted without it"));
  EXPECT_TRUE(is_server_argument("mem_fraction_static"));
  EXPECT_TRUE(is_server_argument("scheduling_policy"));
  EXPECT_FALSE(is_server_argument("mem_fraction"));
}

TEST(ServerArguments, VllmsAreReadElsewhere) {
  MeasuredSetting setting{.engine = "vllm"};
  setting.other["max_num_seqs"] = "4";
  EXPECT_FALSE(server_arguments_of(setting).overrides.max_num_seqs);
}

}  // namespace
}  // namespace roofcast::test
