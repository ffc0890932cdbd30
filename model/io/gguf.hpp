// llama.cpp model files: key-values and tensor table of a GGUF file (versions 2 and 3,
// little-endian), exact sizes, and the model shape; tensor data only by read_tensor_data(). Format:
// github.com/ggml-org/ggml, docs/gguf.md; block sizes: GGML_QUANT_SIZES in
// github.com/ggml-org/llama.cpp, gguf-py/gguf/constants.py.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/units.hpp"
#include "model/architecture/transformer.hpp"

namespace roofcast {

/// A list: its length, and its elements if they are whole numbers or booleans and few (per-layer
/// sizes). For token lists only the length is kept.
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
  std::string path{};       // of the part that holds it
  std::int64_t offset = 0;  // of its data in that file, bytes
};

struct GgufFile {
  std::string path{};
  std::int64_t version = 0;
  std::string architecture{};                 // general.architecture
  std::map<std::string, GgufValue> values{};  // by key
  std::vector<GgufTensor> tensors{};          // of all parts found
  std::int64_t parts = 1;                     // split.count
  bool complete = true;                       // whether all parts were found
};

/// Reads a file and, if it is the first of several (NAME-00001-of-00003.gguf), the tensor tables of
/// the others in its folder. Throws a one-line Error for impossible contents: counts, lengths or
/// tensors beyond the end of the file, unknown types, version 1, big-endian.
GgufFile read_gguf(const std::string& path);

/// The bytes of a tensor, as stored. Throws Error if the file cannot be read.
std::vector<std::uint8_t> read_tensor_data(const GgufTensor& tensor);

/// The number under "ARCHITECTURE.KEY"; nullopt if it is missing or not a number.
std::optional<double> gguf_number(const GgufFile& file, const std::string& key);

/// The model's shape: sizes from the key-values; biases, norms, experts and storage formats from
/// the tensor table; exact bytes if all parts were found. Throws Error naming the missing key or
/// tensor, or the architecture unless it is llama, mistral3, qwen2, qwen2moe, qwen3, qwen3moe,
/// gemma, gemma2, gemma3, phi3, gpt-oss or deepseek2.
Transformer to_transformer(const GgufFile& file);

}  // namespace roofcast
