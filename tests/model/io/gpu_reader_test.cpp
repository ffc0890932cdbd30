#include "model/io/gpu_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

Json valid_profile() {
  return Json::parse(R"({
    "schema_version": 1, "name": "test-card", "display_name": "Test Card",
    "aliases": ["TC"], "vendor": "Test", "architecture": "none", "compute_capability": "0",
    "memory_bytes": 80e9, "memory_visible_bytes": 85e9, "memory_bandwidth_bytes_per_s": 2e12,
    "l2_cache_bytes": 40e6, "multiprocessors": 100,
    "dense_peak_flops_per_s": {"fp32": 2e13, "bf16": 3e14},
    "peer_link": {"name": "wire", "bandwidth_bytes_per_s": 3e11, "latency_s": 1e-5},
    "gpus_per_node": 8, "board_power_w": 400,
    "floors_s": {"gemm": 4e-6},
    "efficiency": {
      "gemm": {"bf16": {"points": [[1, 0.7], [1024, 0.8]], "source": "a table"}},
      "decode_attention": {"fp8": {"points": [[1e8, 0.6]], "source": "a table"}},
      "all_reduce_s": {"4": {"points": [[1e6, 2e-5]], "source": "a table"}}},
    "measured": {"device": "Test Card", "date": "2026-01-02T03:04:05Z", "tool": "a test",
                 "protocol": "none", "curves": []},
    "sources": {"memory_bytes": "a datasheet", "floors_s.gemm": "a fit"}
  })");
}

/// The error from reading a changed profile, or "" if it is accepted.
std::string error_after(const std::function<void(Json&)>& change) {
  Json profile = valid_profile();
  change(profile);
  try {
    parse_gpu(profile.dump(), "card.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(GpuReader, ReadsWhatAProfileSays) {
  const Gpu gpu = parse_gpu(valid_profile().dump(), "card.json");
  EXPECT_EQ(gpu.name, "test-card");
  EXPECT_EQ(gpu.memory_visible.value, 85e9);
  EXPECT_EQ(gpu.dense_peak.at(DType::bf16).value, 3e14);
  ASSERT_TRUE(gpu.peer);
  EXPECT_EQ(gpu.peer->latency.value, 1e-5);
  EXPECT_FALSE(gpu.network);
  EXPECT_FALSE(gpu.price);
  EXPECT_FALSE(gpu.boost_clock_hz);
  EXPECT_EQ(gpu.floors.gemm.value, 4e-6);
  EXPECT_EQ(gpu.floors.attention.value, Floors{}.attention.value);
  EXPECT_EQ(gpu.efficiencies.gemm.at("bf16").at(1024), 0.8);
  EXPECT_EQ(gpu.efficiencies.decode_attention.at(DType::fp8).at(5), 0.6);
  EXPECT_EQ(gpu.efficiencies.all_reduce.at(4).at(1e6), 2e-5);
  EXPECT_EQ(gpu.sources.at("floors_s.gemm"), "a fit");
}

TEST(GpuReader, NamesTheKeyThatIsMissing) {
  const Json whole = valid_profile();
  for (const auto& [key, value] : whole.items()) {
    const bool required = key == "memory_bytes" || key == "memory_bandwidth_bytes_per_s" ||
                          key == "dense_peak_flops_per_s";
    const std::string name = key;
    const std::string error = error_after([&](Json& p) {
      p.erase(name);
      p.erase("sources");
    });
    if (!required) {
      EXPECT_EQ(error, "") << name;
      continue;
    }
    EXPECT_THAT(error, AllOf(HasSubstr("card.json"), HasSubstr(name), HasSubstr("missing")));
  }
}

TEST(GpuReader, NamesAllMissingKeysAtOnce) {
  const std::string error = error_after([](Json& p) {
    p.erase("memory_bytes");
    p.erase("vendor");
    p["peer_link"].erase("latency_s");
    p.erase("memory_bandwidth_bytes_per_s");
  });
  EXPECT_EQ(error.find("hardware profile card.json: 3 keys are missing: memory_bytes, "
                       "memory_bandwidth_bytes_per_s, peer_link.latency_s"),
            0U)
      << error;
}

TEST(GpuReader, AssumesWhatFourFactsLeaveOutAndNamesIt) {
  const Gpu gpu = parse_gpu(R"({"memory_bytes": 96e9, "memory_bandwidth_bytes_per_s": 4e12,
                                "dense_peak_flops_per_s": {"bf16": 8e14, "fp8": 16e14}})",
                            "cards/next-card.json");
  EXPECT_EQ(gpu.name, "next-card");
  EXPECT_EQ(gpu.display_name, "next-card");
  EXPECT_EQ(gpu.memory_visible.value, 96e9);
  EXPECT_EQ(gpu.l2_cache.value, 52428800);  // the H100's
  EXPECT_EQ(gpu.multiprocessors, 132);
  EXPECT_EQ(gpu.gpus_per_node, 8);
  EXPECT_EQ(gpu.dense_peak.at(DType::fp32).value, 5e13);  // a sixteenth of bf16
  EXPECT_FALSE(is_cpu(gpu));
  EXPECT_THAT(gpu.assumed,
              testing::ElementsAre("memory_visible_bytes", "l2_cache_bytes", "multiprocessors",
                                   "gpus_per_node", "dense_peak_flops_per_s.fp32"));
  EXPECT_THAT(error_after([](Json& p) {
                p["dense_peak_flops_per_s"] = {{"fp8", 1e15}};
                p["sources"] = Json::object();
              }),
              HasSubstr("dense_peak_flops_per_s.fp32: is missing, and so are bf16 and fp16"));
}

