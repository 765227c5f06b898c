// SPDX-License-Identifier: Apache-2.0
// Plain loops over pieces, for records of 1 to 64 bytes.
#include "gather/gather_plan.h"

#include "elements/stored_float.h"
#include "runtime/parallel.h"

#include <masu/device.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
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
  runtime::parallel_parts(count, task_records, body);
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

// How records of one size are moved: as one part, or as two that overlap, where the size is between two powers of 2.
template <std::size_t PartBytes, bool Whole>
class Record {
 public:
  struct Value {
    std::byte first[PartBytes];
    std::byte last[Whole ? 1 : PartBytes];
  };
  explicit Record(std::size_t bytes) : bytes_(bytes) {}
  std::size_t bytes() const { return Whole ? PartBytes : bytes_; }
  Value load(const std::byte* in) const {
    Value value;
    std::memcpy(value.first, in, PartBytes);
    if constexpr (!Whole) std::memcpy(value.last, in + bytes_ - PartBytes, PartBytes);
    return value;
  }
  void store(const Value& value, std::byte* out) const {
    std::memcpy(out, value.first, PartBytes);
    if constexpr (!Whole) std::memcpy(out + bytes_ - PartBytes, value.last, PartBytes);
  }
  void copy(const std::byte* in, std::byte* out) const {
    if constexpr (Whole) std::memcpy(out, in, PartBytes);
    else store(load(in), out);
  }

 private:
  std::size_t bytes_;
};

// body(record) with the record of so many bytes, 1 to 64.
template <class F>
void with_record(std::size_t bytes, const F& body) {
  if (bytes == 3) return body(Record<2, false>(bytes));
  switch (std::bit_floor(bytes)) {
    case 1: return body(Record<1, true>(bytes));
    case 2: return body(Record<2, true>(bytes));
    case 4: return bytes == 4 ? body(Record<4, true>(bytes)) : body(Record<4, false>(bytes));
    case 8: return bytes == 8 ? body(Record<8, true>(bytes)) : body(Record<8, false>(bytes));
    case 16: return bytes == 16 ? body(Record<16, true>(bytes)) : body(Record<16, false>(bytes));
    case 32: return bytes == 32 ? body(Record<32, true>(bytes)) : body(Record<32, false>(bytes));
    default: return body(Record<64, true>(bytes));
  }
}

template <class Record, class Index>
void gather_as(const Move& move, Record record, const std::byte* in, const Index* indices, std::byte* out) {
  in_pieces(move.rows * move.out_row, [&](std::uint64_t begin, std::uint64_t end) {
    by_rows(begin, end, move.out_row, [&](std::uint64_t row, std::uint64_t first, std::uint64_t last) {
      const Record element = record;  // of this thread, so that no store can change it
      const std::size_t bytes = element.bytes();
      const std::byte* from = in + row * move.in_row * bytes;
      const Index* index = indices + row * move.index_row;
      std::byte* to = out + row * move.out_row * bytes;
      for (std::uint64_t i = first; i < last; ++i) element.copy(from + index[i] * bytes, to + i * bytes);
    });
  });
}

// Each thread has some of the places and goes through all indices, in order: so the last of them stays.
template <class Record, class Index>
void scatter_as(const Move& move, Record record, const std::byte* in, const Index* indices, std::byte* out) {
  const std::uint64_t places = move.rows * move.out_row;
  const std::uint64_t parts =
      move.indices < task_records ? 1 : std::min<std::uint64_t>({cpu_threads(), most_parts, places});
  runtime::parallel_tasks(parts, [&](std::uint64_t part) {
    const std::uint64_t begin = places / parts * part + std::min(part, places % parts);
    const std::uint64_t width = places / parts + (part < places % parts ? 1 : 0);
    by_rows(0, move.indices, move.in_row, [&](std::uint64_t row, std::uint64_t first, std::uint64_t last) {
      const Record element = record;
      const std::size_t bytes = element.bytes();
      const std::uint64_t offset = row * move.out_row - begin;
      const std::uint64_t places_here = width;
      const Index* index = indices + row * move.in_row;
      const std::byte* from = in + row * move.in_row * bytes;
      std::byte* to = out + begin * bytes;
      for (std::uint64_t i = first; i < last; ++i) {
        const std::uint64_t place = offset + index[i];
        if (place < places_here) element.copy(from + i * bytes, to + place * bytes);
      }
    });
  });
}

template <class Record>
void reverse_as(const Move& move, Record record, const std::byte* in, std::byte* out) {
  const std::uint64_t moved = move.in_place ? move.in_row / 2 : move.in_row;
  if (moved == 0) return;
  in_pieces(move.rows * moved, [&](std::uint64_t begin, std::uint64_t end) {
    by_rows(begin, end, moved, [&](std::uint64_t row, std::uint64_t first, std::uint64_t last) {
      const Record element = record;
      const std::size_t bytes = element.bytes();
      const std::uint64_t offset = row * move.in_row;
      const std::byte* from = in + offset * bytes;
      std::byte* to = out + offset * bytes;
      const std::uint64_t end_place = move.in_row - 1;
      if (!move.in_place) {
        for (std::uint64_t j = first; j < last; ++j) element.copy(from + j * bytes, to + (end_place - j) * bytes);
        return;
      }
      for (std::uint64_t j = first; j < last; ++j) {
        const auto left = element.load(from + j * bytes);
        element.copy(from + (end_place - j) * bytes, to + j * bytes);
        element.store(left, to + (end_place - j) * bytes);
      }
    });
  });
}

template <class Record>
void compact_as(Record record, std::uint64_t count, const std::byte* in, const std::uint8_t* flags, std::byte* out,
                const std::vector<std::uint64_t>& offsets) {
  in_pieces(count, [&](std::uint64_t begin, std::uint64_t end) {
    const Record element = record;
    const std::size_t bytes = element.bytes();
    std::uint64_t place = offsets[begin / task_records];
    for (std::uint64_t i = begin; i < end; ++i) {
      if (flags[i] != 0) element.copy(in + i * bytes, out + place++ * bytes);
    }
  });
}

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
  return rounded_to<T>(std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x);
}

}  // namespace

std::uint64_t first_bad_index_cpu(const void* indices, Dtype dtype, std::uint64_t count, std::uint64_t limit) {
  if (dtype == Dtype::u32) return first_bad(static_cast<const std::uint32_t*>(indices), count, limit);
  return first_bad(static_cast<const std::uint64_t*>(indices), count, limit);
}

void move_cpu(const Move& move, const void* in, const void* indices, void* out) {
  const auto* from = static_cast<const std::byte*>(in);
  auto* to = static_cast<std::byte*>(out);
  with_record(move.element_bytes, [&](auto record) {
    if (move.operation == Operation::reverse) return reverse_as(move, record, from, to);
    const auto by = [&](const auto* index) {
      if (move.operation == Operation::scatter) scatter_as(move, record, from, index, to);
      else gather_as(move, record, from, index, to);
    };
    if (move.index_dtype == Dtype::u32) by(static_cast<const std::uint32_t*>(indices));
    else by(static_cast<const std::uint64_t*>(indices));
  });
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
  if (offsets.back() <= room) {
    with_record(element_bytes, [&](auto record) {
      compact_as(record, count, static_cast<const std::byte*>(in), set, static_cast<std::byte*>(out), offsets);
    });
  }
  return offsets.back();
}

void iota_cpu(Dtype dtype, std::uint64_t count, void* out, std::uint64_t start, std::uint64_t step) {
  dispatch(dtype, [&]<class T>(TypeTag<T>) {
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
