// Compiles a function once per level of vector instructions and lets the loader choose (GCC's
// target_clones, using an ifunc of glibc). For loops that the compiler vectorises itself; kernels
// with explicit vectors use kernels/cpu/isa.hpp.
#pragma once

#include <cstdlib>  // __GLIBC__

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define ROOFCAST_CLONES [[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
#else
#define ROOFCAST_CLONES
#endif
