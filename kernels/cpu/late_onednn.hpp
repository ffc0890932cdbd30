// oneDNN's C++ header over a library that is opened at the first call, so that a program that
// computes no product does not spend 2 ms on loading it. Each C function that the header's inline
// parts call has a line below; one that is missing there is an error of the linker.
#pragma once

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_version.h>

#include <string>

#include "kernels/cuda/loaded_library.hpp"

namespace roofcast::kernels::cpu {

/// Throws a one-line std::runtime_error if it cannot be opened.
inline const cuda::LoadedLibrary& onednn() {
  static const cuda::LoadedLibrary library(
      {.name = "oneDNN", .files = {"libdnnl.so." + std::to_string(DNNL_VERSION_MAJOR)}}, {});
  return library;
}

}  // namespace roofcast::kernels::cpu

#define ROOFCAST_ONEDNN(name)                                                 \
  (*[] {                                                                      \
    static auto* const found =                                                \
        ::roofcast::kernels::cpu::onednn().function<decltype(::name)>(#name); \
    return found;                                                             \
  }())

#define dnnl_engine_create ROOFCAST_ONEDNN(dnnl_engine_create)
#define dnnl_engine_destroy ROOFCAST_ONEDNN(dnnl_engine_destroy)
#define dnnl_get_effective_cpu_isa ROOFCAST_ONEDNN(dnnl_get_effective_cpu_isa)
#define dnnl_matmul_desc_init ROOFCAST_ONEDNN(dnnl_matmul_desc_init)
#define dnnl_memory_create ROOFCAST_ONEDNN(dnnl_memory_create)
#define dnnl_memory_desc_get_size ROOFCAST_ONEDNN(dnnl_memory_desc_get_size)
#define dnnl_memory_desc_init_by_strides ROOFCAST_ONEDNN(dnnl_memory_desc_init_by_strides)
#define dnnl_memory_desc_init_by_tag ROOFCAST_ONEDNN(dnnl_memory_desc_init_by_tag)
#define dnnl_memory_destroy ROOFCAST_ONEDNN(dnnl_memory_destroy)
#define dnnl_memory_get_data_handle ROOFCAST_ONEDNN(dnnl_memory_get_data_handle)
#define dnnl_memory_get_memory_desc ROOFCAST_ONEDNN(dnnl_memory_get_memory_desc)
#define dnnl_primitive_attr_create ROOFCAST_ONEDNN(dnnl_primitive_attr_create)
#define dnnl_primitive_attr_destroy ROOFCAST_ONEDNN(dnnl_primitive_attr_destroy)
#define dnnl_primitive_attr_set_output_scales ROOFCAST_ONEDNN(dnnl_primitive_attr_set_output_scales)
#define dnnl_primitive_attr_set_scratchpad_mode \
  ROOFCAST_ONEDNN(dnnl_primitive_attr_set_scratchpad_mode)
#define dnnl_primitive_create ROOFCAST_ONEDNN(dnnl_primitive_create)
#define dnnl_primitive_desc_destroy ROOFCAST_ONEDNN(dnnl_primitive_desc_destroy)
#define dnnl_primitive_desc_iterator_create ROOFCAST_ONEDNN(dnnl_primitive_desc_iterator_create)
#define dnnl_primitive_desc_iterator_destroy ROOFCAST_ONEDNN(dnnl_primitive_desc_iterator_destroy)
#define dnnl_primitive_desc_iterator_fetch ROOFCAST_ONEDNN(dnnl_primitive_desc_iterator_fetch)
#define dnnl_primitive_desc_query_md ROOFCAST_ONEDNN(dnnl_primitive_desc_query_md)
#define dnnl_primitive_destroy ROOFCAST_ONEDNN(dnnl_primitive_destroy)
#define dnnl_primitive_execute ROOFCAST_ONEDNN(dnnl_primitive_execute)
#define dnnl_stream_create ROOFCAST_ONEDNN(dnnl_stream_create)
#define dnnl_stream_destroy ROOFCAST_ONEDNN(dnnl_stream_destroy)
#define dnnl_version ROOFCAST_ONEDNN(dnnl_version)

#include <oneapi/dnnl/dnnl.hpp>
