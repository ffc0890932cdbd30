# Writes the header OUT with `kBuildId`, a hash of the FILES (separated by commas): what is compiled with it
# tells builds of one version apart. Untouched where it would stay the same.
string(REPLACE "," ";" FILES "${FILES}")
set(hashes "")
foreach(file IN LISTS FILES)
  file(SHA256 "${file}" hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 id "${hashes}")
string(SUBSTRING ${id} 0 16 id)
file(CONFIGURE OUTPUT "${OUT}" CONTENT "// Made by cmake/build_id.cmake.
#pragma once

namespace roofcast {

inline constexpr const char* kBuildId = \"@id@\";

}  // namespace roofcast
" @ONLY)
