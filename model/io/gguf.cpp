#include "model/io/gguf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "model/io/quoted_name.hpp"

namespace roofcast {

namespace {

struct BlockType {
  std::uint32_t id;
  std::string_view name;
  std::uint64_t elements;  // per block
  std::uint64_t bytes;     // per block
};

// GGML_QUANT_SIZES and GGMLQuantizationType in gguf-py/gguf/constants.py. Each size is the sum of
// the block's parts: q4_k holds two fp16 scales, 12 bytes of 6-bit scales and 256 / 2 bytes. Ids 4,
// 5, 31-33 and 36-38 were withdrawn.
constexpr std::array kBlockTypes{
    BlockType{0, "f32", 1, 4},         BlockType{1, "f16", 1, 2},
    BlockType{2, "q4_0", 32, 18},      BlockType{3, "q4_1", 32, 20},
    BlockType{6, "q5_0", 32, 22},      BlockType{7, "q5_1", 32, 24},
    BlockType{8, "q8_0", 32, 34},      BlockType{9, "q8_1", 32, 36},
    BlockType{10, "q2_k", 256, 84},    BlockType{11, "q3_k", 256, 110},
    BlockType{12, "q4_k", 256, 144},   BlockType{13, "q5_k", 256, 176},
    BlockType{14, "q6_k", 256, 210},   BlockType{15, "q8_k", 256, 292},
    BlockType{16, "iq2_xxs", 256, 66}, BlockType{17, "iq2_xs", 256, 74},
    BlockType{18, "iq3_xxs", 256, 98}, BlockType{19, "iq1_s", 256, 50},
    BlockType{20, "iq4_nl", 32, 18},   BlockType{21, "iq3_s", 256, 110},
    BlockType{22, "iq2_s", 256, 82},   BlockType{23, "iq4_xs", 256, 136},
    BlockType{24, "i8", 1, 1},         BlockType{25, "i16", 1, 2},
    BlockType{26, "i32", 1, 4},        BlockType{27, "i64", 1, 8},
    BlockType{28, "f64", 1, 8},        BlockType{29, "iq1_m", 256, 56},
    BlockType{30, "bf16", 1, 2},       BlockType{34, "tq1_0", 256, 54},
    BlockType{35, "tq2_0", 256, 66},   BlockType{39, "mxfp4", 32, 17},
    BlockType{40, "nvfp4", 64, 36},    BlockType{41, "q1_0", 128, 18}};

// Value types of docs/gguf.md.
enum ValueType : std::uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kList,
  kUint64,
  kInt64,
  kFloat64
};

constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint32_t kMaxDimensions = 4;     // GGML_MAX_DIMS
constexpr std::uint64_t kLongestName = 65'535;  // docs/gguf.md: keys; tensor names are shorter
constexpr std::uint64_t kLongestText = 65'536;  // longer texts (chat templates) are skipped
constexpr std::uint64_t kMaxKept = 4'096;       // list elements: more than any model has layers
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 53;
constexpr std::uint64_t kMaxParts = 10'000;
// Minimum bytes of one entry: key length, type and one byte; name length, dimension count, one
// dimension, type and offset.
constexpr std::uint64_t kSmallestValue = 8 + 4 + 1;
constexpr std::uint64_t kSmallestTensor = 8 + 4 + 8 + 4 + 8;

/// Reads forward through a file, never beyond its end.
class Stream {
 public:
  explicit Stream(const std::string& path)
      : path_(path), file_(path, std::ios::binary | std::ios::ate) {
    if (!file_) throw Error(fmt::format("{}: cannot be read", path));
    size_ = static_cast<std::uint64_t>(std::max<std::streamoff>(0, file_.tellg()));
    file_.seekg(0);
  }

  std::uint64_t position() const { return position_; }
  std::uint64_t size() const { return size_; }
  std::uint64_t left() const { return size_ - position_; }

  [[noreturn]] void fail(std::string_view reason) const {
    throw Error(fmt::format("{}: {}", path_, reason));
  }

  template <class Number>
  Number number(std::string_view what) {
    std::array<char, sizeof(Number)> bytes{};
    need(bytes.size(), what);
    take(bytes.data(), bytes.size());
    Number value{};
    std::memcpy(&value, bytes.data(), bytes.size());  // little-endian hosts only, like CUDA's
    return value;
  }

