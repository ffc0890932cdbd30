// Which source's curves answer: a profile may hold the same operator as several engines run it.
#pragma once

#include <string_view>

#include "model/curves/measured_curve.hpp"

namespace roofcast {

/// The part of a curve's kernel that says who ran it: "vLLM 0.24.0" of "flash_attn, vLLM 0.24.0";
/// the whole name if it has one part.
std::string_view source_of(std::string_view kernel);

/// Whether a version is older than another, as far as that states it: "0.5.9" than "0.5.14", but
/// not "0.24.1" than "0.24".
bool is_older(std::string_view version, std::string_view than);

/// The curves with which `engine` ("vllm-0.19") is timed. Of each shape that its own
/// kernels were timed for, those of the version nearest to it: the newest that is not
/// newer, else the oldest; without a version the newest. All curves of the other shapes, and for
/// engines but vLLM, SGLang and TensorRT-LLM.
Measured curves_of_engine(const Measured& measured, std::string_view engine);

}  // namespace roofcast
