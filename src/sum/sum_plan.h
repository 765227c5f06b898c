// SPDX-License-Identifier: Apache-2.0
// What to launch for a sum on a device, and every constant of the kernels: they stand here once and reach the kernels
// as defines.
#pragma once

#include "runtime/kernel_source.h"
#include "runtime/tuning.h"

#include <masu/device.h>
#include <masu/dtype.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace masu::sum_plan {

// How the kernels that make results take rows: shared by work-groups, a work-group taking whole ones, or as columns of
// matrices.
enum class Layout { shared, rows, columns };

// What is added: as MASU_INPUTS; both: squares, and values beside them.
enum class Inputs { squares, values, products, both };

// The most totals of one launch, in bytes: many rows are several launches.
inline constexpr std::uint64_t most_total_bytes = std::uint64_t{64} << 20;
// What a counter takes: so many digits of up to 2^16. With the few elements beside the vectors, less than 2^31 / 2^16.
inline constexpr unsigned additions = 32704;
// Words below the lowest bit of totals, so that quotients by less than 2^48, and their roots, have all bits that
// rounding needs: one quotient is made of a sum, two of a variance.
inline constexpr unsigned words_below_sums = 4;
inline constexpr unsigned words_below_variances = 8;
// Elements of a row whose squares and products, as integers, sum_narrow.cl takes.
inline constexpr std::uint64_t most_narrow = (std::uint64_t{1} << 16) - 1;

// Short columns that a work-item takes before others are waited for, at most.
inline constexpr unsigned most_column_rounds = 2;
// Work-items of a group, vectors of an input in flight for each, and groups that share a compute unit.
struct Shape {
  unsigned group;
  unsigned unroll;
  unsigned groups_a_unit;
};
using Near = std::array<unsigned, 5>;

struct Tuned {
#define MASU_TUNED MASU_TUNED_MEMBER
#include "sum/sum_tuning.def"
};
inline Tuned tuned;

struct Plan {
  Dtype dtype = Dtype::u8;
  Inputs inputs = Inputs::values;
  bool gpu = false;
  bool fp64 = true;    // the device has doubles
  bool quick = false;  // rows are tried without exact totals
  bool fine = false;   // results are doubles, also of narrower elements
  bool close = false;  // what additions round away is added too
  Layout layout = Layout::shared;
  bool shares_columns = false;  // several work-groups may share them
  bool is_short = false;        // by column: rows of few elements
  unsigned lines = 1;           // by column: rows whose elements a work-item holds, `unroll` of each
  bool adds = false;            // an addend to the sum of each row
  bool running = false;         // by column: results are the sums up to each element
  unsigned group = 64;
  unsigned unroll = 1;
  unsigned columns = 32;
  unsigned spacing = 4;  // 2^this places have one first row
  unsigned step = 1;     // rows from the first row of one place to that of the next
  unsigned digits = 1;   // of a value
  unsigned table_rows = 12;
  int lowest = 0;                 // exponent of place 0
  unsigned steps = 1;             // vectors of a work-item before counters of floats could overflow
  unsigned groups_a_unit = 1;     // work-groups that share a compute unit
  unsigned looks = 1;             // for what the last work-group of a row decides
  unsigned cluster = 1;           // neighbouring work-groups that may wait for each other
  std::uint64_t most_groups = 1;  // that the device has at a time
  std::uint64_t share = 1;        // elements that are worth a work-group

