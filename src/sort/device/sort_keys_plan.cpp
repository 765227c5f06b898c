// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_keys.h"
#include "sort/device/sort_once.h"

#include "elements/elements.h"
#include "sort/device/sort_device.h"
#include "sort/device/sort_plan.h"
#include "sort/device/sort_special.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace masu::sort_keys {

using sort_plan::tuned;

namespace {

constexpr unsigned row_words = 260;
constexpr unsigned open_words = 4;
constexpr unsigned tile_words = 3;
constexpr unsigned entry_words = 3;
constexpr unsigned header_words = 64;
constexpr unsigned most_tallied = 1U << 21;
constexpr std::array<std::string_view, larger_most> larger_names = {"MASU_LARGER_MOST_0", "MASU_LARGER_MOST_1"};

Tuning shapes_of(const DeviceInfo& info, const Subject& subject) {
  const bool wide = subject.key_bytes() == 8;
  if (info.local_bytes >= std::uint64_t{176} << 10 && info.max_work_group_size >= 1024) {
    if (wide) {
      const unsigned tally_group = subject.packed() ? 0 : 1024;
      return {tuned.part_8, tuned.finish_8, {{tuned.larger_8}}, tally_group, 1, 1024, false, 256};
    }
    return {tuned.part_4, tuned.finish_4, {{tuned.larger_4_1, tuned.larger_4_2}}, 1024, 1, 1024, false, 256};
  }
  if (wide)
    return {tuned.little_part_8,
            subject.packed() ? tuned.little_finish_packed : tuned.little_finish,
            {},
            0,
            1,
            256,
            true,
            256};
  FinishShape larger = tuned.little_larger;
  if (info.max_work_group_size < larger.group) larger.group = 256;
  return {tuned.little_part_4, tuned.little_finish, {{larger}}, 256, 4, 256, true, 256};
}

// keys_finish where buckets have more keys: the first that has room for so many.
struct Grown {
  unsigned bucket_keys;
  FinishShape finish;
};
std::vector<Grown> grown(bool in_little) {
  if (in_little) return {{8192, tuned.little_grown_1}, {16384, tuned.little_grown_2}};
  return {{8192, tuned.grown_1}, {16384, tuned.grown_2}, {32768, tuned.grown_3}};
}

void grow(Tuning& tuning, unsigned bucket_keys, const DeviceInfo& info) {
  if (bucket_keys <= tuning.finish.tile()) return;
  const std::vector<Grown> all = grown(tuning.tally_ranges != 1);
  const auto one = std::ranges::find_if(all, [&](const Grown& shape) {
    return bucket_keys <= shape.bucket_keys && shape.finish.group <= info.max_work_group_size;
  });
  if (one != all.end()) tuning.finish = one->finish;
}

// Leaves those that have room for more than keys_finish; where neighbours are joined, and few are larger, one of them.
void drop_shapes(Tuning& tuning) {
  std::vector<FinishShape> left;
  for (const FinishShape& shape : tuning.larger) {
    if (shape.tile() <= tuning.most) continue;
    if (tuning.join_bits != 0) left.clear();
    left.push_back(shape);
  }
  tuning.larger = {};
  std::ranges::copy(left, tuning.larger.begin());
}

// Whether keys_finish keeps 16 bits of each key.
bool narrow(const Tuning& tuning, Finish which) {
  return tuning.key_bytes == 4 && tuning.bucket_bits == most_bucket_bits && which != Finish::entries &&
         (which != Finish::all || tuning.join_bits == 0);
}

void add(std::vector<runtime::Define>& defines, std::string_view name, std::uint64_t value) {
  defines.emplace_back(name, value);
}
void add(std::vector<runtime::Define>& defines, const Shape& shape) {
  add(defines, "MASU_GROUP", shape.group);
  add(defines, "MASU_ITEMS", shape.items);
  add(defines, "MASU_RESIDENT", shape.resident);
}
void add_subject(std::vector<runtime::Define>& defines, const Subject& subject) {
  add(defines, "MASU_PACKED", subject.packed() ? 1 : 0);
  add(defines, "MASU_SOURCE_CLASS", element_class(subject.dtype));
  add(defines, "MASU_INDEX_BITS", subject.index_bits);
  add(defines, "MASU_INDEX_BYTES", subject.index_bytes);
}
std::vector<runtime::Define> key_defines(const Subject& subject, const Tuning& tuning, unsigned bucket_bits) {
  std::vector<runtime::Define> defines = sort_kernels::key_defines(subject.packed() ? Dtype::u64 : subject.dtype);
  add(defines, "MASU_KEY_BITS", subject.key_bits());
  add(defines, "MASU_BUCKET_BITS", bucket_bits);
  add(defines, "MASU_PART_TILE", tuning.part.tile());
  add(defines, "MASU_PAYLOAD_BYTES", tuning.value_bytes);
  defines.emplace_back("MASU_VALUE", unsigned_type(tuning.value_bytes));
  add(defines, "MASU_MOST_LISTED", sort_special::most_listed);
  add_subject(defines, subject);
  return defines;
}

}  // namespace

