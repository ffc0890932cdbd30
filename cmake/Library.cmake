# The library as other projects use it: one shared object of the rooms that answer questions, their
# headers and a CMake package. `cmake --install` puts them into place; the .deb of the program leaves
# them out (component "development").
#
#   find_package(Roofcast REQUIRED)
#   target_link_libraries(program PRIVATE Roofcast::roofcast)   # then #include "roofcast/memory.hpp"
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(rooms libroofcast roofcast_validate roofcast_device_runs roofcast_runtime roofcast_kernel_tables roofcast_packing roofcast_calibrate
  roofcast_report_rows roofcast_importers roofcast_launch roofcast_planner roofcast_simulator_io roofcast_simulator
  roofcast_model_io roofcast_gpu_io roofcast_model roofcast_reports roofcast_text roofcast_base)
set(archives)
foreach(room ${rooms})
  list(APPEND archives $<TARGET_FILE:${room}>)
endforeach()

# Every function of these rooms is in it, also those that no other room calls.
file(WRITE ${CMAKE_BINARY_DIR}/library/library.cpp "")
add_library(roofcast_library SHARED ${CMAKE_BINARY_DIR}/library/library.cpp)
add_dependencies(roofcast_library ${rooms})
target_link_options(roofcast_library PRIVATE -Wl,--no-undefined)
target_link_libraries(roofcast_library
  PRIVATE -Wl,--whole-archive ${archives} -Wl,--no-whole-archive
    roofcast_kernels_cpu roofcast_kernels_cuda roofcast_loaded_library Boost::iostreams fmt::fmt SQLiteCpp TBB::tbb Threads::Threads
    $<TARGET_NAME_IF_EXISTS:yaml-cpp>
  INTERFACE nlohmann_json::nlohmann_json Boost::headers)
if(ROOFCAST_HAS_MPI)
  target_link_libraries(roofcast_library PRIVATE MPI::MPI_CXX)
endif()
set_target_properties(roofcast_library PROPERTIES
  OUTPUT_NAME roofcast EXPORT_NAME roofcast VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS "${archives}")
target_compile_features(roofcast_library INTERFACE cxx_std_20)
target_include_directories(roofcast_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/roofcast>)

install(TARGETS roofcast_library EXPORT RoofcastTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
foreach(room base model kernels simulator planner reports calibrate validate roofcast)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/roofcast
    COMPONENT development FILES_MATCHING PATTERN *.hpp)
endforeach()
install(FILES ${CMAKE_BINARY_DIR}/generated/base/version.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/roofcast/base COMPONENT development)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Roofcast)
install(EXPORT RoofcastTargets NAMESPACE Roofcast:: DESTINATION ${package_folder} COMPONENT development)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/package/RoofcastConfig.cmake.in
  ${CMAKE_BINARY_DIR}/library/RoofcastConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/library/RoofcastConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/library/RoofcastConfig.cmake ${CMAKE_BINARY_DIR}/library/RoofcastConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT development)
