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
#include <string_view>
#include <utility>

namespace masu::sort_buckets {

namespace {

using sort_plan::digits;
using sort_plan::Plan;

constexpr unsigned bin_most = 48;     // keys that search for their places among each other
constexpr unsigned most_each = 62;    // tiles of a work-group whose counters of 16 bits do not run over
constexpr unsigned most_levels = 12;  // 8 bits a level, but for the second one, which may have fewer
constexpr std::uint64_t most_keys = std::uint64_t{1} << 31;  // places are uint
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

struct Layout {
  Plan level;
  Plan finish;
  std::uint64_t most_open;
  // Where things begin in the temporary memory, and its size. Those of two levels stand side by side.
  std::uint64_t keys = 0;
  std::array<std::uint64_t, 2> opens{};
  std::array<std::uint64_t, 2> tiles{};
  std::uint64_t counts = 0;
  std::uint64_t small = 0;
  std::uint64_t facts = 0;
  std::uint64_t headers = 0;
  std::uint64_t bytes = 0;

  [[nodiscard]] std::uint64_t most() const noexcept { return finish.tile(); }
  [[nodiscard]] std::uint64_t finish_bytes() const noexcept {
    return (sort_plan::counter_words + finish.staging_words() + finish.group * 17 / 16 + 64) * std::uint64_t{4};
  }
};

Layout layout_of(const DeviceInfo& info, Dtype dtype, std::uint64_t count) {
  Layout layout;
  layout.level = sort_plan::make(info, dtype, 0, 0, false);
  if (size_of(dtype) == 8 && layout.level.items == 16) layout.level.items = 12;  // registers
  for (const unsigned items : {9U, 7U, 6U, 4U, 3U, 2U, 1U}) {
    layout.finish = layout.level;
    layout.finish.group = std::min(512U, layout.level.group);
    layout.finish.items = items;
    layout.finish.resident = 3;
    if (layout.finish_bytes() <= info.local_bytes) break;
  }
  layout.most_open = count / layout.most() + 1;
  std::uint64_t end = 0;
  const auto reserve = [&](std::uint64_t bytes) { return std::exchange(end, end + (bytes + 15) / 16 * 16); };
  layout.keys = reserve(count * size_of(dtype));
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
  Sorter(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase& result, const SortJob& job,
         const BufferBase* scratch, DeviceWork& work)
      : stream_(stream),
        keys_(keys),
        dtype_(dtype),
        result_(result),
        job_(job),
        layout_(layout_of(stream.device().info(), dtype, job.pieces.count)),
        scratch_(sort_kernels::memory_of(stream.device(), scratch, layout_.bytes, work)),
        work_(work) {
    const Device& device = stream.device();
    const DeviceInfo& info = device.info();
    const std::vector<runtime::Define> defines = level_defines(info, dtype);
    count_ = sort_kernels::kernel(device, level_files, defines, "bucket_count");
    split_ = sort_kernels::kernel(device, level_files, defines, "bucket_split");
    scatter_ = sort_kernels::kernel(device, level_files, defines, "bucket_scatter");
    finish_ = sort_kernels::kernel(device, finish_files, finish_defines(info, dtype), "bucket_finish");
  }

  bool run() {
    const std::uint64_t count = job_.pieces.count;
    fill_zero(layout_.headers, most_levels * sizeof(Header));
    fill_zero(layout_.opens[0], 4);
    const auto key_bits = static_cast<unsigned>(8 * size_of(dtype_));
    unsigned bits = key_bits;  // in which keys of a bucket may differ
    Header header{};
    header[Word::open] = 1;
    header[Word::tiles] = static_cast<std::uint32_t>((count + layout_.level.tile() - 1) / layout_.level.tile());
    unsigned shift = bits - sort_plan::digit_bits;
    launch_count(0, keys_, header, shift);
    const Facts facts = read_facts();
    if ((facts[Fact::specials] & special_nan) != 0 ||
        (facts[Fact::specials] & special_both_zeros) == special_both_zeros) {
      return false;
    }
    const std::uint64_t differ = (facts[Fact::zeros] | std::uint64_t{facts[Fact::zeros + 1]} << 32) &
                                 (facts[Fact::ones] | std::uint64_t{facts[Fact::ones + 1]} << 32);
    if (differ == 0) {
      if (keys_.memory()->serial() != result_.memory()->serial() || keys_.byte_offset() != result_.byte_offset()) {
        sort_kernels::copy(stream_, keys_, result_, work_);
      }
      return true;
    }
    bits = static_cast<unsigned>(std::bit_width(differ));
    bool counted = true;
    if (bits <= shift) {  // the digit that was counted is the same everywhere
      shift = bits > sort_plan::digit_bits ? bits - sort_plan::digit_bits : 0;
      counted = false;
    }
    const BufferBase* from = &keys_;
    const Buffer<std::byte> own_keys = scratch_.slice(layout_.keys, count * size_of(dtype_));
    for (unsigned level = 0; header[Word::open] != 0; ++level) {
      const BufferBase* to = level % 2 == 0 ? static_cast<const BufferBase*>(&own_keys) : &result_;
      if (!counted) launch_count(level, *from, header, shift);
      counted = false;
      launch_split(level, header[Word::open], shift);
      Header next{};
      const Event read(stream_.implementation().read(*scratch_.memory(), header_at(level), next.data(), sizeof next));
      try {
        launch_scatter(level, *from, *to, header, shift);
      } catch (...) {
        stream_.finish();  // nobody writes to `next` once it is gone
        throw;
      }
      Event(read).wait();
      if (next[Word::small] != 0) launch_finish(*to, *from, next[Word::small]);
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
  Facts read_facts() {
    Facts facts{};
    stream_.implementation().read(*scratch_.memory(), at(layout_.facts), facts.data(), sizeof facts);
    stream_.finish();
    return facts;
  }
  static void add(std::vector<KernelArgument>& arguments, const BufferBase& keys) {
    arguments.emplace_back(whole(keys));
    arguments.emplace_back(keys.byte_offset());
  }

  void launch_count(unsigned level, const BufferBase& from, const Header& header, unsigned shift) {
    fill_zero(layout_.counts, header[Word::open] * std::uint64_t{sort_plan::digits} * 4);
    fill_zero(layout_.facts, header[Word::open] * sizeof(Facts));
    const std::uint32_t all = header[Word::tiles];
    const std::uint32_t busy = stream_.device().info().compute_units * 4;
    const std::uint32_t each = level == 0 ? std::clamp((all + busy - 1) / busy, 1U, most_each) : 1;
    std::vector<KernelArgument> arguments;
    add(arguments, from);
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

  void launch_scatter(unsigned level, const BufferBase& from, const BufferBase& to, const Header& header,
                      unsigned shift) {
    std::vector<KernelArgument> arguments;
    add(arguments, from);
    add(arguments, to);
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

  void launch_finish(const BufferBase& from, const BufferBase& others, std::uint32_t entries) {
    std::vector<KernelArgument> arguments;
    add(arguments, from);
    add(arguments, others);
    add(arguments, result_);
    arguments.emplace_back(whole(scratch_));
    arguments.emplace_back(at(layout_.small));
    arguments.emplace_back(flip());
    arguments.emplace_back(LocalMemory{layout_.finish_bytes()});
    sort_kernels::launch(stream_, *finish_, entries, layout_.finish.group, arguments, work_);
  }

  Stream& stream_;
  const BufferBase& keys_;
  Dtype dtype_;
  const BufferBase& result_;
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
std::uint64_t least_keys(Dtype dtype) {
  return std::uint64_t{1} << (size_of(dtype) == 8 ? 22 : 24);
}

}  // namespace

bool serves(const DeviceInfo& info, Dtype dtype, const Companions& companions, const SortJob& job, bool may_wait) {
  return may_wait && info.gpu && companions.kind == Companions::Kind::none && size_of(dtype) >= 4 &&
         job.algorithm == SortAlgorithm::automatic && job.pieces.segments.empty() && job.pieces.rows == 1 &&
         job.pieces.count >= least_keys(dtype) && job.pieces.count <= most_keys &&
         layout_of(info, dtype, 0).finish_bytes() <= info.local_bytes;
}

std::uint64_t scratch_bytes(const DeviceInfo& info, Dtype dtype, std::uint64_t count) {
  return layout_of(info, dtype, count).bytes;
}

std::vector<runtime::Define> level_defines(const DeviceInfo& info, Dtype dtype) {
  const Layout layout = layout_of(info, dtype, 0);
  std::vector<runtime::Define> defines = layout.level.defines();
  defines.push_back({"MASU_MOST", std::to_string(layout.most())});
  defines.push_back({"MASU_LEVEL_TILE", std::to_string(layout.level.tile())});
  return defines;
}

std::vector<runtime::Define> finish_defines(const DeviceInfo& info, Dtype dtype) {
  std::vector<runtime::Define> defines = layout_of(info, dtype, 0).finish.defines();
  defines.push_back({"MASU_BIN_MOST", std::to_string(bin_most)});
  return defines;
}

bool sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase& result, const SortJob& job,
          const BufferBase* scratch, DeviceWork& work) {
  return Sorter(stream, keys, dtype, result, job, scratch, work).run();
}

}  // namespace masu::sort_buckets