Subject Subject::of(const Arrays& arrays, std::uint64_t count) {
  Subject subject{arrays.dtype, arrays.index_bytes(), arrays.record_bytes()};
  // Few different ones, each of which makes programs of its own.
  subject.index_bits = std::clamp(static_cast<unsigned>(std::bit_width(count - 1) + 1) / 2 * 2, 22U, 32U);
  // 3 % more fit where keys are uniform.
  const std::uint64_t least = (count >> most_bucket_bits) * 32 / 33;
  subject.bucket_keys = static_cast<unsigned>(std::bit_ceil(std::max<std::uint64_t>(least, usual_bucket_keys)));
  return subject;
}

unsigned bucket_bits_of(const Subject& subject, std::uint64_t count) {
  const bool four = subject.key_bytes() == 4;
  if (four && count >= tuned.narrow_keys) return most_bucket_bits;
  return std::clamp(static_cast<unsigned>(std::bit_width((count - 1) / usual_bucket_keys)), least_bucket_bits,
                    four ? most_bucket_bits - 1 : most_bucket_bits);
}

unsigned Tuning::levels() const noexcept {
  if (tallies) return 0;
  // Packed keys all differ: what a work-group does not finish differs in more bits than it takes to count that.
  return (key_bits - bucket_bits - (packed ? static_cast<unsigned>(std::bit_width(most)) - 1 : 0) + 7) / 8;
}

std::uint32_t Tuning::tally_most(std::uint64_t count) const noexcept {
  if (tally_group == 0) return 0;
  if (tally_ranges != 1) return 32767;  // larger ones have room for a table
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(count * 3 / 5 / units, 65536, most_tallied));
}

FinishShape Tuning::shape(Finish which) const noexcept {
  if (which == Finish::singles) return {{256, 18, 6}, finish.bin_bits};
  if (which < Finish::larger) return finish;
  return larger[static_cast<unsigned>(which) - static_cast<unsigned>(Finish::larger)];
}
unsigned Tuning::most_of(Finish which) const noexcept {
  return which >= Finish::larger ? shape(which).tile() : most;
}
unsigned Tuning::larger_shapes() const noexcept {
  return static_cast<unsigned>(std::ranges::count_if(larger, [](const Shape& one) { return one.group != 0; }));
}

std::uint64_t Tuning::part_bytes() const noexcept {
  return part.tile() * std::uint64_t{key_bytes + (staged_values ? value_bytes : 0)} +
         (4096 + 256 + part.group + 4) * std::uint64_t{4};
}
std::uint64_t Tuning::finish_bytes(Finish which) const noexcept {
  const std::uint64_t keys = most_of(which);
  const std::uint64_t kept = narrow(*this, which) ? (keys + 200) * 2 : keys * key_bytes;
  const FinishShape own = shape(which);
  return (std::uint64_t{4} << (own.bin_bits - 1)) + kept + (own.group + 4) * std::uint64_t{4} +
         (value_bytes != 0 ? keys * 2 : 0);
}
std::uint64_t Tuning::local_bytes() const noexcept {
  std::uint64_t bytes = std::max({part_bytes(), finish_bytes(Finish::all), tally_group != 0 ? tally_bytes(true) : 0});
  for (unsigned i = 0; i < larger_shapes(); ++i) bytes = std::max(bytes, finish_bytes(sort_keys::larger(i)));
  return bytes;
}
std::uint64_t Tuning::tally_bytes(bool counters) const noexcept {
  return (tally_group * 10 + 4 + (counters ? 32768 / tally_ranges + most_tallied / 32768 + 4 : 0)) * std::uint64_t{4};
}

