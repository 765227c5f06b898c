// SPDX-License-Identifier: Apache-2.0
#include "sort/sort_keys.h"

#include "runtime/backend.h"
#include "runtime/whole.h"
#include "sort/sort_buckets.h"
#include "sort/sort_kernels.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace masu::sort_keys {

namespace {

constexpr std::uint64_t most_keys = (std::uint64_t{1} << 31) - 16;  // places are uint
// From so many keys on, it is faster than the other ways (H200, 2026-11).
constexpr std::uint64_t least_keys = std::uint64_t{1} << 22;
constexpr std::uint64_t bucket_keys = 4096;  // on average
// Keys of 4 bytes have a faster finish where buckets are 16 of their bits; from so many keys on.
constexpr std::uint64_t narrow_keys = std::uint64_t{1} << 26;
constexpr unsigned row_words = 260;
constexpr unsigned open_words = 4;
constexpr unsigned tile_words = 3;
constexpr unsigned entry_words = 3;
constexpr unsigned header_words = 64;
constexpr unsigned entries_word = 3;
constexpr unsigned levels_word = 8;
constexpr unsigned special_group = 256;
constexpr unsigned special_chunks = 4096;
constexpr unsigned split_group = 256;
constexpr unsigned most_tallied = 1U << 21;

// Work-group sizes and keys of a work-item.
struct Shape {
  unsigned group;
  unsigned items;
  unsigned resident;
  [[nodiscard]] unsigned tile() const noexcept { return group * items; }
};

// Constants of the kernels for a device, by its local memory: all of a compute unit of a GPU, or 48 KiB.
struct Tuning {
  Shape part;
  Shape finish;
  unsigned bin_bits;  // of keys_finish
  Shape middle;       // keys_finish of a list; no work-items: there is none
  unsigned middle_bits;
  unsigned tally_group;  // 0: there is none
  unsigned count_group;
  unsigned count_bins;
  unsigned places_group;
  bool unroll;

  unsigned most = 0;  // keys of a bucket that a work-group finishes
  unsigned bucket_bits = 0;
  unsigned units = 1;   // compute units of the device
  bool narrow = false;  // keys of 4 bytes, of which a bucket leaves 16 bits

