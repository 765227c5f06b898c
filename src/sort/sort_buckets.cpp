// SPDX-License-Identifier: Apache-2.0
#include "sort/sort_buckets.h"

#include "runtime/backend.h"
#include "runtime/program_cache.h"
#include "runtime/whole.h"
#include "sort/sort_kernels.h"
#include "sort/sort_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <string_view>
#include <utility>

namespace masu::sort_buckets {

namespace {

using sort_plan::digits;
using sort_plan::Plan;

// Keys that search for their places among each other: where their bins are not kept beside them, and where they are.
constexpr std::array<unsigned, 2> bin_most = {48, 144};
constexpr unsigned most_each = 62;    // tiles of a work-group whose counters of 16 bits do not run over
constexpr unsigned most_levels = 12;  // 8 bits a level, but for the second one, which may have fewer
constexpr std::uint64_t most_keys = std::uint64_t{1} << 31;  // places are uint
// Where so few buckets are open, what their keys have in common is looked for.
constexpr std::uint32_t few_buckets = 64;
constexpr std::size_t header_words = 4;
constexpr std::size_t fact_words = 8;

// The words of a header, as in sort_buckets.cl.
enum Word : std::uint8_t { open = 0, tiles = 1, small = 2, open_keys = 3 };
// The words of what is found of a bucket.
enum Fact : std::uint8_t { zeros = 0, ones = 2, specials = 4 };
constexpr std::uint32_t special_nan = 1;
constexpr std::uint32_t special_both_zeros = 6;

using Header = std::array<std::uint32_t, header_words>;
using Facts = std::array<std::uint32_t, fact_words>;

// Keys alone are sorted as they are; what moves with keys of 4 bytes moves with the packed ones.
bool packed(const Companions& companions) {
  return companions.kind != Companions::Kind::none;
}

std::size_t record_bytes(const Companions& companions) {
  return companions.kind == Companions::Kind::records ? companions.bytes : 0;
}

struct Layout {
  Plan level;
  Plan finish;
  std::uint64_t most_open;
  bool staged_bins = false;  // each key's bin is kept beside it
  // Where things begin in the temporary memory, and its size. Those of two levels stand side by side.
  std::uint64_t keys = 0;
  std::uint64_t keys_too = 0;  // packed ones
  std::uint64_t source = 0;    // floats as they were, where they are sorted in place
  std::uint64_t records = 0;
  std::array<std::uint64_t, 2> opens{};
  std::array<std::uint64_t, 2> tiles{};
  std::uint64_t counts = 0;
  std::uint64_t small = 0;
  std::uint64_t facts = 0;
  std::uint64_t headers = 0;
  std::uint64_t bytes = 0;

