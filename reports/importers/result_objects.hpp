// The JSON objects of a result file, one after the other: of one document, of several appended to a
// file (a line each or not), or of a list of them.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/io/json_buffer.hpp"
#include "base/io/json_reader.hpp"

namespace roofcast {

/// Holds one document at a time. Throws Error as read_json_document, and where a document is
/// neither object nor list of objects.
class ResultObjects {
 public:
  /// `bytes` must outlive this.
  explicit ResultObjects(ByteSource& bytes);
  /// Objects of a document that is read already (YAML).
  ResultObjects(nlohmann::json document, std::string path);

  /// The first object, which next() will give; null when there is none.
  const nlohmann::json* first();

  /// Nothing at the end. What it refers to holds until the next call.
  std::optional<JsonReader> next();

  const std::string& path() const { return path_; }

 private:
  bool find();
  bool read_document();
  std::string origin() const;

  std::string path_;
  std::optional<JsonBuffer> text_{};
  nlohmann::json document_{};
  std::size_t entry_ = 0;    // of document_: what next() gives
  std::size_t entries_ = 0;  // in document_; 1 of an object
  std::int64_t line_ = 0;    // of document_; 0: alone in its file
};

}  // namespace roofcast
