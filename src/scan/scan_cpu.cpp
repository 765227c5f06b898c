// SPDX-License-Identifier: Apache-2.0
#include "scan/scan_cpu.h"

#include "runtime/parallel.h"
#include "runtime/stream_out.h"
#include "scan/scan_plan.h"

#include <masu/device.h>

#include <algorithm>
#include <type_traits>
#include <vector>

namespace masu {

namespace {

// The work on ranges of one job. A range starts from a state and leaves one.
class Scanner {
 public:
  explicit Scanner(const ScanJob& job)
      : job_(job),
        size_(size_of(job.dtype)),
        exact_(is_exact_sum(job.dtype, job.op)),
        identity_(scan_identity(job.dtype, job.op)),
        streams_(job.input != job.output && job.count * size_ >= runtime::stream_out_bytes) {}

  [[nodiscard]] ScanState start() const {
    ScanState state;
    state.bits = identity_;
    return state;
  }

  // Scans elements begin to end; segments begin where flags say so. `last`: the state after them is not needed.
  void scan(std::uint64_t begin, std::uint64_t end, ScanState& state, bool last) const {
    each_segment(begin, end, state,
                 [&](std::uint64_t from, std::uint64_t to) { write(from, to, state, last || to != end); });
    if (streams_) runtime::stream_out_end();
  }
  // Scans whole rows of `length` elements.
  void scan_rows(std::uint64_t first, std::uint64_t end, std::uint64_t length) const {
    if (exact_ && job_.flags == nullptr) {
      const std::uint64_t at = first * length;
      return with_type(job_.input + at * size_, job_.output + at * size_,
                       [&](const auto* x, auto* y) { run_lines(x, y, end - first, length, 1, job_.exclusive); });
    }
    for (std::uint64_t row = first; row < end; ++row) {
      ScanState from = start();
      scan(row * length, (row + 1) * length, from, true);
    }
  }
  // Only the state after them. `reset`: whether a segment began among them.
  void total(std::uint64_t begin, std::uint64_t end, ScanState& state, bool& reset) const {
    // Elements before the last segment do not matter.
    const std::uint64_t last = last_flag(begin, end);
    reset = last != end;
    run(reset ? last : begin, end, nullptr, state, false);
  }
  // Moves `state` past a range of this total.
  void advance(ScanState& state, const ScanState& total, bool reset) const {
    if (reset) {
      state = total;
    } else if (exact_) {
      state.sum.merge(total.sum);
    } else {
      state.bits = cpu::scan_total(job_.dtype, job_.dtype, job_.op, &total.bits, 1, state.bits);
    }
  }

 private:
  template <class F>
  void each_segment(std::uint64_t begin, std::uint64_t end, ScanState& state, const F& f) const {
    if (job_.flags == nullptr) return f(begin, end);
    for (std::uint64_t first = begin; first < end;) {
      if (job_.flags[first] != 0) state = start();
      std::uint64_t next = first + 1;
      while (next < end && job_.flags[next] == 0) ++next;
      f(first, next);
      first = next;
    }
  }
  // `end` where there is none.
  [[nodiscard]] std::uint64_t last_flag(std::uint64_t begin, std::uint64_t end) const {
    for (std::uint64_t i = job_.flags == nullptr ? begin : end; i > begin; --i) {
      if (job_.flags[i - 1] != 0) return i - 1;
    }
    return end;
  }

