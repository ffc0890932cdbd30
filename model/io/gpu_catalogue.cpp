// Finds a profile by name or path; gpu_reader.cpp reads its contents.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/fnv1a.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "embedded_profiles.hpp"
#include "model/curves/kernel_tables.hpp"
#include "model/io/gpu_reader.hpp"
#include "model/io/kernel_tables_file.hpp"
#include "model/step/carried_time.hpp"

namespace roofcast {
namespace {

/// Words that drivers and shops put before the model, in order of appearance.
constexpr std::string_view kLeadingWords[] = {"nvidia", "amd", "geforce", "instinct"};

std::string fnv1a_hex(std::string_view text) { return fmt::format("{:016x}", fnv1a(text)); }

/// Whether a profile that was written by hand describes the chip on which its curves were timed is
/// known only by its facts: they must be those of that card, or of another built-in one with its
/// curves. Otherwise the times are carried over from another chip. Without any, its chip is one of
/// the built-in ones or nobody's.
void tell_chip(Gpu& gpu) {
  const std::string timed_on = gpu.sister ? gpu.sister->name : gpu.tables ? gpu.tables->name() : "";
  if (timed_on.empty()) {
    const std::vector<std::string> names = gpu_names();
    gpu.untimed_chip = !gpu.measured && std::ranges::none_of(names, [&](const std::string& name) {
      return has_same_chip(gpu, load_gpu(name).gpu);
    });
    return;
  }
  const Gpu timed = load_gpu(timed_on).gpu;
  if (has_same_chip(gpu, timed)) return;
  for (const std::string& name : gpu_names()) {
    const Gpu known = load_gpu(name).gpu;
    if (known.sister && known.sister->name == timed_on && has_same_chip(gpu, known)) return;
  }
  if (!gpu.sister) gpu.sister = sister_card(timed);
  gpu.sister->same_chip = false;
}

GpuProfile load_file(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) {
    throw Error(fmt::format("hardware profile {}: no such file", path));
  }
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw Error(fmt::format("hardware profile {}: cannot be read", path));
  GpuProfile profile = parse_profile(text, path);
  tell_chip(profile.gpu);
  return profile;
}

bool answers_to(const Gpu& gpu, const std::string& key) {
  const auto same = [&](const std::string& spelling) { return gpu_name_key(spelling) == key; };
  return same(gpu.name) || same(gpu.display_name) ||
         std::any_of(gpu.aliases.begin(), gpu.aliases.end(), same);
}

/// Names of the profiles with a spelling near `key`, nearest first.
std::vector<std::string> nearest_profiles(const std::string& key, const std::vector<Gpu>& gpus) {
  std::vector<std::string> keys;
  for (const Gpu& gpu : gpus) {
    keys.push_back(gpu_name_key(gpu.name));
    for (const std::string& alias : gpu.aliases) keys.push_back(gpu_name_key(alias));
  }
  std::vector<std::string> names;
  for (const std::string& near : nearest(key, keys)) {
    for (const Gpu& gpu : gpus) {
      const bool seen = std::find(names.begin(), names.end(), gpu.name) != names.end();
      if (answers_to(gpu, near) && !seen) names.push_back(gpu.name);
    }
  }
  return names;
}

std::string quoted_list(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back("'" + name + "'");
  return alternatives(std::vector<std::string_view>(quoted.begin(), quoted.end()));
}

}  // namespace

std::string gpu_name_key(const std::string& spelling) {
  std::string key = letters_and_digits(spelling);
  for (const std::string_view word : kLeadingWords) {
    if (key.starts_with(word)) key.erase(0, word.size());
  }
  return key;
}

bool is_profile_path(const std::string& gpu) {
  return gpu.ends_with(".json") || gpu.find('/') != std::string::npos;
}

GpuProfile parse_profile(const std::string& profile, const std::string& where) {
  Gpu gpu = parse_gpu(profile, where);
  const std::string tables =
      gpu.tables ? std::string(stated_hash(built_in_table_bytes(gpu.tables->name()))) : "";
  const std::string sister = gpu.sister ? std::string(built_in_text(gpu.sister->name)) : "";
  return {.gpu = std::move(gpu), .hash = fnv1a_hex(profile + tables + sister)};
}

