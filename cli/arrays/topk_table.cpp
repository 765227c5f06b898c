// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/topk_table.h"

#include "element_bits.h"
#include "ranks.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace masu::cli {
namespace {

constexpr std::uint64_t entry_bytes = 24;      // that the selection takes for each value that it keeps
constexpr std::uint64_t whole_row_bytes = 64;  // that a value of a whole row takes with the copies and the result of it

// Each thread keeps up to 2 k, and their merge 4 k.
bool fits(std::uint64_t k, std::uint64_t memory) {
  return k <= memory / entry_bytes / (2 * std::uint64_t{cpu_threads()} + 4);
}

}  // namespace

RowTopk::RowTopk(const TopkRequest& request) : request_(request) {
  if (fits(request.k, request.memory)) {
    accumulator_.emplace(request.device, request.dtype, request.k, request.how);
    return;
  }
  sorter_.emplace(ExternalSort::Request{request.device,
                                        {request.dtype, sizeof(std::uint64_t)},
                                        ExternalSort::Payload::given,
                                        request.how.largest ? Order::descending : Order::ascending,
                                        SortAlgorithm::automatic,
                                        request.memory / 2,
                                        request.tmpdir,
                                        std::nullopt});
}

void RowTopk::add(const ArrayView& piece) {
  if (accumulator_) return accumulator_->add(piece);
  const std::size_t size = size_of(piece.dtype);
  for (std::uint64_t done = 0; done < piece.count;) {
    const ExternalSort::Room room = sorter_->room();
    const std::uint64_t count = std::min(room.count, piece.count - done);
    std::memcpy(room.keys, static_cast<const std::byte*>(piece.data) + done * size, count * size);
    std::uint64_t index = sorter_->count();
    for (std::uint64_t i = 0; i < count; ++i, ++index)
      std::memcpy(room.payload + i * sizeof index, &index, sizeof index);
    sorter_->filled(count);
    done += count;
  }
}

void RowTopk::merge_ranks() {
  // A rank fails alone where its memory is smaller than that of the others.
  if (!accumulator_) {
    throw Error(
        ErrorCode::out_of_memory,
        fmt::format("topk: with several ranks the {} values must fit the memory of each (--memory)", request_.k));
  }
  times_ = accumulator_->times();
  merge_states("topk", request_.device, *accumulator_);
}

std::uint64_t RowTopk::finish_sorted(NumberedValues& entries) {
  const bool skip = request_.how.nan == NanPolicy::skip && is_float(request_.dtype);
  std::uint64_t skipped = 0;
  std::uint64_t left = request_.k;
  std::vector<std::uint64_t> indices;
  sorter_->finish([&](const Records& block) {
    // NaNs stand at one end of the order, so what is not NaN is one part of a block.
    std::uint64_t first = 0;
    std::uint64_t end = block.keys.count;
    while (skip && first < end && is_nan(block.keys, first)) ++first;
    while (skip && first < end && is_nan(block.keys, end - 1)) --end;
    skipped += block.keys.count - (end - first);
    const std::uint64_t count = std::min(left, end - first);
    indices.resize(count);
    if (count > 0)
      std::memcpy(indices.data(), block.payload + first * sizeof(std::uint64_t), count * sizeof(std::uint64_t));
    entries.append(part_of(block.keys, first, count), indices.data());
    left -= count;
  });
  times_ = {sorter_->times().transfer, sorter_->times().compute};
  return skipped;
}

std::uint64_t RowTopk::finish(NumberedValues& entries) {
  if (sorter_) return finish_sorted(entries);
  const TopkResult found = accumulator_->result();
  entries.append(found.view(), found.indices().data());
  times_.transfer += accumulator_->times().transfer;
  times_.compute += accumulator_->times().compute;
  return found.skipped();
}

TopkTable::TopkTable(TopkRequest request, std::optional<std::uint64_t> row_length)
    : request_(std::move(request)), result_{{request_.dtype, request_.memory / 4, request_.tmpdir}, {}, {}} {
  if (row_length && *row_length <= request_.memory / whole_row_bytes) short_rows_.emplace(*row_length);
  else if (row_length) long_rows_.emplace(*row_length);
}

void TopkTable::add(const ArrayView& piece) {
  count_ += piece.count;
  if (short_rows_) {
    short_rows_->add(piece, [this](const ArrayView& rows, std::uint64_t count) { add_rows(rows, count); });
  } else if (long_rows_) {
    long_rows_->add(piece, [this](const ArrayView& part, bool ends) { add_part(part, ends); });
  } else {
    add_part(piece, false);
  }
}

void TopkTable::add_rows(const ArrayView& data, std::uint64_t count) {
  Times took;
  TopkOptions how = request_.how;
  how.rows = count;
  how.times = &took;
  const TopkResult found = topk(request_.device, data, request_.k, how);
  for (std::uint64_t row = 0; row < count; ++row) {
    result_.entries.append(found.view(row), found.indices(row).data());
    result_.found.push_back(found.size(row));
    result_.skipped.push_back(found.skipped(row));
  }
  add_times(took);
}

void TopkTable::add_part(const ArrayView& part, bool ends) {
  if (!row_) row_.emplace(request_);
  row_->add(part);
  if (ends) end_row();
}

void TopkTable::end_row() {
  const std::uint64_t before = result_.entries.size();
  result_.skipped.push_back(row_->finish(result_.entries));
  result_.found.push_back(result_.entries.size() - before);
  add_times(row_->times());
  row_.reset();
}

void TopkTable::add_times(const Times& times) {
  times_.transfer += times.transfer;
  times_.compute += times.compute;
}

// The rows of the other ranks, behind those of the first.
void TopkTable::join_rows() {
  const std::size_t element = size_of(request_.dtype);
  const auto number = [](const std::byte* at) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  const auto give = [&](const Ranks::Send& send) {
    Ranks::Bytes message(2 * sizeof(std::uint64_t));
    result_.entries.each([&](const ArrayView& values, const ArrayView& indices) {
      const std::uint64_t kind[] = {1, values.count};
      std::memcpy(message.data(), kind, sizeof kind);
      message.resize(sizeof kind);
      const auto add = [&](const ArrayView& column) {
        const auto* first = static_cast<const std::byte*>(column.data);
        message.insert(message.end(), first, first + column.count * size_of(column.dtype));
      };
      add(indices);
      add(values);
      send(message);
    });
    for (std::size_t row = 0; row < result_.found.size(); ++row) {
      const std::uint64_t one[] = {0, result_.found[row], result_.skipped[row]};
      send(std::as_bytes(std::span(one)));
    }
  };
  const auto take = [&](int /*rank*/, std::span<const std::byte> message) {
    if (number(message.data()) == 0) {
      result_.found.push_back(number(message.data() + 8));
      result_.skipped.push_back(number(message.data() + 16));
      return;
    }
    const std::uint64_t count = number(message.data() + 8);
    std::vector<std::uint64_t> indices(count);
    if (count != 0) std::memcpy(indices.data(), message.data() + 16, count * sizeof(std::uint64_t));
    result_.entries.append({request_.dtype, message.data() + message.size() - count * element, count}, indices.data());
  };
  ranks().to_first("rows of topk", give, take);
}

TopkTable::Result TopkTable::finish() {
  if (!ranks().several()) {
    if (row_) end_row();
  } else if (short_rows_ || long_rows_) {
    join_rows();
  } else {
    if (!row_) row_.emplace(request_);
    row_->merge_ranks();
    end_row();
  }
  return std::move(result_);
}

}  // namespace masu::cli
