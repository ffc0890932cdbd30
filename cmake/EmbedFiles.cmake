# embed_files(TARGET NAME FILE...): the assembler puts the files, of text or any bytes, into the
# program as they are, so that it needs nothing beside itself. Include "NAME.hpp"; it declares
#   namespace roofcast { std::span<const EmbeddedFile> NAME(); }
# in the order given. They are put in again when a file changes.
set(ROOFCAST_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed_files.cmake)

function(embed_files target name)
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
  set_source_files_properties(${dir}/${name}.cpp PROPERTIES
    OBJECT_DEPENDS "${files}" SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${dir}/${name}.cpp)
  target_include_directories(${target} PRIVATE ${dir})
endfunction()
