#include "reports/figures/png.hpp"

#include <librsvg/rsvg.h>

#include <cmath>
#include <memory>

#include "base/error.hpp"
#include "base/io/shared_library.hpp"

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

/// The functions of librsvg, cairo and GLib that are used; opened once, when the first is needed.
struct Drawing {
  SharedLibrary rsvg{"librsvg-2.so.2"};
  SharedLibrary cairo{"libcairo.so.2"};
  SharedLibrary gobject{"libgobject-2.0.so.0"};
  SharedLibrary glib{"libglib-2.0.so.0"};

#define ROOFCAST_FROM(library, name) \
  decltype(::name)* name = library.function<decltype(::name)>(#name)
  ROOFCAST_FROM(rsvg, rsvg_handle_new_from_data);
  ROOFCAST_FROM(rsvg, rsvg_handle_get_intrinsic_size_in_pixels);
  ROOFCAST_FROM(rsvg, rsvg_handle_render_document);
  ROOFCAST_FROM(cairo, cairo_image_surface_create);
  ROOFCAST_FROM(cairo, cairo_surface_destroy);
  ROOFCAST_FROM(cairo, cairo_surface_write_to_png_stream);
  ROOFCAST_FROM(cairo, cairo_create);
  ROOFCAST_FROM(cairo, cairo_destroy);
  ROOFCAST_FROM(cairo, cairo_set_source_rgb);
  ROOFCAST_FROM(cairo, cairo_paint);
  ROOFCAST_FROM(cairo, cairo_scale);
  ROOFCAST_FROM(gobject, g_object_unref);
  ROOFCAST_FROM(glib, g_error_free);
#undef ROOFCAST_FROM
};

const Drawing& drawing() {
  static const Drawing opened;
  return opened;
}

struct Release {
  void operator()(RsvgHandle* handle) const { drawing().g_object_unref(handle); }
  void operator()(GError* error) const { drawing().g_error_free(error); }
  void operator()(cairo_surface_t* surface) const { drawing().cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { drawing().cairo_destroy(context); }
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

bool has_png() {
  try {
    drawing();
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string png_of(const std::string& svg, double scale) {
  const Drawing& with = drawing();
  GError* error = nullptr;
  const auto* bytes = reinterpret_cast<const guint8*>(svg.data());
  const Owned<RsvgHandle> handle(with.rsvg_handle_new_from_data(bytes, svg.size(), &error));
  if (!handle) fail(error);
  double width = 0;
  double height = 0;
  if (with.rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &width, &height) == 0) {
    fail(nullptr);
  }
  const Owned<cairo_surface_t> surface(with.cairo_image_surface_create(
      CAIRO_FORMAT_RGB24, static_cast<int>(std::ceil(width * scale)),
      static_cast<int>(std::ceil(height * scale))));
  const Owned<cairo_t> context(with.cairo_create(surface.get()));
  with.cairo_set_source_rgb(context.get(), 1, 1, 1);
  with.cairo_paint(context.get());
  with.cairo_scale(context.get(), scale, scale);
  const RsvgRectangle whole{.x = 0, .y = 0, .width = width, .height = height};
  if (with.rsvg_handle_render_document(handle.get(), context.get(), &whole, &error) == 0) {
    fail(error);
  }
  std::string png;
  if (with.cairo_surface_write_to_png_stream(surface.get(), append, &png) != CAIRO_STATUS_SUCCESS) {
    throw Error("cannot draw a PNG: the picture is too large");
  }
  return png;
}

}  // namespace roofcast
