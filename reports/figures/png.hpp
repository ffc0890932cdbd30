// SVG to PNG, by librsvg.
#pragma once

#include <string>

namespace roofcast {

/// Whether this build can write PNG.
bool has_png();

/// The bytes of a PNG file on a white background, with `scale` pixels per CSS pixel (2: sharp in
/// print and on dense screens). Text needs an installed font. Throws Error if `svg` is malformed,
/// or in a build without librsvg.
std::string png_of(const std::string& svg, double scale);

}  // namespace roofcast
