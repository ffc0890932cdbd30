// Command lines as users post them; the expected settings are worked out from the engines'
// documentation.
#include "planner/launch/serve_command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "planner/launch/serve_command_line.hpp"

namespace roofcast::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void expect_refused(const std::string& text, const std::string& part) {
  try {
    read_serve_command(text);
    FAIL() << "accepted: " << text.substr(0, 60);
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr(part));
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
    EXPECT_LT(std::string(error.what()).size(), 400U);
  }
}

// ---- vLLM

TEST(ServeCommand, AVllmLineDecidesWhatItsFlagsSay) {
  const ServeCommand command = read_serve_command(
      "vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4 --max-model-len 32k "
      "--max-num-seqs=256 --gpu-memory-utilization 0.95 --kv-cache-dtype fp8_e5m2 "
      "--max-num-batched-tokens 8K --no-enable-prefix-caching --enforce-eager "
      "--scheduling-policy priority -q fp8");
  EXPECT_EQ(command.engine, ServeEngine::vllm);
  const DeploymentOptions& deployment = command.deployment;
  EXPECT_EQ(deployment.model, "meta-llama/Llama-3.1-70B-Instruct");
  EXPECT_EQ(deployment.engine, "vllm");
  EXPECT_EQ(deployment.weight_format, "fp8");
  EXPECT_EQ(deployment.parallel.tensor, 4);
  EXPECT_FALSE(deployment.parallel.pipeline);
  const EngineOverrides& knobs = deployment.overrides;
  EXPECT_EQ(knobs.max_model_len, 32000);  // k is decimal
  EXPECT_EQ(knobs.max_num_seqs, 256);
  EXPECT_EQ(knobs.gpu_memory_utilization, 0.95);
  EXPECT_EQ(knobs.kv_cache_dtype, DType::fp8);
  EXPECT_EQ(knobs.max_num_batched_tokens, 8192);  // K is binary
  EXPECT_EQ(knobs.enable_prefix_caching, false);
  EXPECT_EQ(knobs.enforce_eager, true);
  EXPECT_EQ(knobs.scheduling_policy, QueueOrder::priority);
  EXPECT_THAT(command.ignored, IsEmpty());
  EXPECT_THAT(command.not_modelled, IsEmpty());
  EXPECT_THAT(command.unknown, IsEmpty());
}

TEST(ServeCommand, ImagesArePerPromptAndNoneMeansNoEncoder) {
  const auto limit = [](const std::string& flags) {
    return read_serve_command("vllm serve some/model " + flags)
        .deployment.overrides.limit_mm_per_prompt;
  };
  EXPECT_EQ(limit("--limit-mm-per-prompt '{\"image\": 2, \"video\": 0}'"), 2);
  EXPECT_EQ(limit("--limit-mm-per-prompt '{\"image\": {\"count\": 3, \"width\": 512}}'"), 3);
  EXPECT_EQ(limit("--limit-mm-per-prompt '{\"image\": 0, \"video\": 0}'"), 0);
  constexpr std::int64_t kMost = 9'223'372'036'854'775'807;
  EXPECT_EQ(limit("--limit-mm-per-prompt '{\"image\": 9223372036854775807}'"), kMost);
  EXPECT_EQ(limit("--limit-mm-per-prompt '{\"image\": 18446744073709551615}'"), kMost);
  EXPECT_EQ(limit("--language-model-only"), 0);
  // The encoder stays for videos.
  const ServeCommand videos =
      read_serve_command("vllm serve some/model --limit-mm-per-prompt '{\"image\": 0}'");
  EXPECT_FALSE(videos.deployment.overrides.limit_mm_per_prompt);
  EXPECT_THAT(videos.not_modelled, ElementsAre(HasSubstr("--limit-mm-per-prompt")));
}

TEST(ServeCommand, UnderscoresShortFormsAndBeginningsAreTheSameFlags) {
  const ServeCommand command = read_serve_command(
      "python3 -m vllm.entrypoints.openai.api_server --model m -tp 2 -pp=2 -dp 4 -ep "
      "--max_num_seqs 8 --gpu-memory-util 0.8");
  const ParallelismOptions& parallel = command.deployment.parallel;
  EXPECT_EQ(parallel.tensor, 2);
  EXPECT_EQ(parallel.pipeline, 2);
  EXPECT_EQ(parallel.data, 4);
  EXPECT_EQ(parallel.expert_parallel, true);
  EXPECT_EQ(command.deployment.overrides.max_num_seqs, 8);
  EXPECT_EQ(command.deployment.overrides.gpu_memory_utilization, 0.8);
}

TEST(ServeCommand, WhatIsNotModelledIsTold) {
  const ServeCommand command = read_serve_command(
      "HF_TOKEN=secret VLLM_USE_V1=1 vllm serve m --host 0.0.0.0 --port 8000 --api-key secret "
      "--trust-remote-code --attention-backend FLASHINFER -O3 --quantization bitsandbytes "
      "--brand-new-flag 7 --no-enable-log-requests --served-model-name a b --mm-encoder-tp-mode "
      "data");
  EXPECT_THAT(command.ignored,
              ElementsAre("--host", "--port", "--api-key", "--trust-remote-code",
                          "--no-enable-log-requests", "--served-model-name", "HF_TOKEN"));
  EXPECT_THAT(command.not_modelled,
              ElementsAre("--attention-backend", "--mm-encoder-tp-mode", "VLLM_USE_V1", "-O",
                          "--quantization bitsandbytes"));
  EXPECT_THAT(command.unknown, ElementsAre("--brand-new-flag"));
  EXPECT_EQ(command.deployment.model, "m");
}

