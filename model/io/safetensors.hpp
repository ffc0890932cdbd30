// What a checkpoint stores, exactly: the headers of *.safetensors files and
// model.safetensors.index.json. Tensor data are never read.
// Format: github.com/huggingface/safetensors, README "Format": 8 bytes little-endian header
// length, that much JSON {"name": {"dtype", "shape", "data_offsets"}}, then the data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace roofcast {

struct StoredTensor {
  std::string name{};
  std::string dtype{};  // as the format spells it: "BF16", "F8_E4M3", "U8", ...
  std::vector<std::int64_t> shape{};
  std::int64_t elements = 0;
  Bytes bytes{};
};

/// Tensors of one file in order of their offsets. Throws Error in one line for a header that
/// cannot be true: longer than the file or 100 MB, offsets outside the file, overlapping, or of
/// another size than dtype and shape.
std::vector<StoredTensor> read_safetensors_header(const std::string& path);

struct SafetensorsIndex {
  std::optional<Bytes> total_size{};  // metadata.total_size, when the index states it
  std::vector<std::string> files{};   // in order of name, each once
};

SafetensorsIndex read_safetensors_index(const std::string& path);

struct StoredBytes {
  std::string dtype{};
  std::int64_t elements = 0;
  Bytes bytes{};
};

struct Checkpoint {
  Bytes bytes{};                        // of all tensors, without headers
  std::vector<StoredBytes> by_dtype{};  // in order of dtype; empty when only an index was there
  std::vector<StoredTensor> tensors{};  // likewise
  std::string source{};                 // which files said so
};

/// What the folder's checkpoint stores: from the headers when all its files are there, else from
/// the index's total_size; nothing when there is neither. Files are those of the index, else
/// model.safetensors, else all *.safetensors but consolidated ones (the same weights once more).
std::optional<Checkpoint> read_checkpoint(const std::string& folder);

}  // namespace roofcast
