# What `cmake --install` puts where, and the .deb that `cpack` makes of it. The program holds its
# hardware profiles, models and pages itself, so that only documents and the module of `serve` are
# beside it.
include(GNUInstallDirs)
set(ROOFCAST_MAINTAINER "Roofcast contributors <roofcast@packages.invalid>"
  CACHE STRING "Who answers for a package: name <address>")
set(package_sources ${CMAKE_SOURCE_DIR}/cmake/package)
set(package_folder ${CMAKE_BINARY_DIR}/package)
configure_file(${package_sources}/changelog.Debian.in ${package_folder}/changelog.Debian @ONLY)

# ---- what is made for the package alone

find_program(ROOFCAST_GZIP gzip)
# Without a name or a time in it, the same text gives the same file.
function(roofcast_pack output)
  add_custom_command(OUTPUT ${package_folder}/${output}.gz
    COMMAND sh -c "\"$@\" | gzip -9n > ${output}.gz" pack ${ARGN}
    DEPENDS roofcast ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${package_folder}/changelog.Debian
    WORKING_DIRECTORY ${package_folder} VERBATIM)
endfunction()
if(ROOFCAST_GZIP)
  roofcast_pack(roofcast.1 $<TARGET_FILE:roofcast> man)
  roofcast_pack(changelog cat ${CMAKE_SOURCE_DIR}/CHANGELOG.md)
  roofcast_pack(changelog.Debian cat ${package_folder}/changelog.Debian)
  add_custom_target(roofcast_documents ALL DEPENDS
    ${package_folder}/roofcast.1.gz ${package_folder}/changelog.gz ${package_folder}/changelog.Debian.gz)
  install(FILES ${package_folder}/roofcast.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${package_folder}/changelog.gz ${package_folder}/changelog.Debian.gz
    DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

# ---- what goes where

install(TARGETS roofcast RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET roofcast_serve_module)
  install(TARGETS roofcast_serve_module LIBRARY DESTINATION lib/roofcast) # where the program looks
endif()
install(FILES cli/shell/bash.sh RENAME roofcast
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES cli/shell/fish.fish RENAME roofcast.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
# Debian's zsh looks into vendor-completions below /usr, into site-functions below /usr/local.
install(CODE "set(script \"${CMAKE_SOURCE_DIR}/cli/shell/zsh.zsh\")")
install(CODE [[
  set(folder site-functions)
  if(CMAKE_INSTALL_PREFIX MATCHES "/usr$" AND EXISTS /etc/debian_version)
    set(folder vendor-completions)
  endif()
  file(INSTALL ${script} RENAME _roofcast DESTINATION "${CMAKE_INSTALL_PREFIX}/share/zsh/${folder}")]])
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md CONTRIBUTING.md ${package_sources}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Where the links of README.md and docs/ look for them.
foreach(document hardware_profiles/README.md model/catalogue/README.md reports/store.md)
  get_filename_component(folder ${document} DIRECTORY)
  install(FILES ${document} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder})
endforeach()
install(DIRECTORY examples/sample DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples) # what README.md runs on
install(DIRECTORY simulator/scenarios reports/dashboards DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
  FILES_MATCHING PATTERN *.json)

# ---- the .deb

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME roofcast)
set(CPACK_PACKAGE_CONTACT "${ROOFCAST_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "capacity planning for serving large language models")
set(CPACK_PACKAGE_DESCRIPTION "Roofcast answers what fits on a GPU, what a token costs and whether a load
holds its service level objective, before anyone buys or configures a GPU:
the memory of a model term by term, the roofline of each operator, a
simulation of the serving engine's scheduler (vLLM, SGLang, TensorRT-LLM)
under a trace or a synthetic load, and the cheapest deployment that holds.
It works offline and needs no GPU.")
# The program alone: what the library installs is of another component.
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};${PROJECT_NAME};Unspecified;/")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "librsvg2-2, libcairo2, libdnnl2, libopenmpi3") # opened when needed
set(CPACK_DEBIAN_PACKAGE_SUGGESTS sqlite3)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
