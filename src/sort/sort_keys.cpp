// SPDX-License-Identifier: Apache-2.0
#include "sort/sort_keys.h"

#include "runtime/backend.h"
#include "runtime/whole.h"
#include "sort/sort_kernels.h"
#include "sort/sort_keys_plan.h"
#include "sort/sort_plan.h"

#include <algorithm>
#include <array>

namespace masu::sort_keys {

namespace {

constexpr std::uint64_t most_keys = (std::uint64_t{1} << 31) - 16;  // places are uint
// Packed keys need large tiles: with 48 KiB of local memory the other way is faster (H200, OpenCL, 2026-11).
constexpr std::uint64_t packed_local_bytes = std::uint64_t{96} << 10;

// From so many keys on, it is faster than the other ways (H200, 2026-11).
constexpr std::uint64_t least_keys = std::uint64_t{1} << 22;

class Sorter {
 public:
  Sorter(Stream& stream, const BufferBase& keys, const BufferBase* result, const Companions& companions,
         const Subject& subject, const SortJob& job, const BufferBase* scratch, unsigned bucket_bits, DeviceWork& work)
      : stream_(stream),
        info_(stream.device().info()),
        keys_(keys),
        result_(result != nullptr ? *result : *companions.buffer),
        subject_(subject),
        bucket_bits_(bucket_bits),
        count_(static_cast<std::uint32_t>(job.pieces.count)),
        flipped_(job.order == Order::descending ? 1 : 0),
        tuning_(tuning_of(info_, subject, bucket_bits)),
        layout_(layout_of(tuning_, subject, job.pieces.count)),
        scratch_(sort_kernels::memory_of(stream.device(), scratch, layout_.bytes, work)),
        parted_(here(layout_.parted, tuning_.key_bytes)),
        sorted_(subject.packed() ? here(layout_.sorted, tuning_.key_bytes) : whole_of(result_)),
        values_(subject.value_bytes != 0 ? whole_of(*companions.buffer) : here(0, 0)),
        parted_values_(here(layout_.parted_values, subject.value_bytes)),
        looked_up_(subject.value_bytes != 0 && is_float(subject.dtype) && sort_kernels::same_place(keys, result_)),
        work_(work) {
    const auto defines = part_defines(info_, subject, bucket_bits);
    const Device& device = stream.device();
    parts_ = tuning_.tallies ? runtime::own_program(*device.implementation(), part_files, defines)
                             : runtime::own_program(*device.implementation(), crowded_files, defines);
  }

  void run() {
    constexpr std::uint32_t zero = 0;
    work_.done(Event(stream_.implementation().fill(*scratch_.memory(), at(layout_.header),
                                                   layout_.starts - layout_.header, &zero, sizeof zero)));
    // Floats that are looked up by their index while they are overwritten.
    if (looked_up_) sort_kernels::copy(stream_, keys_, here(layout_.source, size_of(subject_.dtype)), work_);
    count();
    if (subject_.has_specials()) launch_special("special_count", false);
    if (subject_.has_specials()) launch_special("special_move", true);
    part();
    finish(Finish::all);
    if (tuning_.join_bits != 0) finish(Finish::singles);
    if (tuning_.middle.group != 0) finish(Finish::middle);
    for (unsigned level = 0; level < tuning_.levels(); ++level) split(level);
    if (tuning_.tally_group != 0) tally();
    if (tuning_.tallies) {
      huge("huge_count", false);
      huge("huge_fill", true);
    } else {
      finish(Finish::entries);
    }
    if (tuning_.finishes_full()) finish_full();
    if (subject_.has_specials()) restore();
  }

 private:
  using Arguments = std::vector<KernelArgument>;

  [[nodiscard]] std::uint64_t at(std::uint64_t place) const { return scratch_.byte_offset() + place; }
  [[nodiscard]] std::uint64_t word_at(unsigned word) const { return at(layout_.header) + word * std::uint64_t{4}; }
  // Memory for something of each key.
  [[nodiscard]] Buffer<std::byte> here(std::uint64_t place, std::uint64_t bytes) const {
    return scratch_.slice(place, count_ * bytes);
  }
  static Buffer<std::byte> whole_of(const BufferBase& buffer) {
    return {buffer.device(), buffer.memory(), buffer.byte_offset(), buffer.size_bytes()};
  }
  static void add(Arguments& arguments, const BufferBase& buffer) {
    arguments.emplace_back(whole(buffer));
    arguments.emplace_back(buffer.byte_offset());
  }
  static void add(Arguments& arguments, std::initializer_list<std::uint64_t> places) {
    for (const std::uint64_t place : places) arguments.emplace_back(place);
  }
  // MASU_VALUE_BUFFERS
  void add_values(Arguments& arguments, const BufferBase& from, const BufferBase& to) const {
    if (subject_.value_bytes == 0) return;
    add(arguments, from);
    add(arguments, to);
  }
  // MASU_RESULT_BUFFERS
  void add_result(Arguments& arguments) const {
    if (!subject_.packed()) return;
    add(arguments, result_);
    if (subject_.value_bytes == 0) return;
    add(arguments, values_);
    if (looked_up_) add(arguments, here(layout_.source, size_of(subject_.dtype)));
    else add(arguments, keys_);
  }
  void launch(std::string_view name, std::uint64_t groups, std::uint64_t group, const Arguments& arguments) {
    sort_kernels::launch(stream_, *parts_->kernel(name), groups, group, arguments, work_);
  }