std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& profile : embedded_profiles()) names.emplace_back(profile.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string_view built_in_text(std::string_view name) {
  const auto all = embedded_profiles();
  return std::ranges::find(all, name, &EmbeddedFile::name)->text;
}

namespace {

/// Parsed when first asked for, once for the life of the program: a search, a server and the tests
/// ask for the same profiles again and again. Thread-safe.
class BuiltInProfiles {
 public:
  std::size_t size() const { return embedded_profiles().size(); }

  const GpuProfile& at(std::size_t index) {
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<const GpuProfile>& profile = parsed_[index];
    if (!profile) {
      const EmbeddedFile& text = embedded_profiles()[index];
      profile = std::make_unique<const GpuProfile>(
          parse_profile(std::string(text.text), fmt::format("{}.json (built in)", text.name)));
    }
    return *profile;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<const GpuProfile>> parsed_ =
      std::vector<std::unique_ptr<const GpuProfile>>(embedded_profiles().size());
};

BuiltInProfiles& built_in_profiles() {
  static BuiltInProfiles profiles;
  return profiles;
}

/// Whether one of the strings in a profile's text, up to the end of its other names, is spelt like
/// `key`; no other profile answers to it. Without parsing it: three profiles begin with "H100", two
/// of them with the curves of the third.
bool may_answer_to(std::string_view text, const std::string& key) {
  const std::size_t aliases = text.find("\"aliases\"");
  std::string_view rest = text.substr(0, text.find(']', std::min(aliases, text.size())));
  for (std::size_t open = rest.find('"'); open != std::string_view::npos; open = rest.find('"')) {
    rest.remove_prefix(open + 1);
    const std::size_t size = rest.find('"');
    if (size == std::string_view::npos) return false;
    if (gpu_name_key(std::string(rest.substr(0, size))) == key) return true;
    rest.remove_prefix(size + 1);
  }
  return false;
}

/// "H100" of "2xH100", "8 x H100", "H100:8" and "H100 x8"; empty if nothing is counted.
std::string without_count(std::string_view gpu) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string_view rest = gpu;
  while (!rest.empty() && is_digit(rest.front())) rest.remove_prefix(1);
  std::string_view name = trimmed(rest);
  if (rest.size() < gpu.size() && (name.starts_with('x') || name.starts_with('*'))) {
    return std::string(trimmed(name.substr(1)));
  }
  rest = gpu;
  while (!rest.empty() && is_digit(rest.back())) rest.remove_suffix(1);
  name = trimmed(rest);
  const bool after = name.ends_with(':') || name.ends_with(" x") || name.ends_with('*');
  if (rest.size() == gpu.size() || !after) return "";
  return std::string(trimmed(name.substr(0, name.size() - 1)));
}

}  // namespace

GpuProfile load_gpu(const std::string& gpu) {
  if (is_profile_path(gpu)) return load_file(gpu);
  const std::string key = gpu_name_key(gpu);
  BuiltInProfiles& built_in = built_in_profiles();
  for (std::size_t i = 0; i < built_in.size(); ++i) {
    if (!may_answer_to(embedded_profiles()[i].text, key)) continue;
    const GpuProfile& profile = built_in.at(i);
    if (answers_to(profile.gpu, key)) return profile;
  }
  if (const std::string counted = without_count(gpu); !counted.empty()) {
    throw UsageError(
        fmt::format("unknown GPU '{}': `gpu` names one GPU, here {}; their number is "
                    "`tensor_parallel_size` times `replicas`",
                    gpu, counted));
  }
  if (key == "any") {
    throw UsageError(
        "`gpu` names one GPU here; roofcast plan and roofcast capacity compare several, or any");
  }
  std::vector<Gpu> gpus;
  for (std::size_t i = 0; i < built_in.size(); ++i) gpus.push_back(built_in.at(i).gpu);
  const std::vector<std::string> near = nearest_profiles(key, gpus);
  throw UsageError(
      fmt::format("unknown GPU '{}'{} (roofcast gpus lists all; or give the path of a hardware "
                  "profile, .json)",
                  gpu, near.empty() ? "" : ", did you mean " + quoted_list(near) + "?"));
}

}  // namespace roofcast
