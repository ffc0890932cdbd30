#include "model/io/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "model/io/json_scalars.hpp"
#include "model/io/quoted_name.hpp"

namespace roofcast {

namespace {

namespace fs = std::filesystem;

// Limit of the reference implementation (safetensors/src/tensor.rs, MAX_HEADER_SIZE).
constexpr std::uint64_t kLongestHeader = 100'000'000;
constexpr std::uintmax_t kLongestIndex = 100'000'000;
// Beyond any tensor; keeps products of dimensions exact in 64 bits.
constexpr std::uint64_t kMaxTensorElements = std::uint64_t{1} << 53;
constexpr std::size_t kHeaderLevels = 3;  // {"name": {"shape": [..]}}
constexpr std::size_t kIndexLevels = 8;

struct Width {
  std::string_view dtype;
  std::uint64_t bits;
};

// Dtype enumeration of the reference implementation (safetensors/src/tensor.rs).
constexpr std::array kWidths{
    Width{"BOOL", 8},    Width{"U8", 8},      Width{"I8", 8},   Width{"F8_E5M2", 8},
    Width{"F8_E4M3", 8}, Width{"F8_E8M0", 8}, Width{"F4", 4},   Width{"F6_E2M3", 6},
    Width{"F6_E3M2", 6}, Width{"U16", 16},    Width{"I16", 16}, Width{"F16", 16},
    Width{"BF16", 16},   Width{"U32", 32},    Width{"I32", 32}, Width{"F32", 32},
    Width{"U64", 64},    Width{"I64", 64},    Width{"F64", 64}, Width{"C64", 64}};

/// One tensor, filled in as its header entry is parsed.
struct Entry {
  StoredTensor tensor;
  std::vector<std::uint64_t> offsets;
};

[[noreturn]] void fail(const std::string& where, const std::string& tensor,
                       std::string_view reason) {
  throw Error(fmt::format("{}: tensor {} {}", where, quoted_name(tensor), reason));
}

std::uint64_t whole_number(const JsonScalar& value, const std::string& where,
                           const std::string& tensor, std::string_view key) {
  const auto* number = std::get_if<std::uint64_t>(&value);
  if (number == nullptr || *number > kMaxTensorElements) {
    fail(where, tensor, fmt::format("has a '{}' that is not a list of sizes", key));
  }
  return *number;
}

void add_scalar(Entry& entry, const std::vector<JsonStep>& path, const JsonScalar& value,
                const std::string& where) {
  const std::string& name = path[0].key;
  const std::string& key = path.size() > 1 ? path[1].key : name;
  const bool in_list = path.size() == 3 && path[2].index >= 0;
  if (path.size() == 2 && key == "dtype" && std::holds_alternative<std::string>(value)) {
    entry.tensor.dtype = std::get<std::string>(value);
  } else if (in_list && key == "shape") {
    const auto size = whole_number(value, where, name, key);
    entry.tensor.shape.push_back(static_cast<std::int64_t>(size));
  } else if (in_list && key == "data_offsets") {
    entry.offsets.push_back(whole_number(value, where, name, key));
  } else {
    fail(
        where, name,
        fmt::format("has an unexpected {}; expected dtype, shape, data_offsets", quoted_name(key)));
  }
}

std::uint64_t element_count(const StoredTensor& tensor, const std::string& where) {
  std::uint64_t elements = 1;
  for (const std::int64_t size : tensor.shape) {
    const auto factor = static_cast<std::uint64_t>(size);
    if (factor != 0 && elements > kMaxTensorElements / factor) {
      fail(where, tensor.name, "has more elements than any model");
    }
    elements *= factor;
  }
  return elements;
}

/// Checks an entry against its shape and the data section, and completes it.
void complete(Entry& entry, std::uint64_t data_bytes, const std::string& where) {
  StoredTensor& tensor = entry.tensor;
  if (tensor.dtype.empty()) fail(where, tensor.name, "has no 'dtype'");
  if (entry.offsets.size() != 2 || entry.offsets[0] > entry.offsets[1]) {
    fail(where, tensor.name, "has no 'data_offsets' of the form [begin, end]");
  }
  if (entry.offsets[1] > data_bytes) {
    fail(where, tensor.name,
         fmt::format("ends at byte {} of {} data bytes: is the file complete?", entry.offsets[1],
                     data_bytes));
  }
  const std::uint64_t stored = entry.offsets[1] - entry.offsets[0];
  const std::uint64_t elements = element_count(tensor, where);
  const auto same = [&](const Width& w) { return w.dtype == tensor.dtype; };
  const auto width = std::find_if(kWidths.begin(), kWidths.end(), same);
  // For a dtype newer than this list, only the offsets give the size.
  if (width != kWidths.end() && (elements * width->bits + 7) / 8 != stored) {
    fail(where, tensor.name,
         fmt::format("has {} bytes, but {} elements of {} have {}", stored, elements, tensor.dtype,
                     (elements * width->bits + 7) / 8));
  }
  tensor.elements = static_cast<std::int64_t>(elements);
  tensor.bytes = Bytes{static_cast<double>(stored)};
}

struct Header {
  std::string json;
  std::uint64_t data_bytes = 0;
};

Header read_header(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw Error(fmt::format("{}: cannot be read", path));
  const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(0, file.tellg()));
  file.seekg(0);
  std::array<unsigned char, 8> prefix{};
  if (size < prefix.size() || !file.read(reinterpret_cast<char*>(prefix.data()), prefix.size())) {
    throw Error(fmt::format("{}: {} bytes long, too short for a safetensors file", path, size));
  }
  if (std::equal(prefix.begin(), prefix.end(), "version ")) {
    throw Error(
        fmt::format("{}: a Git LFS pointer instead of the file; fetch it with 'git lfs "
                    "pull'",
                    path));
  }
  std::uint64_t length = 0;
  for (std::size_t i = prefix.size(); i-- > 0;) length = length << 8 | prefix[i];
  if (length > kLongestHeader || length > size - prefix.size()) {
    throw Error(
        fmt::format("{}: header of {} bytes in a file of {}; not a safetensors file, or "
                    "incomplete",
                    path, length, size));
  }
  Header header{.json = std::string(length, '\0'), .data_bytes = size - prefix.size() - length};
  if (!file.read(header.json.data(), static_cast<std::streamsize>(length))) {
    throw Error(fmt::format("{}: header cannot be read", path));
  }
  return header;
}

void check_overlaps(const std::vector<Entry>& entries, const std::string& where) {
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].offsets[0] < entries[i - 1].offsets[1]) {
      fail(where, entries[i].tensor.name,
           fmt::format("overlaps {}", quoted_name(entries[i - 1].tensor.name)));
    }
  }
}

