// SPDX-License-Identifier: Apache-2.0
#include "transpose/strided.h"

#include "runtime/parallel.h"
#include "transpose/transpose_plan.h"

#include <masu/device.h>
#include <masu/transpose.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace masu {

namespace {

constexpr std::size_t most_axes = 64;
constexpr std::uint64_t copy_task_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t worth_threads = std::uint64_t{4} << 20;  // bytes
constexpr std::uint64_t worth_blocks = 16;                       // bytes of the shorter side of a matrix

struct Axis {
  std::uint64_t length;
  std::int64_t from;  // bytes from element to element
  std::int64_t to;
};

// Copies one line. Eight elements at a time, as a loop over single ones waits for its own counter.
template <std::size_t Bytes>
void copy_line(const std::byte* from, std::byte* to, const Axis& axis) {
  constexpr std::int64_t together = 8;
  const auto count = static_cast<std::int64_t>(axis.length);
  std::int64_t i = 0;
  for (; i + together <= count; i += together, from += together * axis.from, to += together * axis.to) {
    for (std::int64_t k = 0; k < together; ++k) std::memcpy(to + k * axis.to, from + k * axis.from, Bytes);
  }
  for (; i < count; ++i, from += axis.from, to += axis.to) std::memcpy(to, from, Bytes);
}

void copy_line(std::size_t bytes, const std::byte* from, std::byte* to, const Axis& axis) {
  switch (bytes) {
    case 1: return copy_line<1>(from, to, axis);
    case 2: return copy_line<2>(from, to, axis);
    case 4: return copy_line<4>(from, to, axis);
    case 8: return copy_line<8>(from, to, axis);
    default: break;
  }
  for (std::uint64_t i = 0; i < axis.length; ++i, from += axis.from, to += axis.to) std::memcpy(to, from, bytes);
}

// One copy between two arrays, with as few axes as say where the elements are, in the order of the target's memory.
class StridedCopy {
 public:
  StridedCopy(std::size_t bytes, const Strided<const std::byte>& from, const Strided<std::byte>& to)
      : bytes_(bytes), step_(static_cast<std::int64_t>(bytes)), from_(from.data), to_(to.data) {
    for (std::size_t i = 0; i < from.shape.size(); ++i) add(from.shape[i], from.strides[i], to.strides[i]);
    join_axes();
  }

  void run() {
    if (empty_) return;
    Axis last = axes_ == 0 ? Axis{1, step_, step_} : all_[--axes_];
    if (last.from == step_ && last.to == step_) return run_contiguous(last);
    const auto rest = std::span(all_).first(axes_);
    const auto other = std::ranges::find(rest, step_, &Axis::from);  // along which the source is contiguous
    if (other != rest.end() && last.from > 0 && last.to == step_) {
      if (std::min(last.length, other->length) * bytes_ >= worth_blocks)
        return run_matrices(other - rest.begin(), last);
      if (last.length < other->length) std::swap(last, *other);
    }
    run_lines(last);
  }

