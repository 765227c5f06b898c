// SPDX-License-Identifier: Apache-2.0
// Plain loops over pieces, for each size of a record.
#include "gather/gather_cpu.h"

#include "runtime/half.h"
#include "runtime/parallel.h"

#include <masu/device.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace masu {

namespace {

using gather_plan::Move;
using gather_plan::Operation;

constexpr std::uint64_t task_records = std::uint64_t{1} << 15;
constexpr std::uint64_t most_parts = 16;  // of a scatter's places, by as many threads

// body(begin, end) over pieces of [0, count).
template <class F>
void in_pieces(std::uint64_t count, const F& body) {
  runtime::parallel_tasks((count + task_records - 1) / task_records, [&](std::uint64_t task) {
    body(task * task_records, std::min(count, (task + 1) * task_records));
  });
}

// body(row, first, end) over the parts of rows that lie in [begin, end).
template <class F>
void by_rows(std::uint64_t begin, std::uint64_t end, std::uint64_t row_length, const F& body) {
  while (begin < end) {
    const std::uint64_t row = begin / row_length;
    const std::uint64_t first = begin - row * row_length;
    const std::uint64_t last = std::min(row_length, first + (end - begin));
    body(row, first, last);
    begin += last - first;
  }
}

template <std::size_t Bytes>
struct Record {
  std::byte bytes[Bytes];
};

template <std::size_t Bytes, class Index>
void gather_as(const Move& move, const Record<Bytes>* in, const Index* indices, Record<Bytes>* out) {
  in_pieces(move.rows * move.out_row, [&](std::uint64_t begin, std::uint64_t end) {
    by_rows(begin, end, move.out_row, [&](std::uint64_t row, std::uint64_t first, std::uint64_t last) {
      const Record<Bytes>* from = in + row * move.in_row;
      const Index* index = indices + row * move.index_row;
      Record<Bytes>* to = out + row * move.out_row;
      for (std::uint64_t i = first; i < last; ++i) to[i] = from[index[i]];
    });
  });
}

// Each thread has some of the places and goes through all indices, in order: so the last of them stays.
template <std::size_t Bytes, class Index>
void scatter_as(const Move& move, const Record<Bytes>* in, const Index* indices, Record<Bytes>* out) {
  const std::uint64_t places = move.rows * move.out_row;
  const std::uint64_t parts =
      move.indices < task_records ? 1 : std::min<std::uint64_t>({cpu_threads(), most_parts, places});
  runtime::parallel_tasks(parts, [&](std::uint64_t part) {
    const std::uint64_t begin = places / parts * part + std::min(part, places % parts);
    const std::uint64_t width = places / parts + (part < places % parts ? 1 : 0);
    by_rows(0, move.indices, move.in_row, [&](std::uint64_t row, std::uint64_t first, std::uint64_t last) {
      const std::uint64_t offset = row * move.out_row - begin;
      const std::uint64_t in_offset = row * move.in_row;
      for (std::uint64_t i = first; i < last; ++i) {
        const std::uint64_t place = offset + indices[in_offset + i];
        if (place < width) out[begin + place] = in[in_offset + i];
      }
    });
  });
}

template <std::size_t Bytes>
void reverse_as(const Move& move, const Record<Bytes>* in, Record<Bytes>* out) {
  const std::uint64_t moved = move.in_place ? move.in_row / 2 : move.in_row;
  if (moved == 0) return;
  in_pieces(move.rows * moved, [&](std::uint64_t begin, std::uint64_t end) {
    by_rows(begin, end, moved, [&](std::uint64_t row, std::uint64_t first, std::uint64_t last) {
      const std::uint64_t offset = row * move.in_row;
      const std::uint64_t mirror = offset + move.in_row - 1;
      for (std::uint64_t j = first; j < last; ++j) {
        const Record<Bytes> record = in[offset + j];
        if (move.in_place) out[offset + j] = in[mirror - j];
        out[mirror - j] = record;
      }
    });
  });
}

template <std::size_t Bytes>
void move_as(const Move& move, const void* in, const void* indices, void* out) {
  const auto* from = static_cast<const Record<Bytes>*>(in);
  auto* to = static_cast<Record<Bytes>*>(out);
  if (move.operation == Operation::reverse) return reverse_as(move, from, to);
  const auto by = [&](const auto* index) {
    if (move.operation == Operation::scatter) scatter_as(move, from, index, to);
    else gather_as(move, from, index, to);
  };
  if (move.index_dtype == Dtype::u32) by(static_cast<const std::uint32_t*>(indices));
  else by(static_cast<const std::uint64_t*>(indices));
}

template <std::size_t Bytes>
void compact_as(std::uint64_t count, const void* in, const std::uint8_t* flags, void* out,
                const std::vector<std::uint64_t>& offsets) {
  const auto* from = static_cast<const Record<Bytes>*>(in);
  auto* to = static_cast<Record<Bytes>*>(out);
  in_pieces(count, [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t place = offsets[begin / task_records];
    for (std::uint64_t i = begin; i < end; ++i) {
      if (flags[i] != 0) to[place++] = from[i];
    }
  });
}

using MoveRecords = void (*)(const Move&, const void*, const void*, void*);
using CompactRecords = void (*)(std::uint64_t, const void*, const std::uint8_t*, void*,
                                const std::vector<std::uint64_t>&);
struct ForBytes {
  MoveRecords move;
  CompactRecords compact;
};
template <std::size_t... Index>
constexpr std::array<ForBytes, sizeof...(Index)> for_each_size(std::index_sequence<Index...> /*bytes*/) {
  return {ForBytes{&move_as<Index + 1>, &compact_as<Index + 1>}...};
}
constexpr auto for_bytes = for_each_size(std::make_index_sequence<64>());

template <class Index>
std::uint64_t first_bad(const Index* indices, std::uint64_t count, std::uint64_t limit) {
  if (limit > std::numeric_limits<Index>::max()) return count;
  std::atomic<std::uint64_t> first{count};
  in_pieces(count, [&](std::uint64_t begin, std::uint64_t end) {
    unsigned bad = 0;
    for (std::uint64_t i = begin; i < end; ++i) bad |= indices[i] >= limit ? 1U : 0U;
    if (bad == 0) return;
    std::uint64_t i = begin;
    while (indices[i] < limit) ++i;
    std::uint64_t known = first.load();
    while (i < known && !first.compare_exchange_weak(known, i)) {
    }
  });
  return first.load();
}

template <class T>
T iota_element(std::uint64_t i, double start, double step) {
  const double x = std::fma(static_cast<double>(i), step, start);
  if constexpr (std::is_same_v<T, Half>) {
    return std::isnan(x) ? Half{0x7e00} : runtime::to_half(x);
  } else {
    return std::isnan(x) ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(x);
  }
}

}  // namespace