/// The profile of a built-in card with a changed fact, as a file of the user's own.
Gpu own_profile(const std::string& of, const std::function<void(Json&)>& change) {
  Json profile = Json::parse(write_gpu(load_gpu(of).gpu));
  profile["name"] = "my-card";
  change(profile);
  const test::TemporaryFolder folder;
  return load_gpu(folder.write("own.json", profile.dump())).gpu;
}

TEST(GpuReader, AnOwnProfileHasTheChipOfItsCurvesOnlyIfItsFactsAreThoseOfOne) {
  const auto priced = [](Json& p) { p["price_dollars_per_hour"] = 1.5; };
  const auto faster = [](Json& p) { p["memory_bandwidth_bytes_per_s"] = 6e12; };
  // The H100 PCIe takes the SXM's curves; the H200 has its own.
  EXPECT_TRUE(own_profile("h100-pcie", priced).sister->same_chip);
  EXPECT_FALSE(own_profile("h200", priced).sister);
  for (const char* name : {"h100-pcie", "h200"}) {
    const Gpu gpu = own_profile(name, faster);
    ASSERT_TRUE(gpu.sister) << name;
    EXPECT_FALSE(gpu.sister->same_chip) << name;
  }
  EXPECT_EQ(own_profile("h200", faster).sister->name, "nvidia-h200-sxm");
}

TEST(GpuReader, AnOwnProfileWithoutKernelsIsOfAChipThatNobodyTimedUnlessABuiltInOneHasItsFacts) {
  const auto faster = [](Json& p) { p["memory_bandwidth_bytes_per_s"] = 6.1e12; };
  EXPECT_FALSE(own_profile("rtx-3090", [](Json&) {}).untimed_chip);
  EXPECT_TRUE(own_profile("rtx-3090", faster).untimed_chip);
  EXPECT_FALSE(own_profile("h200", faster).untimed_chip);  // the H200's kernels, carried over
  EXPECT_FALSE(load_gpu("rtx-3090").gpu.untimed_chip);
}

TEST(GpuReader, ReadsWhatACardDraws) {
  Json profile = valid_profile();
  profile["power"] = {{"idle_w", 70}, {"joules_per_byte", 3e-11}};
  const Gpu gpu = parse_gpu(profile.dump(), "card.json");
  EXPECT_EQ(gpu.power.idle->value, 70);
  EXPECT_EQ(*gpu.power.joules_per_byte, 3e-11);
  EXPECT_FALSE(gpu.power.active);
  EXPECT_THAT(error_after([](Json& p) { p["power"]["idle"] = 70; }), HasSubstr("power.idle"));
  EXPECT_THAT(error_after([](Json& p) { p["power"]["joules_per_byte"] = 31; }),  // picojoules
              HasSubstr("power.joules_per_byte"));
}

