// A build without librsvg.
#include "base/error.hpp"
#include "reports/figures/png.hpp"

namespace roofcast {

bool has_png() { return false; }

std::string png_of(const std::string&, double) {
  throw Error("this roofcast was built without librsvg (Debian: librsvg2-dev); SVG it can write");
}

}  // namespace roofcast