  [[nodiscard]] unsigned buckets() const noexcept { return 1U << bucket_bits; }
  [[nodiscard]] unsigned start_words() const noexcept { return buckets() + 3 * 256 + 2; }  // as in sort_keys.cl
  // Where the place behind the last zero stands.
  [[nodiscard]] std::uint64_t zero_word() const noexcept { return buckets() + 256 + 128; }
  // Whether what a work-group cannot finish is counted, and written anew: no bucket is parted further.
  [[nodiscard]] bool tallies() const noexcept { return narrow && tally_group != 0; }
};

Tuning shapes_of(const DeviceInfo& info, Dtype dtype) {
  const bool wide = size_of(dtype) == 8;
  if (info.local_bytes >= std::uint64_t{176} << 10 && info.max_work_group_size >= 1024) {
    if (wide) return {{512, 12, 2}, {512, 9, 3}, 12, {1024, 12, 1}, 14, 1024, 1024, 65536, 256, info.gpu};
    return {{512, 24, 2}, {256, 18, 6}, 12, {1024, 24, 1}, 14, 1024, 1024, 65536, 256, info.gpu};
  }
  if (wide) return {{256, 12, 1}, {256, 16, 1}, 12, {0, 0, 0}, 0, 0, 256, 16384, 256, info.gpu};
  return {{256, 24, 1}, {256, 18, 1}, 12, {0, 0, 0}, 0, 0, 256, 16384, 256, info.gpu};
}

Tuning tuning_of(const DeviceInfo& info, Dtype dtype, unsigned bucket_bits) {
  Tuning tuning = shapes_of(info, dtype);
  tuning.bucket_bits = bucket_bits;
  tuning.units = std::max(1U, static_cast<unsigned>(info.compute_units));
  tuning.narrow = size_of(dtype) == 4 && bucket_bits == most_bucket_bits;
  if (size_of(dtype) == 4 && !tuning.narrow) {  // whole keys lie in local memory
    tuning.finish = {256, 18, tuning.middle.group != 0 ? 4U : 1U};
    if (tuning.middle.group != 0) tuning.middle = {1024, 16, 1};
  }
  tuning.count_bins = std::min(tuning.count_bins, tuning.buckets());
  tuning.most = std::min(tuning.finish.tile(), sort_buckets::finish_of_keys(info, dtype).most);
  return tuning;
}

// Each takes 8 bits of what buckets leave.
unsigned levels_of(const Tuning& tuning, Dtype dtype) {
  if (tuning.tallies()) return 0;
  return static_cast<unsigned>((8 * size_of(dtype) - tuning.bucket_bits + 7) / 8);
}

std::uint64_t part_bytes(const Tuning& tuning, Dtype dtype) {
  return tuning.part.tile() * size_of(dtype) + (4096 + 256 + tuning.part.group + 4) * std::uint64_t{4};
}
std::uint64_t finish_bytes(const Tuning& tuning, Dtype dtype, unsigned group, unsigned most, unsigned bin_bits) {
  const std::uint64_t kept = tuning.narrow ? (most + 200) * std::uint64_t{2} : most * size_of(dtype);
  return (std::uint64_t{4} << (bin_bits - 1)) + kept + (group + 4) * std::uint64_t{4};
}
// With the counters of crowd_tally and huge_count, or with what huge_fill needs of them.
std::uint64_t tally_bytes(const Tuning& tuning, bool counters) {
  return (tuning.tally_group * 10 + 4 + (counters ? 32768 + most_tallied / 32768 + 4 : 0)) * std::uint64_t{4};
}
// Keys of a bucket that one work-group may count: fewer than its share of all, so that the others do not wait for it.
std::uint32_t tally_most(const Tuning& tuning, std::uint64_t count) {
  if (tuning.tally_group == 0) return 0;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(count * 3 / 5 / tuning.units, 65536, most_tallied));
}

struct Layout {
  std::uint64_t parted = 0;
  std::uint64_t header = 0;
  std::uint64_t counts = 0;  // behind the header: both are cleared
  std::uint64_t starts = 0;
  std::uint64_t chunks = 0;
  std::array<std::uint64_t, 2> opens{};
  std::array<std::uint64_t, 2> rows{};
  std::array<std::uint64_t, 2> tiles{};
  std::uint64_t entries = 0;
  std::uint64_t middle = 0;
  std::uint64_t tallies = 0;
  std::uint64_t huges = 0;
  std::uint64_t bytes = 0;
};

Layout layout_of(const Tuning& tuning, Dtype dtype, std::uint64_t count) {
  Layout layout;
  std::uint64_t end = 0;
  const auto reserve = [&](std::uint64_t bytes) { return std::exchange(end, end + (bytes + 15) / 16 * 16); };
  const std::uint64_t most_open = count / (tuning.most + 1) + 1;
  layout.parted = reserve(count * size_of(dtype));
  layout.header = reserve(header_words * 4);
  layout.counts = reserve(tuning.buckets() * 4);
  layout.starts = reserve(tuning.start_words() * 4);
  if (is_float(dtype)) layout.chunks = reserve(special_chunks * 8);
  if (!tuning.tallies()) {
    for (std::uint64_t& at : layout.opens) at = reserve(most_open * open_words * 4);
    for (std::uint64_t& at : layout.rows) at = reserve(most_open * row_words * 4);
    for (std::uint64_t& at : layout.tiles) at = reserve((count / tuning.part.tile() + most_open) * tile_words * 4);
    // Entries of a crowded bucket: at most one for each window of half as many keys as one holds, one for each digit
    // with more keys than these, and one behind each of these. And any bucket may be one.
    layout.entries =
        reserve((tuning.buckets() + levels_of(tuning, dtype) * 7 * most_open) * std::uint64_t{entry_words} * 4);
  }
  layout.middle = reserve(std::min<std::uint64_t>(most_open, tuning.buckets()) * 4);
  layout.tallies = reserve(most_open * entry_words * 4);
  if (tuning.tallies()) layout.huges = reserve((count / tally_most(tuning, count) + 1) * entry_words * 4);
  layout.bytes = end;
  return layout;
}

