// SPDX-License-Identifier: Apache-2.0
// peer_loops: what a programmer has at hand on a CPU.
#pragma once

#include "peer.h"

#include <span>
#include <stdexcept>
#include <type_traits>

namespace masu::bench {

PeerSuite counting_loops();   // loops.cpp
PeerSuite standard_sorts();   // sorts.cpp
PeerSuite standard_unique();  // finds.cpp
PeerSuite standard_search();
PeerSuite standard_topk();
std::vector<PeerSuite> plain_reductions();  // reductions.cpp

template <class T>
std::span<const T> elements(const ArrayView& view) {
  return {static_cast<const T*>(view.data), view.count};
}

// Calls f(T{}) with the type of the elements. The standard library has no f16 and no bf16.
template <class F>
auto with_type(Dtype dtype, const F& f) -> decltype(f(0.0F)) {
  return dispatch(dtype, [&](auto tag) -> decltype(f(0.0F)) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_arithmetic_v<T>) throw std::runtime_error("no stored floats");
    else return f(T{});
  });
}

}  // namespace masu::bench
