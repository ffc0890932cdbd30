#include "planner/launch/serve_flags.hpp"

#include <utility>

#include "model/engines/engine.hpp"

namespace roofcast {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

}  // namespace

void add_flag(std::vector<ServeFlag>& rows, std::string_view names, const ServeKnob& knob,
              ServeFlag form) {
  form.others = split(names, '|');
  form.spelling = form.others.front();
  form.others.erase(form.others.begin());
  form.knob = &knob;
  rows.push_back(std::move(form));
}

void add_flags(std::vector<ServeFlag>& rows, Effect effect, Takes takes, std::string_view names) {
  for (const std::string& name : split(names, ' ')) {
    ServeFlag row{.takes = takes, .effect = effect};
    row.others = split(name, '|');
    row.spelling = row.others.front();
    row.others.erase(row.others.begin());
    rows.push_back(std::move(row));
  }
}

std::int64_t default_block(ServeEngine engine) {
  return find_preset(serve_flags(engine).engine).defaults.block_size;
}

const ServeFlags& serve_flags(ServeEngine engine) {
  static const ServeFlags vllm = make_vllm_flags();
  static const ServeFlags sglang = make_sglang_flags();
  static const ServeFlags tensorrt_llm = make_tensorrt_llm_flags();
  switch (engine) {
    case ServeEngine::sglang:
      return sglang;
    case ServeEngine::tensorrt_llm:
      return tensorrt_llm;
    case ServeEngine::vllm:
      break;
  }
  return vllm;
}

}  // namespace roofcast