void add(std::vector<runtime::Define>& defines, std::string name, std::uint64_t value) {
  defines.push_back({std::move(name), std::to_string(value)});
}
void add(std::vector<runtime::Define>& defines, const Shape& shape) {
  add(defines, "MASU_GROUP", shape.group);
  add(defines, "MASU_ITEMS", shape.items);
  add(defines, "MASU_RESIDENT", shape.resident);
}
std::vector<runtime::Define> key_defines(Dtype dtype, const Tuning& tuning) {
  std::vector<runtime::Define> defines = sort_kernels::key_defines(dtype, Order::ascending);
  add(defines, "MASU_KEY_BITS", 8 * size_of(dtype));
  add(defines, "MASU_BUCKET_BITS", tuning.bucket_bits);
  add(defines, "MASU_PART_TILE", tuning.part.tile());
  return defines;
}

class Sorter {
 public:
  Sorter(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase& result, const SortJob& job,
         const BufferBase* scratch, unsigned bucket_bits, DeviceWork& work)
      : stream_(stream),
        keys_(keys),
        dtype_(dtype),
        result_(result),
        count_(static_cast<std::uint32_t>(job.pieces.count)),
        flipped_(job.order == Order::descending ? 1 : 0),
        tuning_(tuning_of(stream.device().info(), dtype, bucket_bits)),
        layout_(layout_of(tuning_, dtype, job.pieces.count)),
        scratch_(sort_kernels::memory_of(stream.device(), scratch, layout_.bytes, work)),
        parted_(scratch_.slice(layout_.parted, job.pieces.count * size_of(dtype))),
        parts_(runtime::own_program(*stream.device().implementation(), part_files,
                                    part_defines(stream.device().info(), dtype, bucket_bits))),
        work_(work) {}

  void run() {
    constexpr std::uint32_t zero = 0;
    work_.done(Event(stream_.implementation().fill(*scratch_.memory(), at(layout_.header),
                                                   layout_.starts - layout_.header, &zero, sizeof zero)));
    count();
    if (is_float(dtype_)) launch_special("special_count", false);
    if (is_float(dtype_)) launch_special("special_move", true);
    part();
    finish(tuning_.finish, layout_.entries, false);
    if (tuning_.middle.group != 0) finish(tuning_.middle, layout_.opens[0], true);
    for (unsigned level = 0; level < levels_of(tuning_, dtype_); ++level) split(level);
    if (tuning_.tally_group != 0) tally();
    if (tuning_.tallies()) {
      huge("huge_count", false);
      huge("huge_fill", true);
    } else {
      finish_entries();
    }
    if (is_float(dtype_)) restore();
  }

 private:
  using Arguments = std::vector<KernelArgument>;

  [[nodiscard]] std::uint64_t at(std::uint64_t place) const { return scratch_.byte_offset() + place; }
  [[nodiscard]] std::uint64_t level_at(unsigned level) const {
    return at(layout_.header) + (levels_word + 2 * level) * std::uint64_t{4};
  }
  [[nodiscard]] std::uint64_t units() const { return stream_.device().info().compute_units; }
  static void add(Arguments& arguments, const BufferBase& buffer) {
    arguments.emplace_back(whole(buffer));
    arguments.emplace_back(buffer.byte_offset());
  }
  static void add(Arguments& arguments, std::initializer_list<std::uint64_t> places) {
    for (const std::uint64_t place : places) arguments.emplace_back(place);
  }
  void launch(std::string_view name, std::uint64_t groups, std::uint64_t group, const Arguments& arguments) {
    sort_kernels::launch(stream_, *parts_->kernel(name), groups, group, arguments, work_);
  }