TEST(ServeCommand, SglangsProductsRunInTheKernelsOfItsFlagOrVariable) {
  const auto backend = [](const std::string& line) {
    return read_serve_command(line).deployment.overrides.fp8_gemm_backend;
  };
  EXPECT_EQ(backend("sglang serve --model-path m --fp8-gemm-backend flashinfer_trtllm"),
            Fp8GemmBackend::flashinfer_trtllm);
  EXPECT_EQ(backend("sglang serve --model-path m --fp8-gemm-backend=deep_gemm"),
            Fp8GemmBackend::deep_gemm);
  EXPECT_EQ(backend("SGLANG_ENABLE_FLASHINFER_GEMM=true sglang serve --model-path m"),
            Fp8GemmBackend::flashinfer_trtllm);
  EXPECT_EQ(backend("SGLANG_ENABLE_FLASHINFER_GEMM=0 sglang serve --model-path m"), std::nullopt);
  EXPECT_EQ(backend("SGLANG_ENABLE_FLASHINFER_GEMM=1 sglang serve --model-path m "
                    "--fp8-gemm-backend deep_gemm"),
            Fp8GemmBackend::deep_gemm);
  const ServeCommand other =
      read_serve_command("sglang serve --model-path m --fp8-gemm-backend triton");
  EXPECT_EQ(other.deployment.overrides.fp8_gemm_backend, std::nullopt);
  EXPECT_EQ(backend("SGLANG_ENABLE_FLASHINFER_GEMM=1 sglang serve --model-path m "
                    "--fp8-gemm-backend triton"),
            std::nullopt);
  EXPECT_THAT(other.not_modelled, ElementsAre("--fp8-gemm-backend triton"));
}

TEST(ServeCommand, SglangsOverlapWithDraftsIsThatOfItsVariable) {
  const auto overlap = [](const std::string& line) {
    return read_serve_command(line).deployment.overrides.async_scheduling;
  };
  const std::string drafts =
      "sglang serve --model-path m --speculative-algorithm EAGLE "
      "--speculative-num-steps 2 --speculative-eagle-topk 1";
  const std::string image = "docker run -e SGLANG_ENABLE_SPEC_V2=0 lmsysorg/sglang:v0.5.";
  EXPECT_EQ(overlap(drafts), std::nullopt);
  EXPECT_EQ(overlap("SGLANG_ENABLE_SPEC_V2=1 " + drafts), true);
  EXPECT_EQ(overlap(image + "12 " + drafts), false);
  EXPECT_EQ(overlap(image + "13 " + drafts), std::nullopt);  // which reads it no longer
  EXPECT_EQ(overlap("SGLANG_ENABLE_SPEC_V2=0 " + drafts), std::nullopt);
  EXPECT_EQ(overlap("SGLANG_ENABLE_SPEC_V2=1 " + drafts + " --disable-overlap-schedule"), false);
  EXPECT_EQ(overlap("SGLANG_ENABLE_SPEC_V2=1 sglang serve --model-path m"), std::nullopt);
}

TEST(ServeCommand, SglangsOverlapWithRecurrentStatesIsThatOfTheirStrategy) {
  const auto overlap = [](const std::string& model, const std::string& flags) {
    return read_serve_command("sglang serve --model-path " + model + " " + flags)
        .deployment.overrides.async_scheduling;
  };
  const std::string hybrid = "Qwen/Qwen3-Next-80B-A3B-Instruct";
  EXPECT_EQ(overlap(hybrid, "--mamba-scheduler-strategy extra_buffer"), true);
  EXPECT_EQ(overlap(hybrid, "--mamba-radix-cache-strategy no_buffer"), false);
  EXPECT_EQ(overlap(hybrid, "--mamba-scheduler-strategy auto"), std::nullopt);
  EXPECT_EQ(overlap(hybrid, "--mamba-scheduler-strategy no_buffer --disable-radix-cache"),
            std::nullopt);
  EXPECT_EQ(overlap(hybrid, "--mamba-scheduler-strategy extra_buffer --disable-overlap-schedule"),
            false);
  EXPECT_EQ(overlap(hybrid, "--mamba-scheduler-strategy extra_buffer --pp-size 2"), std::nullopt);
  EXPECT_EQ(overlap("meta-llama/Llama-3.1-8B", "--mamba-scheduler-strategy no_buffer"),
            std::nullopt);
  const ServeCommand lazy = read_serve_command(
      "sglang serve --model-path m --mamba-radix-cache-strategy extra_buffer_lazy");
  EXPECT_THAT(lazy.not_modelled, ElementsAre("--mamba-radix-cache-strategy extra_buffer_lazy"));
}

