# embed_text(TARGET NAME FILE...): builds a source file that holds the files' texts, so that the
# program needs nothing beside itself. Include "NAME.hpp"; it declares
#   namespace roofcast { std::span<const EmbeddedText> NAME(); }
# in the order given. Texts are rebuilt when a file changes.
set(ROOFCAST_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed_text.cmake)

function(embed_text target name)
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/embedded)
  set(files)
  foreach(file IN LISTS ARGN)
    get_filename_component(path ${file} ABSOLUTE)
    list(APPEND files ${path})
  endforeach()
  add_custom_command(
    OUTPUT ${dir}/${name}.cpp ${dir}/${name}.hpp
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DDIR=${dir} "-DFILES=${files}" -P ${ROOFCAST_EMBED_SCRIPT}
    DEPENDS ${files} ${ROOFCAST_EMBED_SCRIPT}
    VERBATIM)
  set_source_files_properties(${dir}/${name}.cpp PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings SKIP_PRECOMPILE_HEADERS ON)
  target_sources(${target} PRIVATE ${dir}/${name}.cpp)
  target_include_directories(${target} PRIVATE ${dir})
endfunction()