std::uint64_t first_bad_index_cpu(const void* indices, Dtype dtype, std::uint64_t count, std::uint64_t limit) {
  if (dtype == Dtype::u32) return first_bad(static_cast<const std::uint32_t*>(indices), count, limit);
  return first_bad(static_cast<const std::uint64_t*>(indices), count, limit);
}

void move_cpu(const Move& move, const void* in, const void* indices, void* out) {
  for_bytes[move.element_bytes - 1].move(move, in, indices, out);
}

std::uint64_t compact_cpu(std::size_t element_bytes, std::uint64_t count, const void* in, const void* flags, void* out,
                          std::uint64_t room) {
  const auto* set = static_cast<const std::uint8_t*>(flags);
  std::vector<std::uint64_t> offsets((count + task_records - 1) / task_records + 1);
  in_pieces(count, [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = begin; i < end; ++i) sum += set[i] != 0 ? 1 : 0;
    offsets[begin / task_records + 1] = sum;
  });
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  if (offsets.back() <= room) for_bytes[element_bytes - 1].compact(count, in, set, out, offsets);
  return offsets.back();
}

void iota_cpu(Dtype dtype, std::uint64_t count, void* out, std::uint64_t start, std::uint64_t step) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* to = static_cast<T*>(out);
    in_pieces(count, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        if constexpr (std::is_integral_v<T>) to[i] = static_cast<T>(start + i * step);
        else to[i] = iota_element<T>(i, std::bit_cast<double>(start), std::bit_cast<double>(step));
      }
    });
  });
}

}  // namespace masu