TEST(ServeCommand, VllmsExpertsAreMarlinsByFlagOrVariable) {
  const auto backend = [](const std::string& line) {
    return read_serve_command(line).deployment.overrides.moe_backend;
  };
  EXPECT_EQ(backend("vllm serve m --moe-backend marlin"), MoeBackend::marlin);
  EXPECT_EQ(backend("export VLLM_MXFP4_USE_MARLIN=1\nvllm serve m"), MoeBackend::marlin);
  EXPECT_EQ(backend("docker run -e VLLM_MXFP4_USE_MARLIN=true vllm/vllm-openai m"),
            MoeBackend::marlin);
  EXPECT_EQ(backend("VLLM_MXFP4_USE_MARLIN=1 vllm serve m --moe-backend triton"),
            MoeBackend::triton);
  EXPECT_EQ(backend("VLLM_MXFP4_USE_MARLIN=1 vllm serve m --moe-backend auto"), MoeBackend::marlin);
  // Off, vLLM chooses; the last assignment counts.
  EXPECT_EQ(backend("VLLM_MXFP4_USE_MARLIN=0 vllm serve m"), std::nullopt);
  EXPECT_EQ(backend("export VLLM_MXFP4_USE_MARLIN=1\nVLLM_MXFP4_USE_MARLIN=0 vllm serve m"),
            std::nullopt);
  EXPECT_EQ(backend("vllm serve m"), std::nullopt);
  const ServeCommand other =
      read_serve_command("VLLM_MXFP4_USE_MARLIN=maybe vllm serve m --moe-backend aiter");
  EXPECT_EQ(other.deployment.overrides.moe_backend, std::nullopt);
  EXPECT_THAT(other.not_modelled, ElementsAre("VLLM_MXFP4_USE_MARLIN", "--moe-backend aiter"));
  // Other engines do not read it.
  const ServeCommand sglang =
      read_serve_command("VLLM_MXFP4_USE_MARLIN=1 sglang serve --model-path m");
  EXPECT_EQ(sglang.deployment.overrides.moe_backend, std::nullopt);
  EXPECT_THAT(sglang.not_modelled, ElementsAre("VLLM_MXFP4_USE_MARLIN"));
}

TEST(ServeCommand, CapturedBatchesAreReadAsEachEngineSpellsThem) {
  const auto knobs = [](const std::string& line) {
    return read_serve_command(line).deployment.overrides;
  };
  EXPECT_THAT(
      *knobs("vllm serve m --cudagraph-capture-sizes 1 2 4 --port 1").cuda_graph_batch_sizes,
      ElementsAre(1, 2, 4));
  EXPECT_EQ(knobs("vllm serve m --max-cudagraph-capture-size 64").cuda_graph_max_bs, 64);
  // Up to 0.11 one size is the largest of vLLM's own list.
  EXPECT_EQ(knobs("vllm serve m --cuda-graph-sizes 512").cuda_graph_max_bs, 512);
  EXPECT_THAT(*knobs("vllm serve m --cuda-graph-sizes 1 8").cuda_graph_batch_sizes,
              ElementsAre(1, 8));
  const ServeCommand json = read_serve_command(
      R"(vllm serve m -cc '{"cudagraph_capture_sizes": [1, 16], "cudagraph_mode": "PIECEWISE"}')");
  EXPECT_THAT(*json.deployment.overrides.cuda_graph_batch_sizes, ElementsAre(1, 16));
  EXPECT_THAT(json.not_modelled, ElementsAre("-cc.cudagraph_mode"));
  const EngineOverrides sglang = knobs(
      "python -m sglang.launch_server --model m --cuda-graph-bs 1 2 --disable-cuda-graph-padding");
  EXPECT_THAT(*sglang.cuda_graph_batch_sizes, ElementsAre(1, 2));
  EXPECT_EQ(sglang.cuda_graph_padding, false);
  EXPECT_EQ(knobs("sglang serve --model m --cuda-graph-max-bs 160").cuda_graph_max_bs, 160);
  EXPECT_THROW(read_serve_command("vllm serve m --cudagraph-capture-sizes 1 x"), UsageError);
  EXPECT_THROW(read_serve_command("vllm serve m --cudagraph-capture-sizes 0"), UsageError);
}

TEST(ServeCommand, BackendsOfExpertsAreReadAsEachEngineSpellsThem) {
  const auto knobs = [](const std::string& line) {
    return read_serve_command(line).deployment.overrides.all2all_backend;
  };
  EXPECT_EQ(knobs("vllm serve m -dp 2 -ep --all2all-backend deepep_low_latency"),
            All2All::deepep_low_latency);
  const ServeCommand sglang = read_serve_command(
      "sglang serve --model m --tp 8 --dp 8 --enable-dp-attention --moe-a2a-backend deepep");
  EXPECT_EQ(sglang.deployment.overrides.all2all_backend, All2All::deepep);
  EXPECT_EQ(sglang.deployment.parallel.expert_parallel, true);
  EXPECT_THAT(read_serve_command("vllm serve m --all2all-backend pigeon").not_modelled,
              ElementsAre("--all2all-backend pigeon"));
}

/// Adapters take memory and kernels, another architecture or task is another program.
TEST(ServeCommand, AdaptersAndOtherModelsMayChangePerformance) {
  const ServeCommand vllm = read_serve_command(
      "vllm serve m --enable-lora --lora-modules a=x b=y --max-lora-rank 64 --max-cpu-loras 8 "
      "--lora-dtype auto --hf-config-path c --task embed --runner pooling --convert embed");
  EXPECT_THAT(vllm.ignored, IsEmpty());
  EXPECT_EQ(vllm.not_modelled.size(), 6U);
  EXPECT_EQ(vllm.deployment.overrides.pooling, true);
  EXPECT_EQ(vllm.deployment.overrides.max_lora_rank, 64);
  const ServeCommand sglang = read_serve_command(
      "sglang serve --model-path m --enable-lora --lora-paths a b --max-lora-rank 64 "
      "--lora-backend triton --is-embedding");
  EXPECT_THAT(sglang.ignored, IsEmpty());
  EXPECT_EQ(sglang.not_modelled.size(), 3U);
  EXPECT_EQ(sglang.deployment.overrides.pooling, true);
  EXPECT_EQ(sglang.deployment.overrides.max_lora_rank, 64);
}

