// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sorting distributed data. Part of mpi.h, which says what holds.
///
/// Each rank sorts its own; the places where the shares of the ranks begin in the order of all are found exactly, by
/// counting prefixes of ordered keys; each pair of ranks exchanges what the other's share has of it; the received
/// pieces, which come in the order of the ranks, are sorted stably.
#pragma once

#include <masu/mpi/call.h>
#include <masu/mpi/part.h>
#include <masu/scan.h>
#include <masu/sort.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace masu::mpi {

namespace detail {

/// The unsigned integer whose order is that of sort.h; descending, its complement.
template <class T>
std::uint64_t ordered_key(const T& value, bool descending) {
  constexpr unsigned bits = 8 * sizeof(T);
  constexpr std::uint64_t all = ~std::uint64_t{0} >> (64 - bits);
  constexpr std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  std::uint64_t stored = 0;
  std::memcpy(&stored, &value, sizeof(T));
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t key = stored;
  if constexpr (is_float(dtype_of<T>)) {
    constexpr std::uint64_t infinity = sizeof(T) == 2 ? 0x7c00 : sizeof(T) == 4 ? 0x7f800000 : 0x7ff0000000000000;
    const std::uint64_t magnitude = stored & ~sign;
    if (magnitude > infinity) key = all;
    else key = (stored & sign) != 0 ? sign - magnitude : sign + magnitude;
  } else if constexpr (std::is_signed_v<T>) {
    key ^= sign;
  }
  return descending ? ~key & all : key;
}

/// The memory that finding the shares takes, all of it before the ranks send anything.
struct Shares {
  static constexpr unsigned digit_bits = 4;
  static constexpr std::size_t digits = std::size_t{1} << digit_bits;
  /// The key at the place where a share begins: its known digits, the local keys with them, the place among those of
  /// all.
  struct Border {
    std::uint64_t prefix = 0;
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    std::uint64_t place = 0;
  };

  Shares() = default;
  explicit Shares(std::size_t ranks)
      : counts(ranks),
        borders(ranks - 1),
        table(borders.size() * digits),
        ends(table.size()),
        before(borders.size()),
        cuts(ranks + 1),
        sent(ranks),
        received(ranks) {}

