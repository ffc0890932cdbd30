// guidellm's benchmarks.yaml: the JSON's keys, read by the same reader.
#include "reports/importers/text_formats.hpp"
#include "reports/importers/yaml_document.hpp"

namespace roofcast {

bool is_guidellm_yaml(std::string_view head) {
  return has_outer_key(head, "benchmarks:") &&
         (has_outer_key(head, "metadata:") || has_outer_key(head, "config:") ||
          has_outer_key(head, "args:") ||
          head.find("time_to_first_token_ms:") != std::string_view::npos);
}

MeasuredRuns read_guidellm_yaml(ByteSource& bytes, const ImportOptions&) {
  ResultObjects objects(read_yaml(bytes), bytes.name());
  return each_object<read_guidellm>(objects);
}

}  // namespace roofcast
