// SPDX-License-Identifier: Apache-2.0
#include "sum/sum_simd.h"

#include "sum/sum_plain.h"

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
MASU_ADD_INTEGER(U8, std::uint8_t)
MASU_ADD_INTEGER(I8, std::int8_t)
MASU_ADD_INTEGER(U16, std::uint16_t)
MASU_ADD_INTEGER(I16, std::int16_t)
MASU_ADD_INTEGER(U32, std::uint32_t)
MASU_ADD_INTEGER(I32, std::int32_t)
MASU_ADD_INTEGER(U64, std::uint64_t)
MASU_ADD_INTEGER(I64, std::int64_t)
MASU_ADD_REAL(F16, Half)
MASU_ADD_REAL(F32, float)
MASU_ADD_REAL(F64, double)
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
MASU_ADDED(U8, std::uint8_t)
MASU_ADDED(I8, std::int8_t)
MASU_ADDED(U16, std::uint16_t)
MASU_ADDED(I16, std::int16_t)
MASU_ADDED(U32, std::uint32_t)
MASU_ADDED(I32, std::int32_t)
MASU_ADDED(U64, std::uint64_t)
MASU_ADDED(I64, std::int64_t)
MASU_ADDED(F16, Half)
MASU_ADDED(F32, float)
MASU_ADDED(F64, double)
#undef MASU_ADDED

}  // namespace masu::cpu
#endif