TEST(GpuReader, TakesTheCurvesOfABuiltInCardWhereItHasNone) {
  Json profile = valid_profile();
  profile["curves_of"] = "nvidia-h200-sxm";
  const Gpu gpu = parse_gpu(profile.dump(), "card.json");
  const Gpu sister = load_gpu("h200").gpu;
  EXPECT_EQ(gpu.sister->name, "nvidia-h200-sxm");
  EXPECT_EQ(gpu.tables, sister.tables);
  EXPECT_EQ(gpu.efficiencies.gemm.at("fp8"), sister.efficiencies.gemm.at("fp8"));
  EXPECT_EQ(gpu.efficiencies.gemm.at("bf16").at(1024), 0.8);  // its own
  EXPECT_EQ(gpu.floors.gemm.value, 4e-6);                     // its own
  EXPECT_THAT(error_after([](Json& p) { p["curves_of"] = "nvidia-h20-sxm"; }),
              AllOf(HasSubstr("curves_of"), HasSubstr("did you mean")));
  EXPECT_THAT(error_after([](Json& p) { p["curves_of"] = "nvidia-h20"; }),
              HasSubstr("nvidia-h20 has no curves of its own, but those of nvidia-h200-sxm"));
  EXPECT_THAT(error_after([](Json& p) { p["name"] = p["curves_of"] = "nvidia-h200-sxm"; }),
              AllOf(HasSubstr("curves_of"), HasSubstr("nvidia-h200-sxm is the profile itself")));
}

TEST(GpuReader, RejectsAnUnknownKeyAndSaysWhatWasMeant) {
  const std::string error = error_after([](Json& p) { p["memory_bandwith_bytes_per_s"] = 2e12; });
  EXPECT_EQ(error,
            "hardware profile card.json: memory_bandwith_bytes_per_s: is not a key of a hardware "
            "profile, did you mean 'memory_bandwidth_bytes_per_s'?");
  EXPECT_THAT(error_after([](Json& p) { p["efficiency"]["gmm"] = Json::object(); }),
              HasSubstr("did you mean 'gemm'?"));
  EXPECT_THAT(error_after([](Json& p) { p["peer_link"]["latency_us"] = 1; }),
              HasSubstr("peer_link.latency_us"));
}

TEST(GpuReader, RejectsNumbersThatCannotBe) {
  const auto with = [](const char* key, Json value) {
    return error_after([&](Json& p) { p[key] = value; });
  };
  EXPECT_THAT(with("memory_bandwidth_bytes_per_s", -2e12), HasSubstr("-2"));
  EXPECT_THAT(with("memory_bandwidth_bytes_per_s", 2000), HasSubstr("bytes per second"));  // GB/s
  EXPECT_THAT(with("memory_bytes", 80), HasSubstr("memory_bytes"));                        // GB
  EXPECT_THAT(with("memory_bytes", "80GB"), HasSubstr("must be a number"));
  EXPECT_THAT(with("memory_visible_bytes", 100e9), HasSubstr("memory_visible_bytes"));
  EXPECT_THAT(with("multiprocessors", 0), HasSubstr("multiprocessors"));
  EXPECT_THAT(with("multiprocessors", 10.5), HasSubstr("whole"));
  EXPECT_THAT(with("schema_version", 2), HasSubstr("schema_version"));
  EXPECT_THAT(with("price_dollars_per_hour", 0), HasSubstr("price_dollars_per_hour"));
  EXPECT_THAT(error_after([](Json& p) { p["dense_peak_flops_per_s"]["bf16"] = 312; }),  // TFLOP/s
              HasSubstr("dense_peak_flops_per_s.bf16"));
  EXPECT_THAT(error_after([](Json& p) { p["floors_s"]["gemm"] = 3; }),  // microseconds
              HasSubstr("floors_s.gemm"));
}

