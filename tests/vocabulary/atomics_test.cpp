// SPDX-License-Identifier: Apache-2.0
// Atomics on local and global memory: what each leaves and what it returns, alone and with every work-item at once.
#include "backends/opencl/device.h"
#include "each_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

namespace masu::vocabulary {
namespace {

constexpr std::size_t lanes = 64;
constexpr std::size_t groups = 8;

// What an operation makes of the old value; x and y are its operands.
template <class T>
struct Operation {
  const char* name;
  int operands;
  bool extended;  // for 64 bits: under cl_khr_int64_extended_atomics, not base
  T (*result)(T old, T x, T y);
};

// Modulo 2^bits, as the device counts.
template <class T>
T plus(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
}
template <class T>
T minus(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
}

template <class T>
constexpr std::array operations{
    Operation<T>{"add", 1, false, [](T old, T x, T) { return plus(old, x); }},
    Operation<T>{"sub", 1, false, [](T old, T x, T) { return minus(old, x); }},
    Operation<T>{"inc", 0, false, [](T old, T, T) { return plus(old, T{1}); }},
    Operation<T>{"dec", 0, false, [](T old, T, T) { return minus(old, T{1}); }},
    Operation<T>{"xchg", 1, false, [](T, T x, T) { return x; }},
    Operation<T>{"cmpxchg", 2, false, [](T old, T x, T y) { return old == x ? y : old; }},
    Operation<T>{"min", 1, true, [](T old, T x, T) { return std::min(old, x); }},
    Operation<T>{"max", 1, true, [](T old, T x, T) { return std::max(old, x); }},
    Operation<T>{"and", 1, true, [](T old, T x, T) { return static_cast<T>(old & x); }},
    Operation<T>{"or", 1, true, [](T old, T x, T) { return static_cast<T>(old | x); }},
    Operation<T>{"xor", 1, true, [](T old, T x, T) { return static_cast<T>(old ^ x); }},
};

constexpr const char* spaces[] = {"global", "local"};

const std::vector<Type> integers{types[4], types[5], types[6], types[7]};

class Atomics : public EachType {
 protected:
  [[nodiscard]] Batch batch(std::size_t group_count) const {
    Batch made{.family = "atomics", .type = type.name};
    made.lanes = lanes;
    made.groups = group_count;
    made.preamble = fmt::format("typedef {} T;\n", type.name);
    if (type.size == 8) {
      made.preamble +=
          "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
          "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n";
    }
    made.prologue = R"(  const uint id = (uint)get_global_id(0), items = (uint)get_global_size(0);
  const T x = ((__global const T *)in)[id], y = ((__global const T *)in)[items + id];
  const T before = ((__global const T *)in)[2 * items + id];)";
    return made;
  }
  // "atomic_add(cell, x)"
  template <class T>
  [[nodiscard]] std::string call(const Operation<T>& operation) const {
    constexpr const char* operands[] = {"", ", x", ", x, y"};
    return fmt::format("{}_{}(cell{})", type.size == 8 ? "atom" : "atomic", operation.name,
                       operands[operation.operands]);
  }
  // Runs the batch without what the device lacks.
  void run_what_is_there(const Batch& whole) const {
    const std::string extensions =
        opencl::device_text(static_cast<cl_device_id>(device.native_device()), CL_DEVICE_EXTENSIONS);
    Batch there = whole;
    Batch lacking = whole;
    there.cases.clear();
    lacking.cases.clear();
    for (const Case& one : whole.cases) {
      const bool extended = std::ranges::any_of(std::array{"min", "max", "and", "or", "xor"}, [&](const char* name) {
        return one.name.find(fmt::format("_{} ", name)) != std::string::npos;
      });
      const char* extension = extended ? "cl_khr_int64_extended_atomics" : "cl_khr_int64_base_atomics";
      const bool has = type.size != 8 || extensions.find(extension) != std::string::npos;
      (has ? there : lacking).cases.push_back(one);
    }
    if (!there.cases.empty()) run(device, there);
    if (!lacking.cases.empty()) skip_lacking(device, lacking, "no 64-bit atomics");
  }