// --kv-offloading-size GiB stands for this connector (vLLM 0.22, _post_init_kv_transfer_config).
TEST(ServeCommand, HostMemoryForKAndVIsReadInEitherForm) {
  const auto size_of = [](const std::string& flags) {
    return read_serve_command("vllm serve m " + flags).deployment.overrides.kv_offloading_size;
  };
  EXPECT_EQ(size_of("--kv-offloading-size 64 --kv-offloading-backend native"), Bytes{64 * kGiB});
  EXPECT_EQ(
      read_serve_command("vllm serve m --kv-offloading-size 64 --kv-offloading-backend lmcache")
          .deployment.overrides.kv_offloading_backend,
      OffloadingBackend::lmcache);
  EXPECT_EQ(
      size_of("--kv-transfer-config '{\"kv_connector\": \"OffloadingConnector\", \"kv_role\": "
              "\"kv_both\", \"kv_connector_extra_config\": {\"cpu_bytes_to_use\": 8000000000}}'"),
      Bytes{8e9});
  const ServeCommand lmcache = read_serve_command(
      "vllm serve m --kv-transfer-config '{\"kv_connector\":\"LMCacheConnectorV1\"}'");
  EXPECT_FALSE(lmcache.deployment.overrides.kv_offloading_size);
  EXPECT_THAT(lmcache.not_modelled, ElementsAre(HasSubstr("LMCacheConnectorV1")));
}

TEST(ServeCommand, OverlapAndIntervalsOfDataParallelRanksAreRead) {
  const EngineOverrides vllm =
      read_serve_command(
          "vllm serve m --enable-dbo --dbo-decode-token-threshold 64 --dbo-prefill-token-threshold "
          "1024 --prefill-schedule-interval 4")
          .deployment.overrides;
  EXPECT_EQ(vllm.enable_dbo, true);
  EXPECT_EQ(vllm.dbo_decode_token_threshold, 64);
  EXPECT_EQ(vllm.dbo_prefill_token_threshold, 1024);
  EXPECT_EQ(vllm.prefill_schedule_interval, 4);
  EXPECT_EQ(read_serve_command("sglang serve --model-path m --enable-two-batch-overlap")
                .deployment.overrides.enable_dbo,
            true);
}

TEST(ServeCommand, SpeculationIsReadFromJsonAndFromDottedKeys) {
  for (const char* flags :
       {R"(--speculative-config '{"method": "eagle3", "model": "d", "num_speculative_tokens": 3}')",
        R"(--speculative_config={\"method\":\"eagle3\",\"num_speculative_tokens\":3})",
        "--speculative-config.method eagle3 --speculative-config.num_speculative_tokens 3"}) {
    const ServeCommand command = read_serve_command(std::string("vllm serve m ") + flags);
    EXPECT_EQ(command.deployment.overrides.num_speculative_tokens, 3) << flags;
    EXPECT_EQ(command.deployment.overrides.speculative_method, DraftMethod::eagle) << flags;
  }
  const ServeCommand medusa = read_serve_command(
      R"(vllm serve m --speculative-config '{"method": "medusa", "num_speculative_tokens": 3}')");
  EXPECT_FALSE(medusa.deployment.overrides.num_speculative_tokens);
  EXPECT_THAT(medusa.not_modelled, Contains(HasSubstr("medusa")));
}

TEST(ServeCommand, ADtypeOfSixteenBitsLeavesTheCheckpointAsItIs) {
  EXPECT_FALSE(read_serve_command("vllm serve m --dtype bfloat16").deployment.weight_format);
  EXPECT_FALSE(read_serve_command("vllm serve m --dtype auto").deployment.weight_format);
  EXPECT_EQ(read_serve_command("vllm serve m --dtype half -q awq").deployment.weight_format, "awq");
  EXPECT_EQ(read_serve_command("vllm serve m --dtype float").deployment.weight_format, "fp32");
}

TEST(ServeCommand, GenerationConfigVllmMeansPlainSampling) {
  EXPECT_EQ(
      read_serve_command("vllm serve m --generation-config vllm").deployment.overrides.sampling,
      SamplingKind::plain);
}

TEST(ServeCommand, AnOldSwitchMayHaveAValue) {
  const auto chunked = [](const std::string& flag) {
    return read_serve_command("vllm serve " + flag + " m")
        .deployment.overrides.enable_chunked_prefill;
  };
  EXPECT_EQ(chunked("--enable-chunked-prefill=False"), false);
  EXPECT_EQ(chunked("--enable-chunked-prefill False"), false);
  EXPECT_EQ(chunked("--enable-chunked-prefill"), true);
  EXPECT_EQ(chunked("--no-enable-chunked-prefill"), false);
}

// ---- containers and scripts

TEST(ServeCommand, AContainersTagIsTheEngineVersion) {
  const ServeCommand command = read_serve_command(R"(docker run --runtime nvidia --gpus all \
    -v ~/.cache/huggingface:/root/.cache/huggingface \
    --env "HF_TOKEN=$HF_TOKEN" -p 8000:8000 --ipc=host -it --name vllm-server \
    vllm/vllm-openai:v0.11.0 \
    --model mistralai/Mistral-7B-v0.1 --max-model-len 4096)");
  EXPECT_EQ(command.deployment.engine, "vllm-0.11.0");
  EXPECT_EQ(command.deployment.model, "mistralai/Mistral-7B-v0.1");
  EXPECT_EQ(command.deployment.overrides.max_model_len, 4096);
  EXPECT_THAT(command.ignored, ElementsAre("HF_TOKEN"));
}