TEST(GpuReader, RejectsPeaksOfUnknownFormats) {
  EXPECT_THAT(error_after([](Json& p) { p["dense_peak_flops_per_s"]["bf17"] = 1e14; }),
              HasSubstr("did you mean 'bf16'"));
}

TEST(GpuReader, RejectsCurvesThatAreNone) {
  const auto with = [](Json points) {
    return error_after([&](Json& p) { p["efficiency"]["gemm"]["bf16"]["points"] = points; });
  };
  const std::string where = "efficiency.gemm.bf16.points";
  EXPECT_THAT(with(Json::array()), HasSubstr(where));
  EXPECT_THAT(with(Json::parse("[[1, 0.5], [1, 0.6]]")), HasSubstr("ascend"));
  EXPECT_THAT(with(Json::parse("[[2, 0.5], [1, 0.6]]")), HasSubstr("ascend"));
  EXPECT_THAT(with(Json::parse("[[1, 1.17]]")), HasSubstr("1.17"));  // faster than physics
  EXPECT_THAT(with(Json::parse("[[1, 0]]")), HasSubstr(where));
  EXPECT_THAT(with(Json::parse("[[0, 0.5]]")), HasSubstr(where));
  EXPECT_THAT(with(Json::parse("[1, 0.5]")), HasSubstr("[x, y]"));
  EXPECT_THAT(error_after([](Json& p) { p["efficiency"]["gemm"]["bf16"].erase("source"); }),
              HasSubstr("efficiency.gemm.bf16.source"));
  EXPECT_THAT(error_after([](Json& p) {
                p["efficiency"]["all_reduce_s"]["two"] = p["efficiency"]["all_reduce_s"]["4"];
              }),
              HasSubstr("all_reduce_s.two"));
}

TEST(GpuReader, ACurveSaysWhetherItIsAssumed) {
  Json profile = valid_profile();
  EXPECT_FALSE(parse_gpu(profile.dump(), "card.json").efficiencies.gemm.at("bf16").assumed);
  profile["efficiency"]["gemm"]["bf16"]["assumed"] = true;
  EXPECT_TRUE(parse_gpu(profile.dump(), "card.json").efficiencies.gemm.at("bf16").assumed);
  EXPECT_THAT(error_after([](Json& p) { p["efficiency"]["gemm"]["bf16"]["assumed"] = "yes"; }),
              AllOf(HasSubstr("efficiency.gemm.bf16.assumed"), HasSubstr("true or false")));
}

TEST(GpuReader, NeverRepeatsALongOrDeepValue) {
  const std::string error =
      error_after([](Json& p) { p["board_power_w"] = std::string(100000, 'x'); });
  EXPECT_LT(error.size(), 300U);
  std::string text = valid_profile().dump();
  const std::string power = "\"board_power_w\":400";
  text.replace(text.find(power), power.size(),
               "\"board_power_w\":" + std::string(50, '[') + std::string(50, ']'));
  try {
    parse_gpu(text, "deep.json");
    FAIL() << "was read";
  } catch (const Error& deep) {
    EXPECT_THAT(deep.what(), HasSubstr("must be a number, but is a list"));
  }
  EXPECT_LT(error_after([](Json& p) { p[std::string(100000, 'k')] = 1; }).size(), 300U);
}

TEST(GpuReader, ACpuStatesAnEmptyComputeCapabilityOrAVectorExtension) {
  const auto with = [](const std::function<void(Json&)>& change) {
    Json profile = valid_profile();
    change(profile);
    return is_cpu(parse_gpu(profile.dump(), "card.json"));
  };
  EXPECT_TRUE(with([](Json& p) { p["compute_capability"] = ""; }));
  // Left out by the profile of a card of the user's own, with or without an architecture.
  EXPECT_FALSE(with([](Json& p) { p.erase("compute_capability"); }));
  EXPECT_TRUE(with([](Json& p) { p["compute_capability"] = "avx512_bf16"; }));
  EXPECT_FALSE(with([](Json& p) { p["compute_capability"] = "9.0"; }));
  EXPECT_FALSE(with([](Json& p) { p["compute_capability"] = "gfx942"; }));
  for (const std::string& name : gpu_names()) EXPECT_FALSE(is_cpu(load_gpu(name).gpu)) << name;
}

