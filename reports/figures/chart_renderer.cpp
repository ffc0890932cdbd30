#include "reports/figures/chart_renderer.hpp"

#include <duktape.h>

#include "base/error.hpp"
#include "embedded_charts.hpp"

namespace roofcast {

struct ChartRenderer::Impl {
  duk_context* context = nullptr;

  Impl() : context(duk_create_heap_default()) {
    if (context == nullptr) throw Error("out of memory for the charts");
  }
  ~Impl() { duk_destroy_heap(context); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Throws Error with the script's own message if `code`, the result of a protected call, is not
  /// 0.
  void check(duk_int_t code) {
    if (code == DUK_EXEC_SUCCESS) return;
    const std::string message = duk_safe_to_string(context, -1);
    duk_pop(context);
    throw Error("cannot draw a chart: " + message);
  }

  void load(const EmbeddedFile& script) {
    duk_push_lstring(context, script.name.data(), script.name.size());
    check(duk_pcompile_lstring_filename(context, 0, script.text.data(), script.text.size()));
    check(duk_pcall(context, 0));
    duk_pop(context);
  }
};

ChartRenderer::ChartRenderer() : impl_(std::make_unique<Impl>()) {
  for (const EmbeddedFile& script : embedded_charts()) impl_->load(script);
}

ChartRenderer::~ChartRenderer() = default;

std::string ChartRenderer::svg(const Json& option, ChartSize size, std::string_view key) {
  duk_context* context = impl_->context;
  const std::string text = option.dump();
  duk_get_global_string(context, "RoofcastCharts");
  duk_push_string(context, "svg");
  duk_push_lstring(context, text.data(), text.size());
  duk_push_int(context, size.width);
  duk_push_int(context, size.height);
  duk_push_lstring(context, key.data(), key.size());
  const duk_int_t code = duk_pcall_prop(context, -6, 4);
  if (code != DUK_EXEC_SUCCESS) {
    const std::string message = duk_safe_to_string(context, -1);
    duk_pop_2(context);
    throw Error("cannot draw a chart: " + message);
  }
  duk_size_t length = 0;
  const char* drawn = duk_get_lstring(context, -1, &length);
  std::string result(drawn, length);
  duk_pop_2(context);
  return result;
}

bool has_charts() { return true; }

std::string_view chart_script() { return embedded_charts()[1].text; }

}  // namespace roofcast
