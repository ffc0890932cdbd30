// llm-d's benchmark report as YAML: the JSON's keys, read by the same reader.
#include "reports/importers/text_formats.hpp"
#include "reports/importers/yaml_document.hpp"

namespace roofcast {

bool is_llmd_yaml(std::string_view head) {
  return has_outer_key(head, "version:") && has_outer_key(head, "run:") &&
         (has_outer_key(head, "results:") || has_outer_key(head, "scenario:"));
}

MeasuredRuns read_llmd_yaml(ByteSource& bytes, const ImportOptions&) {
  ResultObjects objects(read_yaml(bytes), bytes.name());
  return each_object<read_llmd_report>(objects);
}

}  // namespace roofcast
