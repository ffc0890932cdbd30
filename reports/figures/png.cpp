#include "reports/figures/png.hpp"

#include <librsvg/rsvg.h>

#include <cmath>
#include <memory>

#include "base/error.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// Fontconfig keeps its cache of the machine's fonts until the program ends.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the sanitiser's names
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig\n"; }
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
#endif
#endif

namespace roofcast {
namespace {

struct Release {
  void operator()(RsvgHandle* handle) const { g_object_unref(handle); }
  void operator()(GError* error) const { g_error_free(error); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* drawing) const { cairo_destroy(drawing); }
};

template <class T>
using Owned = std::unique_ptr<T, Release>;

[[noreturn]] void fail(GError* error) {
  const Owned<GError> owned(error);
  throw Error(std::string("cannot draw a PNG: ") + (error != nullptr ? error->message : "no size"));
}

cairo_status_t append(void* text, const unsigned char* bytes, unsigned int count) {
  static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(bytes), count);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

bool has_png() { return true; }

std::string png_of(const std::string& svg, double scale) {
  GError* error = nullptr;
  const auto* bytes = reinterpret_cast<const guint8*>(svg.data());
  const Owned<RsvgHandle> handle(rsvg_handle_new_from_data(bytes, svg.size(), &error));
  if (!handle) fail(error);
  double width = 0;
  double height = 0;
  if (rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &width, &height) == 0) fail(nullptr);
  const Owned<cairo_surface_t> surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(std::ceil(width * scale)),
                                 static_cast<int>(std::ceil(height * scale))));
  const Owned<cairo_t> drawing(cairo_create(surface.get()));
  cairo_set_source_rgb(drawing.get(), 1, 1, 1);
  cairo_paint(drawing.get());
  cairo_scale(drawing.get(), scale, scale);
  const RsvgRectangle whole{.x = 0, .y = 0, .width = width, .height = height};
  if (rsvg_handle_render_document(handle.get(), drawing.get(), &whole, &error) == 0) fail(error);
  std::string png;
  if (cairo_surface_write_to_png_stream(surface.get(), append, &png) != CAIRO_STATUS_SUCCESS) {
    throw Error("cannot draw a PNG: the picture is too large");
  }
  return png;
}

}  // namespace roofcast