std::string read_index_text(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) throw Error(fmt::format("{}: cannot be read: {}", path, error.message()));
  if (size > kLongestIndex) {
    throw Error(fmt::format("{}: {} bytes, too large for an index", path, size));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(size, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(size))) {
    throw Error(fmt::format("{}: cannot be read", path));
  }
  return text;
}

Bytes total_size_of(const JsonScalar& value, const std::string& where) {
  // Some writers write it as 1.6e10.
  double bytes = -1;
  if (const auto* whole = std::get_if<std::uint64_t>(&value)) bytes = static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&value)) bytes = *number;
  if (!(bytes >= 0) || bytes > static_cast<double>(kMaxTensorElements)) {
    throw Error(fmt::format("{}: 'metadata.total_size' is not a size in bytes", where));
  }
  return Bytes{bytes};
}

std::vector<std::string> files_without_index(const fs::path& folder) {
  if (fs::exists(folder / "model.safetensors")) return {"model.safetensors"};
  std::vector<std::string> all;
  std::vector<std::string> consolidated;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".safetensors") continue;
    (name.rfind("consolidated", 0) == 0 ? consolidated : all).push_back(name);
  }
  if (all.empty()) all = std::move(consolidated);
  std::sort(all.begin(), all.end());
  return all;
}

Checkpoint checkpoint_of(const fs::path& folder, const std::vector<std::string>& files) {
  Checkpoint checkpoint;
  std::map<std::string, StoredBytes> by_dtype;
  std::set<std::string> names;
  for (const std::string& file : files) {
    const std::string path = (folder / file).string();
    for (StoredTensor& tensor : read_safetensors_header(path)) {
      if (!names.insert(tensor.name).second) fail(path, tensor.name, "is also in another file");
      StoredBytes& sum = by_dtype[tensor.dtype];
      sum.dtype = tensor.dtype;
      sum.elements += tensor.elements;
      sum.bytes += tensor.bytes;
      checkpoint.bytes += tensor.bytes;
      checkpoint.tensors.push_back(std::move(tensor));
    }
  }
  for (auto& [dtype, sum] : by_dtype) checkpoint.by_dtype.push_back(std::move(sum));
  checkpoint.source =
      files.size() == 1 ? (folder / files.front()).string()
                        : fmt::format("{} safetensors files in {}", files.size(), folder.string());
  return checkpoint;
}

}  // namespace

