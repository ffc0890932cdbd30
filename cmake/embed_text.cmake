# Run by embed_text(): writes NAME.hpp and NAME.cpp into DIR from FILES.
# A raw string literal may hold 65,535 characters in strict compilers, so texts are cut in pieces.
# Each is an array whose size is known: counting the letters of a long one is beyond what a constant
# expression may do.
set(texts "")
set(entries "")
set(number 0)
foreach(file IN LISTS FILES)
  get_filename_component(stem ${file} NAME_WLE)
  file(READ ${file} text)
  string(LENGTH "${text}" length)
  set(pieces "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 16000 piece)
    string(APPEND pieces "R\"~~~(${piece})~~~\"\n")
    math(EXPR at "${at} + 16000")
  endwhile()
  string(APPEND texts "constexpr char kText${number}[] =\n${pieces};\n")
  string(APPEND entries "    {\"${stem}\", {kText${number}, sizeof kText${number} - 1}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${DIR}/${NAME}.hpp "#pragma once
#include <span>
#include <string_view>

#ifndef ROOFCAST_EMBEDDED_TEXT
#define ROOFCAST_EMBEDDED_TEXT
namespace roofcast {
/// A file built into the program: its name without extension, and its text.
struct EmbeddedText {
  std::string_view name;
  std::string_view text;
};
}  // namespace roofcast
#endif

namespace roofcast {
std::span<const EmbeddedText> ${NAME}();
}
")
file(WRITE ${DIR}/${NAME}.cpp "#include \"${NAME}.hpp\"

namespace roofcast {
namespace {
${texts}constexpr EmbeddedText kTexts[] = {
${entries}};
}
std::span<const EmbeddedText> ${NAME}() { return kTexts; }
}  // namespace roofcast
")
