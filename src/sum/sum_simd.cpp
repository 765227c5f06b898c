// SPDX-License-Identifier: Apache-2.0
#include "sum/sum_simd.h"

#include "elements/each_type.h"
#include "elements/stored_float.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sum/sum_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "sum/sum_bins-inl.h"
#include "sum/sum_integers-inl.h"
#include "sum/sum_window-inl.h"

HWY_BEFORE_NAMESPACE();
namespace masu::cpu::HWY_NAMESPACE {
namespace {

#define MASU_ADD_REAL(name, T)                                                               \
  void Values##name(const T* x, std::uint64_t count, fixed::Sum& total) {                    \
    AddReal(ValuesOf<T>{x}, count, total);                                                   \
  }                                                                                          \
  void Products##name(const T* x, const T* y, std::uint64_t count, fixed::Products& total) { \
    AddReal(ProductsOf<T>{x, y}, count, total);                                              \
  }
#define MASU_ADD_INTEGER(name, T)                                                            \
  void Values##name(const T* x, std::uint64_t count, fixed::Sum& total) {                    \
    AddIntegers(x, count, total);                                                            \
  }                                                                                          \
  void Products##name(const T* x, const T* y, std::uint64_t count, fixed::Products& total) { \
    AddIntegerProducts(x, y, count, total);                                                  \
  }
MASU_EACH_INTEGER(MASU_ADD_INTEGER)
MASU_EACH_FLOAT(MASU_ADD_REAL)
#undef MASU_ADD_REAL
#undef MASU_ADD_INTEGER

}  // namespace
}  // namespace masu::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace masu::cpu {

#define MASU_ADDED(name, T)                                                                   \
  HWY_EXPORT(Values##name);                                                                   \
  HWY_EXPORT(Products##name);                                                                 \
  template <>                                                                                 \
  void add_values<T>(const T* x, std::uint64_t count, fixed::Sum& total) {                    \
    HWY_DYNAMIC_DISPATCH(Values##name)(x, count, total);                                      \
  }                                                                                           \
  template <>                                                                                 \
  void add_products<T>(const T* x, const T* y, std::uint64_t count, fixed::Products& total) { \
    HWY_DYNAMIC_DISPATCH(Products##name)(x, y, count, total);                                 \
  }
MASU_EACH_INTEGER(MASU_ADDED)
MASU_EACH_FLOAT(MASU_ADDED)
#undef MASU_ADDED

}  // namespace masu::cpu
#endif