Tuning tuning_of(const DeviceInfo& info, const Subject& subject, unsigned bucket_bits) {
  Tuning tuning = shapes_of(info, subject);
  tuning.key_bytes = static_cast<unsigned>(subject.key_bytes());
  tuning.value_bytes = static_cast<unsigned>(subject.value_bytes);
  tuning.key_bits = subject.key_bits();
  tuning.packed = subject.packed();
  // Smaller tiles where values lie beside the keys; no values of 16 bytes.
  tuning.staged_values = subject.value_bytes != 0 && subject.value_bytes <= 8;
  while (tuning.staged_values && tuning.part.items > 4 &&
         (tuning.part_bytes() + 1024) * tuning.part.resident > info.local_bytes) {
    tuning.part.items -= 4;
  }
  tuning.units = std::max(1U, static_cast<unsigned>(info.compute_units));
  tuning.tallies = tuning.tally_group != 0 && tuning.key_bytes == 4;
  tuning.bucket_bits = tuning.tallies ? most_bucket_bits : bucket_bits;
  tuning.join_bits = tuning.bucket_bits - bucket_bits;
  if (narrow(tuning, Finish::all)) grow(tuning, subject.bucket_keys, info);
  // Whole keys lie in local memory.
  if (tuning.key_bytes == 4 && !narrow(tuning, Finish::all)) tuning.finish.resident = tuning.tallies ? 4 : 1;
  tuning.most = tuning.finish.tile();
  drop_shapes(tuning);
  return tuning;
}

ByDigits by_digits_of(const DeviceInfo& info, const Subject& subject, std::uint64_t count, unsigned bucket_bits,
                      ByDigitsWhere which) {
  const Tuning tuning = tuning_of(info, subject, bucket_bits);
  const bool order = subject.index_bytes != 0;
  const bool wide = size_of(subject.dtype) == 8;
  if (which == ByDigitsWhere::none || subject.value_bytes != 0 || is_float(subject.dtype) || tuning.two_steps ||
      (which == ByDigitsWhere::automatic && !order && !wide && count >= tuned.narrow_keys)) {
    return {};
  }
  ByDigits by_digits{sort_once::plan_of(info, {subject.dtype, subject.index_bytes, order}, count), 0};
  if (which == ByDigitsWhere::all) return by_digits;
  const std::uint64_t evenly = std::uint64_t{tuning.count_group} * tuning.count_group / 2 / tuning.buckets();
  const unsigned times = order ? tuned.crowded_orders : wide ? tuned.crowded_8 : tuned.crowded_4;
  by_digits.crowded_pairs = static_cast<std::uint32_t>(times * evenly + 8);
  return by_digits;
}

