// Defines ROOFCAST_SANITISED if the address sanitiser is on; GCC and clang report it differently.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define ROOFCAST_SANITISED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROOFCAST_SANITISED
#endif
#endif
