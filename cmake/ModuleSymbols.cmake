# export_to_module(program module): `program` holds and exports what `module`, which it opens while it
# runs, uses of the project, and no more: a program that exports everything is a tenth larger.
function(export_to_module program module)
  set(names ${CMAKE_CURRENT_BINARY_DIR}/${module}.symbols)
  add_custom_command(OUTPUT ${names}.list ${names}.options
    COMMAND ${CMAKE_COMMAND} -D NM=${CMAKE_NM} -D MODULE=$<TARGET_FILE:${module}> -D NAMES=${names}
      -P ${CMAKE_SOURCE_DIR}/cmake/module_symbols.cmake
    DEPENDS ${module} ${CMAKE_SOURCE_DIR}/cmake/module_symbols.cmake VERBATIM)
  add_custom_target(${module}_symbols DEPENDS ${names}.list ${names}.options)
  add_dependencies(${program} ${module} ${module}_symbols)
  target_link_options(${program} PRIVATE LINKER:--dynamic-list=${names}.list @${names}.options)
  set_property(TARGET ${program} APPEND PROPERTY LINK_DEPENDS ${names}.list ${names}.options)
endfunction()
