// Maps the element named in a contract to its storage type.
#pragma once

#include "kernels/element.hpp"

namespace roofcast::kernels::cpu {

/// Calls function(T{}) with the type of a plain element; check() has refused all others.
template <class Function>
void with_plain(Element element, const Function& function) {
  switch (element) {
    case Element::fp32:
      return function(float{});
    case Element::fp16:
      return function(Fp16{});
    case Element::bf16:
      return function(Bf16{});
    case Element::fp8_e4m3:
    case Element::int8:
      return;
  }
}

}  // namespace roofcast::kernels::cpu
