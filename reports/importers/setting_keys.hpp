// Names of setting keys: in `--metadata` of vLLM's benchmark, in the overrides that its sweeps
// merge into each result, in server arguments, and in `--meta` of this program.
#pragma once

#include <string>
#include <string_view>

#include "base/io/json_reader.hpp"
#include "reports/measured_run.hpp"

namespace roofcast {

/// Stores a value in the member that `key` stands for, or under `other`. Throws Error "WHERE: KEY
/// is ..." for a value that the member cannot take, except for text in place of a number, which
/// goes to `other`: users write free text into results (`--metadata gpus="2 nodes"`).
void set_from_key(MeasuredSetting& setting, std::string_view key, const nlohmann::json& value,
                  const std::string& where);

/// The same, but text in place of a number is an Error too.
void set_strictly(MeasuredSetting& setting, std::string_view key, const nlohmann::json& value,
                  const std::string& where);

/// Whether a key is known: "tp", "gpu", "tensor_parallel_size", ...
bool is_setting_key(std::string_view key);

/// Whether a "dtype" of a checkpoint or server names an activation format and so says nothing about
/// how weights are stored: "bfloat16", "torch.float16", "auto", ...
bool is_activation_format(std::string_view format);

/// "vllm", "sglang" or "tensorrt-llm" if the text contains that name; else empty.
std::string engine_in(std::string_view text);

/// Converts the degrees of attention data parallelism, if `other` states it ("enable_dp_attention"
/// of SGLang, "dp_attention" of InferenceX). There the tensor degree counts all ranks, of which
/// `data` (or all) are data parallel: TP 8 and DP 8 are eight GPUs. In our degrees the product is
/// the number of GPUs. Throws Error "WHERE: ..." if DP does not divide TP.
void share_attention(MeasuredSetting& setting, const std::string& where);

/// Sets mean lengths of prompts and outputs from objects of statistics; their standard deviations
/// go to "input_tokens_std" and "output_tokens_std" of `other`.
void set_lengths(MeasuredSetting& setting, const JsonReader& input, const JsonReader& output);

/// A value as stored in `other`: JSON text.
std::string as_other(const nlohmann::json& value);

}  // namespace roofcast
