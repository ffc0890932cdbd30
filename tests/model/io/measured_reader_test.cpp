#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/error.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/json_line.hpp"

namespace roofcast {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

/// An invented device of 100 TFLOP/s and 1 TB/s; one curve of every family.
const char* const kProfile = R"({
  "schema_version": 1,
  "name": "imaginary-one",
  "display_name": "Imaginary One",
  "aliases": [],
  "vendor": "None",
  "architecture": "imaginary",
  "compute_capability": "1.0",
  "memory_bytes": 16e9,
  "memory_visible_bytes": 16e9,
  "memory_bandwidth_bytes_per_s": 1e12,
  "l2_cache_bytes": 1e6,
  "multiprocessors": 100,
  "dense_peak_flops_per_s": {"fp32": 5e13, "bf16": 1e14},
  "peer_link": {"name": "wire", "bandwidth_bytes_per_s": 1e11, "latency_s": 1e-5},
  "gpus_per_node": 8,
  "measured": {
    "device": "Imaginary One",
    "identity": "none",
    "date": "2026-01-02T03:04:05Z",
    "tool": "a test",
    "protocol": "invented",
    "versions": {"driver": "1.2", "library": "3"},
    "clock_hz": 1.5e9,
    "dropped_samples": 7,
    "rejected": ["gemm bf16 1 x 1: 1 ns"],
    "copy_bandwidth_bytes_per_s": 9e11,
    "read_bandwidth_bytes_per_s": 9.5e11,
    "upload_bandwidth_bytes_per_s": 2e10,
    "download_bandwidth_bytes_per_s": 2.1e10,
    "kernel_floor_s": 1e-6,
    "eager_launch_s": 4e-6,
    "graph_launch_s": 9e-6,
    "engine_step_s": 3e-5,
    "curves": [
      {"family": "gemm", "format": "bf16", "outputs": 1024, "inputs": 512, "kernel": "library 3",
       "terms": {"floor_s": 3e-6, "seconds_per_flop": 1e-14, "seconds_per_byte": 1e-12, "seconds_per_wave": 0},
       "median_error": 0.02, "p90_error": 0.05,
       "points": [
         [1, 5e-6, 0.01, 64],
         [64, 6e-6, 0.01, 64]
       ]},
      {"family": "moe", "format": "bf16", "outputs": 768, "inputs": 2048, "experts": 8,
       "experts_per_token": 2, "gated": true, "kernel": "library 3",
       "terms": {"floor_s": 3e-6, "seconds_per_flop": 1e-14, "seconds_per_byte": 1e-12, "seconds_per_wave": 0},
       "points": [[1, 1e-3, 0, 1]]},
      {"family": "prefill_attention", "cache": "bf16", "query_heads": 8, "kv_heads": 2, "head_dim": 64,
       "value_dim": 64, "kernel": "library 3",
       "terms": {"floor_s": 3e-6, "seconds_per_flop": 1e-14, "seconds_per_byte": 1e-12, "seconds_per_wave": 1e-7},
       "points": [[16, 0, 1e-5, 0, 1], [16, 1024, 2e-5, 0, 1]]},
      {"family": "decode_attention", "cache": "fp8", "query_heads": 16, "kv_heads": 1, "head_dim": 576,
       "value_dim": 512, "latent": true, "beside_prefill": true, "kernel": "own",
       "empty_tile_s": 3e-9, "tail_token_s": 2e-8, "graph_saving_s": 1e-6, "writes_cache": true,
       "terms": {"floor_s": 3e-6, "seconds_per_flop": 0, "seconds_per_byte": 1e-12, "seconds_per_wave": 1e-7},
       "points": [[1, 128, 1e-5, 0, 1], [4, 128, 1e-5, 0, 1]]},
      {"family": "decode_attention", "cache": "fp8", "query_heads": 16, "kv_heads": 1, "head_dim": 576,
       "value_dim": 512, "latent": true, "window": 2048, "format": "fp8_block", "projections": 50593792,
       "inputs": 7168, "entry": 576, "compression": 4, "local_tokens": 128, "index_heads": 64, "index_dim": 128,
       "kernel": "own",
       "terms": {"floor_s": 3e-4, "seconds_per_flop": 0, "seconds_per_byte": 1e-12, "seconds_per_wave": 0},
       "points": [[1, 128, 1e-3, 0, 1]]},
      {"family": "recurrent", "name": "gated_delta_scan", "cache": "fp32", "query_heads": 32, "kv_heads": 16,
       "head_dim": 128, "value_dim": 128, "taps": 4, "kernel": "own",
       "terms": {"floor_s": 2e-6, "seconds_per_flop": 0, "seconds_per_byte": 1e-12, "seconds_per_wave": 0},
       "points": [[512, 2, 1e-3, 0, 1]]},
      {"family": "memory_bound", "name": "norms", "kernel": "own",
       "terms": {"floor_s": 2e-6, "seconds_per_flop": 0, "seconds_per_byte": 1e-12, "seconds_per_wave": 0},
       "points": [[4096, 2e-6, 0.1, 9]]},
      {"family": "collective", "exchange": "all_gather", "ranks": 4, "kernel": "own",
       "terms": {"floor_s": 2e-6, "seconds_per_flop": 0, "seconds_per_byte": 1e-11, "seconds_per_wave": 0},
       "points": [[4096, 2e-6, 0.1, 9]]}
    ]
  },
  "sources": {}
})";

