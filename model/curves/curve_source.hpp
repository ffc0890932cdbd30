// Which source's curves answer: a profile may hold the same operator as several engines run it.
#pragma once

#include <string_view>

namespace roofcast {

/// Names of experts' kernels in their shapes (OperatorShape::name), where an engine lets one
/// choose.
inline constexpr std::string_view kTrtllmGenExperts = "trtllm_gen";
inline constexpr std::string_view kCutlassExperts = "cutlass";
inline constexpr std::string_view kDeepgemmExperts = "deepgemm";
inline constexpr std::string_view kMarlinExperts = "marlin";

/// The source of AMD's library, whose tables time its kernels alone.
inline constexpr std::string_view kAiter = "AITER";

/// The part of a curve's kernel that says who ran it: "vLLM 0.24.0" of "flash_attn, vLLM 0.24.0";
/// the whole name if it has one part.
std::string_view source_of(std::string_view kernel);

/// The version that an engine's name states: "0.24" of "vllm-0.24"; empty if it states no number.
std::string_view stated_version(std::string_view engine);

/// Whether a source's kernels are those of `engine` ("vllm-0.19"): vLLM, SGLang and TensorRT-LLM
/// have kernels of their own, other engines run whatever was timed.
bool is_of_engine(std::string_view source, std::string_view engine);

/// Whether `engine` runs AITER's kernels: vLLM, SGLang and ATOM do on AMD's GPUs. Engines without
/// kernels of their own (roofcast, textbook, static, naive; empty: none in particular) are answered
/// by them, too, as on NVIDIA's GPUs by vLLM's: they are what such a GPU reaches.
bool runs_aiter(std::string_view engine);

/// Whether a source's kernels are those that the engine runs: its own, or AITER's.
bool runs_kernels_of(std::string_view engine, std::string_view source);

/// Whether a source is one of these three engines, in any version, and not a library.
bool is_engine(std::string_view source);

/// The one of the three whose kernels `engine` runs: "sglang" of "sglang-0.5"; "vllm" of an engine
/// without kernels of its own, for which is_nearer_source() puts vLLM first. TensorRT-LLM before
/// 1.0 is one: TensorRT's builder chose its kernels, of which there are no timings; tables are of
/// the PyTorch backend.
std::string_view kernel_owner(std::string_view engine);

/// Whether source `a` answers better than `b` for `engine`. Its own come first: the version nearest
/// to the engine's, counted in the first number that differs (0.5.14 for 0.5.12, not 0.5.9), and of
/// two that are as near the one that is not newer; without a version the newest. Then libraries,
/// then vLLM, SGLang and TensorRT-LLM, the newest version first.
bool is_nearer_source(std::string_view a, std::string_view b, std::string_view engine);

}  // namespace roofcast
