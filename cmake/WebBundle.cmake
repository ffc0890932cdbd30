# web_bundle(NAME ENTRY [ARGUMENT...]): bundles ENTRY, a script or style of the calling folder, and
# what it imports into ${ROOFCAST_WEB_DIR}/NAME with esbuild, by the target web_NAME. The packages are
# those that reports/web/package-lock.json pins: fetched once per build folder and checked against its
# hashes; none of their install scripts runs.
set(ROOFCAST_WEB_SOURCE ${CMAKE_SOURCE_DIR}/reports/web)
set(ROOFCAST_WEB_DIR ${CMAKE_BINARY_DIR}/web)

function(web_packages)
  find_program(ROOFCAST_NPM npm)
  if(NOT ROOFCAST_NPM)
    message(FATAL_ERROR "npm is missing (Debian: nodejs npm); without charts: -DROOFCAST_CHARTS=OFF")
  endif()
  file(MAKE_DIRECTORY ${ROOFCAST_WEB_DIR})
  add_custom_command(
    OUTPUT ${ROOFCAST_WEB_DIR}/packages.stamp
    COMMAND ${CMAKE_COMMAND} -E copy ${ROOFCAST_WEB_SOURCE}/package.json ${ROOFCAST_WEB_SOURCE}/package-lock.json ${ROOFCAST_WEB_DIR}
    COMMAND ${ROOFCAST_NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline --loglevel=error
    COMMAND ${CMAKE_COMMAND} -E touch ${ROOFCAST_WEB_DIR}/packages.stamp
    DEPENDS ${ROOFCAST_WEB_SOURCE}/package.json ${ROOFCAST_WEB_SOURCE}/package-lock.json
    WORKING_DIRECTORY ${ROOFCAST_WEB_DIR}
    COMMENT "Fetching the packages of reports/web"
    VERBATIM)
  add_custom_target(roofcast_web_packages DEPENDS ${ROOFCAST_WEB_DIR}/packages.stamp)
endfunction()

function(web_bundle name entry)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.js ${CMAKE_CURRENT_SOURCE_DIR}/*.css)
  add_custom_command(
    OUTPUT ${ROOFCAST_WEB_DIR}/${name}
    COMMAND ${CMAKE_COMMAND} -E env NODE_PATH=${ROOFCAST_WEB_DIR}/node_modules
      ${ROOFCAST_WEB_DIR}/node_modules/.bin/esbuild ${CMAKE_CURRENT_SOURCE_DIR}/${entry}
      --bundle --legal-comments=none --log-level=warning --outfile=${ROOFCAST_WEB_DIR}/${name} ${ARGN}
    DEPENDS ${sources} ${ROOFCAST_WEB_DIR}/packages.stamp
    COMMENT "Bundling ${name}"
    VERBATIM)
  add_custom_target(web_${name} DEPENDS ${ROOFCAST_WEB_DIR}/${name})
  add_dependencies(web_${name} roofcast_web_packages)
endfunction()