TEST(ServeCommand, AContainerMayNameItsProgram) {
  EXPECT_EQ(read_serve_command("docker run --entrypoint vllm --rm vllm/vllm-openai serve m -tp 2")
                .deployment.parallel.tensor,
            2);
  const ServeCommand sglang = read_serve_command(
      "docker run --gpus all --shm-size 32g -p 30000:30000 lmsysorg/sglang:v0.5.3-cu126 "
      "bash -c \"python3 -m sglang.launch_server --model-path m --tp 2 > log 2>&1\"");
  EXPECT_EQ(sglang.engine, ServeEngine::sglang);
  EXPECT_EQ(sglang.deployment.engine, "sglang-0.5.3");
  EXPECT_EQ(sglang.deployment.parallel.tensor, 2);
}

TEST(ServeCommand, AScriptSetsVariablesAndInstallsAVersion) {
  const ServeCommand command = read_serve_command(
      "#!/bin/bash\n"
      "pip install vllm==0.10.2\n"
      "export VLLM_LOGGING_LEVEL=DEBUG\n"
      "MODEL=\"Qwen/Qwen3-8B\"  # small\n"
      "nohup vllm serve $MODEL --port ${PORT:-8000} \\\n"
      "  --max-model-len 16384 > serve.log 2>&1 &\n"
      "echo started\n");
  EXPECT_EQ(command.deployment.engine, "vllm-0.10.2");
  EXPECT_EQ(command.deployment.model, "Qwen/Qwen3-8B");
  EXPECT_EQ(command.deployment.overrides.max_model_len, 16384);
  EXPECT_THAT(command.ignored, ElementsAre("--port", "VLLM_LOGGING_LEVEL"));
}

// ---- SGLang

TEST(ServeCommand, AnSglangLineDecidesWhatItsFlagsSay) {
  const ServeCommand command = read_serve_command(
      "python -m sglang.launch_server --model-path m --tp 4 --mem-fraction-static 0.85 "
      "--chunked-prefill-size -1 --max-running-requests 128 --disable-radix-cache "
      "--disable-overlap-schedule --schedule-policy lpm --context-length 8192 --page-size 16 "
      "--max-total-tokens 65536 --speculative-algorithm EAGLE");
  EXPECT_EQ(command.deployment.engine, "sglang");
  const EngineOverrides& knobs = command.deployment.overrides;
  EXPECT_EQ(knobs.gpu_memory_utilization, 0.85);
  EXPECT_EQ(knobs.enable_chunked_prefill, false);
  EXPECT_EQ(knobs.max_num_seqs, 128);
  EXPECT_EQ(knobs.enable_prefix_caching, false);
  EXPECT_EQ(knobs.async_scheduling, false);
  EXPECT_EQ(knobs.scheduling_policy, QueueOrder::longest_prefix);
  EXPECT_EQ(knobs.max_model_len, 8192);
  EXPECT_EQ(knobs.num_gpu_blocks_override, 4096);  // 65536 tokens in pages of 16
  EXPECT_EQ(knobs.num_speculative_tokens, 3);
  EXPECT_THAT(command.not_modelled, IsEmpty());
}

// A chain has a token more than steps, whatever is said; a tree as many as are verified.
TEST(ServeCommand, ReadsTheDraftsOfSglang) {
  const auto knobs_of = [](const std::string& flags) {
    return read_serve_command("python -m sglang.launch_server --model-path m " + flags)
        .deployment.overrides;
  };
  const EngineOverrides chain = knobs_of(
      "--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1 "
      "--speculative-num-draft-tokens 4");
  EXPECT_EQ(chain.speculative_method, DraftMethod::mtp);
  EXPECT_EQ(chain.num_speculative_tokens, 3);
  EXPECT_FALSE(chain.speculative_eagle_topk);
  EXPECT_FALSE(chain.speculative_num_draft_tokens);
  const EngineOverrides tree = knobs_of(
      "--speculative-algo EAGLE3 --speculative-draft-model-path d --speculative-num-steps 5 "
      "--speculative-eagle-topk 4 --speculative-num-draft-tokens 8");
  EXPECT_EQ(tree.speculative_method, DraftMethod::eagle);
  EXPECT_EQ(tree.num_speculative_tokens, 5);
  EXPECT_EQ(tree.speculative_eagle_topk, 4);
  EXPECT_EQ(tree.speculative_num_draft_tokens, 8);
  EXPECT_FALSE(knobs_of("--speculative-num-steps 5").num_speculative_tokens);
}

// Llama-3.2-1B: 16 layers x 2 x 8 heads x 64 x 2 bytes of K and V a token.
TEST(ServeCommand, CountsADraftModelThatItKnows) {
  const EngineOverrides knobs =
      read_serve_command(
          R"(vllm serve m --speculative-config '{"model": "llama-3.2-1b", "num_speculative_tokens": 3}')")
          .deployment.overrides;
  EXPECT_EQ(knobs.draft_kv_bytes, Bytes{32768});
  ASSERT_TRUE(knobs.draft_weight_bytes);
  EXPECT_NEAR(knobs.draft_weight_bytes->value, 2.47e9, 0.01e9);
}