  [[nodiscard]] std::uint64_t most() const noexcept { return finish.tile(); }
  [[nodiscard]] std::uint64_t finish_bytes() const noexcept {
    return (sort_plan::counter_words + finish.staging_words() + finish.group * 17 / 16 + 64) * std::uint64_t{4} +
           (staged_bins ? most() * 2 : 0);
  }
};

Layout layout_of(const DeviceInfo& info, Dtype source, const Companions& companions, std::uint64_t count) {
  const Dtype dtype = packed(companions) ? Dtype::u64 : source;
  Layout layout;
  layout.level = sort_plan::make(info, dtype, record_bytes(companions), 0, false);
  if (size_of(dtype) == 8 && layout.level.items == 16) layout.level.items = 12;  // registers
  for (const unsigned items : {9U, 7U, 6U, 4U, 3U, 2U, 1U}) {
    layout.finish = layout.level;
    layout.finish.group = std::min(512U, layout.level.group);
    layout.finish.items = items;
    layout.finish.resident = size_of(dtype) == 8 ? 2 : 3;  // registers
    if (layout.finish_bytes() <= info.local_bytes) break;
  }
  layout.staged_bins = layout.finish_bytes() + layout.most() * 2 <= info.local_bytes;
  layout.most_open = count / layout.most() + 1;
  std::uint64_t end = 0;
  const auto reserve = [&](std::uint64_t bytes) { return std::exchange(end, end + (bytes + 15) / 16 * 16); };
  layout.keys = reserve(count * size_of(dtype));
  if (packed(companions)) layout.keys_too = reserve(count * size_of(dtype));
  if (record_bytes(companions) != 0) {
    if (is_float(source)) layout.source = reserve(count * size_of(source));
    layout.records = reserve(count * record_bytes(companions));
  }
  for (std::uint64_t& at : layout.opens) at = reserve(layout.most_open * 4);
  for (std::uint64_t& at : layout.tiles) at = reserve((count / layout.level.tile() + layout.most_open) * 12);
  layout.counts = reserve(layout.most_open * digits * 4);
  // Entries of a bucket: at most one for each window and each digit that stands alone, and one behind each of these;
  // and two for each most() equal keys.
  layout.small = reserve(12 * layout.most_open * 12);
  layout.facts = reserve(layout.most_open * sizeof(Facts));
  layout.headers = reserve(most_levels * sizeof(Header));
  layout.bytes = end;
  return layout;
}

class Sorter {
 public:
  Sorter(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase* result, const Companions& companions,
         const SortJob& job, const BufferBase* scratch, DeviceWork& work)
      : stream_(stream),
        keys_(keys),
        dtype_(dtype),
        result_(result),
        companions_(companions),
        job_(job),
        layout_(layout_of(stream.device().info(), dtype, companions, job.pieces.count)),
        scratch_(sort_kernels::memory_of(stream.device(), scratch, layout_.bytes, work)),
        work_(work) {
    const Device& device = stream.device();
    const DeviceInfo& info = device.info();
    const std::vector<runtime::Define> defines = level_defines(info, dtype, companions);
    count_ = sort_kernels::kernel(device, level_files, defines, "bucket_count");
    split_ = sort_kernels::kernel(device, level_files, defines, "bucket_split");
    scatter_ = sort_kernels::kernel(device, level_files, defines, "bucket_scatter");
    finish_ = sort_kernels::kernel(device, finish_files, finish_defines(info, dtype, companions), "bucket_finish");
  }

  bool run() {
    const std::uint64_t count = job_.pieces.count;
    fill_zero(layout_.headers, most_levels * sizeof(Header));
    fill_zero(layout_.opens[0], 4);
    const std::size_t key_bytes = size_of(packed(companions_) ? Dtype::u64 : dtype_);
    unsigned bits = static_cast<unsigned>(8 * key_bytes);  // in which keys of a bucket may differ
    Header header{};
    header[Word::open] = 1;
    header[Word::tiles] = static_cast<std::uint32_t>((count + layout_.level.tile() - 1) / layout_.level.tile());
    unsigned shift = bits - sort_plan::digit_bits;
    Moved from{&keys_, companions_.buffer};
    launch_count(0, from, header, shift);
    const Facts facts = read_facts(1);
    if ((facts[Fact::specials] & special_nan) != 0 ||
        (facts[Fact::specials] & special_both_zeros) == special_both_zeros) {
      return false;
    }
    const std::uint64_t differ = differing(facts);
    if (packed(companions_)) {
      if (differ >> 32 == 0) return false;  // equal keys: nothing to do but what the other way does faster
      keep_source();
    } else if (differ == 0) {
      if (!in_place()) sort_kernels::copy(stream_, keys_, *result_, work_);
      return true;
    }
    bool counted = narrow(differ, bits, shift);
    const Buffer<std::byte> own_keys = scratch_.slice(layout_.keys, count * key_bytes);
    const Buffer<std::byte> own_keys_too =
        scratch_.slice(layout_.keys_too, packed(companions_) ? count * key_bytes : 0);
    const Buffer<std::byte> own_records = scratch_.slice(layout_.records, count * record_bytes(companions_));
    const std::array<Moved, 2> places{Moved{&own_keys, &own_records},
                                      Moved{packed(companions_) ? &own_keys_too : result_, companions_.buffer}};
    for (unsigned level = 0; header[Word::open] != 0; ++level) {
      const Moved& to = places[level % 2];
      if (!counted) launch_count(level, from, header, shift);
      if (level != 0 && header[Word::open] <= few_buckets &&
          !narrow(differing(read_facts(header[Word::open])), bits, shift)) {
        launch_count(level, from, header, shift);
      }
      counted = false;
      launch_split(level, header[Word::open], shift);
      Header next{};
      const Event read(stream_.implementation().read(*scratch_.memory(), header_at(level), next.data(), sizeof next));
      try {
        launch_scatter(level, from, to, header, shift);
      } catch (...) {
        stream_.finish();  // nobody writes to `next` once it is gone
        throw;
      }
      Event(read).wait();
      if (next[Word::small] != 0) launch_finish(level, to, from, next[Word::small]);
      bits = shift;
      header = next;
      from = to;
      if (header[Word::open] != 0) {
        shift = bits - std::min(bits, level == 0 ? second_bits(header) : sort_plan::digit_bits);
      }
    }
    return true;
  }

