// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_keys.h"
#include "sort/device/sort_once.h"
#include "sort/device/sort_special.h"

#include "call/operands.h"

#include <span>
#include <string_view>

namespace masu::sort_keys {

namespace {

// Places are uint, and so are the ends of tiles after the last one.
constexpr std::uint64_t most_keys = (std::uint64_t{1} << 32) - (std::uint64_t{1} << 20);
// Packed keys need large tiles: with 48 KiB of local memory the other way is faster (H200, OpenCL, 2026-11).
constexpr std::uint64_t packed_local_bytes = std::uint64_t{96} << 10;

class Sorter {
 public:
  Sorter(Stream& stream, const Arrays& arrays, std::uint64_t count, const Subject& subject, const BufferBase* workspace,
         unsigned bucket_bits, ByDigitsWhere by_digits, DeviceWork& work)
      : stream_(stream),
        info_(stream.device().info()),
        arrays_(arrays),
        keys_(*arrays.source),
        result_(arrays.target != nullptr ? *arrays.target : *arrays.payload.buffer),
        subject_(subject),
        bucket_bits_(bucket_bits),
        count_(static_cast<std::uint32_t>(count)),
        flipped_(arrays.order == Order::descending ? 1 : 0),
        tuning_(tuning_of(info_, subject, bucket_bits)),
        by_digits_(by_digits_of(info_, subject, count, bucket_bits, by_digits)),
        layout_(layout_of(tuning_, subject, by_digits_, count)),
        workspace_(work.memory_for(stream.device(), workspace, layout_.bytes)),
        parted_(here(layout_.parted, tuning_.key_bytes)),
        sorted_(subject.packed() ? here(layout_.sorted, tuning_.key_bytes) : whole_of(result_)),
        values_(subject.value_bytes != 0 ? whole_of(*arrays.payload.buffer) : here(0, 0)),
        parted_values_(here(layout_.parted_values, subject.value_bytes)),
        looked_up_(subject.value_bytes != 0 && is_float(subject.dtype) && call::same_place(keys_, result_)),
        memory_(call::memory_of(workspace_)),
        parts_(stream.device(), part_files_of(tuning_),
               part_defines(info_, subject, bucket_bits, by_digits_.plan.group != 0), tuning_.part.group),
        work_(work) {}

  void run() {
    work_.done(call::clear(stream_, workspace_, layout_.header, layout_.starts - layout_.header));
    // Floats that are looked up by their index while they are overwritten.
    if (looked_up_) work_.done(call::copy(stream_, keys_, source()));
    count();
    if (by_digits_.plan.group != 0) by_digits();
    if (!tuning_.two_steps) places();
    else parts();
    if (subject_.has_specials()) move_specials();
    part_first();
    if (tuning_.two_steps) {
      count_parts();
      places();
    }
    part_second();
    finish(Finish::all);
    if (tuning_.join_bits != 0) finish(Finish::singles);
    for (unsigned i = 0; i < tuning_.larger_shapes(); ++i) finish(larger(i));
    for (unsigned level = 0; level < tuning_.levels(); ++level) split(level);
    if (tuning_.tally_group != 0) tally();
    if (tuning_.tallies) {
      huge("huge_count", false);
      huge("huge_fill", true);
    } else {
      finish(Finish::entries);
    }
    if (subject_.has_specials()) restore();
  }

 private:
  // Counters of 256 digits in 32 columns, and some words more.
  static constexpr LocalMemory columns = call::local<std::uint32_t>(256 * 32 + 32);

  static std::span<const std::string_view> part_files_of(const Tuning& tuning) {
    if (tuning.tallies) return part_files;
    return crowded_files;
  }

  [[nodiscard]] std::uint64_t at(std::uint64_t place) const { return workspace_.byte_offset() + place; }
  [[nodiscard]] std::uint64_t word_at(unsigned word) const { return at(layout_.header) + word * std::uint64_t{4}; }
  // Memory for something of each key.
  [[nodiscard]] Buffer<std::byte> here(std::uint64_t place, std::uint64_t bytes) const {
    return workspace_.slice(place, count_ * bytes);
  }
  [[nodiscard]] Buffer<std::byte> source() const { return here(layout_.source, size_of(subject_.dtype)); }
  static Buffer<std::byte> whole_of(const BufferBase& buffer) {
    return {buffer.device(), buffer.memory(), buffer.byte_offset(), buffer.size_bytes()};
  }
  // SORT_VALUE_BUFFERS
  [[nodiscard]] call::Arguments values(const BufferBase& from, const BufferBase& to) const {
    return subject_.value_bytes == 0 ? call::Arguments() : call::Arguments(from, to);
  }
  // SORT_RESULT_BUFFERS
  [[nodiscard]] call::Arguments result() const {
    if (!subject_.packed()) return call::Arguments();
    if (subject_.value_bytes == 0) return call::Arguments(result_);
    return looked_up_ ? call::Arguments(result_, values_, source()) : call::Arguments(result_, values_, keys_);
  }
  // What keys_finish moves.
  [[nodiscard]] call::Arguments moved() const {
    call::Arguments arguments(sorted_, parted_, result());
    if (subject_.value_bytes != 0) arguments.add(parted_values_);
    return arguments;
  }
  template <class... T>
  void launch(std::string_view name, std::uint64_t groups, unsigned group, const T&... arguments) {
    work_.done(parts_.in_groups_of(group).launch(stream_, name, groups, arguments...));
  }
  template <class... T>
  void launch_of(std::span<const std::string_view> files, const std::vector<runtime::Define>& defines,
                 std::string_view name, std::uint64_t groups, unsigned group, const T&... arguments) {
    work_.done(call::Kernels(stream_.device(), files, defines, group).launch(stream_, name, groups, arguments...));
  }

