// SPDX-License-Identifier: Apache-2.0
#include "cli/verify/references.h"
#include "elements/stored_float.h"
#include "tests/selftest/selftest.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/convert.h>
#include <masu/gather.h>
#include <masu/transpose.h>
#include <cstring>

namespace masu::cli {
namespace {

// MovedRecords of so many bytes each, and where every one of them has to come from.
struct MovedRecords {
  std::vector<std::byte> bytes;
  std::size_t size;
  [[nodiscard]] std::uint64_t count() const { return bytes.size() / size; }
  [[nodiscard]] ConstRecordsView view() const { return {bytes.data(), size, count()}; }
  [[nodiscard]] RecordsView room() { return {bytes.data(), size, count()}; }
};

MovedRecords random_records(std::size_t size, std::uint64_t count, std::uint64_t seed) {
  return {selftest_data(Dtype::u8, "uniform", count * size, seed), size};
}

constexpr std::uint64_t nowhere = ~std::uint64_t{0};  // the record is all zeros

bool come_from(const MovedRecords& found, const MovedRecords& data, const std::vector<std::uint64_t>& places) {
  const std::vector<std::byte> zeros(data.size);
  bool right = found.count() == places.size();
  for (std::uint64_t i = 0; right && i < places.size(); ++i) {
    const std::byte* expected = places[i] == nowhere ? zeros.data() : data.bytes.data() + places[i] * data.size;
    right = std::memcmp(found.bytes.data() + i * data.size, expected, data.size) == 0;
  }
  return right;
}

MovedRecords room_for(std::size_t size, std::uint64_t count) {
  return {std::vector<std::byte>(size * count), size};
}

bool transposed(const Device& device, std::size_t size, std::uint64_t number) {
  const std::uint64_t rows = number % 2 == 0 ? 67 : 129;
  const std::uint64_t columns = number % 3 == 0 ? rows : 201;
  const MovedRecords data = random_records(size, rows * columns, number);
  std::vector<std::uint64_t> places;
  for (std::uint64_t i = 0; i < rows * columns; ++i) places.push_back(i % rows * columns + i / rows);
  MovedRecords found = rows == columns ? data : room_for(size, rows * columns);
  transpose(device, rows == columns ? found.view() : data.view(), rows, columns, found.room());
  return come_from(found, data, places);
}

// Indices without a pattern, some of them several times.
std::vector<std::uint64_t> made_up_indices(std::uint64_t count, std::uint64_t limit) {
  std::vector<std::uint64_t> indices;
  for (std::uint64_t i = 0; i < count; ++i) indices.push_back((i * i * 7919 + i * 31) % limit);
  return indices;
}

bool gathered(const Device& device, std::size_t size, std::uint64_t number) {
  const MovedRecords data = random_records(size, 5003, number);
  const std::vector<std::uint64_t> places = made_up_indices(7001, data.count());
  const std::vector<std::uint32_t> narrow(places.begin(), places.end());
  MovedRecords found = room_for(size, places.size());
  const bool wide = number % 2 == 0;
  gather(device, data.view(), wide ? ArrayView(places) : ArrayView(narrow), found.room());
  return come_from(found, data, places);
}

bool scattered(const Device& device, std::size_t size, std::uint64_t number) {
  const MovedRecords data = random_records(size, 5003, number);
  const std::vector<std::uint64_t> indices = made_up_indices(data.count(), 4001);
  MovedRecords found = room_for(size, 4001);
  std::vector<std::uint64_t> places(found.count(), nowhere);
  for (std::uint64_t i = 0; i < indices.size(); ++i) places[indices[i]] = i;
  scatter(device, data.view(), ArrayView(indices), found.room());
  return come_from(found, data, places);
}

bool permuted(const Device& device, std::size_t size, std::uint64_t number) {
  const std::uint64_t length = 61;
  const std::uint64_t rows = 70;
  const MovedRecords data = random_records(size, rows * length, number);
  const std::vector<std::uint64_t> mask = made_up_indices(length, length);
  std::vector<std::uint64_t> places;
  for (std::uint64_t i = 0; i < rows * length; ++i) places.push_back(i / length * length + mask[i % length]);
  MovedRecords found = room_for(size, rows * length);
  GatherOptions options;
  options.rows = rows;
  permute(device, data.view(), ArrayView(mask), found.room(), options);
  return come_from(found, data, places);
}

bool reversed(const Device& device, std::size_t size, std::uint64_t number) {
  const MovedRecords data = random_records(size, 7001, number);
  std::vector<std::uint64_t> places;
  for (std::uint64_t i = data.count(); i > 0; --i) places.push_back(i - 1);
  const bool in_place = number % 2 == 0;
  MovedRecords found = in_place ? data : room_for(size, data.count());
  reverse(device, in_place ? found.view() : data.view(), found.room());
  return come_from(found, data, places);
}

bool compacted(const Device& device, std::size_t size, std::uint64_t number) {
  const MovedRecords data = random_records(size, 9001, number);
  std::vector<std::uint8_t> flags;
  std::vector<std::uint64_t> places;
  for (std::uint64_t i = 0; i < data.count(); ++i) {
    flags.push_back(static_cast<std::uint8_t>(i * i % 7 < 3 ? i % 5 : 0));
    if (flags.back() != 0) places.push_back(i);
  }
  MovedRecords found = room_for(size, data.count());
  if (compact(device, data.view(), ArrayView(flags), found.room()) != places.size()) return false;
  places.resize(data.count(), nowhere);
  return come_from(found, data, places);
}

bool filled(const Device& device, std::size_t size, std::uint64_t number) {
  const MovedRecords element = random_records(size, 1, number);
  Buffer<std::byte> buffer(device, 1009 * size);
  fill(buffer, element.bytes.data(), size);
  return come_from({buffer.read(), size}, element, std::vector<std::uint64_t>(1009));
}

struct Movement {
  const char* name;
  bool (*run)(const Device& device, std::size_t size, std::uint64_t number);
};
constexpr std::array<Movement, 7> movements{{{"transpose", transposed},
                                             {"gather", gathered},
                                             {"scatter", scattered},
                                             {"permute", permuted},
                                             {"reverse", reversed},
                                             {"compact", compacted},
                                             {"fill", filled}}};
constexpr std::array<std::size_t, 7> movement_sizes = {1, 2, 4, 8, 16, 3, 40};

// 3, 10, 17, … in every dtype, modulo its range.
bool numbered(const Device& device, Dtype dtype) {
  constexpr std::uint64_t count = 200;
  std::vector<std::byte> found(count * size_of(dtype));
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto of = [](double value) {
      if constexpr (is_stored<T>) return T{static_cast<std::uint16_t>(bits_of(value, dtype_of<T>))};
      else if constexpr (std::is_floating_point_v<T>) return static_cast<T>(value);
      else return static_cast<T>(static_cast<std::uint64_t>(value));
    };
    const T start = of(3);
    const T step = of(7);
    iota(device, {dtype, found.data(), count}, &start, &step);
    for (std::uint64_t i = 0; i < count; ++i) {
      const T expected = of(3.0 + 7.0 * static_cast<double>(i));
      if (bits_of(ArrayView(dtype, found.data(), count), i) != bits_of(ArrayView(dtype, &expected, 1), 0)) return false;
    }
    return true;
  });
}