 private:
  // Keys, and the records beside them.
  struct Moved {
    const BufferBase* keys;
    const BufferBase* records;
  };

  // Where the digit that was counted is the same everywhere, another one, of the bits that differ, is to be counted:
  // false.
  static bool narrow(std::uint64_t differ, unsigned& bits, unsigned& shift) {
    bits = std::min(bits, static_cast<unsigned>(std::bit_width(differ)));
    if (bits > shift || bits == 0) return true;
    shift = bits > sort_plan::digit_bits ? bits - sort_plan::digit_bits : 0;
    return false;
  }
  static std::uint64_t differing(const Facts& facts) {
    return (facts[Fact::zeros] | std::uint64_t{facts[Fact::zeros + 1]} << 32) &
           (facts[Fact::ones] | std::uint64_t{facts[Fact::ones + 1]} << 32);
  }
  [[nodiscard]] bool in_place() const { return sort_kernels::same_place(keys_, *result_); }
  // Keeps floats that are looked up by their index while they are overwritten.
  void keep_source() {
    if (looked_up()) sort_kernels::copy(stream_, keys_, source(), work_);
  }
  [[nodiscard]] bool looked_up() const { return record_bytes(companions_) != 0 && is_float(dtype_) && in_place(); }
  [[nodiscard]] Buffer<std::byte> source() const {
    return scratch_.slice(layout_.source, is_float(dtype_) ? job_.pieces.count * size_of(dtype_) : 0);
  }
  // As many bits as make buckets of about half of what a work-group takes, on average. Where later levels find large
  // buckets, averages say little.
  [[nodiscard]] unsigned second_bits(const Header& header) const {
    const std::uint64_t average = header[Word::open_keys] / header[Word::open];
    const auto parts = 2 * average / layout_.most() + 1;
    return std::clamp(static_cast<unsigned>(std::bit_width(parts - 1)), 2U, sort_plan::digit_bits);
  }
  [[nodiscard]] std::uint32_t flip() const noexcept {
    return job_.order == Order::descending ? sort_plan::digits - 1 : 0;
  }
  [[nodiscard]] std::uint64_t at(std::uint64_t place) const { return scratch_.byte_offset() + place; }
  [[nodiscard]] std::uint64_t header_at(unsigned level) const { return at(layout_.headers + level * sizeof(Header)); }

  void fill_zero(std::uint64_t place, std::uint64_t bytes) {
    constexpr std::uint32_t zero = 0;
    work_.done(Event(stream_.implementation().fill(*scratch_.memory(), at(place), bytes, &zero, sizeof zero)));
  }
  // What was found of the keys of each bucket, of all: bits that differ in one of them, and specials.
  Facts read_facts(std::uint32_t buckets) {
    std::vector<Facts> facts(buckets);
    stream_.implementation().read(*scratch_.memory(), at(layout_.facts), facts.data(), buckets * sizeof(Facts));
    stream_.finish();
    Facts all{};
    for (const Facts& one : facts) {
      for (const unsigned word : {0U, 1U}) {
        const std::uint32_t differ = one[Fact::zeros + word] & one[Fact::ones + word];
        all[Fact::zeros + word] |= differ;
        all[Fact::ones + word] |= differ;
      }
      all[Fact::specials] |= one[Fact::specials];
    }
    return all;
  }
  static void add(std::vector<KernelArgument>& arguments, const BufferBase& keys) {
    arguments.emplace_back(whole(keys));
    arguments.emplace_back(keys.byte_offset());
  }

