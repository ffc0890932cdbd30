// ROOFCAST_SANITISED is defined where the address sanitiser watches; GCC and clang say so
// differently.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define ROOFCAST_SANITISED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROOFCAST_SANITISED
#endif
#endif