  void count() {
    launch("keys_count", std::uint64_t{tuning_.units} * (tuning_.two_steps ? 6 : 1), tuning_.count_group, keys_,
           memory_, at(layout_.header), at(layout_.counts), at(layout_.listed), count_, flipped_,
           by_digits_.crowded_pairs, tuning_.two_steps ? columns : call::local<std::uint16_t>(tuning_.buckets() + 64));
  }
  void parts() {
    launch("keys_parts", 1, 256, memory_, at(layout_.header), at(layout_.counts), at(layout_.starts), flipped_,
           call::local<std::uint32_t>(256));
  }
  void count_parts() {
    launch("parts_count", std::uint64_t{tuning_.units} * 12, 256, parted_, memory_, at(layout_.counts),
           at(layout_.starts), columns);
  }
  void places() {
    launch("keys_places", tuning_.buckets() / tuning_.places_group, tuning_.places_group, memory_, at(layout_.header),
           at(layout_.counts), at(layout_.starts), at(layout_.opens[0]), at(layout_.rows[0]), at(layout_.tiles[0]),
           at(layout_.singles), at(layout_.larger), at(layout_.tallies), at(layout_.huges), tuning_.tally_most(count_),
           flipped_, call::local<std::uint32_t>(tuning_.places_group * std::uint64_t{6} + 4));
  }

  // Keys that keys_count has found crowded: all other kernels find nothing to do then.
  void by_digits() {
    const sort_once::Layout layout{.one = layout_.parted,
                                   .other = layout_.sorted,
                                   .state = layout_.header + by_digits_word * std::uint64_t{4},
                                   .totals = layout_.totals,
                                   .tables = layout_.tables};
    call::Kernels once = sort_once::kernels(stream_, by_digits_.plan, sort_once::Kind::of(arrays_));
    sort_once::launch(stream_, once, by_digits_.plan, arrays_, count_, workspace_, layout, true, work_);
  }

  void part_first() {
    const std::uint64_t tile = tuning_.part.tile();
    // One more than needed, where the first key does not lie at a multiple of 16 bytes; and one for the tiles.
    launch("keys_first", (count_ + 4 + tile - 1) / tile + 1, tuning_.part.group, keys_, parted_,
           values(values_, parted_values_), memory_, at(layout_.header), at(layout_.counts), at(layout_.starts), count_,
           flipped_, LocalMemory{tuning_.part_bytes()});
  }
  void part_second() {
    launch("keys_second", count_ / tuning_.part.tile() + 2 * 256, tuning_.part.group, parted_, sorted_,
           values(parted_values_, values_), memory_, at(layout_.starts), LocalMemory{tuning_.part_bytes()});
  }

  void finish(Finish which) {
    struct List {
      std::uint64_t place;
      unsigned word;
    };
    List list{layout_.singles, singles_word};
    if (which == Finish::entries) list = {layout_.entries, entries_word};
    if (which >= Finish::larger) {
      const unsigned number = static_cast<unsigned>(which) - static_cast<unsigned>(Finish::larger);
      list = {layout_.larger + number * std::uint64_t{tuning_.buckets()} * 4, larger_word + number};
    }
    const Shape shape = tuning_.shape(which);
    const std::uint64_t groups =
        which == Finish::all ? tuning_.buckets() >> tuning_.join_bits : std::uint64_t{tuning_.units} * shape.resident;
    launch_of(finish_files, finish_defines(info_, subject_, which, bucket_bits_), "keys_finish", groups, shape.group,
              moved(), memory_, at(layout_.counts), at(layout_.starts), at(list.place), word_at(list.word), flipped_,
              LocalMemory{tuning_.finish_bytes(which)});
  }

  void tally() { launch_tally("crowd_tally", true, at(layout_.tallies), at(layout_.huges), flipped_); }
  void huge(std::string_view name, bool fills) {
    if (fills) return launch_tally(name, false, at(layout_.huges), flipped_);
    launch_tally(name, true, at(layout_.huges));
  }
  template <class... T>
  void launch_tally(std::string_view name, bool counters, const T&... lists) {
    launch_of(tally_files, tally_defines(info_, subject_, bucket_bits_), name,
              std::uint64_t{tuning_.units} * tuning_.tally_ranges * (counters ? 1 : 2), tuning_.tally_group, sorted_,
              parted_, memory_, at(layout_.header), lists..., LocalMemory{tuning_.tally_bytes(counters)});
  }

