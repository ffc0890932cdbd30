// What keys of a setting are called: by `--metadata` of vLLM's benchmark, by the overrides that its
// sweeps merge into each result, by server arguments, and by `--meta` of this program.
#pragma once

#include <string>
#include <string_view>

#include "base/io/json_reader.hpp"
#include "reports/measured_run.hpp"

namespace roofcast {

/// Puts a value where the key's meaning has its place, else under `other`. Throws Error "WHERE: KEY
/// is ..." for a value that its meaning does not take; but users write what they like into a result
/// (`--metadata gpus="2 nodes"`), so a text where a number belongs stays under `other`.
void set_from_key(MeasuredSetting& setting, std::string_view key, const nlohmann::json& value,
                  const std::string& where);

/// The same, where a text in place of a number is an Error too.
void set_strictly(MeasuredSetting& setting, std::string_view key, const nlohmann::json& value,
                  const std::string& where);

/// Whether a key has a meaning here: "tp", "gpu", "tensor_parallel_size", ...
bool is_setting_key(std::string_view key);

/// Whether a word of a checkpoint's or server's "dtype" is about activations, so that it says
/// nothing of how weights are stored: "bfloat16", "torch.float16", "auto", ...
bool is_activation_format(std::string_view format);

/// "vllm", "sglang", "tensorrt-llm" when the text names one of them anywhere; else empty.
std::string engine_in(std::string_view text);

/// Where `other` says that DP ranks share a layer's attention ("enable_dp_attention" of SGLang,
/// "dp_attention" of InferenceX), the tensor degree counts all ranks, of which `data` (or all) are
/// data parallel: TP 8 and DP 8 are eight GPUs. Brought to this program's degrees, whose product is
/// the GPUs. Throws Error "WHERE: ..." for a DP that does not divide them.
void share_attention(MeasuredSetting& setting, const std::string& where);

/// Mean lengths of prompts and answers from objects of statistics, their standard deviations under
/// "input_tokens_std" and "output_tokens_std" of `other`.
void set_lengths(MeasuredSetting& setting, const JsonReader& input, const JsonReader& output);

/// A value as `other` keeps it: JSON text.
std::string as_other(const nlohmann::json& value);

}  // namespace roofcast