Layout layout_of(const Tuning& tuning, const Subject& subject, const ByDigits& by_digits, std::uint64_t count) {
  Layout layout;
  std::uint64_t end = 0;
  const auto reserve = [&](std::uint64_t bytes) { return std::exchange(end, end + (bytes + 15) / 16 * 16); };
  const std::uint64_t most_open = count / (tuning.most + 1) + 1;
  layout.parted = reserve(count * tuning.key_bytes);
  if (subject.packed()) layout.sorted = reserve(count * tuning.key_bytes);
  if (subject.value_bytes != 0) {
    layout.parted_values = reserve(count * subject.value_bytes);
    if (is_float(subject.dtype)) layout.source = reserve(count * size_of(subject.dtype));
  }
  layout.header = reserve(header_words * 4);
  if (by_digits.plan.group != 0) layout.totals = reserve(sort_once::totals_bytes(size_of(subject.dtype)));
  layout.counts = reserve(tuning.buckets() * 4);
  layout.starts = reserve(tuning.start_words() * 4);
  if (subject.has_specials()) {
    layout.chunks = reserve(sort_special::most_chunks * 8);
    layout.listed = reserve(sort_special::most_listed * 8);
  }
  if (!tuning.tallies) {
    for (std::uint64_t& at : layout.opens) at = reserve(most_open * open_words * 4);
    for (std::uint64_t& at : layout.rows) at = reserve(most_open * row_words * 4);
    for (std::uint64_t& at : layout.tiles) at = reserve((count / tuning.part.tile() + most_open) * tile_words * 4);
    // Entries of a crowded bucket: at most one for each window of half as many keys as one holds, one for each digit
    // with more keys than these, and one after each of these. Each may have too many keys in a bin, and any bucket.
    layout.entries = reserve(tuning.levels() * 7 * most_open * std::uint64_t{entry_words} * 4);
  }
  if (tuning.join_bits != 0) layout.singles = reserve(tuning.buckets() * 4);
  layout.larger = reserve(std::uint64_t{tuning.larger_shapes()} * tuning.buckets() * 4);
  layout.tallies = reserve(most_open * entry_words * 4);
  if (tuning.tallies) layout.huges = reserve((count / tuning.tally_most(count) + 1) * entry_words * 4);
  if (by_digits.plan.group != 0) layout.tables = reserve(by_digits.plan.table_bytes(count));
  layout.bytes = end;
  return layout;
}

std::vector<runtime::Define> part_defines(const DeviceInfo& info, const Subject& subject, unsigned bucket_bits,
                                          bool by_digits) {
  const Tuning tuning = tuning_of(info, subject, bucket_bits);
  std::vector<runtime::Define> defines = key_defines(subject, tuning, tuning.bucket_bits);
  add(defines, tuning.part);
  add(defines, "MASU_COUNT_GROUP", tuning.count_group);
  add(defines, "MASU_TWO_STEPS", tuning.two_steps ? 1 : 0);
  add(defines, "MASU_PLACES_GROUP", tuning.places_group);
  add(defines, "MASU_MOST", tuning.most);
  unsigned larger_most_keys = tuning.most;
  for (unsigned i = 0; i < larger_most; ++i) {
    larger_most_keys = std::max(larger_most_keys, tuning.larger[i].tile());
    add(defines, larger_names[i], larger_most_keys);
  }
  add(defines, "MASU_TALLY", tuning.tallies ? 1 : 0);
  add(defines, "MASU_JOIN_BITS", tuning.join_bits);
  add(defines, "MASU_BY_DIGITS_TOO", by_digits ? 1 : 0);
  add(defines, "MASU_STAGED_VALUES", tuning.staged_values ? 1 : 0);
  add(defines, "MASU_WHOLE_TILES", info.gpu ? 1 : 0);
  defines.push_back(sort_kernels::unrolled_define(info));
  return defines;
}

std::vector<runtime::Define> finish_defines(const DeviceInfo& info, const Subject& subject, Finish which,
                                            unsigned bucket_bits) {
  const Tuning tuning = tuning_of(info, subject, bucket_bits);
  const unsigned join_bits = which == Finish::all ? tuning.join_bits : 0;
  std::vector<runtime::Define> defines = key_defines(subject, tuning, tuning.bucket_bits - join_bits);
  add(defines, tuning.shape(which));
  add(defines, "MASU_BIN_BITS", tuning.shape(which).bin_bits);
  add(defines, "MASU_MOST", tuning.most_of(which));
  add(defines, "MASU_LISTED", which == Finish::all ? 0 : which == Finish::entries ? 2 : 1);
  add(defines, "MASU_JOIN_BITS", join_bits);
  defines.push_back(sort_kernels::unrolled_define(info));
  return defines;
}

std::vector<runtime::Define> tally_defines(const DeviceInfo& info, const Subject& subject, unsigned bucket_bits) {
  const Tuning tuning = tuning_of(info, subject, bucket_bits);
  std::vector<runtime::Define> defines = key_defines(subject, tuning, tuning.bucket_bits);
  add(defines, "MASU_GROUP", tuning.tally_group);
  add(defines, "MASU_RANGES", tuning.tally_ranges);
  add(defines, "MASU_PLACES_EACH", 16);
  return defines;
}

}  // namespace masu::sort_keys
