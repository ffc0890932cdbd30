#include "reports/importers/result_objects.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "reports/importers/json_tree.hpp"

namespace roofcast {

using nlohmann::json;

ResultObjects::ResultObjects(ByteSource& bytes) : path_(bytes.name()) {
  text_.emplace(bytes, NumberWords::become_texts);
}

ResultObjects::ResultObjects(json document, std::string path)
    : path_(std::move(path)), document_(std::move(document)) {
  entries_ = document_.is_array() ? document_.size() : 1;
}

bool ResultObjects::read_document() {
  if (!text_ || !has_more(*text_)) return false;
  const bool first = line_ == 0 && entries_ == 0;
  const std::int64_t line = text_->line();
  document_ = read_json_document(*text_, path_);
  entry_ = 0;
  entries_ = document_.is_array() ? document_.size() : 1;
  line_ = first && !has_more(*text_) ? 0 : line;
  return true;
}

std::string ResultObjects::origin() const {
  std::string place = path_;
  if (line_ > 0) place += fmt::format(", line {}", line_);
  if (document_.is_array()) place += fmt::format(", entry {}", entry_ + 1);
  return place;
}

/// Advances to a document with an unread entry; false at the end.
bool ResultObjects::find() {
  while (entry_ == entries_) {
    if (!read_document()) return false;
  }
  const json& value = document_.is_array() ? document_[entry_] : document_;
  if (!value.is_object()) throw Error(origin() + ": is not a JSON object, expected a result");
  return true;
}

const json* ResultObjects::first() {
  if (!find()) return nullptr;
  return document_.is_array() ? &document_[entry_] : &document_;
}

std::optional<JsonReader> ResultObjects::next() {
  if (!find()) return std::nullopt;
  JsonReader fields(document_.is_array() ? document_[entry_] : document_, origin(), kLenientJson);
  ++entry_;
  return fields;
}

}  // namespace roofcast
