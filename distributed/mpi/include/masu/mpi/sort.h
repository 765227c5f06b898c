// SPDX-License-Identifier: Apache-2.0
/// @file
/// Sorting distributed data. Part of mpi.h, which says what holds.
///
/// Each rank sorts its own; the places where the shares of the ranks begin in the order of all are found exactly, by
/// counting prefixes of ordered keys; each pair of ranks exchanges what belongs to the other's share, from GPU to GPU
/// by NCCL; the received pieces, which come in the order of the ranks, are merged stably.
#pragma once

#include <masu/buffer.h>
#include <masu/mpi/call.h>
#include <masu/mpi/nccl.h>
#include <masu/mpi/part.h>
#include <masu/mpi/shares.h>
#include <masu/scan.h>
#include <masu/sort.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace masu::mpi {

/// What sorting took on this rank, in seconds of the host's clock.
struct SortReport {
  double sort = 0;      ///< this rank's own data, before anything is sent
  double exchange = 0;  ///< finding the shares and moving them, with waiting for other ranks
  double merge = 0;
  std::uint64_t sent_bytes = 0;  ///< to other ranks
  std::string note;              ///< why data of GPUs went through host memory; else empty
};

namespace detail {

/// The bytes of a buffer from one on, as a buffer of their own.
inline Buffer<std::byte> bytes_of(const BufferBase& buffer, std::uint64_t first, std::uint64_t bytes) {
  return Buffer<std::byte>(buffer.device(), buffer.memory(), buffer.byte_offset() + first, bytes);
}
inline Buffer<std::byte> bytes_of(const BufferBase& buffer) {
  return bytes_of(buffer, 0, buffer.size_bytes());
}

inline void add_seconds(double& seconds, const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Bytes that go through host memory at a time. A variable, so that tests can have many pieces of few bytes.
inline std::uint64_t host_piece = std::uint64_t{16} << 20;

/// Records that move to their ranks: [cuts[r], cuts[r + 1]) of `from` to rank r. `to` has them in the order of the
/// ranks that they come from.
class Moved {
 public:
  Moved(BufferBase& from, std::size_t record_bytes, Buffer<std::byte> to)
      : from_(from), size_(record_bytes), to_(std::move(to)) {}

  [[nodiscard]] Buffer<std::byte>& to() noexcept { return to_; }

  /// Through host memory: device memory goes by `room` (one part to send from, one to receive in), piece by piece.
  /// What fails is kept: the other ranks get as many bytes as they expect all the same.
  void exchange_on_host(Call& call, const Shares& shares, std::optional<HostBuffer<std::byte>>& room) {
    const Group& group = call.group();
    const auto self = static_cast<std::size_t>(group.rank());
    const auto ranks = static_cast<std::size_t>(group.size());
    for (std::size_t step = 1; step < ranks; ++step) {
      const std::size_t next = (self + step) % ranks;
      const std::size_t previous = (self + ranks - step) % ranks;
      const std::uint64_t out = shares.sent[next] * size_;
      const std::uint64_t in = shares.received[previous] * size_;
      for (std::uint64_t first = 0; first < std::max(out, in); first += host_piece) {
        const std::uint64_t out_first = std::min(out, first);
        const std::uint64_t in_first = std::min(in, first);
        const std::uint64_t out_here = std::min(host_piece, out - out_first);
        const std::uint64_t in_here = std::min(host_piece, in - in_first);
        const std::uint64_t from = shares.cuts[next] * size_ + out_first;
        const std::uint64_t to = shares.place(previous) * size_ + in_first;
        if (!room) {
          group.exchange(address(from_) + from, out_here, static_cast<int>(next), address(to_) + to, in_here,
                         static_cast<int>(previous));
          continue;
        }
        const std::span<std::byte> sent = room->span().first(out_here);
        const std::span<std::byte> received = room->span().subspan(host_piece, in_here);
        call.attempt([&] { bytes_of(from_, from, out_here).read(sent); });
        group.exchange(sent.data(), out_here, static_cast<int>(next), received.data(), in_here,
                       static_cast<int>(previous));
        call.attempt([&] { bytes_of(to_, to, in_here).write(received); });
      }
    }
  }
  /// From GPU to GPU: gives all messages to `exchange`. A message begins where both sides are aligned: what lies in
  /// front of the piece goes with it, into the gap.
  template <class Send, class Receive>
  void exchange_on_gpu(std::size_t self, const Shares& shares, const Send& send, const Receive& receive) {
    const auto move = [&](const auto& way, const BufferBase& buffer, std::uint64_t place, std::uint64_t count,
                          std::size_t rank) {
      if (count == 0) return;
      const std::uint64_t more = place * size_ % piece_alignment;
      way(buffer, place * size_ - more, count * size_ + more, static_cast<int>(rank));
    };
    for (std::size_t r = 0; r < shares.sent.size(); ++r) {
      if (r == self) continue;
      move(send, from_, shares.cuts[r], shares.sent[r], r);
      move(receive, to_, shares.place(r), shares.received[r], r);
    }
  }
  /// What this rank keeps.
  void keep(Stream& stream, std::size_t self, const Shares& shares) {
    const std::uint64_t bytes = shares.received[self] * size_;
    if (bytes == 0) return;
    Buffer<std::byte> kept = bytes_of(to_, shares.place(self) * size_, bytes);
    stream.copy(kept, bytes_of(from_, shares.cuts[self] * size_, bytes));
  }

 private:
  static std::byte* address(const BufferBase& buffer) {
    return static_cast<std::byte*>(buffer.native()) + buffer.byte_offset();
  }

  BufferBase& from_;
  std::size_t size_;
  Buffer<std::byte> to_;
};

/// Keys where they are, and values with them.
struct Sorted {
  BufferBase& keys;
  Dtype dtype;
  BufferBase* values = nullptr;
  std::size_t value_bytes = 0;
};

/// Sorts what `data` names, in place. `sort_here(options)` sorts this rank's own.
template <class SortHere>
SortReport sort_all(Call& call, const Sorted& data, const SortOptions& options, const SortHere& sort_here) {
  const Group& group = call.group();
  const auto self = static_cast<std::size_t>(group.rank());
  const std::size_t key_bytes = size_of(data.dtype);
  const std::uint64_t count = data.keys.size_bytes() / key_bytes;
  SortReport report;
  SortOptions own{.order = options.order, .algorithm = options.algorithm};
  Shares shares;
  std::optional<Buffer<std::byte>> memory;
  std::vector<Moved> moved;
  call.attempt([&] {
    if (options.rows != 1 || !options.segments.empty() || options.prepared != nullptr) {
      throw Error(ErrorCode::invalid_argument, "mpi: sort: rows must be 1 and segments none");
    }
    if (group.size() > 1) {
      // A copy of everything, which sorting may use before.
      const std::uint64_t room = count + gaps_of(static_cast<std::uint64_t>(group.size()));
      const std::uint64_t first_value = (room * key_bytes + 255) / 256 * 256;
      const std::uint64_t sorting = masu::sort_workspace(data.keys.device(), data.dtype, count, data.value_bytes, own);
      memory.emplace(data.keys.device(), std::max(first_value + room * data.value_bytes, sorting));
      own.workspace = &*memory;
      moved.emplace_back(data.keys, key_bytes, bytes_of(*memory, 0, room * key_bytes));
      if (data.values != nullptr) {
        moved.emplace_back(*data.values, data.value_bytes, bytes_of(*memory, first_value, room * data.value_bytes));
      }
      shares = Shares(static_cast<std::size_t>(group.size()));
    }
    add_seconds(report.sort, [&] { sort_here(own); });
  });
  call.agree();
  if (group.size() == 1) return report;
  std::optional<GpuExchange> exchange;
  std::optional<HostBuffer<std::byte>> room;
  std::optional<Stream> stream;
  bool all_stay = false;
  add_seconds(report.exchange, [&] {
    GpuLink* const link = GpuLinks::of(call, data.keys.device(), report.note);
    if (data.keys.device().kind() == DeviceKind::cpu && !nccl_for_cpu) report.note.clear();
    group.from_each(count, shares.counts);
    dispatch(data.dtype, [&](auto tag) {
      find_shares<typename decltype(tag)::type>(call, data.keys, own.order, link != nullptr, shares);
    });
    report.sent_bytes = (count - shares.sent[self]) * (key_bytes + data.value_bytes);
    all_stay = shares.sent[self] == count && shares.received[self] == count;
    call.attempt([&] {
      stream.emplace(data.keys.device(), Timing::off);
      if (link == nullptr) {
        if (data.keys.device().kind() != DeviceKind::cpu && !all_stay) {
          room.emplace(data.keys.device(), 2 * host_piece);
        }
      } else {
        exchange.emplace(*link);
        exchange->start([&](const auto& send, const auto& receive) {
          for (Moved& each : moved) each.exchange_on_gpu(self, shares, send, receive);
        });
      }
    });
    call.agree();
    call.attempt([&] {
      if (all_stay) return;
      for (Moved& each : moved) each.keep(*stream, self, shares);
    });
    if (link == nullptr) {
      for (Moved& each : moved) each.exchange_on_host(call, shares, room);
    }
    call.attempt([&] {
      if (exchange) exchange->finish();
      stream->finish();
    });
  });
  call.attempt([&] {
    add_seconds(report.merge, [&] {
      if (all_stay) return;
      if (data.values == nullptr) {
        masu::merge_sorted(moved[0].to(), data.dtype, shares.runs, data.keys, {.order = own.order});
      } else {
        masu::merge_sorted_by_key(moved[0].to(), data.dtype, moved[1].to(), data.value_bytes, shares.runs, data.keys,
                                  *data.values, {.order = own.order});
      }
    });
  });
  call.agree();
  return report;
}

/// Device memory, on its device.
inline SortReport sort_buffers(Call& call, const Sorted& data, const SortOptions& options) {
  call.agree();  // as sort_arrays on ranks with host data
  return sort_all(call, data, options, [&](const SortOptions& own) {
    if (data.values == nullptr) masu::sort(data.keys, data.dtype, own);
    else masu::sort_by_key(data.keys, data.dtype, *data.values, data.value_bytes, own);
  });
}

/// Host memory, on a device; without one on `cpu` unless MASU_DEVICE names another. `values` may have no records.
inline SortReport sort_arrays(Call& call, const std::optional<Device>& named, MutableArrayView keys, RecordsView values,
                              const SortOptions& options) {
  std::byte none{};
  const bool with_values = values.data != nullptr || values.count != 0;
  std::optional<Buffer<std::byte>> keys_here;
  std::optional<Buffer<std::byte>> values_here;
  call.attempt([&] {
    const Device cpu = Device::open("cpu");
    const auto wrap = [&](void* data, std::uint64_t bytes) {
      return Buffer<std::byte>::wrap_host(cpu, {bytes == 0 ? &none : static_cast<std::byte*>(data), bytes});
    };
    keys_here = wrap(keys.data, keys.count * size_of(keys.dtype));
    values_here = wrap(values.data, values.count * values.record_bytes);
  });
  call.agree();
  const Sorted data{*keys_here, keys.dtype, with_values ? &*values_here : nullptr,
                    with_values ? values.record_bytes : 0};
  return sort_all(call, data, options, [&](SortOptions own) {
    own.workspace = nullptr;  // it is of the host
    const Device device = named ? *named : device_for(Work::moving);
    if (with_values) masu::sort_by_key(device, keys, values, own);
    else masu::sort(device, keys, own);
  });
}

inline Text sort_text(std::string_view function, Dtype dtype, const SortOptions& options) {
  return Text(function).with(to_string(dtype)).with(options.order == Order::descending ? "descending" : "ascending");
}

inline void check_each(std::string_view function, const char* what, std::uint64_t got, std::uint64_t keys) {
  if (got == keys) return;
  throw Error(ErrorCode::invalid_argument, "mpi: " + std::string(function) + ": there must be " + what +
                                               " for each key, got " + std::to_string(got) + " for " +
                                               std::to_string(keys));
}

/// Consecutive numbers that start at `before`, the number of elements of the ranks before.
inline void number(Buffer<std::uint64_t>& numbers, std::uint64_t before) {
  if (numbers.empty()) return;
  numbers.fill(1);
  numbers.write({&before, 1});
  masu::scan(numbers, Dtype::u64, numbers);
}

}  // namespace detail

/// Sorts the data of all ranks, stably, as sort.h says; rank 0 then has the first of them, and every rank as many as it
/// gave. In place, on a device; without one on `cpu`, unless MASU_DEVICE names another. options.rows must be 1,
/// options.segments empty and options.prepared null; workspace and times are not used. After an error the data of all
/// ranks together may be lost.
inline SortReport sort(MPI_Comm comm, const std::optional<Device>& device, MutableArrayView data,
                       const SortOptions& options = {}) {
  detail::Call call(comm, [&] { return detail::sort_text("sort", data.dtype, options); });
  return detail::sort_arrays(call, device, data, {}, options);
}
/// The same with payload: as many values as keys, of one size on every rank.
inline SortReport sort_by_key(MPI_Comm comm, const std::optional<Device>& device, MutableArrayView keys,
                              RecordsView values, const SortOptions& options = {}) {
  detail::Call call(comm, [&] {
    return detail::sort_text("sort_by_key", keys.dtype, options).with("bytes of a value", values.record_bytes);
  });
  call.attempt([&] { detail::check_each("sort_by_key", "a value", values.count, keys.count); });
  // A rank without keys has values all the same: none of them.
  std::byte nothing{};
  if (values.data == nullptr) values.data = &nothing;
  return detail::sort_arrays(call, device, keys, values, options);
}
/// The order of the keys of all ranks: index i of rank 0, the first one's share, then those of rank 1 … says which key,
/// counted over all ranks, comes there. Keys stay as they are; as many indices as keys.
inline SortReport argsort(MPI_Comm comm, const Part& keys, std::span<std::uint64_t> indices,
                          const SortOptions& options = {}) {
  detail::Call call(comm, [&] { return detail::sort_text("argsort", keys.dtype(), options); });
  detail::Bytes copy;
  std::optional<Device> device;
  call.attempt([&] {
    detail::check_each("argsort", "an index", indices.size(), keys.count());
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
  return detail::sort_arrays(call, *device, {keys.dtype(), copy.data(), keys.count()},
                             {indices.empty() ? &nothing : indices.data(), sizeof(std::uint64_t), indices.size()},
                             options);
}

/// The same of device memory, where it is: from GPU to GPU by NCCL. It needs a copy of keys and values, or what
/// sort_workspace() says where that is more.
inline SortReport sort(MPI_Comm comm, BufferBase& data, Dtype dtype, const SortOptions& options = {}) {
  detail::Call call(comm, [&] { return detail::sort_text("sort", dtype, options); });
  return detail::sort_buffers(call, {data, dtype}, options);
}
inline SortReport sort_by_key(MPI_Comm comm, BufferBase& keys, Dtype dtype, BufferBase& values, std::size_t value_bytes,
                              const SortOptions& options = {}) {
  detail::Call call(
      comm, [&] { return detail::sort_text("sort_by_key", dtype, options).with("bytes of a value", value_bytes); });
  call.attempt([&] {
    detail::check_each("sort_by_key", "a value", value_bytes == 0 ? 0 : values.size_bytes() / value_bytes,
                       keys.size_bytes() / size_of(dtype));
  });
  return detail::sort_buffers(call, {keys, dtype, &values, value_bytes}, options);
}
inline SortReport argsort(MPI_Comm comm, const BufferBase& keys, Dtype dtype, Buffer<std::uint64_t>& indices,
                          const SortOptions& options = {}) {
  detail::Call call(comm, [&] { return detail::sort_text("argsort", dtype, options); });
  std::optional<Buffer<std::byte>> copy;
  call.attempt([&] {
    detail::check_each("argsort", "an index", indices.size(), keys.size_bytes() / size_of(dtype));
    copy.emplace(keys.device(), keys.size_bytes());
    if (!copy->empty()) copy->copy_from(detail::bytes_of(keys));
  });
  call.agree();
  std::uint64_t before = indices.size();
  call.group().sum_before({&before, 1});
  call.attempt([&] { detail::number(indices, before); });
  return detail::sort_buffers(call, {*copy, dtype, &indices, sizeof(std::uint64_t)}, options);
}
template <Element T>
SortReport sort(MPI_Comm comm, Buffer<T>& data, const SortOptions& options = {}) {
  return mpi::sort(comm, data, dtype_of<T>, options);
}
template <Element K, class V>
SortReport sort_by_key(MPI_Comm comm, Buffer<K>& keys, Buffer<V>& values, const SortOptions& options = {}) {
  return mpi::sort_by_key(comm, keys, dtype_of<K>, values, sizeof(V), options);
}
template <Element T>
SortReport argsort(MPI_Comm comm, const Buffer<T>& keys, Buffer<std::uint64_t>& indices,
                   const SortOptions& options = {}) {
  return mpi::argsort(comm, keys, dtype_of<std::remove_const_t<T>>, indices, options);
}
/// For host ranges.
template <HostRange R>
requires(!std::is_base_of_v<BufferBase, std::remove_cvref_t<R>>) SortReport
    sort(MPI_Comm comm, R&& data, const SortOptions& options = {}) {
  return mpi::sort(comm, std::nullopt, MutableArrayView(data), options);
}
template <HostRange K, HostRange V>
requires(!std::is_base_of_v<BufferBase, std::remove_cvref_t<K>>) SortReport
    sort_by_key(MPI_Comm comm, K&& keys, V&& values, const SortOptions& options = {}) {
  return mpi::sort_by_key(comm, std::nullopt, MutableArrayView(keys), RecordsView(values), options);
}

}  // namespace masu::mpi