  std::vector<std::uint64_t> counts;  ///< the keys of each rank, which are its share too
  std::vector<Border> borders;
  std::vector<std::uint64_t> table;
  std::vector<std::uint64_t> ends;
  std::vector<std::uint64_t> before;
  std::vector<std::uint64_t> cuts;  ///< where the shares begin in this rank's sorted keys, their number at the end
  std::vector<std::uint64_t> sent;
  std::vector<std::uint64_t> received;
};

/// Finds shares.cuts from shares.counts.
template <class T>
void find_cuts(const Group& group, std::span<const T> keys, bool descending, Shares& shares) {
  constexpr unsigned digit_bits = Shares::digit_bits;
  constexpr std::size_t digits = Shares::digits;
  auto& [counts, borders, table, ends, before, cuts, sent, received] = shares;
  std::uint64_t begin = 0;
  for (std::size_t b = 0; b < borders.size(); ++b) {
    begin += counts[b];
    borders[b] = {0, 0, keys.size(), begin};
  }
  for (unsigned shift = 8 * sizeof(T); shift != 0;) {
    shift -= digit_bits;
    for (std::size_t b = 0; b < borders.size(); ++b) {
      std::uint64_t at = borders[b].first;
      for (std::size_t d = 0; d < digits; ++d) {
        const std::uint64_t last = borders[b].prefix << digit_bits | d;
        const auto end = std::partition_point(keys.begin() + static_cast<std::ptrdiff_t>(at),
                                              keys.begin() + static_cast<std::ptrdiff_t>(borders[b].end),
                                              [&](const T& x) { return ordered_key(x, descending) >> shift <= last; });
        ends[b * digits + d] = static_cast<std::uint64_t>(end - keys.begin());
        table[b * digits + d] = ends[b * digits + d] - at;
        at = ends[b * digits + d];
      }
    }
    group.sum(table);
    for (std::size_t b = 0; b < borders.size(); ++b) {
      Shares::Border& border = borders[b];
      const std::uint64_t* numbers = table.data() + b * digits;
      std::size_t d = 0;
      while (d + 1 < digits && border.place >= numbers[d]) border.place -= numbers[d++];
      border.prefix = border.prefix << digit_bits | d;
      border.end = ends[b * digits + d];
      if (d != 0) border.first = ends[b * digits + d - 1];
    }
  }
  // Equal keys go in the order of the ranks.
  for (std::size_t b = 0; b < borders.size(); ++b) before[b] = borders[b].end - borders[b].first;
  group.sum_before(before);
  cuts.front() = 0;
  for (std::size_t b = 0; b < borders.size(); ++b) {
    const Shares::Border& border = borders[b];
    const std::uint64_t wanted = border.place - std::min(border.place, before[b]);
    cuts[b + 1] = border.first + std::min(wanted, border.end - border.first);
  }
  cuts.back() = keys.size();
  for (std::size_t r = 0; r < sent.size(); ++r) sent[r] = cuts[r + 1] - cuts[r];
}

/// Moves records [cuts[r], cuts[r + 1]) to rank r. `received`: how many come from each rank; they come in its order.
inline void exchange(const Group& group, const void* records, std::size_t size, std::span<const std::uint64_t> cuts,
                     std::span<const std::uint64_t> received, void* result) {
  const auto ranks = static_cast<std::size_t>(group.size());
  const auto self = static_cast<std::size_t>(group.rank());
  const auto at = [&](std::size_t r) {
    return std::accumulate(received.begin(), received.begin() + static_cast<std::ptrdiff_t>(r), std::uint64_t{0});
  };
  const auto* from = static_cast<const std::byte*>(records);
  auto* to = static_cast<std::byte*>(result);
  if (received[self] != 0) std::memcpy(to + at(self) * size, from + cuts[self] * size, received[self] * size);
  for (std::size_t step = 1; step < ranks; ++step) {
    const std::size_t next = (self + step) % ranks;
    const std::size_t previous = (self + ranks - step) % ranks;
    group.exchange(from + cuts[next] * size, (cuts[next + 1] - cuts[next]) * size, static_cast<int>(next),
                   to + at(previous) * size, received[previous] * size, static_cast<int>(previous));
  }
}

struct Nothing {
  void operator()() const {}
};

/// Sorts keys that are in host memory, and values with them; `values` may have no records. `finish` is the last of this
/// rank's work. No device: `cpu` unless MASU_DEVICE names another.
template <class Finish = Nothing>
void sort_all(Call& call, const std::optional<Device>& named, MutableArrayView keys, RecordsView values,
              const SortOptions& options, const Finish& finish = {}) {
  const Group& group = call.group();
  Shares shares;
  const SortOptions own{.order = options.order, .algorithm = options.algorithm};
  const bool with_values = values.data != nullptr || values.count != 0;
  const auto sort_here = [&](MutableArrayView some, RecordsView theirs) {
    const Device device = named ? *named : device_for_scan();
    if (with_values) masu::sort_by_key(device, some, theirs, own);
    else masu::sort(device, some, own);
  };
  call.attempt([&] {
    if (options.rows != 1 || !options.segments.empty()) {
      throw Error(ErrorCode::invalid_argument, "mpi: sort: rows must be 1 and segments none");
    }
    sort_here(keys, values);
    if (group.size() == 1) finish();
    shares = Shares(static_cast<std::size_t>(group.size()));
  });
  call.agree();
  if (group.size() == 1) return;
  group.from_each(keys.count, shares.counts);
  const std::size_t size = size_of(keys.dtype);
  Bytes result;
  Bytes moved;
  call.attempt([&] {
    result.resize(keys.count * size);
    moved.resize(values.count * values.record_bytes);
  });
  call.agree();
  dispatch(keys.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    find_cuts(group, std::span(static_cast<const T*>(keys.data), keys.count), own.order == Order::descending, shares);
  });
  group.to_each(shares.sent, shares.received);
  exchange(group, keys.data, size, shares.cuts, shares.received, result.data());
  if (with_values) exchange(group, values.data, values.record_bytes, shares.cuts, shares.received, moved.data());
  call.attempt([&] {
    if (keys.count != 0) std::memcpy(keys.data, result.data(), result.size());
    if (!moved.empty()) std::memcpy(values.data, moved.data(), moved.size());
    sort_here(keys, values);
    finish();
  });
  call.agree();
}

inline Text sort_text(std::string_view function, Dtype dtype, const SortOptions& options) {
  return Text(function).with(to_string(dtype)).with(options.order == Order::descending ? "descending" : "ascending");
}

