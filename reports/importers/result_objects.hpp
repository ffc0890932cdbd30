// The JSON objects of a result file, one by one: a single document, several appended to one file
// (with or without line breaks), or a list.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/io/json_buffer.hpp"
#include "base/io/json_reader.hpp"

namespace roofcast {

/// Holds one document at a time. Throws Error as read_json_document does, and if a document is
/// neither an object nor a list of objects.
class ResultObjects {
 public:
  /// `bytes` must outlive this.
  explicit ResultObjects(ByteSource& bytes);
  /// Objects of a document that has already been parsed (YAML).
  ResultObjects(nlohmann::json document, std::string path);

  /// The first object, which next() will return; null if there is none.
  const nlohmann::json* first();

  /// Returns nullopt at the end. The reader is valid until the next call.
  std::optional<JsonReader> next();

  const std::string& path() const { return path_; }

 private:
  bool find();
  bool read_document();
  std::string origin() const;

  std::string path_;
  std::optional<JsonBuffer> text_{};
  nlohmann::json document_{};
  std::size_t entry_ = 0;    // index in document_ of the next object
  std::size_t entries_ = 0;  // objects in document_; 1 if it is an object itself
  std::int64_t line_ = 0;    // where document_ starts; 0 if it is the only one in its file
};

}  // namespace roofcast