  void launch_count(unsigned level, const Moved& from, const Header& header, unsigned shift) {
    fill_zero(layout_.counts, header[Word::open] * std::uint64_t{sort_plan::digits} * 4);
    fill_zero(layout_.facts, header[Word::open] * sizeof(Facts));
    const std::uint32_t all = header[Word::tiles];
    const std::uint32_t busy = stream_.device().info().compute_units * 4;
    const std::uint32_t each = level == 0 ? std::clamp((all + busy - 1) / busy, 1U, most_each) : 1;
    std::vector<KernelArgument> arguments;
    add(arguments, *from.keys);
    arguments.emplace_back(whole(scratch_));
    arguments.emplace_back(at(layout_.tiles[level % 2]));
    arguments.emplace_back(at(layout_.counts));
    arguments.emplace_back(at(layout_.facts));
    arguments.emplace_back(job_.pieces.count);
    arguments.emplace_back(all);
    arguments.emplace_back(each);
    arguments.emplace_back(std::uint32_t{level == 0});
    arguments.emplace_back(std::uint32_t{shift});
    arguments.emplace_back(flip());
    arguments.emplace_back(LocalMemory{(sort_plan::counter_words + sort_plan::digits + 8) * std::uint64_t{4}});
    sort_kernels::launch(stream_, *count_, (all + each - 1) / each, layout_.level.group, arguments, work_);
  }

  void launch_split(unsigned level, std::uint32_t buckets, unsigned shift) {
    std::vector<KernelArgument> arguments{whole(scratch_)};
    for (const std::uint64_t place : {layout_.opens[level % 2], layout_.counts}) arguments.emplace_back(at(place));
    arguments.emplace_back(header_at(level));
    for (const std::uint64_t place :
         {layout_.opens[(level + 1) % 2], layout_.tiles[(level + 1) % 2], layout_.small, layout_.facts}) {
      arguments.emplace_back(at(place));
    }
    arguments.emplace_back(std::uint32_t{shift});
    arguments.emplace_back(LocalMemory{std::uint64_t{6 * sort_plan::digits * 4}});
    sort_kernels::launch(stream_, *split_, buckets, sort_plan::digits, arguments, work_);
  }

  void launch_scatter(unsigned level, const Moved& from, const Moved& to, const Header& header, unsigned shift) {
    std::vector<KernelArgument> arguments;
    add(arguments, *from.keys);
    add(arguments, *to.keys);
    if (record_bytes(companions_) != 0) {
      add(arguments, *from.records);
      add(arguments, *to.records);
    }
    arguments.emplace_back(whole(scratch_));
    arguments.emplace_back(at(layout_.tiles[level % 2]));
    arguments.emplace_back(at(layout_.counts));
    arguments.emplace_back(at(layout_.facts));
    arguments.emplace_back(job_.pieces.count);
    arguments.emplace_back(std::uint32_t{level == 0});
    arguments.emplace_back(std::uint32_t{shift});
    arguments.emplace_back(flip());
    arguments.emplace_back(LocalMemory{layout_.level.scatter_bytes()});
    sort_kernels::launch(stream_, *scatter_, header[Word::tiles], layout_.level.group, arguments, work_);
  }

  void launch_finish(unsigned level, const Moved& from, const Moved& others, std::uint32_t entries) {
    std::vector<KernelArgument> arguments;
    add(arguments, *from.keys);
    add(arguments, *others.keys);
    add(arguments, result_ != nullptr ? *result_ : *companions_.buffer);
    if (record_bytes(companions_) != 0) {
      add(arguments, *from.records);
      add(arguments, *companions_.buffer);
      if (looked_up()) add(arguments, source());
      else add(arguments, keys_);
    }
    arguments.emplace_back(whole(scratch_));
    arguments.emplace_back(header_at(level) + Word::small * sizeof(std::uint32_t));
    arguments.emplace_back(at(layout_.small));
    arguments.emplace_back(flip());
    arguments.emplace_back(LocalMemory{layout_.finish_bytes()});
    sort_kernels::launch(stream_, *finish_, entries, layout_.finish.group, arguments, work_);
  }

