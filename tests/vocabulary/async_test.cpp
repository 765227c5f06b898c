// SPDX-License-Identifier: Apache-2.0
// Copies by a whole work-group: async_work_group_copy and its strided form both ways, events, prefetch.
#include "each_type.h"

#include <fmt/format.h>

namespace masu::vocabulary {
namespace {

constexpr std::size_t lanes = 4;
constexpr std::size_t count = 13;  // vectors: no multiple of the work-items
constexpr std::size_t gap = 3;     // of strided copies

// Elements that a vector takes in memory: those of 3 take the room of 4.
std::size_t room(std::size_t width) {
  return width == 3 ? 4 : width;
}

class AsyncCopy : public EachType {
 protected:
  // Every step-th vector of `from`, `count` of them, to every place-th of a target of `length` vectors; elsewhere
  // 0xa5. The fourth element of a vector of 3 is not specified: the kernels put 0xa5 there.
  [[nodiscard]] Bytes expected(const Bytes& from, std::size_t width, std::size_t step, std::size_t place,
                               std::size_t length) const {
    const std::size_t size = room(width) * type.size;
    Bytes target(length * size, std::byte{0xa5});
    for (std::size_t i = 0; i < count; ++i) {
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(i * step * size), width * type.size,
                  target.begin() + static_cast<std::ptrdiff_t>(i * place * size));
    }
    return target;
  }
};
MASU_ON_EACH_TYPE(AsyncCopy, types);

TEST_P(AsyncCopy, EveryWidth) {
  constexpr std::size_t most = count * gap * 16;  // elements
  Batch made{.family = "async copy", .type = type.name};
  made.lanes = lanes;
  made.input = values(type, most);
  std::size_t used =
      (most * type.size + 127) / 128 * 128;  // of local memory: first the source of copies to global memory
  made.preamble = fmt::format(R"(typedef {} T;
#define COPY(bytes, from) for (uint i = lane; i < bytes; i += lanes) out[i] = from[i];
#define FOURTHS(uchars, vectors) \
  for (uint i = lane; i < (vectors) * sizeof(T); i += lanes) uchars[(i / sizeof(T) * 4 + 3) * sizeof(T) + i % sizeof(T)] = 0xa5;
)",
                              type.name);
  for (const std::size_t width : widths_and_scalar) {
    const std::string vector = vector_name(type.name, width);
    const std::size_t size = room(width) * type.size;
    // Every copy to local memory has a place of its own there, so that no barriers are needed between them.
    // `{to}` of the code is that place, `{from}` the source; a copy ends by a wait.
    const auto to_local = [&](const std::string& name, std::string_view code) {
      const std::size_t bytes = (count + 1) * size;
      Case one{.name = fmt::format("{} of {}", name, vector)};
      one.code = fmt::format(
          "    __local uchar *place = pool + {};\n    __local {} *to = (__local {} *)place;\n    __global const {} "
          "*from = (__global const {} *)in;\n    {}\n",
          used, vector, vector, vector, vector, code);
      if (width == 3) one.code += fmt::format("    FOURTHS(place, {})\n    barrier(CLK_LOCAL_MEM_FENCE);\n", count + 1);
      one.code += fmt::format("    COPY({}, place)", bytes);
      one.expected = expected(made.input, width, name.find("strided") == std::string::npos ? 1 : gap, 1, count + 1);
      made.cases.push_back(one);
      used += (bytes + 127) / 128 * 128;
    };
    const auto to_global = [&](const std::string& name, std::string_view code, std::size_t apart) {
      Case one{.name = fmt::format("{} of {}", name, vector)};
      one.code = fmt::format(
          "    __global {} *to = (__global {} *)out;\n    __local const {} *from = (__local const {} *)pool;\n    {}",
          vector, vector, vector, vector, code);
      one.expected = expected(made.input, width, 1, apart, count * apart);
      if (width == 3) one.code += fmt::format("\n    FOURTHS(out, {})", count * apart);
      made.cases.push_back(one);
    };
    const std::string copy =
        fmt::format("event_t e = async_work_group_copy(to, from, {}, 0);\n    wait_group_events(1, &e);", count);
    const std::string strided = fmt::format(
        "event_t e = async_work_group_strided_copy(to, from, {}, {}, 0);\n    wait_group_events(1, &e);", count, gap);
    to_local("async_work_group_copy to local", copy);
    to_global("async_work_group_copy to global", copy, 1);
    to_local("async_work_group_strided_copy to local", strided);
    to_global("async_work_group_strided_copy to global", strided, gap);
    if (width != 4) continue;
    // The two parts of a copy, under one event and under two.
    to_local("two copies under one event",
             fmt::format("event_t e = async_work_group_copy(to, from, 6, 0);\n    e = async_work_group_copy(to + 6, "
                         "from + 6, {}, e);\n    wait_group_events(1, &e);",
                         count - 6));
    to_local("two copies, a wait for two events",
             fmt::format("event_t e[2];\n    e[0] = async_work_group_copy(to, from, 6, 0);\n    e[1] = "
                         "async_work_group_copy(to + 6, from + 6, {}, 0);\n    wait_group_events(2, e);",
                         count - 6));
  }
  made.local_bytes = used;
  made.prologue = fmt::format(R"(
  for (uint i = lane; i < {}; i += lanes) pool[i] = i < {} ? in[i] : 0xa5;
  barrier(CLK_LOCAL_MEM_FENCE);)",
                              used, most * type.size);
  run_or_skip(made);
}

// A hint: it changes nothing.
class Prefetch : public EachType {};
MASU_ON_EACH_TYPE(Prefetch, types);

TEST_P(Prefetch, EveryWidth) {
  Batch made{.family = "prefetch", .type = type.name};
  made.input = values(type, 16 * lanes);
  for (const std::size_t width : widths_and_scalar) {
    const std::string vector = vector_name(type.name, width);
    made.cases.push_back(
        {.name = "prefetch of " + vector,
         .code = fmt::format("    prefetch((__global const {} *)in, {});\n    out[lane] = in[lane];", vector, lanes),
         .expected = Bytes(made.input.begin(), made.input.begin() + lanes)});
  }
  run_or_skip(made);
}

}  // namespace
}  // namespace masu::vocabulary
