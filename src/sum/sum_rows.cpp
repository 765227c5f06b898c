// SPDX-License-Identifier: Apache-2.0
#include "sum/sum_rows.h"

#include "call/launcher.h"
#include "call/operands.h"
#include "runtime/parallel.h"
#include "sum/sum_cpu.h"

#include <algorithm>
#include <span>
#include <utility>

namespace masu {

RowSums::RowSums(const Device& device, Dtype dtype, const SumNeeds& needs, std::uint64_t row_length, Sink sink)
    : device_(device), dtype_(dtype), needs_(needs), row_length_(row_length), sink_(std::move(sink)) {}

void RowSums::end_row_if_full() {
  if (row_length_ == 0 || count_ % row_length_ != 0) return;
  sink_(count_ / row_length_ - 1, open_);
  open_ = Totals();
}

template <class OnPart, class OnWhole>
void RowSums::cut(std::uint64_t count, const OnPart& part, const OnWhole& whole) {
  std::uint64_t first = 0;
  const auto take_part = [&](std::uint64_t length) {
    if (length == 0) return;
    part(first, length);
    count_ += length;
    first += length;
    end_row_if_full();
  };
  if (row_length_ == 0) return take_part(count);
  if (const std::uint64_t begun = in_row(); begun != 0) take_part(std::min(row_length_ - begun, count));
  if (const std::uint64_t rows = (count - first) / row_length_; rows != 0) {
    whole(first, rows);
    count_ += rows * row_length_;
    first += rows * row_length_;
  }
  take_part(count - first);
}

void RowSums::add(const void* x, const void* y, std::uint64_t count) {
  if (count == 0) return;
  if (!call::on_cpu(device_)) return stage(x, y, count);
  const call::Timer timer(&times_, &Times::compute);
  const std::size_t size = size_of(dtype_);
  const auto* from = static_cast<const std::byte*>(x);
  const auto* with = static_cast<const std::byte*>(y);
  cut(
      count,
      [&](std::uint64_t first, std::uint64_t length) {
        cpu::add_totals(dtype_, needs_, from + first * size, with + first * size, length, open_);
      },
      [&](std::uint64_t first, std::uint64_t rows) {
        const std::uint64_t number = full_rows();
        cpu::add_rows(dtype_, needs_, from + first * size, with + first * size, rows, row_length_,
                      [&](std::uint64_t row, const Totals& totals) { sink_(number + row, totals); });
      });
}

void RowSums::add(Stream& stream, const BufferBase& x, std::uint64_t x_at, const BufferBase& y, std::uint64_t y_at,
                  std::uint64_t count, bool timed, const BufferBase* workspace) {
  const std::size_t size = size_of(dtype_);
  const auto run = [&](std::uint64_t first, std::uint64_t rows, std::uint64_t length, const Sink& sink) {
    const double begun = call::now();
    DeviceSum job("sum", x, y, dtype_, needs_, rows, length, workspace);
    job.start(stream, x_at + first * size, y_at + first * size);
    job.finish(stream);
    times_.compute += timed ? job.seconds() : call::now() - begun;
    const call::Timer timer(&times_, &Times::transfer);
    constexpr std::uint64_t rows_a_task = 64;
    runtime::parallel_parts(rows, rows_a_task, [&](std::uint64_t row, std::uint64_t end) {
      for (; row < end; ++row) {
        Totals totals;
        job.add_to(totals, row);
        sink(row, totals);
      }
    });
  };
  cut(
      count,
      [&](std::uint64_t first, std::uint64_t length) {
        run(first, 1, length, [&](std::uint64_t, const Totals& totals) {
          open_.values.merge(totals.values);
          open_.products.merge(totals.products);
        });
      },
      [&](std::uint64_t first, std::uint64_t rows) {
        const std::uint64_t number = full_rows();
        const std::uint64_t most = DeviceSum::most_rows(device_, dtype_, needs_);
        for (std::uint64_t done = 0; done < rows; done += most) {
          run(first + done * row_length_, std::min(most, rows - done), row_length_,
              [&](std::uint64_t row, const Totals& totals) { sink_(number + done + row, totals); });
        }
      });
}

void RowSums::take(Job& job) {
  if (!job.sum) return;
  job.sum->finish(*job.stream);
  times_.compute += job.sum->seconds();
  job.sum->add_to(open_, 0);
  job.sum.reset();
}

// Pieces go through two lanes of staging in turn: while one is added, the next is copied.
void RowSums::stage(const void* x, const void* y, std::uint64_t count) {
  if (!staging_) staging_.emplace(device_, 0);
  constexpr std::uint64_t padding = 64;
  const std::size_t size = size_of(dtype_);
  const std::uint64_t inputs = needs_.products ? 2 : 1;
  const std::uint64_t most = std::max<std::uint64_t>((staging_->piece_bytes() / inputs - padding) / size, 1);
  std::array<Job, 2> jobs;
  unsigned turn = 0;
  for (std::uint64_t first = 0; first < count; first += most, turn ^= 1U) {
    const std::uint64_t length = std::min(most, count - first);
    const std::span of_x(static_cast<const std::byte*>(x) + first * size, length * size);
    const std::span of_y(static_cast<const std::byte*>(y) + first * size, length * size);
    const std::array<std::span<const std::byte>, 2> spans{of_x, of_y};
    const bool one_row = row_length_ == 0 || in_row() + length < row_length_;
    take(jobs[turn]);
    if (!one_row) take(jobs[turn ^ 1U]);
    staging_->piece(std::span(spans).first(inputs), [&](Stream& stream, const BufferBase& buffer,
                                                        std::span<const std::uint64_t> offsets) {
      const std::uint64_t x_at = buffer.byte_offset() + offsets[0];
      const std::uint64_t y_at = buffer.byte_offset() + offsets[inputs - 1];
      if (!one_row) return add(stream, buffer, x_at, buffer, y_at, length, true);
      jobs[turn] = {&stream, std::make_unique<DeviceSum>("sum", buffer, buffer, dtype_, needs_, 1, length, nullptr)};
      jobs[turn].sum->start(stream, x_at, y_at);
      count_ += length;
    });
  }
  for (Job& job : jobs) take(job);
  staging_->release();
}

void RowSums::merge(const Totals& totals, std::uint64_t count) {
  open_.values.merge(totals.values);
  open_.products.merge(totals.products);
  count_ += count;
}

Times RowSums::times() const {
  Times times = times_;
  if (staging_) times.transfer += staging_->seconds();
  return times;
}

}  // namespace masu