  void count() {
    const unsigned ranges = tuning_.buckets() / tuning_.count_bins;
    Arguments arguments;
    add(arguments, keys_);
    arguments.emplace_back(whole(scratch_));
    add(arguments, {at(layout_.header), at(layout_.counts)});
    arguments.emplace_back(count_);
    arguments.emplace_back(flipped_);
    arguments.emplace_back(LocalMemory{tuning_.count_bins * std::uint64_t{2}});
    launch("keys_count", std::uint64_t{ranges} * tuning_.units * (ranges == 1 ? 1 : 2), tuning_.count_group, arguments);
    Arguments places{whole(scratch_)};
    add(places,
        {at(layout_.header), at(layout_.counts), at(layout_.starts), at(layout_.opens[0]), at(layout_.rows[0]),
         at(layout_.tiles[0]), at(layout_.singles), at(layout_.middle), at(layout_.tallies), at(layout_.huges)});
    places.emplace_back(tuning_.tally_most(count_));
    places.emplace_back(flipped_);
    places.emplace_back(LocalMemory{tuning_.places_group * std::uint64_t{6 * 4} + 16});
    launch("keys_places", tuning_.buckets() / tuning_.places_group, tuning_.places_group, places);
  }

  void part() {
    const std::uint64_t tile = tuning_.part.tile();
    const LocalMemory local{tuning_.part_bytes()};
    Arguments first;
    add(first, keys_);
    add(first, parted_);
    add_values(first, values_, parted_values_);
    first.emplace_back(whole(scratch_));
    add(first, {at(layout_.counts), at(layout_.starts)});
    first.emplace_back(count_);
    first.emplace_back(flipped_);
    first.emplace_back(local);
    // One more than needed, where the first key does not lie at a multiple of 16 bytes; and one for the tiles.
    launch("keys_first", (count_ + 4 + tile - 1) / tile + 1, tuning_.part.group, first);
    Arguments second;
    add(second, parted_);
    add(second, sorted_);
    add_values(second, parted_values_, values_);
    second.emplace_back(whole(scratch_));
    add(second, {at(layout_.starts)});
    second.emplace_back(local);
    launch("keys_second", count_ / tile + 2 * 256, tuning_.part.group, second);
  }