/// The bytes of a buffer on the host, and back.
inline Bytes read(const BufferBase& buffer) {
  return Buffer<const std::byte>(buffer.device(), buffer.memory(), buffer.byte_offset(), buffer.size_bytes()).read();
}
inline void write(BufferBase& buffer, const Bytes& bytes) {
  Buffer<std::byte>(buffer.device(), buffer.memory(), buffer.byte_offset(), buffer.size_bytes()).write(bytes);
}

}  // namespace detail

/// Sorts the data of all ranks, stably, as sort.h says; rank 0 then has the first of them, and every rank as many as it
/// gave. In place, on a device; without one on `cpu`, unless MASU_DEVICE names another. options.rows must be 1 and
/// options.segments empty; workspace and times are not used. After an error the data of all ranks together may be lost.
inline void sort(MPI_Comm comm, const std::optional<Device>& device, MutableArrayView data,
                 const SortOptions& options = {}) {
  detail::Call call(comm, [&] { return detail::sort_text("sort", data.dtype, options); });
  detail::sort_all(call, device, data, {}, options);
}
/// The same with payload: as many values as keys, of one size on every rank.
inline void sort_by_key(MPI_Comm comm, const std::optional<Device>& device, MutableArrayView keys, RecordsView values,
                        const SortOptions& options = {}) {
  detail::Call call(comm, [&] {
    return detail::sort_text("sort_by_key", keys.dtype, options).with("bytes of a value", values.record_bytes);
  });
  call.attempt([&] {
    if (values.count == keys.count) return;
    throw Error(ErrorCode::invalid_argument, "mpi: sort_by_key: there must be a value for each key, got " +
                                                 std::to_string(values.count) + " for " + std::to_string(keys.count));
  });
  // A rank without keys has values all the same: none of them.
  std::byte nothing{};
  if (values.data == nullptr) values.data = &nothing;
  detail::sort_all(call, device, keys, values, options);
}
/// The order of the keys of all ranks: index i of rank 0, the first one's share, then those of rank 1 … says which key,
/// counted over all ranks, comes there. Keys stay as they are; as many indices as keys.
inline void argsort(MPI_Comm comm, const Part& keys, std::span<std::uint64_t> indices,
                    const SortOptions& options = {}) {
  detail::Call call(comm, [&] { return detail::sort_text("argsort", keys.dtype(), options); });
  detail::Bytes copy;
  std::optional<Device> device;
  call.attempt([&] {
    if (indices.size() != keys.count()) {
      throw Error(ErrorCode::invalid_argument, "mpi: argsort: there must be an index for each key, got " +
                                                   std::to_string(indices.size()) + " for " +
                                                   std::to_string(keys.count()));
    }
    device = keys.device();
    const ArrayView host = keys.host(copy);
    if (keys.buffer() == nullptr && host.count != 0) {
      const auto* first = static_cast<const std::byte*>(host.data);
      copy.assign(first, first + host.count * size_of(host.dtype));
    }
  });
  call.agree();
  std::uint64_t before = keys.count();
  call.group().sum_before({&before, 1});
  std::iota(indices.begin(), indices.end(), before);
  std::uint64_t nothing = 0;
  detail::sort_all(call, *device, {keys.dtype(), copy.data(), keys.count()},
                   {indices.empty() ? &nothing : indices.data(), sizeof(std::uint64_t), indices.size()}, options);
}

/// Of device memory, by way of the host's.
inline void sort(MPI_Comm comm, BufferBase& data, Dtype dtype, const SortOptions& options = {}) {
  detail::Call call(comm, [&] { return detail::sort_text("sort", dtype, options); });
  detail::Bytes host;
  call.attempt([&] { host = detail::read(data); });
  detail::sort_all(call, data.device(), {dtype, host.data(), host.size() / size_of(dtype)}, {}, options,
                   [&] { detail::write(data, host); });
}
template <Element T>
void sort(MPI_Comm comm, Buffer<T>& data, const SortOptions& options = {}) {
  mpi::sort(comm, data, dtype_of<T>, options);
}
/// Of host ranges.
template <HostRange R>
requires(!std::is_base_of_v<BufferBase, std::remove_cvref_t<R>>) void sort(MPI_Comm comm, R&& data,
                                                                           const SortOptions& options = {}) {
  mpi::sort(comm, std::nullopt, MutableArrayView(data), options);
}
template <HostRange K, HostRange V>
void sort_by_key(MPI_Comm comm, K&& keys, V&& values, const SortOptions& options = {}) {
  mpi::sort_by_key(comm, std::nullopt, MutableArrayView(keys), RecordsView(values), options);
}

}  // namespace masu::mpi
