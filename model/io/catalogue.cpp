#include "model/io/model_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>

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

std::string file_of(const EmbeddedText& text) {
  return fmt::format("model/catalogue/{}.json", text.name);
}

CatalogueEntry read_entry(const json& document, const EmbeddedText& text) {
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

bool is_called(const CatalogueEntry& entry, std::string_view name) {
  const std::string wanted = letters_and_digits(name);
  const auto same = [&](std::string_view known) {
    return letters_and_digits(known) == wanted ||
           letters_and_digits(without_organisation(known)) == wanted;
  };
  return same(entry.name) || std::any_of(entry.aliases.begin(), entry.aliases.end(), same);
}

[[noreturn]] void fail_unknown(const std::string& name, const std::vector<std::string>& known) {
  const std::string hint = did_you_mean(without_organisation(name), known);
  throw Error(
      fmt::format("'{}' is neither a file or folder nor a model of the catalogue (give a "
                  "config.json, its folder or a .gguf file, or a name from `roofcast models`){}",
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

}  // namespace

std::vector<CatalogueEntry> catalogue() {
  std::vector<CatalogueEntry> entries;
  for (const EmbeddedText& text : embedded_models()) {
    const json document = parse_json(std::string(text.text), file_of(text));
    entries.push_back(read_entry(document, text));
  }
  std::sort(entries.begin(), entries.end(),
            [](const CatalogueEntry& a, const CatalogueEntry& b) { return a.name < b.name; });
  return entries;
}

Transformer load_catalogue_model(const std::string& name) {
  std::vector<std::string> known;
  for (const EmbeddedText& text : embedded_models()) {
    const json document = parse_json(std::string(text.text), file_of(text));
    const CatalogueEntry entry = read_entry(document, text);
    known.push_back(entry.name);
    if (letters_and_digits(name).empty() || !is_called(entry, name)) continue;
    const auto config = document.find("config");
    if (config == document.end()) {
      throw Error(fmt::format("{}: 'config' is missing", file_of(text)));
    }
    Transformer model = parse_model(config->dump(), {}, file_of(text));
    model.name = entry.name;
    model.source = entry.source;
    model.sampling = sampling_of(document, file_of(text));
    return model;
  }
  fail_unknown(name, known);
}

}  // namespace roofcast