 private:
  // Adds an axis to those in descending order of the target's strides, which become positive.
  void add(std::int64_t length, std::int64_t from, std::int64_t to) {
    if (length == 0) empty_ = true;
    if (length <= 1) return;
    if (to < 0) {  // from the other end
      from_ += (length - 1) * from;
      to_ += (length - 1) * to;
      from = -from;
      to = -to;
    }
    std::size_t at = axes_++;
    for (; at != 0 && all_[at - 1].to < to; --at) all_[at] = all_[at - 1];
    all_[at] = {static_cast<std::uint64_t>(length), from, to};
  }
  // Makes one axis of two whose elements lie at equal distances in both arrays.
  void join_axes() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < axes_; ++i) {
      const Axis& axis = all_[i];
      const auto length = static_cast<std::int64_t>(axis.length);
      if (kept != 0 && all_[kept - 1].from == axis.from * length && all_[kept - 1].to == axis.to * length) {
        all_[kept - 1] = {all_[kept - 1].length * axis.length, axis.from, axis.to};
      } else {
        all_[kept++] = axis;
      }
    }
    axes_ = kept;
  }

  // How many places the axes that are left have.
  [[nodiscard]] std::uint64_t places() const {
    std::uint64_t product = 1;
    for (std::size_t i = 0; i < axes_; ++i) product *= all_[i].length;
    return product;
  }
  // Calls work(from, to) at the places from number `first` on.
  template <class F>
  void visit(std::uint64_t first, std::uint64_t last, const F& work) const {
    std::array<std::uint64_t, most_axes> index;
    const std::byte* from = from_;
    std::byte* to = to_;
    std::uint64_t rest = first;
    for (std::size_t i = axes_; i-- > 0;) {
      index[i] = rest % all_[i].length;
      rest /= all_[i].length;
      from += static_cast<std::int64_t>(index[i]) * all_[i].from;
      to += static_cast<std::int64_t>(index[i]) * all_[i].to;
    }
    for (std::uint64_t place = first;;) {
      work(from, to);
      if (++place == last) return;
      for (std::size_t i = axes_; i-- > 0;) {
        from += all_[i].from;
        to += all_[i].to;
        if (++index[i] != all_[i].length) break;
        from -= static_cast<std::int64_t>(all_[i].length) * all_[i].from;
        to -= static_cast<std::int64_t>(all_[i].length) * all_[i].to;
        index[i] = 0;
      }
    }
  }
  // Calls work(from, to), which copies `size` bytes, at all places, on several threads where that is much.
  template <class F>
  void visit_all(std::uint64_t size, const F& work) const {
    const std::uint64_t all = places();
    if (all * size < worth_threads) return visit(0, all, work);
    const std::uint64_t each = std::max<std::uint64_t>(1, copy_task_bytes / size);
    runtime::parallel_parts(all, each, [&](std::uint64_t first, std::uint64_t end) { visit(first, end, work); });
  }
  // Makes an axis of pieces of a long line, if it is the only axis, so that several threads share the line. What is
  // left of it is copied at once by work(from, to, line).
  template <class F>
  void cut_line(Axis& line, const F& work) {
    const std::uint64_t most = copy_task_bytes / bytes_;
    if (axes_ != 0 || line.length < 2 * most) return;
    const std::uint64_t pieces = line.length / most;
    const auto left = static_cast<std::int64_t>(pieces * most);
    work(from_ + left * line.from, to_ + left * line.to, Axis{line.length - pieces * most, line.from, line.to});
    const auto step = static_cast<std::int64_t>(most);
    all_[axes_++] = {pieces, step * line.from, step * line.to};
    line.length = most;
  }

  void run_contiguous(Axis line) {
    const auto copy = [&](const std::byte* from, std::byte* to, const Axis& part) {
      std::memcpy(to, from, part.length * bytes_);
    };
    cut_line(line, copy);
    visit_all(line.length * bytes_, [&](const std::byte* from, std::byte* to) { copy(from, to, line); });
  }
  void run_lines(Axis line) {
    const auto copy = [&](const std::byte* from, std::byte* to, const Axis& part) {
      copy_line(bytes_, from, to, part);
    };
    cut_line(line, copy);
    visit_all(line.length * bytes_, [&](const std::byte* from, std::byte* to) { copy(from, to, line); });
  }
  // The target is contiguous along `rows`, the source along axis number `at`.
  void run_matrices(std::ptrdiff_t at, const Axis& rows) {
    const Axis columns = all_[static_cast<std::size_t>(at)];
    std::copy(all_.begin() + at + 1, all_.begin() + static_cast<std::ptrdiff_t>(axes_--), all_.begin() + at);
    const StridedMatrix matrix{bytes_, rows.length, columns.length, static_cast<std::uint64_t>(rows.from),
                               static_cast<std::uint64_t>(columns.to)};
    const auto copy = [&](const std::byte* from, std::byte* to) { transpose_cpu(from, to, matrix); };
    const std::uint64_t size = rows.length * columns.length * bytes_;
    if (size >= copy_task_bytes) visit(0, places(), copy);  // each on all threads
    else visit_all(size, copy);
  }

  std::size_t bytes_;
  std::int64_t step_;
  const std::byte* from_;
  std::byte* to_;
  bool empty_ = false;
  std::size_t axes_ = 0;
  std::array<Axis, most_axes> all_;
};

}  // namespace

