// The exact contents of a checkpoint: the headers of *.safetensors files and
// model.safetensors.index.json. Tensor data are never read. Format:
// github.com/huggingface/safetensors, README "Format": 8 bytes little-endian header length, that
// much JSON {"name": {"dtype", "shape", "data_offsets"}}, then the data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace roofcast {

struct StoredTensor {
  std::string name{};
  std::string dtype{};  // in the format's spelling: "BF16", "F8_E4M3", "U8", ...
  std::vector<std::int64_t> shape{};
  std::int64_t elements = 0;
  Bytes bytes{};
};

/// Tensors of one file in order of their offsets. Throws a one-line Error for an invalid header:
/// longer than the file or 100 MB, or with offsets that are outside the file, overlap or do not
/// match dtype and shape.
std::vector<StoredTensor> read_safetensors_header(const std::string& path);

struct SafetensorsIndex {
  std::optional<Bytes> total_size{};  // metadata.total_size, if the index has it
  std::vector<std::string> files{};   // sorted by name, without duplicates
};

SafetensorsIndex read_safetensors_index(const std::string& path);

struct StoredBytes {
  std::string dtype{};
  std::int64_t elements = 0;
  Bytes bytes{};
};

struct Checkpoint {
  Bytes bytes{};                        // of all tensors, without headers
  std::vector<StoredBytes> by_dtype{};  // sorted by dtype; empty if there was only an index
  std::vector<StoredTensor> tensors{};  // empty if there was only an index
  std::string source{};                 // which files were read
};

/// The contents of the folder's checkpoint: from the headers if all its files are present, else
/// from the index's total_size; nullopt if there is neither. Its files are those of the index, else
/// model.safetensors, else all *.safetensors except consolidated ones (a second copy of the same
/// weights).
std::optional<Checkpoint> read_checkpoint(const std::string& folder);

}  // namespace roofcast
