# embed_binary(TARGET NAME FILE...): as embed_text(), for files of any bytes: the assembler puts them
# into the program as they are. Include "NAME.hpp".
set(ROOFCAST_EMBED_BINARY_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed_binary.cmake)

function(embed_binary target name)
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/embedded)
  set(files)
  foreach(file IN LISTS ARGN)
    get_filename_component(path ${file} ABSOLUTE)
    list(APPEND files ${path})
  endforeach()
  add_custom_command(
    OUTPUT ${dir}/${name}.cpp ${dir}/${name}.hpp
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DDIR=${dir} "-DFILES=${files}" -P ${ROOFCAST_EMBED_BINARY_SCRIPT}
    DEPENDS ${files} ${ROOFCAST_EMBED_BINARY_SCRIPT}
    VERBATIM)
  set_source_files_properties(${dir}/${name}.cpp PROPERTIES
    OBJECT_DEPENDS "${files}" SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${dir}/${name}.cpp)
  target_include_directories(${target} PRIVATE ${dir})
endfunction()