  void count() {
    const unsigned ranges = tuning_.buckets() / tuning_.count_bins;
    const std::uint64_t local_bytes = tuning_.count_bins * std::uint64_t{2};
    Arguments arguments;
    add(arguments, keys_);
    arguments.emplace_back(whole(scratch_));
    add(arguments, {at(layout_.header), at(layout_.counts)});
    arguments.emplace_back(count_);
    arguments.emplace_back(flipped_);
    arguments.emplace_back(LocalMemory{local_bytes});
    launch("keys_count", ranges * (ranges == 1 ? units() : units() * 2), tuning_.count_group, arguments);
    Arguments places{whole(scratch_)};
    add(places, {at(layout_.header), at(layout_.counts), at(layout_.starts), at(layout_.opens[0]), at(layout_.rows[0]),
                 at(layout_.tiles[0]), at(layout_.middle), at(layout_.tallies), at(layout_.huges)});
    places.emplace_back(tally_most(tuning_, count_));
    places.emplace_back(flipped_);
    places.emplace_back(LocalMemory{tuning_.places_group * std::uint64_t{6 * 4} + 16});
    launch("keys_places", tuning_.buckets() / tuning_.places_group, tuning_.places_group, places);
  }

  void part() {
    const std::uint64_t tile = tuning_.part.tile();
    const LocalMemory local{part_bytes(tuning_, dtype_)};
    Arguments first;
    add(first, keys_);
    add(first, parted_);
    first.emplace_back(whole(scratch_));
    add(first, {at(layout_.counts), at(layout_.starts)});
    first.emplace_back(count_);
    first.emplace_back(flipped_);
    first.emplace_back(local);
    // One more than needed, where the first key does not lie at a multiple of 16 bytes; and one for the tiles.
    launch("keys_first", (count_ + 4 + tile - 1) / tile + 1, tuning_.part.group, first);
    Arguments second;
    add(second, parted_);
    add(second, result_);
    second.emplace_back(whole(scratch_));
    add(second, {at(layout_.starts)});
    second.emplace_back(local);
    launch("keys_second", count_ / tile + 2 * 256, tuning_.part.group, second);
  }

  // `list`: where buckets with too many keys in a bin go; `listed`: of the larger buckets.
  void finish(const Shape& shape, std::uint64_t list, bool listed) {
    const Device& device = stream_.device();
    const auto kernel = sort_kernels::kernel(
        device, finish_files, finish_defines(device.info(), dtype_, listed, tuning_.bucket_bits), "keys_finish");
    Arguments arguments;
    add(arguments, result_);
    arguments.emplace_back(whole(scratch_));
    add(arguments, {at(layout_.header), at(layout_.counts), at(layout_.starts), at(layout_.middle), at(list),
                    at(layout_.rows[0]), at(layout_.tiles[0])});
    arguments.emplace_back(flipped_);
    arguments.emplace_back(LocalMemory{finish_bytes(tuning_, dtype_, shape.group, listed ? shape.tile() : tuning_.most,
                                                    listed ? tuning_.middle_bits : tuning_.bin_bits)});
    sort_kernels::launch(stream_, *kernel, listed ? units() * shape.resident : tuning_.buckets(), shape.group,
                         arguments, work_);
  }

  void tally() {
    Arguments arguments = tallied();
    add(arguments, {at(layout_.header), at(layout_.tallies), at(layout_.huges)});
    arguments.emplace_back(flipped_);
    launch_tally("crowd_tally", arguments, true);
  }
  void huge(std::string_view name, bool fills) {
    Arguments arguments = tallied();
    add(arguments, {at(layout_.header), at(layout_.huges)});
    if (fills) arguments.emplace_back(flipped_);
    launch_tally(name, arguments, !fills);
  }
  [[nodiscard]] Arguments tallied() const {
    Arguments arguments;
    add(arguments, result_);
    add(arguments, parted_);
    arguments.emplace_back(whole(scratch_));
    return arguments;
  }
  void launch_tally(std::string_view name, Arguments& arguments, bool counters) {
    const auto kernel = sort_kernels::kernel(stream_.device(), tally_files,
                                             tally_defines(stream_.device().info(), dtype_, tuning_.bucket_bits), name);
    arguments.emplace_back(LocalMemory{tally_bytes(tuning_, counters)});
    sort_kernels::launch(stream_, *kernel, units() * (counters ? 1 : 2), tuning_.tally_group, arguments, work_);
  }