// SGLang 0.5.15, _auto_choose_speculative_params: steps, width and verified tokens are 5, 4 and 8
// of Llama, else 3, 1 and 4, and the latter of any model with a draft model.
TEST(ServeCommand, ChoosesTheDraftsOfSglangAsItDoes) {
  const auto knobs_of = [](const std::string& flags) {
    return read_serve_command("python -m sglang.launch_server --model-path " + flags)
        .deployment.overrides;
  };
  const EngineOverrides llama = knobs_of("llama-3.1-8b --speculative-algorithm EAGLE3");
  EXPECT_EQ(llama.num_speculative_tokens, 5);
  EXPECT_EQ(llama.speculative_eagle_topk, 4);
  EXPECT_EQ(llama.speculative_num_draft_tokens, 8);
  const EngineOverrides deepseek = knobs_of("deepseek-v3 --speculative-algorithm EAGLE");
  EXPECT_EQ(deepseek.num_speculative_tokens, 3);
  EXPECT_FALSE(deepseek.speculative_eagle_topk);
  // A layer of the draft takes as much cache as one of the target: 16 of 4,096 bytes instead of
  // 16 of 2,048.
  const EngineOverrides standalone = knobs_of(
      "llama-3.1-8b --speculative-algorithm STANDALONE --speculative-draft-model-path "
      "llama-3.2-1b");
  EXPECT_EQ(standalone.num_speculative_tokens, 3);
  EXPECT_FALSE(standalone.speculative_eagle_topk);
  EXPECT_EQ(standalone.draft_kv_bytes, Bytes{65536});
}

TEST(ServeCommand, ReadsAdaptersExpertsAndContextRanks) {
  const EngineOverrides knobs =
      read_serve_command(
          "vllm serve m --enable-lora --max-loras 4 -dcp 8 --enable-eplb "
          R"(--eplb-config '{"window_size": 1000, "num_redundant_experts": 32}')")
          .deployment.overrides;
  EXPECT_EQ(knobs.max_lora_rank, 16);
  EXPECT_EQ(knobs.max_loras, 4);
  EXPECT_EQ(knobs.decode_context_parallel_size, 8);
  EXPECT_EQ(knobs.enable_eplb, true);
  EXPECT_EQ(knobs.num_redundant_experts, 32);
}

// SGLang's --tp-size is all ranks: 8 = 2 of TP x 4 that divide prompts, or 2 x 2 x 2 with DP.
TEST(ServeCommand, RanksThatDividePromptsAreReadAndWritten) {
  const ParallelismOptions vllm =
      read_serve_command("vllm serve m -tp 2 -pcp 4").deployment.parallel;
  EXPECT_EQ(vllm.tensor, 2);
  EXPECT_EQ(vllm.context, 4);
  const std::string server = "python -m sglang.launch_server --model-path m --tp-size 8 ";
  const ServeCommand sglang = read_serve_command(
      server + "--attn-cp-size 4 --enable-prefill-context-parallel --prefill-cp-mode in-seq-split");
  EXPECT_EQ(sglang.deployment.parallel.tensor, 2);
  EXPECT_EQ(sglang.deployment.parallel.context, 4);
  EXPECT_THAT(sglang.not_modelled, IsEmpty());
  const ParallelismOptions with_data =
      read_serve_command(server +
                         "--attn-cp-size 2 --enable-prefill-cp --dp-size 2 "
                         "--enable-dp-attention")
          .deployment.parallel;
  EXPECT_EQ(with_data.tensor, 2);
  EXPECT_EQ(with_data.data, 2);
  EXPECT_EQ(with_data.context, 2);
  EXPECT_THROW(read_serve_command(server + "--attn-cp-size 3"), UsageError);
  const std::string written =
      serve_command_line(
          {.model = "m", .engine = "sglang", .parallel = {.tensor = 2, .context = 4}}, true)
          .text;
  EXPECT_THAT(written, HasSubstr("--tp-size 8 --attn-cp-size 4 --enable-prefill-cp --cp-strategy "
                                 "zigzag"));
  EXPECT_EQ(read_serve_command(written).deployment.parallel.tensor, 2);
  EXPECT_EQ(read_serve_command(written).deployment.parallel.context, 4);
}

TEST(ServeCommand, HowServersPollStreamAndWaitIsRead) {
  const ServeCommand sglang = read_serve_command(
      "python -m sglang.launch_server --model-path m --scheduler-recv-interval 30 "
      "--stream-interval 10 --num-continuous-decode-steps 4");
  EXPECT_EQ(sglang.deployment.overrides.scheduler_recv_interval, 30);
  EXPECT_EQ(sglang.deployment.overrides.stream_interval, 10);
  EXPECT_THAT(sglang.not_modelled, IsEmpty());
  const ServeCommand trtllm = read_serve_command(R"(cat > /tmp/extra.yml <<EOF
stream_interval: 20
batch_wait_timeout_iters: 40
batch_wait_max_tokens_ratio: 0.8
attention_dp_config:
  enable_balance: true
  timeout_iters: 60
  batching_wait_iters: 0
moe_config:
  backend: TRTLLM
EOF
trtllm-serve m --extra_llm_api_options /tmp/extra.yml)");
  EXPECT_EQ(trtllm.deployment.overrides.stream_interval, 20);
  EXPECT_EQ(trtllm.deployment.overrides.batch_wait_timeout_iters, 40);
  EXPECT_EQ(trtllm.deployment.overrides.batch_wait_max_tokens_ratio, 0.8);
  EXPECT_EQ(trtllm.deployment.overrides.attention_dp_enable_balance, true);
  EXPECT_EQ(trtllm.deployment.overrides.attention_dp_timeout_iters, 60);
  EXPECT_EQ(trtllm.deployment.overrides.attention_dp_batching_wait_iters, 0);
  EXPECT_EQ(trtllm.deployment.overrides.moe_backend, MoeBackend::trtllm);
  EXPECT_THAT(trtllm.not_modelled, IsEmpty());
  EXPECT_EQ(
      read_serve_command("vllm serve m --stream-interval 4").deployment.overrides.stream_interval,
      4);
}

