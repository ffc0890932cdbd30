# Run by embed_files(): writes NAME.hpp and NAME.cpp into DIR from FILES.
set(symbols "")
set(assembly "")
set(entries "")
set(number 0)
foreach(file IN LISTS FILES)
  get_filename_component(stem ${file} NAME_WLE)
  file(SIZE ${file} size)
  file(SHA256 ${file} hash)
  set(symbol "roofcast_${NAME}_${number}")
  # The hash makes the text of this file change with the bytes, for compilers that keep results.
  string(APPEND assembly "// ${hash}
asm(\".pushsection .rodata\\n.balign 16\\n.global ${symbol}\\n.hidden ${symbol}\\n${symbol}:\\n\"
    \".incbin \\\"${file}\\\"\\n.popsection\\n\");
extern \"C\" __attribute__((visibility(\"hidden\"))) const char ${symbol}[];
")
  string(APPEND entries "    {\"${stem}\", {${symbol}, ${size}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${DIR}/${NAME}.hpp "#pragma once
#include <span>
#include <string_view>

#ifndef ROOFCAST_EMBEDDED_FILE
#define ROOFCAST_EMBEDDED_FILE
namespace roofcast {
/// A file built into the program: its name without extension, and its text.
struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};
}  // namespace roofcast
#endif

namespace roofcast {
std::span<const EmbeddedFile> ${NAME}();
}
")
set(list "  return {};")
if(number GREATER 0)
  set(list "  static const EmbeddedFile all[] = {
${entries}  };
  return all;")
endif()
file(WRITE ${DIR}/${NAME}.cpp "#include \"${NAME}.hpp\"

${assembly}
namespace roofcast {
std::span<const EmbeddedFile> ${NAME}() {
${list}
}
}  // namespace roofcast
")
