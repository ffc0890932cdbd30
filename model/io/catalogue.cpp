#include "model/io/model_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "embedded_models.hpp"
#include "model/io/config_fields.hpp"
#include "model/io/json_text.hpp"
#include "model/io/model_reader.hpp"

namespace roofcast {

namespace {

using nlohmann::json;

/// The name of the entry's file and `part`, the part of its text that holds its names, run together
/// as letters_and_digits: what is not in there is no name of the entry.
std::string names_in(std::string_view file, std::string_view part) {
  return letters_and_digits(file) + letters_and_digits(part);
}

std::string file_of(const EmbeddedFile& text) {
  return fmt::format("model/catalogue/{}.json", text.name);
}

CatalogueEntry read_entry(const json& document, const EmbeddedFile& text) {
  const Fields fields(document, file_of(text));
  CatalogueEntry entry{.name = fields.text({"name"}),
                       .aliases = fields.texts("aliases"),
                       .source = fields.text({"source"})};
  if (entry.name != text.name) fields.fail("name", "differs from the file name");
  return entry;
}

std::string_view without_organisation(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

/// Whether the entry has this name, given as letters_and_digits, without an organisation.
bool is_called(const CatalogueEntry& entry, const std::string& wanted) {
  const auto same = [&](std::string_view known) {
    return letters_and_digits(known) == wanted ||
           letters_and_digits(without_organisation(known)) == wanted;
  };
  return same(entry.name) || std::any_of(entry.aliases.begin(), entry.aliases.end(), same);
}

/// Organisations on Hugging Face that publish others' models, often quantised, under their names.
constexpr std::string_view kRepublishers[] = {
    "RedHatAI", "neuralmagic", "nvidia", "unsloth",      "NousResearch", "hugging-quants",
    "TheBloke", "amd",         "Intel",  "casperhansen", "bartowski"};

constexpr std::string_view kMaker = "meta";  // "Meta-Llama-3.1-8B", as Meta first called it

/// "meta-llama" of "meta-llama/Llama-3.1-8B"; empty if there is none.
std::string_view organisation_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
}

/// The same if `name` has the organisation of one of the entry's own names, or one that
/// republishes: any other may be a folder that does not exist.
bool is_published_as(const CatalogueEntry& entry, std::string_view name) {
  const std::string organisation = lower(organisation_of(name));
  const auto same = [&](std::string_view other) { return lower(other) == organisation; };
  const bool known = organisation.empty() || std::ranges::any_of(kRepublishers, same) ||
                     std::ranges::any_of(entry.aliases, [&](const std::string& alias) {
                       return same(organisation_of(alias));
                     });
  if (!known) return false;
  const std::string rest = letters_and_digits(without_organisation(name));
  return is_called(entry, rest) ||
         (rest.starts_with(kMaker) && is_called(entry, rest.substr(kMaker.size())));
}

/// How a published name ends if its weights are quantised, and to what. As on the models' pages:
/// Qwen's "-FP8" has scales for blocks of 128 (Qwen/Qwen3-32B-FP8), those of others one for each
/// matrix or channel.
struct QuantisedName {
  std::string_view ending{};
  const char* format = "";
};

constexpr QuantisedName kQuantisedNames[] = {
    {"-fp8-dynamic", "fp8"},
    {"-fp8-block", "fp8_block"},
    {"-fp8-kv", "fp8"},  // with scales for an fp8 KV cache, which is asked for apart
    {"-fp8", "fp8"},
    {"-awq-int4", "awq"},
    {"-awq", "awq"},
    {"-gptq-int4", "gptq"},
    {"-gptq", "gptq"},
    {"-quantized.w8a8", "int8"},
    {"-quantized.w4a16", "int4"},
    {"-w8a8", "int8"},
    {"-w4a16", "int4"},
    {"-nvfp4-v2", "nvfp4"},
    {"-nvfp4", "nvfp4"},
    {"-fp4", "nvfp4"},
};

/// Null if nothing in the name says that it is quantised.
const QuantisedName* quantised_name(std::string_view name) {
  const std::string text = lower(name);
  const auto* const found = std::ranges::find_if(kQuantisedNames, [&](const QuantisedName& one) {
    return text.size() > one.ending.size() && text.ends_with(one.ending);
  });
  return found == std::end(kQuantisedNames) ? nullptr : found;
}

std::string format_of(std::string_view name, const QuantisedName& quantised) {
  const bool by_block = lower(organisation_of(name)) == "qwen" && quantised.ending == "-fp8";
  return by_block ? "fp8_block" : quantised.format;
}

/// Words that fine-tuned and aligned variants add to the name of a model.
constexpr std::string_view kVariantWords[] = {"instruct", "chat", "base", "meta"};

std::string without_variant_words(std::string_view name) {
  std::string key = letters_and_digits(name);
  for (const std::string_view word : kVariantWords) {
    const std::size_t at = key.find(word);
    if (at != std::string::npos) key.erase(at, word.size());
  }
  return key;
}

/// `model` under the name that was asked for, if this is another model's of the same shapes:
/// "deepseek-r1" has those of deepseek-v3, whereas "Llama-3.1-8B-Instruct" is llama-3.1-8b.
Transformer named(Transformer model, std::string_view asked) {
  const std::string_view given = without_organisation(asked);
  const std::string key = without_variant_words(given);
  const std::string known = without_variant_words(model.name);
  if (key.find(known) != std::string::npos || known.find(key) != std::string::npos) return model;
  model.source = fmt::format("same shapes as {}: {}", model.name, model.source);
  model.name = lower(given);
  return model;
}

[[noreturn]] void fail_unknown(const std::string& name, const std::vector<std::string>& known) {
  const std::string hint = did_you_mean(without_organisation(name), known);
  throw UsageError(
      fmt::format("'{}' is not a file, a folder or a catalogue model (give a config.json, its "
                  "folder or a .gguf file, or a name from `roofcast models`){}",
                  name, hint));
}

/// The entry's "sampling"; plain if it has none.
SamplingKind sampling_of(const json& document, const std::string& file) {
  const Fields fields(document, file);
  const std::string text = fields.text({"sampling"});
  if (text.empty()) return SamplingKind::plain;
  const auto sampling = parse_sampling(text);
  if (!sampling) {
    fields.fail("sampling",
                fmt::format("is '{}', expected {}", text, alternatives(sampling_names())));
  }
  return *sampling;
}

Transformer load_entry(const EmbeddedFile& text, const json& document,
                       const CatalogueEntry& entry) {
  const auto config = document.find("config");
  if (config == document.end()) {
    throw Error(fmt::format("{}: 'config' is missing", file_of(text)));
  }
  Transformer model = model_of_config(*config, file_of(text));
  model.name = entry.name;
  model.source = entry.source;
  model.sampling = sampling_of(document, file_of(text));
  return model;
}

/// Entries are read when first asked for, once for the life of the program: a search, a server and
/// the tests ask for the same models again and again. Thread-safe.
class ReadEntries {
 public:
  const CatalogueEntry& entry(std::size_t index) {
    const std::scoped_lock lock(mutex_);
    return at(index).entry;
  }