  std::string text(std::uint64_t longest, std::string_view what) {
    const auto length = number<std::uint64_t>(what);
    if (length > longest) fail(fmt::format("{} of {} bytes at byte {}", what, length, position_));
    need(length, what);
    std::string value(length, '\0');
    take(value.data(), length);
    return value;
  }

  void skip(std::uint64_t bytes, std::string_view what) {
    need(bytes, what);
    file_.seekg(static_cast<std::streamoff>(bytes), std::ios::cur);
    position_ += bytes;
  }

 private:
  void need(std::uint64_t bytes, std::string_view what) const {
    if (bytes > left()) {
      fail(fmt::format("ends within {} at byte {}: incomplete, or not GGUF", what, position_));
    }
  }

  void take(char* to, std::uint64_t bytes) {
    if (!file_.read(to, static_cast<std::streamsize>(bytes))) fail("cannot be read");
    position_ += bytes;
  }

  std::string path_;
  std::ifstream file_;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
};

std::optional<std::uint64_t> width_of(std::uint32_t type) {
  switch (type) {
    case kUint8:
    case kInt8:
    case kBool:
      return 1;
    case kUint16:
    case kInt16:
      return 2;
    case kUint32:
    case kInt32:
    case kFloat32:
      return 4;
    case kUint64:
    case kInt64:
    case kFloat64:
      return 8;
    default:
      return std::nullopt;
  }
}

// `key` is already sanitised for messages.

/// A string value; if too long to be relevant it is skipped and stored as empty.
std::string read_text_value(Stream& stream, const std::string& key) {
  const auto length = stream.number<std::uint64_t>(key);
  if (length <= kLongestText && length <= stream.left()) {
    std::string value;
    value.reserve(length);
    for (std::uint64_t i = 0; i < length; ++i) value += stream.number<char>(key);
    return value;
  }
  stream.skip(length, key);
  return {};
}

GgufValue read_scalar(Stream& stream, std::uint32_t type, const std::string& key) {
  switch (type) {
    case kUint8:
      return std::int64_t{stream.number<std::uint8_t>(key)};
    case kInt8:
      return std::int64_t{stream.number<std::int8_t>(key)};
    case kUint16:
      return std::int64_t{stream.number<std::uint16_t>(key)};
    case kInt16:
      return std::int64_t{stream.number<std::int16_t>(key)};
    case kUint32:
      return std::int64_t{stream.number<std::uint32_t>(key)};
    case kInt32:
      return std::int64_t{stream.number<std::int32_t>(key)};
    case kFloat32:
      return double{stream.number<float>(key)};
    case kBool:
      return stream.number<std::uint8_t>(key) != 0;
    case kString:
      return read_text_value(stream, key);
    case kUint64:
      return static_cast<std::int64_t>(stream.number<std::uint64_t>(key));
    case kInt64:
      return stream.number<std::int64_t>(key);
    case kFloat64:
      return stream.number<double>(key);
    default:
      stream.fail(fmt::format("{} has the unknown value type {}", key, type));
  }
}

GgufList read_list(Stream& stream, const std::string& key) {
  const auto type = stream.number<std::uint32_t>(key);
  const auto length = stream.number<std::uint64_t>(key);
  const std::optional<std::uint64_t> width = width_of(type);
  // A list of strings takes at least 8 bytes per element; nested lists are not in use.
  if (!width && type != kString) {
    stream.fail(fmt::format("{} is a list of the unknown type {}", key, type));
  }
  if (length > stream.left() / width.value_or(8)) {
    stream.fail(fmt::format("{} claims {} elements, more than the file holds", key, length));
  }
  GgufList list{.length = static_cast<std::int64_t>(length), .values = {}};
  if (!width) {
    for (std::uint64_t i = 0; i < length; ++i) {
      const auto bytes = stream.number<std::uint64_t>(key);
      stream.skip(bytes, key);
    }
    return list;
  }
  if (length > kMaxKept || type == kFloat32 || type == kFloat64) {
    stream.skip(length * *width, key);
    return list;
  }
  for (std::uint64_t i = 0; i < length; ++i) {
    const GgufValue value = read_scalar(stream, type, key);
    const auto* flag = std::get_if<bool>(&value);
    list.values.push_back(flag != nullptr ? std::int64_t{*flag} : std::get<std::int64_t>(value));
  }
  return list;
}

void read_values(Stream& stream, std::uint64_t count, GgufFile& file) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string key = stream.text(kLongestName, "a key");
    const std::string shown = quoted_name(key);
    const auto type = stream.number<std::uint32_t>(shown);
    GgufValue value =
        type == kList ? GgufValue{read_list(stream, shown)} : read_scalar(stream, type, shown);
    if (!file.values.emplace(key, std::move(value)).second) {
      stream.fail(fmt::format("key {} is duplicated", shown));
    }
  }
}