  void finish(Finish which) {
    struct List {
      std::uint64_t place;
      unsigned word;
    };
    const List list = which == Finish::singles   ? List{layout_.singles, singles_word}
                      : which == Finish::entries ? List{layout_.entries, entries_word}
                                                 : List{layout_.middle, middle_word};
    const Shape shape = tuning_.shape(which);
    Arguments arguments;
    add(arguments, sorted_);
    add(arguments, parted_);
    add_result(arguments);
    if (subject_.value_bytes != 0) add(arguments, parted_values_);
    arguments.emplace_back(whole(scratch_));
    // Last, where buckets go that have too many keys in a bin.
    add(arguments,
        {at(layout_.header), at(layout_.counts), at(layout_.starts), at(list.place), word_at(list.word),
         at(which == Finish::middle ? layout_.opens[0] : layout_.full), at(layout_.rows[0]), at(layout_.tiles[0])});
    arguments.emplace_back(flipped_);
    arguments.emplace_back(LocalMemory{tuning_.finish_bytes(which)});
    const std::uint64_t groups =
        which == Finish::all ? tuning_.buckets() >> tuning_.join_bits : std::uint64_t{tuning_.units} * shape.resident;
    launch_of(finish_files, finish_defines(info_, subject_, which, bucket_bits_), "keys_finish", groups, shape.group,
              arguments);
  }
  void launch_of(std::span<const std::string_view> files, const std::vector<runtime::Define>& defines,
                 std::string_view name, std::uint64_t groups, std::uint64_t group, const Arguments& arguments) {
    sort_kernels::launch(stream_, *sort_kernels::kernel(stream_.device(), files, defines, name), groups, group,
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
    add(arguments, sorted_);
    add(arguments, parted_);
    arguments.emplace_back(whole(scratch_));
    return arguments;
  }
  void launch_tally(std::string_view name, Arguments& arguments, bool counters) {
    arguments.emplace_back(LocalMemory{tuning_.tally_bytes(counters)});
    launch_of(tally_files, tally_defines(info_, subject_, bucket_bits_), name,
              std::uint64_t{tuning_.units} * (counters ? 1 : 2), tuning_.tally_group, arguments);
  }

  void split(unsigned level) {
    const unsigned now = level % 2;
    const unsigned next = 1 - now;
    const std::uint64_t level_at = word_at(levels_word + 2 * level);
    const std::uint64_t groups = std::uint64_t{tuning_.units} * tuning_.part.resident;
    const std::initializer_list<std::uint64_t> lists{level_at, at(layout_.opens[now]), at(layout_.rows[now]),
                                                     at(layout_.tiles[now])};
    Arguments counted;
    add(counted, sorted_);
    add(counted, parted_);
    counted.emplace_back(whole(scratch_));
    add(counted, lists);
    counted.emplace_back(LocalMemory{(4096 + 4) * std::uint64_t{4}});
    launch("crowd_count", groups, tuning_.part.group, counted);
    Arguments parts{whole(scratch_)};
    add(parts, {at(layout_.header), level_at, at(layout_.opens[now]), at(layout_.rows[now]), at(layout_.opens[next]),
                at(layout_.rows[next]), at(layout_.tiles[next]), at(layout_.entries), at(layout_.tallies)});
    parts.emplace_back(tuning_.tally_most(count_));
    parts.emplace_back(LocalMemory{(3 * split_group + 1 + 4 * split_group) * std::uint64_t{4}});
    launch("crowd_split", std::uint64_t{tuning_.units} * 4, split_group, parts);
    Arguments scattered;
    add(scattered, sorted_);
    add(scattered, parted_);
    add_values(scattered, parted_values_, values_);
    scattered.emplace_back(whole(scratch_));
    add(scattered, lists);
    scattered.emplace_back(flipped_);
    scattered.emplace_back(LocalMemory{tuning_.part_bytes()});
    launch("crowd_scatter", groups, tuning_.part.group, scattered);
  }

  void finish_full() {
    const Entries entries = entries_of(info_, subject_);
    Arguments arguments;
    add(arguments, sorted_);
    add(arguments, parted_);
    add_result(arguments);
    if (subject_.value_bytes != 0) add(arguments, parted_values_);
    arguments.emplace_back(whole(scratch_));
    add(arguments, {word_at(full_word), at(layout_.full)});
    arguments.emplace_back(flipped_);
    arguments.emplace_back(LocalMemory{entries.local_bytes});
    launch_of(entry_files, entries.defines, "bucket_finish", std::uint64_t{tuning_.units} * entries.resident,
              entries.group, arguments);
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
    launch_of(special_files, special_defines(info_, subject_, bucket_bits_), name, special_chunks, special_group,
              arguments);
  }
  void restore() {
    Arguments arguments;
    add(arguments, parted_);
    add(arguments, sorted_);
    arguments.emplace_back(whole(scratch_));
    add(arguments, {at(layout_.header), at(layout_.starts + tuning_.zero_word() * 4)});
    arguments.emplace_back(count_);
    arguments.emplace_back(flipped_);
    launch_of(special_files, special_defines(info_, subject_, bucket_bits_), "special_restore",
              std::uint64_t{tuning_.units} * 4, special_group, arguments);
  }

  Stream& stream_;
  const DeviceInfo& info_;
  const BufferBase& keys_;
  const BufferBase& result_;
  Subject subject_;
  unsigned bucket_bits_;
  std::uint32_t count_;
  std::uint32_t flipped_;
  Tuning tuning_;
  Layout layout_;
  Buffer<std::byte> scratch_;
  Buffer<std::byte> parted_;
  Buffer<std::byte> sorted_;
  Buffer<std::byte> values_;
  Buffer<std::byte> parted_values_;
  bool looked_up_;
  std::shared_ptr<runtime::Module> parts_;
  DeviceWork& work_;
};

bool serves(const Subject& subject, const DeviceInfo& info, const Companions& companions) {
  if (!subject.packed()) return size_of(subject.dtype) >= 4;
  if (size_of(subject.dtype) != 4 || info.local_bytes < packed_local_bytes) return false;
  return subject.index_bytes != 0 ||
         (sort_plan::carried(companions.bytes) && sort_kernels::aligned(companions.buffer, companions.bytes));
}

}  // namespace

bool serves(const DeviceInfo& info, Dtype dtype, const Companions& companions, const SortJob& job) {
  const std::uint64_t count = job.pieces.count;
  const Subject subject = Subject::of(dtype, companions, count);
  if (!info.gpu || job.algorithm != SortAlgorithm::automatic || !job.pieces.segments.empty() || job.pieces.rows != 1 ||
      !serves(subject, info, companions) || count < least_keys || count > most_keys) {
    return false;
  }
  const Tuning tuning = tuning_of(info, subject, bucket_bits_of(subject, count));
  return info.local_bytes >= std::max(tuning.part_bytes(), tuning.finish_bytes(Finish::all));
}

std::uint64_t scratch_bytes(const DeviceInfo& info, Dtype dtype, const Companions& companions, std::uint64_t count) {
  const Subject subject = Subject::of(dtype, companions, count);
  return layout_of(tuning_of(info, subject, bucket_bits_of(subject, count)), subject, count).bytes;
}

void sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase* result, const Companions& companions,
          const SortJob& job, const BufferBase* scratch, DeviceWork& work, unsigned bucket_bits) {
  const Subject subject = Subject::of(dtype, companions, job.pieces.count);
  if (bucket_bits == 0) bucket_bits = bucket_bits_of(subject, job.pieces.count);
  Sorter(stream, keys, result, companions, subject, job, scratch, bucket_bits, work).run();
}

}  // namespace masu::sort_keys
