// A build without librsvg.
#include "base/error.hpp"
#include "reports/figures/png.hpp"

namespace roofcast {

bool has_png() { return false; }

std::string png_of(const std::string&, double) {
  throw Error("this build has no librsvg (Debian: librsvg2-dev) and cannot write PNG; SVG works");
}

}  // namespace roofcast
