// SVG to PNG, by librsvg.
#pragma once

#include <string>

namespace roofcast {

/// Whether this build can.
bool has_png();

/// The bytes of a PNG file on a white ground, `scale` pixels to a CSS pixel (2: sharp in print and
/// on dense screens). Texts need a font of the machine. Throws Error where the SVG is not one, or
/// in a build without librsvg.
std::string png_of(const std::string& svg, double scale);

}  // namespace roofcast