  void split(unsigned level) {
    const unsigned now = level % 2;
    const unsigned next = 1 - now;
    const LocalMemory local{part_bytes(tuning_, dtype_)};
    const std::uint64_t groups = units() * tuning_.part.resident;
    Arguments counted;
    add(counted, result_);
    add(counted, parted_);
    counted.emplace_back(whole(scratch_));
    add(counted, {level_at(level), at(layout_.opens[now]), at(layout_.rows[now]), at(layout_.tiles[now])});
    Arguments scattered = counted;
    counted.emplace_back(LocalMemory{(4096 + 4) * std::uint64_t{4}});
    launch("crowd_count", groups, tuning_.part.group, counted);
    Arguments parts{whole(scratch_)};
    add(parts,
        {at(layout_.header), level_at(level), at(layout_.opens[now]), at(layout_.rows[now]), at(layout_.opens[next]),
         at(layout_.rows[next]), at(layout_.tiles[next]), at(layout_.entries), at(layout_.tallies)});
    parts.emplace_back(tally_most(tuning_, count_));
    parts.emplace_back(LocalMemory{(3 * split_group + 1 + 4 * split_group) * std::uint64_t{4}});
    launch("crowd_split", units() * 4, split_group, parts);
    scattered.emplace_back(flipped_);
    scattered.emplace_back(local);
    launch("crowd_scatter", groups, tuning_.part.group, scattered);
  }

  void finish_entries() {
    const Device& device = stream_.device();
    const sort_buckets::Finish finish = sort_buckets::finish_of_keys(device.info(), dtype_);
    const auto kernel = sort_kernels::kernel(device, sort_buckets::finish_files, finish.defines, "bucket_finish");
    Arguments arguments;
    add(arguments, result_);
    add(arguments, parted_);
    add(arguments, result_);
    arguments.emplace_back(whole(scratch_));
    add(arguments, {at(layout_.header) + entries_word * 4, at(layout_.entries)});
    arguments.emplace_back(flipped_);
    arguments.emplace_back(LocalMemory{finish.local_bytes});
    sort_kernels::launch(stream_, *kernel, units() * finish.resident, finish.group, arguments, work_);
  }

  void launch_special(std::string_view name, bool moves) {
    Arguments arguments;
    add(arguments, keys_);
    if (moves) add(arguments, parted_);
    arguments.emplace_back(whole(scratch_));
    add(arguments, {at(layout_.header), at(layout_.chunks)});
    if (moves) add(arguments, {at(layout_.starts + tuning_.zero_word() * 4)});
    arguments.emplace_back(count_);
    if (moves) arguments.emplace_back(flipped_);
    arguments.emplace_back(LocalMemory{(special_group + 2) * std::uint64_t{4}});
    sort_kernels::launch(stream_, *special(name), special_chunks, special_group, arguments, work_);
  }
  void restore() {
    Arguments arguments;
    add(arguments, parted_);
    add(arguments, result_);
    arguments.emplace_back(whole(scratch_));
    add(arguments, {at(layout_.header), at(layout_.starts + tuning_.zero_word() * 4)});
    arguments.emplace_back(count_);
    arguments.emplace_back(flipped_);
    sort_kernels::launch(stream_, *special("special_restore"), units() * 4, special_group, arguments, work_);
  }
  [[nodiscard]] std::shared_ptr<runtime::Kernel> special(std::string_view name) const {
    return sort_kernels::kernel(stream_.device(), special_files,
                                special_defines(stream_.device().info(), dtype_, tuning_.bucket_bits), name);
  }

  Stream& stream_;
  const BufferBase& keys_;
  Dtype dtype_;
  const BufferBase& result_;
  std::uint32_t count_;
  std::uint32_t flipped_;
  Tuning tuning_;
  Layout layout_;
  Buffer<std::byte> scratch_;
  Buffer<std::byte> parted_;
  std::shared_ptr<runtime::Module> parts_;
  DeviceWork& work_;
};