/// Sets elements and bytes of a tensor whose rows are whole blocks.
void size_tensor(const Stream& stream, const BlockType& type, GgufTensor& tensor) {
  std::uint64_t elements = 1;
  for (const std::int64_t size : tensor.shape) {
    const auto factor = static_cast<std::uint64_t>(size);
    if (size <= 0 || elements > kMaxElements / factor) {
      stream.fail(fmt::format("tensor {} has an invalid size", quoted_name(tensor.name)));
    }
    elements *= factor;
  }
  const auto row = static_cast<std::uint64_t>(tensor.shape.empty() ? 1 : tensor.shape.front());
  if (row % type.elements != 0) {
    stream.fail(fmt::format("tensor {} has rows of {} elements; {} stores blocks of {}",
                            quoted_name(tensor.name), row, type.name, type.elements));
  }
  tensor.elements = static_cast<std::int64_t>(elements);
  const auto blocks = elements / type.elements;
  tensor.bytes = Bytes{static_cast<double>(blocks * type.bytes)};
}

struct PlacedTensor {
  GgufTensor tensor;
  std::uint64_t offset = 0;
};

PlacedTensor read_tensor(Stream& stream) {
  PlacedTensor placed;
  GgufTensor& tensor = placed.tensor;
  tensor.name = stream.text(kLongestName, "a tensor name");
  const auto dimensions = stream.number<std::uint32_t>("a tensor's dimensions");
  if (dimensions > kMaxDimensions) {
    stream.fail(fmt::format("tensor {} has {} dimensions; at most {} are supported",
                            quoted_name(tensor.name), dimensions, kMaxDimensions));
  }
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    tensor.shape.push_back(stream.number<std::int64_t>("a tensor's dimensions"));
  }
  const auto id = stream.number<std::uint32_t>("a tensor's type");
  const auto same = [&](const BlockType& type) { return type.id == id; };
  const auto type = std::find_if(kBlockTypes.begin(), kBlockTypes.end(), same);
  if (type == kBlockTypes.end()) {
    stream.fail(fmt::format("tensor {} has the unknown type {}", quoted_name(tensor.name), id));
  }
  tensor.type = std::string(type->name);
  size_tensor(stream, *type, tensor);
  placed.offset = stream.number<std::uint64_t>("a tensor's offset");
  return placed;
}

std::uint64_t alignment_of(const Stream& stream, const GgufFile& file) {
  const auto found = file.values.find("general.alignment");
  if (found == file.values.end()) return kDefaultAlignment;
  const auto* alignment = std::get_if<std::int64_t>(&found->second);
  if (alignment == nullptr || *alignment <= 0 || *alignment > (1 << 20)) {
    stream.fail("general.alignment is not a number of bytes");
  }
  return static_cast<std::uint64_t>(*alignment);
}

void read_tensors(Stream& stream, std::uint64_t count, GgufFile& file) {
  std::vector<PlacedTensor> placed;
  for (std::uint64_t i = 0; i < count; ++i) placed.push_back(read_tensor(stream));
  const std::uint64_t alignment = alignment_of(stream, file);
  const std::uint64_t begin = (stream.position() + alignment - 1) / alignment * alignment;
  const std::uint64_t data = stream.size() > begin ? stream.size() - begin : 0;
  double total = 0;
  for (PlacedTensor& entry : placed) {
    const auto bytes = static_cast<std::uint64_t>(entry.tensor.bytes.value);
    if (entry.offset > data || bytes > data - entry.offset) {
      stream.fail(fmt::format("tensor {} ends after the end of the file: incomplete download?",
                              quoted_name(entry.tensor.name)));
    }
    total += entry.tensor.bytes.value;
    entry.tensor.path = file.path;
    entry.tensor.offset = static_cast<std::int64_t>(begin + entry.offset);
    file.tensors.push_back(std::move(entry.tensor));
  }
  if (total > static_cast<double>(data)) stream.fail("tensors overlap");
}