void copy_strided(std::size_t bytes, const Strided<const std::byte>& from, const Strided<std::byte>& to) {
  StridedCopy(bytes, from, to).run();
}

void copy_elements(std::size_t bytes, const Strided<const std::byte>& from, void* to, std::uint64_t last) {
  std::array<std::int64_t, most_axes> strides;
  auto step = static_cast<std::int64_t>(bytes);
  for (const bool is_last : {true, false}) {
    for (std::size_t i = from.shape.size(); i-- > 0;) {
      if ((last >> i & 1) != (is_last ? 1 : 0)) continue;
      strides[i] = step;
      step *= from.shape[i];
    }
  }
  copy_strided(bytes, from, {static_cast<std::byte*>(to), from.shape, {strides.data(), from.shape.size()}});
}

void swap_axes(std::size_t bytes, const void* from, std::uint64_t outer, std::uint64_t length, std::uint64_t inner,
               void* to) {
  const auto step = static_cast<std::int64_t>(bytes);
  const auto high = static_cast<std::int64_t>(length);
  const auto wide = static_cast<std::int64_t>(inner);
  const std::array<std::int64_t, 3> shape{static_cast<std::int64_t>(outer), wide, high};
  copy_strided(bytes, {static_cast<const std::byte*>(from), shape, std::array{high * wide * step, step, wide * step}},
               {static_cast<std::byte*>(to), shape, std::array{high * wide * step, high * step, step}});
}

// A transposition for each of `outer`, where these are few or long, or of the shortest of the three first.
void swap_axes(Stream& stream, std::size_t bytes, const Buffer<std::byte>& from, std::uint64_t outer,
               std::uint64_t length, std::uint64_t inner, Buffer<std::byte>& to) {
  constexpr std::uint64_t worth = std::uint64_t{1} << 18;  // elements of a matrix
  const auto turn = [&](const Buffer<std::byte>& in, Buffer<std::byte>& out, std::uint64_t matrices,
                        std::uint64_t columns) {
    const std::uint64_t size = in.size() / matrices;
    for (std::uint64_t i = 0; i < matrices; ++i) {
      Buffer<std::byte> part = out.slice(i * size, size);
      static_cast<void>(transpose(stream, in.slice(i * size, size), bytes, size / bytes / columns, columns, part));
    }
  };
  const std::uint64_t least = std::min({outer, length, inner});
  if (outer == least || length * inner >= worth) return turn(from, to, outer, inner);
  Buffer<std::byte> between(stream.device(), from.size());
  if (inner == least) {
    turn(from, to, 1, inner);
    turn(to, between, inner, length);
    return turn(between, to, 1, outer);
  }
  turn(from, to, 1, length * inner);
  turn(to, between, length, outer);
  turn(between, to, 1, outer * inner);
}

const void* as_rows(std::size_t bytes, const void* data, const call::Lines& lines, std::vector<std::byte>& memory) {
  if (lines.are_rows()) return data;
  memory.resize(lines.number() * lines.length * bytes);
  const std::array extents{lines.outer, lines.first, lines.between, lines.second, lines.inner};
  std::array<std::int64_t, extents.size()> shape;
  std::array<std::int64_t, extents.size()> strides;
  auto step = static_cast<std::int64_t>(bytes);
  for (std::size_t i = extents.size(); i-- > 0; step *= shape[i]) {
    shape[i] = static_cast<std::int64_t>(extents[i]);
    strides[i] = step;
  }
  constexpr std::uint64_t along = 0b01010;  // first and second
  copy_elements(bytes, {static_cast<const std::byte*>(data), shape, strides}, memory.data(), along);
  return memory.data();
}

namespace {

// Memory that the thread keeps, if it is not much: what was just allocated takes longer to be written. A task that runs
// while another of this thread waits has its own.
class Spare {
 public:
  explicit Spare(std::size_t bytes) : memory_(std::move(kept)) {
    if (memory_.size() < bytes) memory_ = std::vector<std::byte>(bytes);
  }
  ~Spare() {
    constexpr std::size_t most = std::size_t{16} << 20;
    if (memory_.size() <= most) kept = std::move(memory_);
  }
  Spare(const Spare&) = delete;
  Spare& operator=(const Spare&) = delete;
  [[nodiscard]] std::byte* data() noexcept { return memory_.data(); }