  // Large outputs go past the caches, by way of a buffer.
  void write(std::uint64_t begin, std::uint64_t end, ScanState& state, bool last_of_all) const {
    if (!streams_) return run(begin, end, job_.output + begin * size_, state, last_of_all);
    alignas(64) std::byte buffer[scan_plan::cpu_buffer_bytes];
    for (std::uint64_t first = begin; first < end; first += sizeof buffer / size_) {
      const std::uint64_t last = std::min(end, first + sizeof buffer / size_);
      run(first, last, buffer, state, last_of_all && last == end);
      runtime::stream_out(job_.output + first * size_, buffer, (last - first) * size_);
    }
  }
  // One segment, to `y` where that is not null.
  void run(std::uint64_t begin, std::uint64_t end, std::byte* y, ScanState& state, bool last) const {
    const std::byte* const x = job_.input + begin * size_of(job_.from);
    const std::uint64_t count = end - begin;
    if (exact_) {
      with_type(x, y, [&](const auto* from, auto* to) { state.sum.run(from, to, count, job_.exclusive, last); });
    } else if (y != nullptr) {
      state.bits = cpu::scan_elements(job_.from, job_.dtype, job_.op, job_.exclusive, x, y, count, state.bits);
    } else {
      state.bits = cpu::scan_total(job_.from, job_.dtype, job_.op, x, count, state.bits);
    }
  }
  // Calls f(x, y) with pointers to floats.
  template <class F>
  void with_type(const std::byte* x, std::byte* y, const F& f) const {
    dispatch(job_.dtype, [&]<class T>(TypeTag<T>) {
      if constexpr (is_float(dtype_of<T>)) f(reinterpret_cast<const T*>(x), reinterpret_cast<T*>(y));
    });
  }

  const ScanJob& job_;
  std::size_t size_;
  bool exact_;
  std::uint64_t identity_;
  bool streams_;
};

// One range by all threads, part after part: first the totals of the part's pieces, which brings them into the cache,
// then the pieces from the states before them.
void scan_range(const Scanner& scanner, std::size_t element_bytes, std::uint64_t begin, std::uint64_t end,
                ScanState& state, bool last) {
  const std::uint64_t piece = scan_plan::cpu_piece_bytes / element_bytes;
  const unsigned threads = cpu_threads();
  if (threads == 1 || end - begin <= piece) return scanner.scan(begin, end, state, last);
  struct Piece {
    ScanState state;
    bool reset = false;
  };
  std::vector<Piece> pieces(std::size_t{threads} * scan_plan::cpu_pieces_a_thread);
  for (std::uint64_t first = begin; first < end; first += piece * pieces.size()) {
    const std::uint64_t here = std::min<std::uint64_t>(pieces.size(), (end - first + piece - 1) / piece);
    const auto range = [&](std::uint64_t p, auto&& f) { f(first + p * piece, std::min(end, first + (p + 1) * piece)); };
    runtime::parallel_tasks(here, [&](std::uint64_t p) {
      pieces[p].state = scanner.start();
      range(p,
            [&](std::uint64_t from, std::uint64_t to) { scanner.total(from, to, pieces[p].state, pieces[p].reset); });
    });
    for (std::uint64_t p = 0; p < here; ++p) {
      const Piece total = pieces[p];
      pieces[p].state = state;
      scanner.advance(state, total.state, total.reset);
    }
    runtime::parallel_tasks(here, [&](std::uint64_t p) {
      range(p, [&](std::uint64_t from, std::uint64_t to) { scanner.scan(from, to, pieces[p].state, true); });
    });
  }
}

}  // namespace

void scan_cpu(const ScanJob& job, ScanState* state) {
  const Scanner scanner(job);
  const std::size_t size = size_of(job.dtype);
  if (state != nullptr) return scan_range(scanner, size, 0, job.count, *state, false);
  const std::uint64_t row = job.count / job.rows;
  if (row == 0) return;
  if (row * size > scan_plan::cpu_piece_bytes && job.rows < 2 * std::uint64_t{cpu_threads()}) {
    for (std::uint64_t r = 0; r < job.rows; ++r) {
      ScanState from = scanner.start();
      scan_range(scanner, size, r * row, (r + 1) * row, from, true);
    }
    return;
  }
  const std::uint64_t together = std::max<std::uint64_t>(1, scan_plan::cpu_piece_bytes / size / row);
  runtime::parallel_parts(job.rows, together,
                          [&](std::uint64_t first, std::uint64_t end) { scanner.scan_rows(first, end, row); });
}

}  // namespace masu
