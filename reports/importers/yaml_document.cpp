#include "reports/importers/yaml_document.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/io/shown.hpp"

#ifdef ROOFCAST_HAS_YAML
#include <yaml-cpp/yaml.h>
#endif

namespace roofcast {

bool has_outer_key(std::string_view head, std::string_view key) {
  return head.starts_with(key) || head.find("\n" + std::string(key)) != std::string_view::npos;
}

#ifdef ROOFCAST_HAS_YAML

namespace {

constexpr int kDeepestYaml = 32;
constexpr std::size_t kMaxYamlValues = 1'000'000;
constexpr std::size_t kLargestFile = std::size_t{64} << 20;  // 64 MiB: a report is a few KB

std::string read_all(ByteSource& bytes) {
  std::string text;
  constexpr std::size_t kChunk = 65'536;
  for (;;) {
    const std::size_t held = text.size();
    text.resize(held + kChunk);
    const std::size_t got = bytes.read(text.data() + held, kChunk);
    text.resize(held + got);
    if (got == 0) return text;
    if (text.size() > kLargestFile) throw Error(bytes.name() + ": is larger than 64 MiB");
  }
}

/// Scalars stay strings, which the number readers accept: "0.30" may be a version. An alias is
/// expanded into a copy, and the copies count towards the limit.
class Converter {
 public:
  explicit Converter(std::string name) : name_(std::move(name)) {}

  nlohmann::json convert(const YAML::Node& node, int depth = 0) {
    if (depth > kDeepestYaml)
      throw Error(fmt::format("{}: nests deeper than {} levels", name_, kDeepestYaml));
    if (++values_ > kMaxYamlValues)
      throw Error(fmt::format("{}: holds over {} values", name_, kMaxYamlValues));
    if (node.IsMap()) {
      nlohmann::json object = nlohmann::json::object();
      for (const auto& entry : node) {
        if (!entry.first.IsScalar()) throw Error(name_ + ": has a key that is not a string");
        object[entry.first.Scalar()] = convert(entry.second, depth + 1);
      }
      return object;
    }
    if (node.IsSequence()) {
      nlohmann::json list = nlohmann::json::array();
      for (const auto& entry : node) list.push_back(convert(entry, depth + 1));
      return list;
    }
    return node.IsScalar() ? nlohmann::json(node.Scalar()) : nlohmann::json(nullptr);
  }

 private:
  std::string name_;
  std::size_t values_ = 0;
};

}  // namespace

nlohmann::json read_yaml(ByteSource& bytes) {
  try {
    return Converter(bytes.name()).convert(YAML::Load(read_all(bytes)));
  } catch (const YAML::Exception& error) {
    throw Error(fmt::format("{}:{}: is not YAML: {}", bytes.name(), error.mark.line + 1,
                            shown(error.msg, 100)));
  }
}

#else

nlohmann::json read_yaml(ByteSource& bytes) {
  throw Error(bytes.name() + ": is YAML, but this build has no libyaml-cpp: convert it to JSON");
}

#endif

}  // namespace roofcast
