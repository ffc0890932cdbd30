#include "planner/launch/serve_flags.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "model/engines/engine.hpp"

namespace roofcast {
namespace {

/// "--tp|--tensor-parallel-size": the first is written, the others are read, too.
void spell(ServeFlag& row, std::string_view names) {
  const std::vector<std::string_view> all = split(names, '|');
  row.spelling = all.front();
  row.others.assign(all.begin() + 1, all.end());
}

}  // namespace

bool is_called(const ServeFlag& row, std::string_view name) {
  const auto same = [&](const std::string& one) { return with_dashes(one) == name; };
  return same(row.spelling) || std::ranges::any_of(row.others, same);
}

void add_flag(std::vector<ServeFlag>& rows, std::string_view names, const ServeKnob& knob,
              ServeFlag form) {
  spell(form, names);
  form.knob = &knob;
  rows.push_back(std::move(form));
}

void add_flags(std::vector<ServeFlag>& rows, Effect effect, Takes takes, std::string_view names) {
  for (const std::string_view name : split(names, ' ')) {
    if (name.empty()) continue;
    ServeFlag row{.takes = takes, .effect = effect};
    spell(row, name);
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
  static const ServeFlags atom = make_atom_flags();
  switch (engine) {
    case ServeEngine::sglang:
      return sglang;
    case ServeEngine::tensorrt_llm:
      return tensorrt_llm;
    case ServeEngine::atom:
      return atom;
    case ServeEngine::vllm:
      break;
  }
  return vllm;
}

}  // namespace roofcast