bool converted(const Device& device, const ArrayView& data, Dtype to, const ConvertOptions& how) {
  std::vector<std::byte> result(data.count * size_of(to));
  const MutableArrayView found(to, result.data(), data.count);
  std::vector<std::uint64_t> expected(data.count);
  bool fits = true;
  for (std::uint64_t i = 0; i < data.count; ++i) {
    fits = reference_convert(data, i, to, how.overflow, how.rounding, expected[i]) && fits;
  }
  try {
    convert(device, data, found, how);
    if (!fits) return false;  // it had to throw
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    return !fits;
  }
  for (std::uint64_t i = 0; i < data.count; ++i) {
    if (bits_of(found, i) != expected[i]) return false;
  }
  return true;
}

}  // namespace

void selftest_movement(const Device& device, SelftestTally& tally) {
  std::uint64_t number = 0;
  for (const Movement& movement : movements) {
    for (const std::size_t size : movement_sizes) {
      ++number;
      selftest_case(device, tally, fmt::format("{} of elements of {} bytes", movement.name, size), Strategy::automatic,
                    [&] { return movement.run(device, size, number); });
    }
  }
  for (const Dtype dtype : all_dtypes) {
    selftest_case(device, tally, fmt::format("iota of {}", to_string(dtype)), Strategy::automatic,
                  [&] { return numbered(device, dtype); });
  }
}

// Every pair of dtypes; what does not fit and the rounding take turns. A device has to compile a program for each pair,
// so there it is every third.
void selftest_convert(const Device& device, SelftestTally& tally) {
  std::uint64_t number = 0;
  for (const Dtype from : all_dtypes) {
    for (const Dtype to : all_dtypes) {
      ++number;
      const std::uint64_t turn = static_cast<std::uint64_t>(from) + static_cast<std::uint64_t>(to);
      if (device.kind() != DeviceKind::cpu && turn % 3 != 0) continue;
      ConvertOptions how;
      how.overflow = static_cast<Overflow>(number % 3);
      how.rounding = static_cast<Rounding>(number / 3 % 4);
      const std::string name = fmt::format("{} to {}, {}, {}", to_string(from), to_string(to), to_string(how.overflow),
                                           to_string(how.rounding));
      selftest_case(device, tally, name, Strategy::automatic, [&] {
        constexpr std::uint64_t count = 3001;
        const std::vector<std::byte> bytes = how.overflow == Overflow::error && number % 2 == 0
                                                 ? selftest_data(from, "few", count, number)
                                                 : selftest_special_data(from, "normal", count, number);
        return converted(device, {from, bytes.data(), count}, to, how);
      });
    }
  }
}

}  // namespace masu::cli