Gpu read(const std::string& text) { return parse_gpu(text, "one.json"); }

std::string error_of(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// The error from reading a changed profile, or "" if it is accepted. `change` gets `measured`.
std::string error_after_change(const std::function<void(Json&)>& change) {
  Json profile = Json::parse(kProfile);
  change(profile["measured"]);
  return error_of(profile.dump());
}

TEST(MeasuredReader, ReadsWhatAProfileSays) {
  const Gpu gpu = read(kProfile);
  ASSERT_TRUE(gpu.measured);
  const Measured& measured = *gpu.measured;
  EXPECT_EQ(measured.device, "Imaginary One");
  EXPECT_EQ(measured.date, "2026-01-02T03:04:05Z");
  EXPECT_EQ(measured.versions.at(1), (std::pair<std::string, std::string>{"library", "3"}));
  EXPECT_EQ(measured.dropped_samples, 7);
  EXPECT_EQ(measured.rejected.size(), 1U);
  EXPECT_EQ(measured.copy_bandwidth.value, 9e11);
  EXPECT_EQ(measured.engine_step.value, 3e-5);
  ASSERT_EQ(measured.curves.size(), 8U);
  const MeasuredCurve& gemm = measured.curves[0];
  EXPECT_EQ(gemm.shape,
            (OperatorShape{
                .family = OperatorFamily::gemm, .format = "bf16", .outputs = 1024, .inputs = 512}));
  EXPECT_TRUE(measured.curves[3].shape.beside_prefill);
  EXPECT_EQ(measured.curves[3].empty_tile.value, 3e-9);
  EXPECT_EQ(measured.curves[3].tail_token.value, 2e-8);
  EXPECT_EQ(measured.curves[3].graph_saving.value, 1e-6);
  EXPECT_TRUE(measured.curves[3].writes_cache);
  EXPECT_EQ(gemm.kernel, "library 3");
  EXPECT_EQ(gemm.terms.seconds_per_byte, 1e-12);
  EXPECT_EQ(gemm.p90_error, 0.05);
  EXPECT_EQ(
      gemm.points[1],
      (MeasuredPoint{.x = 64, .time = Seconds{6e-6}, .relative_spread = 0.01, .samples = 64}));
  EXPECT_TRUE(measured.curves[1].shape.gated);
  EXPECT_EQ(measured.curves[2].points[1].y, 1024);
  EXPECT_TRUE(measured.curves[3].shape.latent);
  EXPECT_EQ(measured.curves[3].shape.cache, DType::fp8);
  const OperatorShape& block = measured.curves[4].shape;
  EXPECT_EQ(block.projections, 50593792);
  EXPECT_EQ(block.format, "fp8_block");
  EXPECT_EQ(block.entry, 576);
  EXPECT_EQ(block.compression, 4);
  EXPECT_EQ(block.local_tokens, 128);
  EXPECT_EQ(block.index_heads * block.index_dim, 8192);
  EXPECT_EQ(measured.curves[5].shape.name, "gated_delta_scan");
  EXPECT_EQ(measured.curves[5].shape.outputs, 4);
  EXPECT_EQ(measured.curves[5].points[0].y, 2);
  EXPECT_EQ(measured.curves[7].shape.exchange, Exchange::all_gather);
}

TEST(MeasuredReader, NamesTheKeyThatIsMissingOrUnknown) {
  for (const char* key : {"device", "date", "tool", "protocol", "curves"}) {
    EXPECT_EQ(error_after_change([&](Json& m) { m.erase(key); }),
              std::string("hardware profile one.json: measured.") + key + ": is missing");
  }
  const Json whole = Json::parse(kProfile)["measured"];
  for (std::size_t i = 0; i < whole["curves"].size(); ++i) {
    for (const auto& [key, value] : whole["curves"][i].items()) {
      const std::set<std::string> optional{
          "median_error", "p90_error",    "latent",         "beside_prefill",
          "empty_tile_s", "tail_token_s", "graph_saving_s", "writes_cache",
          "window",       "projections",  "inputs",         "entry",
          "compression",  "local_tokens", "index_heads",    "index_dim"};
      const bool of_product = key == "inputs" && whole["curves"][i]["family"] != "decode_attention";
      if (optional.contains(key) && !of_product) continue;
      const std::string name = key;
      EXPECT_EQ(error_after_change([&](Json& m) { m["curves"][i].erase(name); }),
                "hardware profile one.json: measured.curves[" + std::to_string(i) + "]." + name +
                    ": is missing");
    }
  }
  EXPECT_THAT(error_after_change([](Json& m) { m["curves"][0]["output"] = 1; }),
              HasSubstr("measured.curves[0].output: is not a key of a hardware profile, did you "
                        "mean 'outputs'?"));
  EXPECT_THAT(error_after_change([](Json& m) { m["curves"][0]["heads"] = 1; }), HasSubstr("heads"));
  EXPECT_THAT(error_after_change([](Json& m) { m["curves"][0]["terms"]["floor"] = 1; }),
              HasSubstr("measured.curves[0].terms.floor"));
  EXPECT_THAT(error_after_change([](Json& m) { m["copy_bandwidth"] = 1; }),
              HasSubstr("did you mean 'copy_bandwidth_bytes_per_s'?"));
}

TEST(MeasuredReader, RejectsShapesThatCannotBe) {
  const auto with = [](std::size_t curve, const char* key, Json value) {
    return error_after_change([&](Json& m) { m["curves"][curve][key] = value; });
  };
  EXPECT_THAT(with(0, "family", "gem"), HasSubstr("did you mean 'gemm'?"));
  EXPECT_THAT(with(0, "family", 3), HasSubstr("measured.curves[0].family"));
  EXPECT_THAT(with(0, "format", "bf61"), HasSubstr("did you mean 'bf16'?"));
  EXPECT_THAT(with(0, "outputs", 0), HasSubstr("measured.curves[0].outputs"));
  EXPECT_THAT(with(0, "outputs", 10.5), HasSubstr("whole"));
  EXPECT_THAT(with(0, "outputs", "1k"), HasSubstr("must be a number"));
  EXPECT_THAT(with(0, "kernel", ""), HasSubstr("measured.curves[0].kernel"));
  EXPECT_THAT(with(0, "median_error", 0.5), HasSubstr("is above p90_error"));
  EXPECT_THAT(with(1, "experts_per_token", 9), HasSubstr("is more than experts"));
  EXPECT_THAT(with(1, "gated", 1), HasSubstr("true or false"));
  EXPECT_THAT(with(2, "kv_heads", 16), HasSubstr("is more than query_heads"));
  EXPECT_THAT(with(2, "cache", "bf17"), HasSubstr("did you mean 'bf16'?"));
  EXPECT_THAT(with(3, "value_dim", 600), HasSubstr("is more than head_dim"));
  EXPECT_THAT(with(3, "writes_cache", 1), HasSubstr("true or false"));
  EXPECT_THAT(with(3, "tail_token_s", -1), HasSubstr("tail_token_s"));
  EXPECT_THAT(with(3, "graph_saving_s", 1.1e-5), HasSubstr("is more than a point's time"));
  EXPECT_THAT(with(0, "writes_cache", true), HasSubstr("measured.curves[0].writes_cache"));
  EXPECT_THAT(with(7, "exchange", "all_reduc"), HasSubstr("did you mean 'all_reduce'?"));
  EXPECT_THAT(with(7, "ranks", 0), HasSubstr("ranks"));
  EXPECT_THAT(error_after_change([](Json& m) { m["curves"].push_back(m["curves"][0]); }),
              HasSubstr("measured.curves[8]: is a duplicate curve of one operator and kernel"));
}

TEST(MeasuredReader, RejectsPointsThatCannotBe) {
  const auto with = [](Json points, std::size_t curve = 0) {
    return error_after_change([&](Json& m) { m["curves"][curve]["points"] = points; });
  };
  EXPECT_THAT(with(Json::array()), HasSubstr("measured.curves[0].points: must be a list"));
  EXPECT_THAT(with(3), HasSubstr("must be a list"));
  EXPECT_THAT(with(Json::parse("[[1, 5e-6, 0.01]]")),
              HasSubstr("measured.curves[0].points[0]: is not [x, time_s, relative_spread, "));
  EXPECT_THAT(with(Json::parse("[[1, 5e-6, 0.01, 9]]"), 2), HasSubstr("is not [x, y, time_s"));
  EXPECT_THAT(with(Json::parse("[7]")), HasSubstr("points[0]: is not"));
  EXPECT_THAT(with(Json::parse("[[0, 5e-6, 0, 9]]")), HasSubstr("points[0]: 0 is not between"));
  EXPECT_THAT(with(Json::parse("[[1, 0, 0, 9]]")), HasSubstr("seconds"));
  EXPECT_THAT(with(Json::parse("[[1, 5e-6, -1, 9]]")), HasSubstr("-1"));
  EXPECT_THAT(with(Json::parse("[[1, 5e-6, 0, 0]]")), HasSubstr("samples"));
  EXPECT_THAT(with(Json::parse("[[1, 5e-6, 0, 1.5]]")), HasSubstr("whole"));
  EXPECT_THAT(with(Json::parse("[[1, null, 0, 1]]")), HasSubstr("must be a number, but is null"));
  EXPECT_THAT(with(Json::parse("[[2, 5e-6, 0, 9], [2, 6e-6, 0, 9]]")),
              HasSubstr("points[1]: sizes must ascend"));
  EXPECT_THAT(with(Json::parse("[[1, 9, 1, 0, 1], [1, 8, 1, 0, 1]]"), 2), HasSubstr("ascend"));
  EXPECT_THAT(with(Json::parse("[[1, 0, 1, 0, 1]]"), 3), HasSubstr("is not between"));  // no cache
  EXPECT_THAT(error_after_change([](Json& m) {
                for (auto& [key, value] : m["curves"][0]["terms"].items()) value = 0;
              }),
              HasSubstr("points[0]: the curve's terms give no time at this size"));
  Json many = Json::array();
  for (int i = 1; i <= 2001; ++i) many.push_back({i, 1e-3, 0, 1});
  EXPECT_THAT(with(many), HasSubstr("1 to 2000 points"));
}

TEST(MeasuredReader, RefusesPointsFasterThanPhysicsWithTheirLine) {
  // 1024 x 512 bf16 at 64 tokens: 67 MFLOP at 100 TFLOP/s take 0.67 us, the weight's 1.05 MB at
  // 1 TB/s 1.05 us; a tenth less is let through. (The activations' 0.2 MB fit the L2 cache.)
  std::string text = kProfile;
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("[64, 6e-6", "[64, 9e-7");
  EXPECT_EQ(error_of(text),
            "hardware profile one.json: line 41: measured.curves[0].points[1]: 9e-07 s is faster "
            "than physics: the profile's peaks and bandwidths allow at least 1.049e-06 s");
  replace("[64, 9e-7", "[64, 1e-6");
  EXPECT_EQ(error_of(text), "");
}

TEST(MeasuredReader, RejectsProvenanceThatIsNone) {
  for (const char* date : {"", "yesterday", "2026-01-02", "2026-01-02 03:04:05Z",
                           "2026-01-02T03:04:05+01:00", "2026-01-02T03:04:05Zx"}) {
    EXPECT_THAT(error_after_change([&](Json& m) { m["date"] = date; }), HasSubstr("measured.date"));
  }
  EXPECT_THAT(error_after_change([](Json& m) { m["versions"] = {1, 2}; }), HasSubstr("versions"));
  EXPECT_THAT(error_after_change([](Json& m) { m["versions"]["driver"] = 580; }),
              HasSubstr("measured.versions.driver"));
  EXPECT_THAT(error_after_change([](Json& m) { m["rejected"] = "none"; }), HasSubstr("rejected"));
  EXPECT_THAT(error_after_change([](Json& m) { m["dropped_samples"] = -1; }), HasSubstr("dropped"));
  EXPECT_THAT(error_after_change([](Json& m) { m["kernel_floor_s"] = 3; }),
              HasSubstr("kernel_floor_s"));
  EXPECT_THAT(error_after_change([](Json& m) { m = Json::array(); }),
              HasSubstr("measured: must be an object"));
}

/// One value after another replaced by what has no business there: read, or refused in one line.
TEST(MeasuredReader, WhateverStandsAnywhereGivesAnErrorOfOneLineOrAProfile) {
  const Json whole = Json::parse(kProfile);
  const Json flat = whole["measured"].flatten();
  const std::vector<Json> hostile = {nullptr,
                                     true,
                                     -1,
                                     0,
                                     1e300,
                                     1e-300,
                                     -0.0,
                                     9007199254740993,
                                     "",
                                     "x",
                                     std::string(5000, '['),
                                     Json::array(),
                                     Json::object(),
                                     Json::parse("[[[[1]]]]"),
                                     Json::parse(R"({"a": {"b": 1}})"),
                                     "\xc3\xa9\n\t\"\\"};
  for (const auto& [pointer, value] : flat.items()) {
    for (const Json& one : hostile) {
      Json changed = whole;
      changed["measured"][Json::json_pointer(pointer)] = one;
      const std::string error = error_of(changed.dump());
      if (error.empty()) continue;
      EXPECT_THAT(error, StartsWith("hardware profile one.json: ")) << pointer;
      EXPECT_EQ(error.find('\n'), std::string::npos) << pointer;
      EXPECT_LT(error.size(), 500U) << pointer;
    }
  }
}

/// Cut off anywhere, or with a byte changed: never anything but an Error.
TEST(MeasuredReader, BrokenTextsAreRefused) {
  const std::string text = kProfile;
  for (std::size_t length = 0; length + 3 < text.size(); length += 13) {
    EXPECT_NE(error_of(text.substr(0, length)), "") << length;
  }
  std::mt19937 random(23);
  for (int i = 0; i < 2000; ++i) {
    std::string changed = text;
    changed[random() % changed.size()] = static_cast<char>(random() % 256);
    error_of(changed);  // any answer, but no other exception
  }
}

TEST(MeasuredReader, DeepAndHugeInputsAreRefused) {
  std::string deep = kProfile;
  const std::string from = "\"versions\": {\"driver\": \"1.2\", \"library\": \"3\"}";
  const std::size_t place = deep.find(from);
  ASSERT_NE(place, std::string::npos);
  deep.replace(place, from.size(),
               "\"versions\": " + std::string(200000, '[') + std::string(200000, ']'));
  EXPECT_THAT(error_of(deep), HasSubstr("nested deeper than 64 levels"));
  std::string many = kProfile;
  many.replace(
      many.find("\"curves\": ["), 11, "\"curves\": [" + [] {
        std::string curves;
        for (int i = 0; i < 262145; ++i) curves += "{},";
        return curves;
      }());
  EXPECT_THAT(error_of(many),
              HasSubstr("measured.curves: must be a list of at most 262144 curves"));
}

TEST(JsonLine, FindsValuesInAnyLayout) {
  const std::string text =
      "{\n \"a]\": \"}{[\\\"\",\n \"b\": [1,\n  {\"c\":\n [true, null,\n -2]}]}";
  EXPECT_EQ(line_of(text, ""), 1U);
  EXPECT_EQ(line_of(text, "b"), 3U);
  EXPECT_EQ(line_of(text, "b[1]"), 4U);
  EXPECT_EQ(line_of(text, "b[1].c[2]"), 6U);
  EXPECT_EQ(line_of(text, "b[1].c[3]"), 0U);
  EXPECT_EQ(line_of(text, "b[2]"), 0U);
  EXPECT_EQ(line_of(text, "c"), 0U);
  EXPECT_EQ(line_of(text, "b.c"), 0U);
}

}  // namespace
}  // namespace roofcast
