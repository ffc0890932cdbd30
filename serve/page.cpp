#include "serve/page.hpp"

#include "embedded_web_page.hpp"
#include "reports/figures/chart_renderer.hpp"

namespace roofcast {

PageFile page_file(std::string_view path) {
  // In the order of serve/CMakeLists.txt.
  constexpr std::size_t kPage = 0;
  constexpr std::size_t kScript = 1;
  constexpr std::size_t kTheme = 2;
  constexpr std::size_t kStyle = 3;
  const auto file = [](std::size_t index) { return embedded_web_page()[index].text; };
  if (path == "/") return {file(kPage), "text/html; charset=utf-8"};
  if (path == "/app.js") return {file(kScript), "text/javascript; charset=utf-8"};
  if (path == "/theme.css") return {file(kTheme), "text/css; charset=utf-8"};
  if (path == "/app.css") return {file(kStyle), "text/css; charset=utf-8"};
  if (path == "/charts.js") return {chart_script(), "text/javascript; charset=utf-8"};
  return {};
}

}  // namespace roofcast