  // One work-item a cell: what is left and what is returned.
  template <class T>
  [[nodiscard]] Batch alone() const {
    using Limits = std::numeric_limits<T>;
    constexpr T ends[] = {0, 1, Limits::max(), Limits::min(), static_cast<T>(~T{0}), static_cast<T>(12345)};
    std::vector<T> x(lanes);
    std::vector<T> y(lanes);
    std::vector<T> old(lanes);
    for (std::size_t i = 0; i < lanes; ++i) {
      x[i] = i < 36 ? ends[i / 6] : static_cast<T>(hash(i));
      old[i] = i < 36 ? ends[i % 6] : i % 2 == 0 ? x[i] : static_cast<T>(hash(1000 + i));
      y[i] = static_cast<T>(hash(2000 + i));
    }
    Batch made = batch(1);
    for (const std::vector<T>& part : {x, y, old}) append_bytes(made.input, bytes_of(part));
    for (const Operation<T>& operation : operations<T>) {
      for (const std::string_view space : spaces) {
        Case one{.name = fmt::format("{}_{} on {} memory", type.size == 8 ? "atom" : "atomic", operation.name, space)};
        one.code = fmt::format(R"(    __{0} T *cell = (__{0} T *){1} + lane;
    *cell = before;
    const T old = {2};
    ((__global T *)out)[lane] = *cell;
    ((__global T *)out)[lanes + lane] = old;)",
                               space, space == "global" ? "out" : "pool", call(operation));
        for (std::size_t i = 0; i < lanes; ++i) append(one.expected, operation.result(old[i], x[i], y[i]));
        append_bytes(one.expected, bytes_of(old));
        made.cases.push_back(one);
      }
    }
    return made;
  }