TEST(GpuReader, RejectsTheSourceOfNothing) {
  EXPECT_THAT(error_after([](Json& p) { p["sources"]["hbm_bytes"] = "a datasheet"; }),
              HasSubstr("sources.hbm_bytes"));
  EXPECT_THAT(error_after([](Json& p) { p["sources"]["memory_bytes"] = ""; }),
              HasSubstr("sources.memory_bytes"));
}

TEST(GpuReader, SaysWhichLineIsNotJson) {
  try {
    parse_gpu("{\n  \"schema_version\": 1,\n  \"name\" \"x\"\n}", "broken.json");
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                testing::StartsWith("hardware profile broken.json: line 3: is not JSON: "));
  }
  try {
    const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
    parse_gpu("{\"memory_bytes\": " + deep + "}", "deep.json");
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "hardware profile deep.json: nested deeper than 64 levels");
  }
  try {
    parse_gpu(R"({"name": "one", "name": "other"})", "double.json");
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "hardware profile double.json: key 'name' is given twice in one object");
  }
  EXPECT_THROW(parse_gpu("", "empty.json"), Error);
  EXPECT_THROW(parse_gpu("[]", "list.json"), Error);
  EXPECT_THROW(parse_gpu("{\"memory_bytes\": 1e999}", "huge.json"), Error);
}

TEST(GpuNames, AcceptsTheSpellingsInUse) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> spellings = {
      {"nvidia-h100-sxm",
       {"H100", "h100_sxm", "H100-80GB", "NVIDIA-H100-80GB-HBM3", "nvidia-h100-80gb", "H100_80GB",
        "NVIDIA H100 80GB HBM3", "nvidia-h100-sxm", "nvidia-h100-mega-80gb"}},
      {"nvidia-h100-pcie", {"NVIDIA H100 PCIe", "h100_pcie"}},
      {"nvidia-h100-nvl", {"NVIDIA H100 NVL", "h100-nvl"}},
      {"nvidia-h200-sxm", {"H200", "h200_sxm", "NVIDIA H200"}},
      {"nvidia-a100-sxm-80gb",
       {"a100", "A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB", "a100_sxm", "nvidia-a100-80gb"}},
      {"nvidia-a100-sxm-40gb", {"A100-SXM4-40GB", "a100-40gb", "nvidia-tesla-a100"}},
      {"nvidia-a100-pcie-80gb", {"NVIDIA A100 80GB PCIe", "a100_pcie", "A100-PCIE-80GB"}},
      {"nvidia-a100-pcie-40gb", {"NVIDIA A100-PCIE-40GB"}},
      {"nvidia-b200-sxm", {"B200", "b200_sxm", "NVIDIA B200"}},
      {"nvidia-gb200", {"GB200", "NVIDIA GB200"}},
      {"nvidia-gb300", {"GB300", "NVIDIA GB300"}},
      {"nvidia-b300-sxm", {"B300", "NVIDIA B300 SXM6 AC", "b300_sxm"}},
      {"nvidia-l4", {"L4", "NVIDIA L4", "nvidia-l4"}},
      {"nvidia-l40s", {"L40S", "NVIDIA L40S"}},
      {"nvidia-a10g", {"A10G", "NVIDIA A10G"}},
      {"nvidia-a10", {"A10", "NVIDIA A10"}},
      {"nvidia-rtx-a6000", {"A6000", "RTX A6000", "NVIDIA RTX A6000"}},
      {"nvidia-rtx-6000-ada", {"RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation"}},
      {"nvidia-l40", {"L40", "NVIDIA L40"}},
      {"nvidia-h20", {"H20", "NVIDIA H20"}},
      {"nvidia-h800-sxm", {"H800", "NVIDIA H800", "h800_sxm"}},
      {"nvidia-gh200", {"GH200", "NVIDIA GH200 480GB", "GH200 120GB"}},
      {"nvidia-gh200-144gb", {"GH200-144GB"}},
      {"nvidia-t4", {"T4", "Tesla T4", "NVIDIA T4"}},
      {"nvidia-v100-sxm2-32gb", {"V100", "Tesla V100-SXM2-32GB", "V100-SXM2"}},
      {"nvidia-rtx-3090", {"3090", "NVIDIA GeForce RTX 3090"}},
      {"nvidia-rtx-4090", {"RTX4090", "NVIDIA GeForce RTX 4090", "rtx-4090", "4090"}},
      {"nvidia-rtx-5090", {"RTX 5090", "NVIDIA GeForce RTX 5090"}},
      {"nvidia-rtx-pro-6000",
       {"RTXPRO6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx_pro_6000_server"}},
      {"amd-mi300x", {"mi300x", "AMD Instinct MI300X", "AMD_Instinct_MI300X_OAM"}},
      {"amd-mi325x", {"MI325X", "AMD Instinct MI325X"}},
      {"amd-mi355x", {"MI355X", "AMD Instinct MI355X"}}};
  EXPECT_EQ(spellings.size(), gpu_names().size());
  for (const auto& [name, ways] : spellings) {
    for (const std::string& way : ways) EXPECT_EQ(load_gpu(way).gpu.name, name) << way;
  }
}