  // So many work-groups share a compute unit.
  void take_groups(unsigned of_unit) noexcept {
    most_groups = most_groups / groups_a_unit * of_unit;
    groups_a_unit = of_unit;
  }
  // `finishes`: of the kernels that make results of the totals, too.
  [[nodiscard]] std::vector<runtime::Define> defines(bool finishes) const;
  [[nodiscard]] std::span<const std::string_view> files(bool finishes) const;
  // Vectors in flight of a work-item that has fewer left than `unroll`.
  [[nodiscard]] unsigned rest() const noexcept;
  // Words of 32 bits of the number that is rounded, and of the sum whose square is subtracted in a variance.
  [[nodiscard]] unsigned words() const noexcept;
  [[nodiscard]] unsigned value_words() const noexcept;
  // The exponent of a row's counters.
  [[nodiscard]] int exponent(unsigned row) const noexcept;
  // Work-groups for each row, and of the launch.
  [[nodiscard]] std::uint64_t shares(std::uint64_t rows, std::uint64_t count) const noexcept;
  // Whether those of a row wait for each other.
  [[nodiscard]] bool waits(std::uint64_t rows, std::uint64_t count) const noexcept;
  [[nodiscard]] std::uint64_t groups(std::uint64_t rows, std::uint64_t count) const noexcept;
  // Where a work-group takes whole rows: the binary logarithm of the work-items that share one, the rows that these
  // take before others are waited for, and the work-groups. And the words of 64 bits that each work-item has for its
  // part.
  struct Teams {
    unsigned bits = 0;
    unsigned rounds = 1;
  };
  [[nodiscard]] Teams teams(std::uint64_t rows, std::uint64_t count) const noexcept;
  [[nodiscard]] std::uint64_t rows_of_group(const Teams& teams) const noexcept {
    return std::uint64_t{group >> teams.bits} * teams.rounds;
  }
  [[nodiscard]] std::uint64_t team_groups(const Teams& teams, std::uint64_t rows) const noexcept;
  [[nodiscard]] unsigned part_words() const noexcept;
  // By column, where the rows are columns of matrices of so many: the same, that logarithm alone, the work-groups that
  // share a strip of neighbours, and the strips that are taken at a time.
  [[nodiscard]] Teams column_teams(std::uint64_t rows, std::uint64_t columns, std::uint64_t count) const noexcept;
  [[nodiscard]] unsigned column_bits(std::uint64_t rows, std::uint64_t columns, std::uint64_t count) const noexcept;
  [[nodiscard]] std::uint64_t column_shares(std::uint64_t rows, std::uint64_t columns,
                                            std::uint64_t count) const noexcept;
  [[nodiscard]] std::uint64_t strips(std::uint64_t rows, std::uint64_t columns, std::uint64_t count) const noexcept;
  [[nodiscard]] std::size_t local_bytes() const noexcept { return std::size_t{4} * columns * table_rows; }
  // Local memory of the kernels that make results, at most: the table, a number and the sum that is squared, a row's
  // totals, the parts of work-items, a word for each row that a work-group takes, and what lies between these.
  [[nodiscard]] std::size_t finish_bytes() const noexcept {
    constexpr std::size_t between = 128;
    const unsigned most_rounds = layout == Layout::columns ? std::max(lines, most_column_rounds) : 1;
    return local_bytes() + std::size_t{12} * words() + std::size_t{4} * value_words() + std::size_t{8} * table_rows +
           (std::size_t{8} * part_words() + std::size_t{4} * most_rounds) * group + between;
  }
  // The size of a row's totals.
  [[nodiscard]] std::uint64_t total_bytes() const noexcept {
    return std::uint64_t{8} * table_rows * (inputs == Inputs::both ? 2 : 1);
  }

 private:
  [[nodiscard]] unsigned words_to(unsigned last_row) const noexcept;
};

// `tries`: try doubles with an error bound first. `fine`: the results are f64. `count`: the elements of a row, where
// that is known. `layout`: how results on the device take rows, of which there are at least `rows`. `running`: they are
// the sums up to each element.
Plan make(const DeviceInfo& device, Dtype dtype, Inputs inputs, bool tries = true, bool fine = false,
          std::uint64_t count = ~std::uint64_t{0}, Layout layout = Layout::shared, std::uint64_t rows = 1,
          bool running = false);

}  // namespace masu::sum_plan