TEST(ServeCommand, SglangsDataParallelAttentionDividesItsTensorRanks) {
  // --tp-size is the number of GPUs then: 8 attention ranks of one GPU each, experts over all.
  const ServeCommand shared = read_serve_command(
      "sglang serve --model-path m --tp-size 8 --dp-size 8 --enable-dp-attention --ep-size 8");
  EXPECT_EQ(shared.deployment.parallel.tensor, 1);
  EXPECT_EQ(shared.deployment.parallel.data, 8);
  EXPECT_EQ(shared.deployment.parallel.expert_parallel, true);
  EXPECT_THAT(shared.notes, IsEmpty());
  const ServeCommand apart =
      read_serve_command("sglang serve --model-path m --tp 2 --dp 4 --max-running-requests 256");
  EXPECT_EQ(apart.deployment.overrides.max_num_seqs, 256);  // of each server
  EXPECT_EQ(apart.deployment.parallel.tensor, 2);
  EXPECT_EQ(apart.deployment.parallel.data, 4);
  EXPECT_THAT(apart.notes, ElementsAre(HasSubstr("independent servers")));
}

// 256 and 8,200 of all ranks are 32 and 1,025 of each of the eight, and a conservativeness of 2 is
// 0.6. A page of the KV cache and max_prefill_tokens are each rank's own.
TEST(ServeCommand, SglangsDataParallelAttentionSharesItsLimits) {
  const ServeCommand shared = read_serve_command(
      "sglang serve --model-path m --tp 8 --dp 8 --enable-dp-attention --max-running-requests 256 "
      "--chunked-prefill-size 8200 --schedule-conservativeness 2 --max-prefill-tokens 5000");
  const EngineOverrides& knobs = shared.deployment.overrides;
  EXPECT_EQ(knobs.max_num_seqs, 32);
  EXPECT_EQ(knobs.max_num_batched_tokens, 1025);
  ASSERT_TRUE(knobs.schedule_conservativeness);
  EXPECT_DOUBLE_EQ(*knobs.schedule_conservativeness, 0.6);
  EXPECT_EQ(knobs.max_prefill_tokens, 5000);
  expect_refused(
      "sglang serve --model-path m --tp 8 --dp 8 --enable-dp-attention --max-running-requests 7",
      "is too few for the 8 ranks");
}

// ---- TensorRT-LLM

TEST(ServeCommand, TrtllmServeIsCompletedByItsYaml) {
  const ServeCommand command = read_serve_command(R"(#!/usr/bin/env bash
EXTRA=/tmp/extra.yml
cat > ${EXTRA} <<EOF
enable_attention_dp: true   # one KV cache a rank
cuda_graph_config:
    enable_padding: true
    batch_sizes:
    - 1
    - 2
kv_cache_config:
    dtype: fp8
    free_gpu_memory_fraction: 0.8
    enable_block_reuse: false
    max_attention_window: [128, 32768]
torch_compile_config:
    enable_piecewise_cuda_graph: true
    capture_num_tokens: [128, 1536]
disable_overlap_scheduler: true
scheduler_config:
  capacity_scheduler_policy: MAX_UTILIZATION
print_iter_log: true
EOF
mpirun -n 1 --allow-run-as-root trtllm-serve deepseek-ai/DeepSeek-R1 --tp_size 8 --ep_size 8 \
    --max_batch_size 384 --max-num-tokens 1536 --kv_cache_free_gpu_memory_fraction 0.9 \
    --extra_llm_api_options $EXTRA --log_level info)");
  EXPECT_EQ(command.engine, ServeEngine::tensorrt_llm);
  EXPECT_EQ(command.deployment.engine, "trtllm");
  EXPECT_EQ(command.deployment.parallel.tensor, 1);
  EXPECT_EQ(command.deployment.parallel.data, 8);
  EXPECT_EQ(command.deployment.parallel.expert_parallel, true);
  const EngineOverrides& knobs = command.deployment.overrides;
  EXPECT_EQ(knobs.max_num_seqs, 384);
  EXPECT_EQ(knobs.max_num_batched_tokens, 1536);
  EXPECT_EQ(knobs.gpu_memory_utilization, 0.8);  // the file wins over the flag
  EXPECT_EQ(knobs.kv_cache_dtype, DType::fp8);
  EXPECT_EQ(knobs.enable_prefix_caching, false);
  EXPECT_THAT(*knobs.max_attention_window, ElementsAre(128, 32768));
  EXPECT_EQ(knobs.async_scheduling, false);
  EXPECT_EQ(knobs.capacity_scheduler_policy, CapacityPolicy::max_utilization);
  EXPECT_EQ(knobs.cuda_graph_padding, true);
  EXPECT_EQ(knobs.piecewise_cuda_graph, true);
  EXPECT_THAT(*knobs.capture_num_tokens, ElementsAre(128, 1536));
  EXPECT_THAT(*knobs.cuda_graph_batch_sizes, ElementsAre(1, 2));
  EXPECT_THAT(command.not_modelled, IsEmpty());
  EXPECT_THAT(command.ignored, ElementsAre("--log_level", "print_iter_log"));
}