 private:
  static inline thread_local std::vector<std::byte> kept;
  std::vector<std::byte> memory_;
};

}  // namespace

void by_lines(std::size_t bytes, const void* data, const call::Lines& lines, std::size_t result_bytes, void* to,
              const std::function<void(const void*, std::uint64_t, void*)>& work) {
  constexpr std::uint64_t block_bytes = std::uint64_t{1} << 18;
  constexpr std::uint64_t fewest = 16;  // lines of a matrix, for whole cache lines
  if (lines.are_rows()) return work(data, lines.number(), to);
  const std::uint64_t length = lines.length;
  const std::uint64_t matrix = length * lines.inner;
  const std::uint64_t block = block_bytes / std::max(bytes, result_bytes);  // elements
  // A block is of some lines of one matrix, or of several matrices.
  const std::uint64_t at_once = std::min(lines.inner, std::max(fewest, block / length));
  const std::uint64_t parts = (lines.inner + at_once - 1) / at_once;
  const std::uint64_t matrices = parts == 1 ? std::clamp<std::uint64_t>(block / matrix, 1, lines.outer) : 1;
  const auto some = [&](std::uint64_t first, std::uint64_t end) {
    const std::uint64_t room = matrices * at_once * length;
    Spare memory(room * (bytes + result_bytes));
    std::byte* const results = memory.data();
    std::byte* const rows = results + room * result_bytes;
    for (std::uint64_t i = first; i < end; ++i) {
      const std::uint64_t line = i % parts * at_once;
      const std::uint64_t outer = i / parts * matrices;
      const auto here = static_cast<std::int64_t>(std::min(matrices, lines.outer - outer));
      const auto wide = static_cast<std::int64_t>(std::min(at_once, lines.inner - line));
      const auto high = static_cast<std::int64_t>(length);
      const std::array shape{here, wide, high};
      const auto in_place = [&](auto size) {
        return std::array{static_cast<std::int64_t>(matrix * size), static_cast<std::int64_t>(size),
                          static_cast<std::int64_t>(lines.inner * size)};
      };
      const auto in_rows = [&](auto size) {
        const auto step = static_cast<std::int64_t>(size);
        return std::array{wide * high * step, high * step, step};
      };
      const std::uint64_t at = outer * matrix + line;
      copy_strided(bytes, {static_cast<const std::byte*>(data) + at * bytes, shape, in_place(bytes)},
                   {rows, shape, in_rows(bytes)});
      work(rows, static_cast<std::uint64_t>(here * wide), results);
      copy_strided(result_bytes, {results, shape, in_rows(result_bytes)},
                   {static_cast<std::byte*>(to) + at * result_bytes, shape, in_place(result_bytes)});
    }
  };
  const std::uint64_t all = (lines.outer + matrices - 1) / matrices * parts;
  if (all < 2 * std::uint64_t{cpu_threads()}) some(0, all);  // each by all threads
  else runtime::parallel_parts(all, 1, some);
}

const Buffer<std::byte>& as_rows(Stream& stream, std::size_t bytes, const Buffer<std::byte>& data,
                                 const call::Lines& lines, std::optional<Buffer<std::byte>>& memory) {
  const Buffer<std::byte>* rows = &data;
  const auto bring_last = [&](std::uint64_t outer, std::uint64_t length, std::uint64_t inner) {
    if (inner == 1 || length == 1) return;
    Buffer<std::byte> made(stream.device(), data.size());
    swap_axes(stream, bytes, *rows, outer, length, inner, made);
    memory.emplace(std::move(made));
    rows = &*memory;
  };
  bring_last(lines.outer, lines.first, lines.between * lines.second * lines.inner);
  bring_last(lines.outer * lines.between, lines.second, lines.inner * lines.first);
  return *rows;
}

}  // namespace masu