  // Every work-item on one cell (in local memory: one for each work-group). Where the results commute, the final value
  // says that none was lost; inc, dec and xchg return each old value once.
  template <class T>
  [[nodiscard]] Batch together() const {
    constexpr std::size_t items = lanes * groups;
    std::vector<T> x(items);
    for (std::size_t i = 0; i < items; ++i) x[i] = static_cast<T>(hash(i) | std::uint64_t{1} << (i % (8 * sizeof(T))));
    Batch made = batch(groups);
    for (int part = 0; part < 3; ++part) append_bytes(made.input, bytes_of(x));
    const T start = static_cast<T>(0x5a5a5a5a5a5a5a5aU);
    for (const Operation<T>& operation : operations<T>) {
      const std::string_view name = operation.name;
      for (const std::string_view space : spaces) {
        const bool local = space == "local" || name == "xchg";  // a cell for each work-group
        const std::size_t cells = local ? groups : 1;
        const std::size_t mates = items / cells;
        Case one{.name = fmt::format("{}_{} on {} memory, by all", type.size == 8 ? "atom" : "atomic", name, space)};
        const bool marks = name == "inc" || name == "dec" || name == "xchg";
        std::vector<T> left(cells, start);
        if (name == "cmpxchg") left.assign(cells, plus(start, static_cast<T>(mates)));
        else if (name == "xchg") left.assign(cells, static_cast<T>(0));
        else
          for (std::size_t i = 0; i < items; ++i) {
            T& value = left[i / mates];
            value = operation.result(value, x[i], 0);
          }
        one.expected = bytes_of(left);
        one.initial = bytes_of(std::vector<T>(cells, start));
        // Which old values were returned: the k-th of a cell at byte k.
        const std::size_t marked = !marks ? 0 : name == "xchg" ? mates + 1 : mates;
        one.expected.insert(one.expected.end(), cells * marked, std::byte{1});
        one.initial.insert(one.initial.end(), cells * marked, std::byte{0});

        const std::string cell =
            space == "local" ? "(__local T *)pool" : fmt::format("(__global T *)out + {}", local ? "group" : "0");
        std::string body = fmt::format("    __{} T *cell = {};\n    __global uchar *marks = out + {} + {} * {};\n",
                                       space, cell, cells * sizeof(T), local ? "group" : "0", marked);
        const std::string_view fence = space == "local" ? "LOCAL" : "GLOBAL";
        if (local) {
          body += fmt::format("    if (lane == 0) *cell = (T){};\n    barrier(CLK_{}_MEM_FENCE);\n",
                              name == "xchg" ? "0" : "0x5a5a5a5a5a5a5a5aUL", fence);
        }
        if (name == "cmpxchg") {
          body += fmt::format(
              "    T old = (T)0x5a5a5a5a5a5a5a5aUL;\n    for (T was; (was = {}_cmpxchg(cell, old, old + 1)) != old;) "
              "old = was;\n",
              type.size == 8 ? "atom" : "atomic");
        } else if (name == "xchg") {
          body += fmt::format("    marks[{}_xchg(cell, (T)(lane + 1))] = 1;\n", type.size == 8 ? "atom" : "atomic");
        } else if (marks) {
          body += fmt::format("    const T old = {};\n    marks[{}] = 1;\n", call(operation),
                              name == "inc" ? "old - (T)0x5a5a5a5a5a5a5a5aUL" : "(T)0x5a5a5a5a5a5a5a5aUL - old");
        } else {
          body += fmt::format("    {};\n", call(operation));
        }
        if (local) {
          body += fmt::format("    barrier(CLK_{}_MEM_FENCE);\n", fence);
          if (name == "xchg") body += "    if (lane == 0) marks[*cell] = 1;\n";
          body += fmt::format("    if (lane == 0) ((__global T *)out)[group] = {};\n    barrier(CLK_{}_MEM_FENCE);",
                              name == "xchg" ? "0" : "*cell", fence);
        }
        one.code = body;
        made.cases.push_back(one);
      }
    }
    return made;
  }
};
MASU_ON_EACH_TYPE(Atomics, integers);

TEST_P(Atomics, Alone) {
  const bool is_signed = std::string_view(type.name) == type.signed_integer;
  if (type.size == 4) run_what_is_there(is_signed ? alone<std::int32_t>() : alone<std::uint32_t>());
  else run_what_is_there(is_signed ? alone<std::int64_t>() : alone<std::uint64_t>());
}

TEST_P(Atomics, Together) {
  const bool is_signed = std::string_view(type.name) == type.signed_integer;
  if (type.size == 4) run_what_is_there(is_signed ? together<std::int32_t>() : together<std::uint32_t>());
  else run_what_is_there(is_signed ? together<std::int64_t>() : together<std::uint64_t>());
}

class FloatAtomics : public EachOpenCl {};
MASU_ON_EACH_OPENCL(FloatAtomics);

TEST_P(FloatAtomics, Exchange) {
  Batch made{.family = "atomics", .type = "float"};
  made.input = bytes_of(std::vector<float>{1.5F, -0.0F, 1e-45F, std::numeric_limits<float>::infinity()});
  for (const std::string_view space : spaces) {
    Case one{.name = fmt::format("atomic_xchg on {} memory", space)};
    one.code = fmt::format(R"(    __{0} float *cell = (__{0} float *){1} + lane;
    *cell = 7.25f;
    ((__global float *)out)[lanes + lane] = atomic_xchg(cell, ((__global const float *)in)[lane]);
    ((__global float *)out)[lane] = *cell;)",
                           space, space == "global" ? "out" : "pool");
    one.expected = made.input;
    append_bytes(one.expected, bytes_of(std::vector<float>(4, 7.25F)));
    made.cases.push_back(one);
  }
  run(device, made);
}

}  // namespace
}  // namespace masu::vocabulary