std::uint64_t least_local_bytes(const Tuning& tuning, Dtype dtype) {
  return std::max(part_bytes(tuning, dtype),
                  finish_bytes(tuning, dtype, tuning.finish.group, tuning.most, tuning.bin_bits));
}

}  // namespace

unsigned bucket_bits_of(Dtype dtype, std::uint64_t count) {
  if (size_of(dtype) == 4 && count >= narrow_keys) return most_bucket_bits;
  return std::clamp(static_cast<unsigned>(std::bit_width((count - 1) / bucket_keys)), least_bucket_bits,
                    size_of(dtype) == 4 ? most_bucket_bits - 1 : most_bucket_bits);
}

bool serves(const DeviceInfo& info, Dtype dtype, const Companions& companions, const SortJob& job) {
  return info.gpu && companions.kind == Companions::Kind::none && size_of(dtype) >= 4 &&
         job.algorithm == SortAlgorithm::automatic && job.pieces.segments.empty() && job.pieces.rows == 1 &&
         job.pieces.count >= least_keys && job.pieces.count <= most_keys &&
         info.local_bytes >= least_local_bytes(tuning_of(info, dtype, bucket_bits_of(dtype, job.pieces.count)), dtype);
}

std::uint64_t scratch_bytes(const DeviceInfo& info, Dtype dtype, std::uint64_t count) {
  return layout_of(tuning_of(info, dtype, bucket_bits_of(dtype, count)), dtype, count).bytes;
}

std::vector<runtime::Define> part_defines(const DeviceInfo& info, Dtype dtype, unsigned bucket_bits) {
  const Tuning tuning = tuning_of(info, dtype, bucket_bits);
  std::vector<runtime::Define> defines = key_defines(dtype, tuning);
  add(defines, tuning.part);
  add(defines, "MASU_COUNT_GROUP", tuning.count_group);
  add(defines, "MASU_COUNT_BINS", tuning.count_bins);
  add(defines, "MASU_PLACES_GROUP", tuning.places_group);
  add(defines, "MASU_MOST", tuning.most);
  add(defines, "MASU_MIDDLE_MOST", std::max(tuning.most, tuning.middle.tile()));
  add(defines, "MASU_TALLY", tuning.tallies() ? 1 : 0);
  add(defines, "MASU_UNROLL", tuning.unroll ? 1 : 0);
  return defines;
}

std::vector<runtime::Define> finish_defines(const DeviceInfo& info, Dtype dtype, bool listed, unsigned bucket_bits) {
  const Tuning tuning = tuning_of(info, dtype, bucket_bits);
  std::vector<runtime::Define> defines = key_defines(dtype, tuning);
  add(defines, listed ? tuning.middle : tuning.finish);
  add(defines, "MASU_BIN_BITS", listed ? tuning.middle_bits : tuning.bin_bits);
  add(defines, "MASU_MOST", listed ? tuning.middle.tile() : tuning.most);
  add(defines, "MASU_LISTED", listed ? 1 : 0);
  add(defines, "MASU_UNROLL", tuning.unroll ? 1 : 0);
  return defines;
}

std::vector<runtime::Define> special_defines(const DeviceInfo& info, Dtype dtype, unsigned bucket_bits) {
  std::vector<runtime::Define> defines = key_defines(dtype, tuning_of(info, dtype, bucket_bits));
  add(defines, "MASU_GROUP", special_group);
  return defines;
}

std::vector<runtime::Define> tally_defines(const DeviceInfo& info, Dtype dtype, unsigned bucket_bits) {
  const Tuning tuning = tuning_of(info, dtype, bucket_bits);
  std::vector<runtime::Define> defines = key_defines(dtype, tuning);
  add(defines, "MASU_GROUP", tuning.tally_group);
  add(defines, "MASU_TALLIED", most_tallied);
  return defines;
}

void sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase& result, const SortJob& job,
          const BufferBase* scratch, DeviceWork& work, unsigned bucket_bits) {
  if (bucket_bits == 0) bucket_bits = bucket_bits_of(dtype, job.pieces.count);
  Sorter(stream, keys, dtype, result, job, scratch, bucket_bits, work).run();
}

}  // namespace masu::sort_keys