  void split(unsigned level) {
    const unsigned now = level % 2;
    const unsigned next = 1 - now;
    const std::uint64_t level_at = word_at(levels_word + 2 * level);
    const std::uint64_t groups = std::uint64_t{tuning_.units} * tuning_.part.resident;
    const call::Arguments lists(level_at, at(layout_.opens[now]), at(layout_.rows[now]), at(layout_.tiles[now]));
    launch("crowd_count", groups, tuning_.part.group, sorted_, parted_, memory_, lists,
           call::local<std::uint32_t>(4096 + 4));
    launch("crowd_split", std::uint64_t{tuning_.units} * 4, split_group, memory_, at(layout_.header), level_at,
           at(layout_.opens[now]), at(layout_.rows[now]), at(layout_.opens[next]), at(layout_.rows[next]),
           at(layout_.tiles[next]), at(layout_.entries), at(layout_.tallies), tuning_.tally_most(count_),
           call::local<std::uint32_t>(3 * split_group + 1 + 4 * split_group));
    launch("crowd_scatter", groups, tuning_.part.group, sorted_, parted_, values(parted_values_, values_), memory_,
           lists, flipped_, LocalMemory{tuning_.part_bytes()});
  }

  [[nodiscard]] call::Kernels special_kernels() const {
    constexpr auto files = sort_special::files();
    return {stream_.device(), files, sort_special::defines(subject_.dtype, sort_special::most_listed),
            sort_special::group};
  }
  [[nodiscard]] std::uint64_t zero_end() const { return at(layout_.starts + tuning_.zero_word() * 4); }
  void move_specials() {
    call::Kernels kernels = special_kernels();
    sort_special::move(stream_, kernels, keys_, parted_, memory_, at(layout_.header), at(layout_.chunks),
                       at(layout_.listed), zero_end(), count_, flipped_, work_);
  }
  void restore() {
    work_.done(special_kernels().launch(stream_, "special_restore", std::uint64_t{tuning_.units} * 4, parted_, sorted_,
                                        memory_, at(layout_.header), zero_end(), count_, flipped_));
  }

  Stream& stream_;
  const DeviceInfo& info_;
  const Arrays& arrays_;
  const BufferBase& keys_;
  const BufferBase& result_;
  Subject subject_;
  unsigned bucket_bits_;
  std::uint32_t count_;
  std::uint32_t flipped_;
  Tuning tuning_;
  ByDigits by_digits_;
  Layout layout_;
  Buffer<std::byte> workspace_;
  Buffer<std::byte> parted_;
  Buffer<std::byte> sorted_;
  Buffer<std::byte> values_;
  Buffer<std::byte> parted_values_;
  bool looked_up_;
  KernelArgument memory_;  // all of the temporary memory
  call::Kernels parts_;
  DeviceWork& work_;
};

bool takes(const Subject& subject, const DeviceInfo& info, const Payload& payload) {
  if (!subject.packed()) return size_of(subject.dtype) >= 4;
  if (size_of(subject.dtype) != 4 || info.local_bytes < packed_local_bytes) return false;
  return subject.index_bytes != 0 ||
         (sort_plan::carried(payload.bytes) && sort_kernels::aligned(payload.buffer, payload.bytes));
}

}  // namespace

bool serves(const DeviceInfo& info, const Arrays& arrays, std::uint64_t count) {
  const Subject subject = Subject::of(arrays, count);
  if (count > most_keys || !takes(subject, info, arrays.payload)) return false;
  const Tuning tuning = tuning_of(info, subject, bucket_bits_of(subject, count));
  // With 48 KiB all work-groups would count each bucket together.
  if (tuning.tallies && tuning.tally_ranges != 1 && subject.bucket_keys > tuning.finish.tile()) return false;
  return info.local_bytes >= tuning.local_bytes();
}

std::uint64_t workspace_bytes(const DeviceInfo& info, const Arrays& arrays, std::uint64_t count) {
  const Subject subject = Subject::of(arrays, count);
  const unsigned bits = bucket_bits_of(subject, count);
  const ByDigits by_digits = by_digits_of(info, subject, count, bits, ByDigitsWhere::automatic);
  return layout_of(tuning_of(info, subject, bits), subject, by_digits, count).bytes;
}

void sort(Stream& stream, const Arrays& arrays, std::uint64_t count, const BufferBase* workspace, DeviceWork& work,
          unsigned bucket_bits, ByDigitsWhere by_digits, std::uint64_t shaped_for) {
  const Subject subject = Subject::of(arrays, shaped_for != 0 ? shaped_for : count);
  if (bucket_bits == 0) bucket_bits = bucket_bits_of(subject, count);
  Sorter(stream, arrays, count, subject, workspace, bucket_bits, by_digits, work).run();
}

}  // namespace masu::sort_keys