/// One file, possibly of several.
GgufFile read_part(const std::string& path) {
  Stream stream(path);
  constexpr std::array kMagic{'G', 'G', 'U', 'F'};
  for (const char letter : kMagic) {
    if (stream.number<char>("the magic") != letter) stream.fail("not a GGUF file");
  }
  GgufFile file;
  file.path = path;
  const auto version = stream.number<std::uint32_t>("the version");
  if (version != 2 && version != 3) {
    const bool swapped = (version & 0xffffU) == 0;
    stream.fail(swapped ? std::string("big-endian GGUF; only little-endian is supported")
                        : fmt::format("GGUF version {}; only 2 and 3 are supported", version));
  }
  file.version = version;
  const auto tensors = stream.number<std::uint64_t>("the tensor count");
  const auto values = stream.number<std::uint64_t>("the key count");
  if (values > stream.left() / kSmallestValue || tensors > stream.left() / kSmallestTensor) {
    stream.fail(fmt::format("claims {} keys and {} tensors, more than its {} bytes can hold",
                            values, tensors, stream.size()));
  }
  read_values(stream, values, file);
  read_tensors(stream, tensors, file);
  const auto architecture = file.values.find("general.architecture");
  if (architecture != file.values.end()) {
    if (const auto* text = std::get_if<std::string>(&architecture->second)) {
      file.architecture = *text;
    }
  }
  return file;
}

/// Path of part `number` (from 1) of a file named NAME-00001-of-00003.gguf.
std::optional<std::string> part_path(const std::string& first, std::int64_t number,
                                     std::int64_t parts) {
  const std::string ending = fmt::format("-{:05}-of-{:05}.gguf", 1, parts);
  if (first.size() < ending.size() ||
      first.compare(first.size() - ending.size(), ending.size(), ending) != 0) {
    return std::nullopt;
  }
  const std::string name = first.substr(0, first.size() - ending.size());
  return fmt::format("{}-{:05}-of-{:05}.gguf", name, number, parts);
}

}  // namespace

std::vector<std::uint8_t> read_tensor_data(const GgufTensor& tensor) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(tensor.bytes.value));
  std::ifstream file(tensor.path, std::ios::binary);
  file.seekg(tensor.offset);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) {
    throw Error(fmt::format("{}: tensor {} cannot be read", tensor.path, quoted_name(tensor.name)));
  }
  return bytes;
}

std::optional<double> gguf_number(const GgufFile& file, const std::string& key) {
  const auto found = file.values.find(file.architecture + "." + key);
  if (found == file.values.end()) return std::nullopt;
  if (const auto* real = std::get_if<double>(&found->second)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&found->second)) {
    return static_cast<double>(*whole);
  }
  return std::nullopt;
}

GgufFile read_gguf(const std::string& path) {
  GgufFile file = read_part(path);
  const auto count = file.values.find("split.count");
  if (count == file.values.end()) return file;
  const auto* parts = std::get_if<std::int64_t>(&count->second);
  if (parts == nullptr || *parts < 0 || static_cast<std::uint64_t>(*parts) > kMaxParts) {
    throw Error(fmt::format("{}: split.count is not a number of files", path));
  }
  file.parts = std::max<std::int64_t>(1, *parts);
  for (std::int64_t number = 2; number <= file.parts; ++number) {
    const std::optional<std::string> next = part_path(path, number, file.parts);
    if (!next || !std::filesystem::exists(*next)) {
      file.complete = false;
      return file;
    }
    GgufFile part = read_part(*next);
    std::move(part.tensors.begin(), part.tensors.end(), std::back_inserter(file.tensors));
  }
  return file;
}

}  // namespace roofcast