std::vector<StoredTensor> read_safetensors_header(const std::string& path) {
  const Header header = read_header(path);
  std::vector<Entry> entries;
  std::set<std::string> names;
  for_each_json_scalar(header.json, path, kHeaderLevels,
                       [&](const std::vector<JsonStep>& at, const JsonScalar& value) {
                         if (at.empty() || at[0].index >= 0) {
                           throw Error(fmt::format("{}: header is not a JSON object", path));
                         }
                         const std::string& name = at[0].key;
                         if (name == "__metadata__") return;
                         if (entries.empty() || entries.back().tensor.name != name) {
                           if (!names.insert(name).second) fail(path, name, "is listed twice");
                           entries.emplace_back();
                           entries.back().tensor.name = name;
                         }
                         add_scalar(entries.back(), at, value, path);
                       });
  for (Entry& entry : entries) complete(entry, header.data_bytes, path);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.offsets < b.offsets; });
  check_overlaps(entries, path);
  std::vector<StoredTensor> tensors;
  for (Entry& entry : entries) tensors.push_back(std::move(entry.tensor));
  return tensors;
}

SafetensorsIndex read_safetensors_index(const std::string& path) {
  SafetensorsIndex index;
  std::set<std::string> files;
  const std::string text = read_index_text(path);
  for_each_json_scalar(
      text, path, kIndexLevels, [&](const std::vector<JsonStep>& at, const JsonScalar& value) {
        if (at.size() != 2) return;
        if (at[0].key == "metadata" && at[1].key == "total_size") {
          index.total_size = total_size_of(value, path);
        }
        if (at[0].key != "weight_map") return;
        const auto* file = std::get_if<std::string>(&value);
        // Must be a file name, so that it cannot lead out of the folder.
        if (file == nullptr || file->empty() || fs::path(*file).has_parent_path()) {
          throw Error(fmt::format("{}: 'weight_map' of {} is not a file name", path,
                                  quoted_name(at[1].key)));
        }
        files.insert(*file);
      });
  if (files.empty()) {
    throw Error(fmt::format("{}: no 'weight_map'; not a safetensors index", path));
  }
  index.files.assign(files.begin(), files.end());
  return index;
}

std::optional<Checkpoint> read_checkpoint(const std::string& folder) {
  const fs::path root(folder);
  const fs::path index_path = root / "model.safetensors.index.json";
  if (!fs::exists(index_path)) {
    const std::vector<std::string> files = files_without_index(root);
    if (files.empty()) return std::nullopt;
    return checkpoint_of(root, files);
  }
  const SafetensorsIndex index = read_safetensors_index(index_path.string());
  const auto here = [&](const std::string& file) { return fs::exists(root / file); };
  if (std::all_of(index.files.begin(), index.files.end(), here)) {
    return checkpoint_of(root, index.files);
  }
  if (!index.total_size) return std::nullopt;
  Checkpoint checkpoint;
  checkpoint.bytes = *index.total_size;
  checkpoint.source = index_path.string();
  return checkpoint;
}

}  // namespace roofcast
