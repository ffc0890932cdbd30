// llama.cpp model files: key-values and tensor table of a GGUF file (versions 2 and 3,
// little-endian), exact sizes, and the model shape they state. Tensor data are never read.
// Format: github.com/ggml-org/ggml, docs/gguf.md; block sizes: GGML_QUANT_SIZES in
// github.com/ggml-org/llama.cpp, gguf-py/gguf/constants.py.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/units.hpp"
#include "model/architecture/transformer.hpp"

namespace roofcast {

/// A list: its length, and its elements where they are whole numbers or booleans and few
/// (per-layer sizes); token lists are counted only.
struct GgufList {
  std::int64_t length = 0;
  std::vector<std::int64_t> values{};
};

using GgufValue = std::variant<bool, std::int64_t, double, std::string, GgufList>;

struct GgufTensor {
  std::string name{};
  std::string type{};                 // "q4_k", "f16", ...
  std::vector<std::int64_t> shape{};  // innermost first, as stored: [inputs, outputs, experts]
  std::int64_t elements = 0;
  Bytes bytes{};
};

struct GgufFile {
  std::string path{};
  std::int64_t version = 0;
  std::string architecture{};                 // general.architecture
  std::map<std::string, GgufValue> values{};  // by key
  std::vector<GgufTensor> tensors{};          // of all parts that are here
  std::int64_t parts = 1;                     // split.count
  bool complete = true;                       // all parts were beside this one
};

/// Reads a file and, where it is the first of several (NAME-00001-of-00003.gguf), the tensor
/// tables of the others beside it. Throws Error in one line for anything that cannot be true:
/// counts, lengths or tensors beyond the end of the file, unknown types, version 1, big-endian.
GgufFile read_gguf(const std::string& path);

/// The model's shape: sizes from the key-values, biases, norms, experts and storage formats from
/// the tensor table, exact bytes when all parts were there. Throws Error naming the architecture
/// when it is not one of llama, mistral3, qwen2, qwen2moe, qwen3, qwen3moe, gemma, gemma2, gemma3,
/// phi3, gpt-oss, deepseek2, and the key or tensor that is missing.
Transformer to_transformer(const GgufFile& file);

}  // namespace roofcast