std::string unknown_gpu_error(const std::string& name) {
  try {
    return "found " + load_gpu(name).gpu.name;
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(GpuNames, NeverTakesAVariantForAnother) {
  for (const char* name : {"H100-96GB", "L40G", "A10M", "A100-SXM4-160GB", "RTX 4090 D", "H20-3e",
                           "RTX PRO 6000 Max-Q", "h", "", "nvidia", "V100-PCIe", "T4G"}) {
    EXPECT_THAT(unknown_gpu_error(name), HasSubstr("unknown GPU '" + std::string(name) + "'"));
  }
}

TEST(GpuNames, SuggestsTheNearest) {
  EXPECT_THAT(unknown_gpu_error("RTX 4090 D"), HasSubstr("did you mean 'nvidia-rtx-4090'"));
  EXPECT_THAT(unknown_gpu_error("L40G"), HasSubstr("nvidia-l40s"));
  EXPECT_THAT(unknown_gpu_error("H1OO-SXM"), HasSubstr("'nvidia-h100-sxm'"));
  EXPECT_THAT(unknown_gpu_error("TPU-v5p-slice-of-four"), testing::Not(HasSubstr("did you mean")));
}

TEST(GpuNames, ReadsAProfileByItsPath) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("card.json", valid_profile().dump());
  EXPECT_EQ(load_gpu(path).gpu.name, "test-card");
  std::filesystem::remove(path);
  EXPECT_THAT(unknown_gpu_error(path), HasSubstr("no such file"));
  EXPECT_THAT(unknown_gpu_error(testing::TempDir()), HasSubstr("no such file"));
}

TEST(GpuNames, HashesTheText) {
  // FNV-1a 64 of the same text is the same, and of a changed text another.
  const test::TemporaryFolder folder;
  Json profile = valid_profile();
  const std::string path = folder.write("card.json", profile.dump());
  const std::string first = load_gpu(path).hash;
  EXPECT_EQ(load_gpu(path).hash, first);
  profile["board_power_w"] = 401;
  folder.write("card.json", profile.dump());
  EXPECT_NE(load_gpu(path).hash, first);
  EXPECT_EQ(first.size(), 16U);
}

TEST(LoadGpu, AskedForSeveralSaysWhereTheirNumberBelongs) {
  for (const char* name : {"2xH100", "8 x H100", "H100:8", "H100 x8", "4*H100"}) {
    EXPECT_THAT(unknown_gpu_error(name), HasSubstr("`gpu` names one GPU, here H100;")) << name;
  }
  EXPECT_THAT(unknown_gpu_error("x100"), testing::Not(HasSubstr("names one GPU")));
}

}  // namespace
}  // namespace roofcast