  Transformer model(std::size_t index) {
    const std::scoped_lock lock(mutex_);
    Read& read = at(index);
    if (!read.model) {
      read.model = load_entry(embedded_models()[index], read.document, read.entry);
    }
    return *read.model;
  }

 private:
  struct Read {
    json document{};
    CatalogueEntry entry{};
    std::optional<Transformer> model{};
  };

  Read& at(std::size_t index) {
    std::optional<Read>& read = read_[index];
    if (!read) {
      const EmbeddedFile& text = embedded_models()[index];
      json document = parse_json(std::string(text.text), file_of(text));
      CatalogueEntry entry = read_entry(document, text);
      read = Read{.document = std::move(document), .entry = std::move(entry)};
    }
    return *read;
  }

  std::mutex mutex_;
  std::vector<std::optional<Read>> read_ =
      std::vector<std::optional<Read>>(embedded_models().size());
};

ReadEntries& read_entries() {
  static ReadEntries entries;
  return entries;
}

}  // namespace

std::vector<CatalogueEntry> catalogue() {
  std::vector<CatalogueEntry> entries;
  for (std::size_t i = 0; i < embedded_models().size(); ++i) {
    entries.push_back(read_entries().entry(i));
  }
  std::sort(entries.begin(), entries.end(),
            [](const CatalogueEntry& a, const CatalogueEntry& b) { return a.name < b.name; });
  return entries;
}

Transformer load_catalogue_model(const std::string& name) {
  std::vector<std::string> known;
  if (letters_and_digits(name).empty()) fail_unknown(name, known);
  for (std::size_t i = 0; i < embedded_models().size(); ++i) {
    if (embedded_models()[i].name == name) return read_entries().model(i);
  }
  const QuantisedName* quantised = quantised_name(name);
  const std::string_view plain =
      quantised ? std::string_view(name).substr(0, name.size() - quantised->ending.size()) : name;
  std::string sought = letters_and_digits(without_organisation(plain));
  if (sought.starts_with(kMaker)) sought.erase(0, kMaker.size());
  const std::string wanted = letters_and_digits(name);
  std::optional<Transformer> derived;
  ReadEntries& entries = read_entries();
  for (std::size_t i = 0; i < embedded_models().size(); ++i) {
    const EmbeddedFile& text = embedded_models()[i];
    known.emplace_back(text.name);
    const std::string_view before_config = text.text.substr(0, text.text.find("\"config\""));
    if (names_in(text.name, before_config).find(sought) == std::string::npos) continue;
    const CatalogueEntry& entry = entries.entry(i);
    if (is_called(entry, wanted)) return named(entries.model(i), name);
    if (!derived && is_published_as(entry, plain)) derived = entries.model(i);
  }
  if (!derived) fail_unknown(name, known);
  if (quantised) requantise(*derived, format_of(name, *quantised));
  return named(*std::move(derived), plain);
}

}  // namespace roofcast
