// The files of the page, from memory.
#pragma once

#include <string>
#include <string_view>

namespace roofcast {

struct PageFile {
  std::string_view text{};  // empty: there is no such file
  std::string_view type{};  // as in Content-Type
};

/// "/" is the page itself; the rest is what it loads: "/app.js", "/app.css", "/charts.js".
PageFile page_file(std::string_view path);

}  // namespace roofcast