TEST(ServeCommand, BuiltEnginesAreAnEraOfTheirOwn) {
  EXPECT_EQ(read_serve_command("trtllm-serve m --backend tensorrt").deployment.engine,
            "trtllm-0.18");
  EXPECT_EQ(read_serve_command("trtllm-serve serve m --backend pytorch").deployment.engine,
            "trtllm");
}

TEST(ServeCommand, AConfigurationFileIsReadWhereItIsAtHand) {
  const auto read = [](const std::string& path) -> std::optional<std::string> {
    if (path != "c.yaml") return std::nullopt;
    return "tensor-parallel-size: 2\nmax_num_seqs: 8\nenforce-eager: true\nport: 1\n";
  };
  const ServeCommand here =
      read_serve_command("vllm serve m --config c.yaml --max-num-seqs 16", read);
  EXPECT_EQ(here.deployment.parallel.tensor, 2);
  EXPECT_EQ(here.deployment.overrides.max_num_seqs, 16);  // the flag wins over vLLM's file
  EXPECT_EQ(here.deployment.overrides.enforce_eager, true);
  const ServeCommand gone = read_serve_command("vllm serve m --config other.yaml", read);
  EXPECT_THAT(gone.notes, ElementsAre(HasSubstr("other.yaml")));
}

ServeCommand with_yaml(const std::string& yaml) {
  return read_serve_command("trtllm-serve m --config c.yaml",
                            [&](const std::string&) { return yaml; });
}

TEST(ServeCommand, AKeyWithNothingBehindItIsNull) {
  const ServeCommand off = with_yaml("cuda_graph_config:\nmax_batch_size:   # the default\n");
  EXPECT_EQ(off.deployment.overrides.enforce_eager, true);  // as cuda_graph_config: null
  EXPECT_FALSE(off.deployment.overrides.max_num_seqs);
  const ServeCommand last = with_yaml("max_batch_size: 8\nkv_cache_config:\n  dtype:\n  x: 1\ny:");
  EXPECT_EQ(last.deployment.overrides.max_num_seqs, 8);
  EXPECT_THAT(last.not_modelled, ElementsAre("kv_cache_config.x", "y"));
  const ServeCommand list = with_yaml("cuda_graph_config:\n  batch_sizes:\n  - 1\n  - 2\n");
  EXPECT_FALSE(list.deployment.overrides.enforce_eager);
  EXPECT_THAT(*list.deployment.overrides.cuda_graph_batch_sizes, ElementsAre(1, 2));
}

TEST(ServeCommand, AMapInBracesSaysWhatItsKeysSay) {
  const ServeCommand command = with_yaml(
      "kv_cache_config: {dtype: fp8, 'free_gpu_memory_fraction': 0.8,  # of what is free\n"
      "  event: {size: 4}}\ncuda_graph_config: {batch_sizes: [1, 2], enable_padding: true}\n");
  EXPECT_EQ(command.deployment.overrides.kv_cache_dtype, DType::fp8);
  EXPECT_EQ(command.deployment.overrides.gpu_memory_utilization, 0.8);
  EXPECT_FALSE(command.deployment.overrides.enforce_eager);
  EXPECT_THAT(*command.deployment.overrides.cuda_graph_batch_sizes, ElementsAre(1, 2));
  EXPECT_EQ(command.deployment.overrides.cuda_graph_padding, true);
  EXPECT_THAT(command.not_modelled, ElementsAre("kv_cache_config.event.size"));
  EXPECT_THAT(with_yaml("cuda_graph_config: {}").not_modelled, ElementsAre("cuda_graph_config {}"));
  std::string deep = "a: ";
  for (int i = 0; i < 20000; ++i) deep += "{b: ";
  EXPECT_EQ(with_yaml(deep + "1" + std::string(20000, '}')).not_modelled.size(), 1U);
  try {
    with_yaml("a: 1\nkv_cache_config: {dtype: fp8,\n  x: 1\n");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("c.yaml: line 2: expected closing brackets"));
  }
}

// ---- bad input

TEST(ServeCommand, BadLinesAreRefusedInALine) {
  expect_refused("vllm serve 'm", "unclosed quote");
  expect_refused("", "starts no engine");
  expect_refused("llama-server -m x.gguf", "starts no engine");
  expect_refused("vllm bench serve --model m", "starts no engine");
  expect_refused("vllm serve m & vllm serve n", "2 servers");
  expect_refused("vllm serve m --model n", "two models");
  expect_refused("vllm serve m n", "two models");
  expect_refused("vllm serve --port 8000", "names no model");
  expect_refused("vllm serve m --max-model-len", "--max-model-len: its value is missing");
  expect_refused("vllm serve m --max-num-seqs --port 8000", "--max-num-seqs: its value is missing");
  expect_refused("vllm serve m --max-num-seqs many", "--max-num-seqs: 'many' is not");
  expect_refused("vllm serve m --max-num-seqs 1e400", "is not a whole number");
  expect_refused("vllm serve m --gpu-memory-utilization nan", "is not a number");
  expect_refused("vllm serve m -tp 0", "-tp: '0' is not a number of GPUs");
  expect_refused("vllm serve m --speculative-config {", "is not JSON");
  expect_refused("vllm serve $MODEL", "'$MODEL' is not set");
  expect_refused("vllm serve m -tp $TP", "-tp: '$TP' is not set");
  expect_refused("sglang serve --model-path m --tp 4 --dp 3 --enable-dp-attention",
                 "does not divide");
  expect_refused("vllm serve " + std::string(1 << 20, 'x'), "bytes long");
  expect_refused("trtllm-serve m --config", "--config: its value is missing");
}

}  // namespace
}  // namespace roofcast::test