  Stream& stream_;
  const BufferBase& keys_;
  Dtype dtype_;
  const BufferBase* result_;
  const Companions& companions_;
  const SortJob& job_;
  Layout layout_;
  Buffer<std::byte> scratch_;
  DeviceWork& work_;
  std::shared_ptr<runtime::Kernel> count_;
  std::shared_ptr<runtime::Kernel> split_;
  std::shared_ptr<runtime::Kernel> scatter_;
  std::shared_ptr<runtime::Kernel> finish_;
};

// From so many keys on, it is faster than digits from the least on (H200, 2026-11).
std::uint64_t least_keys(Dtype dtype, const Companions& companions) {
  if (packed(companions)) return std::uint64_t{1} << (record_bytes(companions) != 0 ? 24 : 23);
  return std::uint64_t{1} << (size_of(dtype) == 8 ? 22 : 24);
}

// Packed keys need large tiles: with 48 KiB of local memory the other way is faster (H200, OpenCL, 2026-11).
constexpr std::uint64_t packed_local_bytes = std::uint64_t{96} << 10;

bool serves(const DeviceInfo& info, Dtype dtype, const Companions& companions) {
  if (companions.kind == Companions::Kind::none) return size_of(dtype) >= 4;
  if (size_of(dtype) != 4 || info.local_bytes < packed_local_bytes) return false;
  return companions.kind == Companions::Kind::indices ||
         (sort_plan::carried(companions.bytes) && sort_kernels::aligned(companions.buffer, companions.bytes));
}

void add_packing(std::vector<runtime::Define>& defines, Dtype dtype, const Companions& companions) {
  const auto add = [&](std::string name, std::uint64_t value) {
    defines.push_back({std::move(name), std::to_string(packed(companions) ? value : 0)});
  };
  add("MASU_PACKED", 1);
  add("MASU_SOURCE_CLASS", sort_kernels::key_class(dtype));
  add("MASU_INDEX_BYTES", record_bytes(companions) != 0 ? 0 : companions.bytes);
}

}  // namespace

bool serves(const DeviceInfo& info, Dtype dtype, const Companions& companions, const SortJob& job, bool may_wait) {
  return may_wait && info.gpu && serves(info, dtype, companions) && job.algorithm == SortAlgorithm::automatic &&
         job.pieces.segments.empty() && job.pieces.rows == 1 && job.pieces.count >= least_keys(dtype, companions) &&
         job.pieces.count <= most_keys && layout_of(info, dtype, companions, 0).finish_bytes() <= info.local_bytes;
}

std::uint64_t scratch_bytes(const DeviceInfo& info, Dtype dtype, const Companions& companions, std::uint64_t count) {
  return layout_of(info, dtype, companions, count).bytes;
}

std::vector<runtime::Define> level_defines(const DeviceInfo& info, Dtype dtype, const Companions& companions) {
  const Layout layout = layout_of(info, dtype, companions, 0);
  std::vector<runtime::Define> defines = layout.level.defines();
  defines.push_back({"MASU_MOST", std::to_string(layout.most())});
  defines.push_back({"MASU_LEVEL_TILE", std::to_string(layout.level.tile())});
  add_packing(defines, dtype, companions);
  return defines;
}

std::vector<runtime::Define> finish_defines(const DeviceInfo& info, Dtype dtype, const Companions& companions) {
  const Layout layout = layout_of(info, dtype, companions, 0);
  std::vector<runtime::Define> defines = layout.finish.defines();
  defines.push_back({"MASU_BIN_MOST", std::to_string(bin_most[layout.staged_bins ? 1 : 0])});
  defines.push_back({"MASU_STAGED_BINS", layout.staged_bins ? "1" : "0"});
  defines.push_back({"MASU_PLACED", "0"});
  add_packing(defines, dtype, companions);
  return defines;
}

Finish finish_of_keys(const DeviceInfo& info, Dtype dtype) {
  const Layout layout = layout_of(info, dtype, {}, 0);
  std::vector<runtime::Define> defines = finish_defines(info, dtype, {});
  for (runtime::Define& define : defines) {
    if (define.name == "MASU_PLACED") define.value = std::to_string(1);
  }
  return {std::move(defines), layout.finish.group, layout.finish.resident, static_cast<unsigned>(layout.most()),
          layout.finish_bytes()};
}

bool sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase* result, const Companions& companions,
          const SortJob& job, const BufferBase* scratch, DeviceWork& work) {
  return Sorter(stream, keys, dtype, result, companions, job, scratch, work).run();
}

}  // namespace masu::sort_buckets
