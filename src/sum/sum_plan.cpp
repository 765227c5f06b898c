// SPDX-License-Identifier: Apache-2.0
#include "sum/sum_plan.h"

#include "elements/clusters.h"
#include "elements/elements.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

namespace masu::sum_plan {

namespace {

constexpr unsigned digit_bits = 16;
constexpr unsigned integer_rows = 12;  // of 192 bits

// Floats of a dtype: what place 0 stands for, the places that there are (with those of infinities), and the bits of a
// mantissa.
struct FloatRange {
  int lowest;
  unsigned places;
  unsigned mantissa;
};

FloatRange range_of(Dtype dtype) {
  const FloatFormat format = float_format(dtype);
  return {format.least, static_cast<unsigned>(2 * format.end - 1), static_cast<unsigned>(format.precision)};
}

// How values of `bits` bits become digits: where they are few, so that a digit holds as many as it can, in rows of its
// own; else one row for all digits of 16 places.
void lay_out(Plan& plan, unsigned places, unsigned bits) {
  constexpr unsigned narrow = 2 * digit_bits - 1;
  if (bits <= 12) {
    plan.spacing = 2;
    plan.digits = 1;
    plan.step = 1;
  } else if (bits + 7 <= narrow) {
    plan.spacing = 3;
    plan.digits = 2;
    plan.step = 2;
  } else {
    plan.spacing = 4;
    plan.digits = (bits + digit_bits - 1 + digit_bits - 1) / digit_bits;
    plan.step = 1;
  }
  plan.table_rows = ((places - 1) >> plan.spacing) * plan.step + plan.digits;
}

// Whether a row is so long that reading it limits its sum: then few work-groups with much in flight are the fastest.
bool streams(const DeviceInfo& device, Dtype dtype, Inputs inputs, Layout layout, std::uint64_t count) {
  if (device.kind != DeviceKind::cuda || inputs != Inputs::values || layout != Layout::shared) return false;
  if (dtype == Dtype::f32) return count > tuned.most_cluster_bytes / size_of(dtype);
  return (is_float(dtype) || size_of(dtype) == 4) && count >= tuned.stream_bytes / size_of(dtype);
}

// `count` is that of a row, 0 where it is added exactly at once.
Shape shape_of(const DeviceInfo& device, Dtype dtype, Inputs inputs, Layout layout, std::uint64_t count, bool running) {
  if (!device.gpu) return {64, 1, 1};
  const bool quick = device.kind == DeviceKind::cuda && is_float(dtype) && size_of(dtype) < 8;
  if (streams(device, dtype, inputs, layout, count)) {
    if (dtype != Dtype::f32) return tuned.stream;
    return count < tuned.stream_f32_elements ? tuned.stream_f32_few : tuned.stream_f32;
  }
  if (layout == Layout::columns) {
    // Loads are of one element; short columns have no more.
    const auto fitted = [&](Shape shape) {
      if (count != 0 && count < shape.unroll) shape.unroll = static_cast<unsigned>(count);
      return shape;
    };
    const bool sums = inputs == Inputs::values && !running;
    const bool both = inputs == Inputs::both;
    if (count != 0 && both && dtype == Dtype::f64) {
      return fitted(count < 4 * tuned.held ? tuned.columns_both_short : tuned.columns_both);
    }
    if (count != 0 && count < tuned.short_columns) {
      // As many loads in flight as leave few for nothing in the last turn.
      const auto turns = [&](std::uint64_t unroll) { return (count + unroll - 1) / unroll * unroll; };
      if (dtype == Dtype::f32 && (sums || both) && count > tuned.held) {
        Shape shape = tuned.columns_short_single;
        if (sums && count <= shape.unroll) return fitted(tuned.columns_once_single);
        for (unsigned unroll = shape.unroll; unroll >= tuned.columns_short.unroll; unroll -= 4) {
          if (turns(unroll) < turns(shape.unroll)) shape.unroll = unroll;
        }
        const Shape& few = tuned.columns_short_few;
        const bool is_few = shape.unroll <= few.unroll;
        if (is_few) shape = {few.group, shape.unroll, few.groups_a_unit};
        if (sums || (is_few && count > tuned.columns_short_single.unroll)) return shape;
      }
      if (size_of(dtype) == 8 || both) return fitted(tuned.columns_short_wide);
      if (sums && has_few_places(dtype) && count > tuned.held / 2 && count <= 4 * tuned.held) {
        if (count > tuned.held && count <= tuned.columns_once.unroll) return fitted(tuned.columns_once);
        Shape shape = tuned.columns_short_half;
        if (turns(shape.unroll + 4) < turns(shape.unroll)) shape.unroll += 4;
        return fitted(shape);
      }
      return fitted(tuned.columns_short);
    }
    if (quick && sums && dtype == Dtype::f32) return fitted(tuned.columns_single);
    if (quick && is_stored_float(dtype) && inputs == Inputs::values) {
      return fitted(sums && has_few_places(dtype) ? tuned.columns_half : tuned.columns_stored);
    }
    return fitted(size_of(dtype) == 8 || both ? tuned.columns_wide : tuned.columns_narrow);
  }
  if (inputs == Inputs::products) {
    if (!quick) return tuned.products;
    return count < tuned.many_products ? tuned.products_quick : tuned.products_quick_many;
  }
  if (inputs == Inputs::both && quick) return tuned.both_quick;
  if (!is_float(dtype) || inputs != Inputs::values) return tuned.integers;
  const bool shares_f64 = dtype == Dtype::f64 && layout == Layout::shared;
  if (device.kind != DeviceKind::cuda) return shares_f64 ? tuned.opencl_f64 : tuned.opencl;
  return shares_f64 || layout == Layout::rows ? tuned.f64_or_rows : tuned.floats;
}

}  // namespace

std::vector<runtime::Define> Plan::defines(bool finishes) const {
  const bool both = inputs == Inputs::both;
  std::vector<runtime::Define> more{{"MASU_GROUP", group},
                                    {"MASU_GROUPS_A_UNIT", groups_a_unit},
                                    {"MASU_UNROLLED", gpu ? "MASU_PRAGMA_UNROLL" : ""},
                                    {"MASU_ALONE", !gpu},
                                    {"MASU_UNROLL", unroll},
                                    {"MASU_REST", rest()},
                                    {"MASU_INPUTS", both ? 0U : static_cast<unsigned>(inputs)},
                                    {"MASU_BOTH", both},
                                    {"MASU_COLUMNS", columns},
                                    {"MASU_TABLE_ROWS", table_rows},
                                    {"MASU_SPACING", spacing},
                                    {"MASU_STEP", step},
                                    {"MASU_STEPS", steps},
                                    {"MASU_BY_COLUMN", layout == Layout::columns},
                                    {"MASU_LINES", lines},
                                    {"MASU_RUNNING", running},
                                    {"MASU_ADDEND", adds},
                                    {"MASU_SHORT", is_short || running},
                                    {"MASU_SHARES_COLUMNS", shares_columns},
                                    {"MASU_QUICK", finishes && quick}};
  if (finishes) {
    // Numbers count from the lowest bit of the totals.
    const unsigned below = both ? words_below_variances : words_below_sums;
    more.insert(more.end(), {{"MASU_FINE", fine},
                             {"MASU_CLOSE", close},
                             {"MASU_CLUSTER", cluster},
                             {"MASU_LOOKS", looks},
                             {"MASU_FP64", fp64},
                             {"MASU_WORDS", words()},
                             {"MASU_VALUE_WORDS", value_words()},
                             {"MASU_BELOW", below},
                             {"MASU_LOWEST", static_cast<int>(32 * below) - exponent(0)}});
  }
  return element_defines(dtype, std::move(more));
}

namespace {

// The files of a program, in their order: `finishes`: of the kernels that make results.
std::vector<std::string_view> program(bool finishes, bool floats) {
  std::vector<std::string_view> files{"src/elements/elements.cl", "src/elements/totals.cl"};
  const auto add = [&](std::initializer_list<std::string_view> more) { files.insert(files.end(), more); };
  if (finishes) add({"src/elements/last_group.cl", "src/sum/sum_number.cl"});
  add({"src/sum/sum.cl", floats ? "src/sum/sum_floats.cl" : "src/sum/sum_integers.cl"});
  if (!finishes) {
    add({"src/sum/sum_add.cl"});
    return files;
  }
  add({"src/sum/sum_finish.cl", "src/elements/doubles.cl", "src/sum/sum_certain.cl", "src/sum/sum_registers.cl"});
  if (!floats) add({"src/sum/sum_narrow.cl"});
  add({"src/sum/sum_quick.cl", "src/sum/sum_spread.cl", "src/sum/sum_round.cl", "src/sum/sum_rows.cl"});
  return files;
}

}  // namespace

std::span<const std::string_view> Plan::files(bool finishes) const {
  static const std::array programs{program(false, false), program(true, false), program(false, true),
                                   program(true, true)};
  return programs[(finishes ? 1 : 0) + (is_float(dtype) ? 2 : 0)];
}

// Words of the number, without its sign, that the totals' rows up to `last_row` stand for.
unsigned Plan::words_to(unsigned last_row) const noexcept {
  return static_cast<unsigned>(exponent(last_row) - exponent(0)) / 32 + 3;
}

unsigned Plan::words() const noexcept {
  const unsigned all = words_to(table_rows - 1);
  if (inputs != Inputs::both) return words_below_sums + all;
  // The squares' sum times less than 2^48, and the square of the values'.
  return words_below_variances + std::max(all + 2, 2 * value_words() + 1);
}

unsigned Plan::value_words() const noexcept {
  if (inputs != Inputs::both) return 1;
  if (!is_float(dtype)) return words_to(table_rows - 1);
  return words_to(((range_of(dtype).places - 1) >> spacing) * step + digits - 1);
}

int Plan::exponent(unsigned row) const noexcept {
  if (!is_float(dtype)) return static_cast<int>(row * digit_bits);
  return lowest + static_cast<int>((row / step << spacing) + row % step * digit_bits);
}

std::uint64_t Plan::shares(std::uint64_t rows, std::uint64_t count) const noexcept {
  if (waits(rows, count)) return cluster;
  const std::uint64_t room = std::max<std::uint64_t>(most_groups / std::max<std::uint64_t>(rows, 1), 1);
  const std::uint64_t most = std::clamp<std::uint64_t>(count / share, 1, room);
  // As few as have as many loads to do as these, in whole turns of those in flight: none has much less to do than
  // another.
  const std::uint64_t once = std::uint64_t{group} * (16 / size_of(dtype));
  std::uint64_t loads = std::max<std::uint64_t>((count + most * once - 1) / (most * once), 1);
  if (loads > rest()) loads = (loads + rest() - 1) / rest() * rest();
  return std::max<std::uint64_t>((count + loads * once - 1) / (loads * once), 1);
}

unsigned Plan::rest() const noexcept {
  const unsigned most_of_columns = dtype == Dtype::f32 ? 32 : 16;  // loads of one element
  return layout == Layout::columns && unroll <= most_of_columns ? unroll : std::min(unroll, tuned.rest);
}

bool Plan::waits(std::uint64_t rows, std::uint64_t count) const noexcept {
  const std::uint64_t bytes = count * size_of(dtype);
  return cluster > 1 && rows * cluster <= most_groups && bytes >= tuned.least_cluster_bytes &&
         bytes <= tuned.most_cluster_bytes;
}

std::uint64_t Plan::groups(std::uint64_t rows, std::uint64_t count) const noexcept {
  return std::clamp<std::uint64_t>(rows * shares(rows, count), 1, most_groups * tuned.rounds);
}

unsigned Plan::part_words() const noexcept {
  if (!quick) return 0;
  if (!is_float(dtype)) return inputs == Inputs::values ? 2 : inputs == Inputs::both ? 5 : 3;
  if (inputs == Inputs::both) return dtype == Dtype::f64 ? 7 : fine ? 5 : 6;
  return dtype != Dtype::f64 && (fine || close) == (inputs == Inputs::values) ? 4 : 3;
}

Plan::Teams Plan::teams(std::uint64_t rows, std::uint64_t count) const noexcept {
  const unsigned whole = static_cast<unsigned>(std::bit_width(group)) - 1;
  if (!quick) return {whole, 1};
  if (!gpu) {  // whose work-items run one after the other
    const std::uint64_t wanted =
        std::min(count * size_of(dtype) / 16, most_groups * group / std::max<std::uint64_t>(rows, 1));
    return {std::min(whole, static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(wanted, 1))) - 1), 1};
  }
  // The time of the teams that take longest, in that of a vector.
  constexpr unsigned sub_group_bits = 5;  // MASU_SHUFFLE_LANES of the kernels, where they have them
  const auto part = [](unsigned thousandths) { return thousandths / 1000.0; };
  const double vectors = std::max(static_cast<double>(count) * static_cast<double>(size_of(dtype)) / 16, 1.0);
  Teams best{0, 1};
  double least = std::numeric_limits<double>::infinity();
  for (Teams teams{0, 1}; teams.bits <= whole; ++teams.bits) {
    const double turns = std::ceil(vectors / static_cast<double>((1U << teams.bits) * unroll));
    const double each = turns * unroll;
    double factor = teams.bits < tuned.near.size() ? part(tuned.near[teams.bits]) : 1;
    if (each > 64) factor += part(tuned.long_rows) * std::log2(each / 64);
    const bool waits_for_others = teams.bits > sub_group_bits;
    const unsigned most_rounds = waits_for_others ? 1 : std::min(1U << teams.bits, tuned.team_rounds);
    for (teams.rounds = 1; teams.rounds <= most_rounds; teams.rounds *= 2) {
      const std::uint64_t here = rows_of_group(teams);
      const std::uint64_t groups = (rows + here - 1) / here;
      const std::uint64_t passes = (groups + most_groups - 1) / most_groups;
      const double time = static_cast<double>(passes) * factor *
                          (teams.rounds * (each + part(tuned.a_row)) + part(tuned.a_result) +
                           (waits_for_others ? part(tuned.barriers) : 0));
      if (time >= least) continue;
      least = time;
      best = teams;
    }
  }
  return best;
}

std::uint64_t Plan::team_groups(const Teams& teams, std::uint64_t rows) const noexcept {
  const std::uint64_t each = rows_of_group(teams);
  const std::uint64_t all = std::max<std::uint64_t>((rows + each - 1) / each, 1);
  const std::uint64_t passes = (all + most_groups - 1) / most_groups;
  return (all + passes - 1) / passes;
}

unsigned Plan::column_bits(std::uint64_t rows, std::uint64_t columns, std::uint64_t count) const noexcept {
  const unsigned whole = static_cast<unsigned>(std::bit_width(group)) - 1;
  // As many neighbours as a sub-group reads at a time; more where lines begin within one of the cache, which two
  // work-groups would read, where there are very many, and where a row has few elements for each work-item.
  constexpr std::uint64_t line = 128;
  const auto all = static_cast<unsigned>(std::bit_width(std::bit_ceil(columns))) - 1;
  unsigned neighbours = std::min(columns * size_of(dtype) % line == 0 ? 5U : 7U, all);
  while (neighbours < std::min(all, whole) && rows >> neighbours > most_groups) ++neighbours;
  const unsigned most = static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(count / (2 * unroll), 1))) - 1;
  return std::min(whole - std::min(whole, neighbours), most);
}

std::uint64_t Plan::column_shares(std::uint64_t rows, std::uint64_t columns, std::uint64_t count) const noexcept {
  if (!shares_columns) return 1;
  const unsigned bits = column_bits(rows, columns, count);
  const std::uint64_t all = (rows + (group >> bits) - 1) / (group >> bits);
  constexpr std::uint64_t least = 16;  // elements for a work-item: of little data all work-groups have some
  const std::uint64_t most = std::max<std::uint64_t>((count >> bits) / least, 1);
  return std::clamp<std::uint64_t>(most_groups / std::max<std::uint64_t>(all, 1), 1, most);
}

Plan::Teams Plan::column_teams(std::uint64_t rows, std::uint64_t columns, std::uint64_t count) const noexcept {
  if (running || lines > 1) return {0, lines};
  const unsigned bits = column_bits(rows, columns, count);
  const std::uint64_t passes = rows / (std::uint64_t{group >> bits} * most_groups);
  if (bits != 0 || count >= tuned.short_columns || !quick) return {bits, 1};
  return {0, static_cast<unsigned>(std::bit_floor(std::clamp<std::uint64_t>(passes, 1, most_column_rounds)))};
}

std::uint64_t Plan::strips(std::uint64_t rows, std::uint64_t columns, std::uint64_t count) const noexcept {
  const std::uint64_t teams = rows_of_group(column_teams(rows, columns, count));
  const std::uint64_t all = std::max<std::uint64_t>((rows + teams - 1) / teams, 1);
  const auto passes = [&](std::uint64_t most) { return (all + most - 1) / most; };
  // As many as run at a time take several strips each, if all have about as many of them, or if these are few. Else
  // there are more, and the device gives new ones to whatever is done first.
  const bool alike =
      running || (lines == 1 && (all < 4 * most_groups || 10 * all >= 9 * most_groups * passes(most_groups)));
  const std::uint64_t turns =
      passes(most_groups * (gpu && !alike && column_shares(rows, columns, count) == 1 ? tuned.column_rounds : 1));
  return (all + turns - 1) / turns;
}

Plan make(const DeviceInfo& device, Dtype dtype, Inputs inputs, bool tries, bool fine, std::uint64_t count,
          Layout layout, std::uint64_t rows, bool running) {
  Plan plan;
  plan.layout = layout;
  plan.dtype = dtype;
  plan.inputs = inputs;
  plan.gpu = device.gpu;
  plan.fp64 = device.fp64;
  plan.quick = tries && (is_float(dtype) ? device.fp64 : inputs == Inputs::values || count <= most_narrow);
  plan.fine = plan.quick && fine;
  // Some of many rows nearly cancel, and would have to be added again.
  plan.close = plan.quick && !fine && dtype == Dtype::f32 && inputs == Inputs::values &&
               (layout != Layout::columns || (count >= tuned.short_columns && !running)) && rows > 1 && device.gpu;
  const std::uint64_t tried = plan.quick ? count : 0;
  const bool streaming = streams(device, dtype, inputs, layout, tried);
  plan.cluster = plan.quick && layout == Layout::shared && !streaming ? cluster_groups(device) : 1;
  // Through OpenCL no work-group reads what others wrote without atomics in the same launch.
  plan.shares_columns = layout == Layout::columns && plan.quick && device.kind == DeviceKind::cuda;
  plan.looks = device.gpu ? 256 : 1024;  // some 100 microseconds, and 10
  plan.table_rows = integer_rows;
  const bool two = inputs != Inputs::values;
  if (is_float(dtype)) {
    const FloatRange range = range_of(dtype);
    lay_out(plan, two ? 2 * range.places - 1 : range.places, two ? 2 * range.mantissa : range.mantissa);
    plan.lowest = two ? 2 * range.lowest : range.lowest;
  }
  // Work-items of a CPU device run one after the other: they share columns.
  plan.columns = device.gpu ? 32 : 4;
  const Shape shape = shape_of(device, dtype, inputs, layout, tried, running);
  plan.is_short = layout == Layout::columns && tried != 0 && tried < tuned.short_columns;
  plan.group = work_group(device, shape.group, 16);
  plan.unroll = shape.unroll;
  plan.groups_a_unit = shape.groups_a_unit;
  // Few running sums are spread over all units if they are long.
  while (running && device.gpu && count > 64 && plan.group > 64 &&
         rows < std::uint64_t{2} * plan.group * device.compute_units) {
    plan.group /= 2;
    plan.groups_a_unit *= 2;
  }
  plan.most_groups = std::uint64_t{std::max(1U, device.compute_units)} * plan.groups_a_unit;
  const bool narrow = size_of(dtype) < 8;
  const bool floats = is_float(dtype);
  const std::uint64_t held = narrow || !(floats || running) ? tuned.held : tuned.held_wide;
  // All compute units have work before a work-item takes more.
  const std::uint64_t passes = rows / (plan.group * plan.most_groups);
  const bool holds = plan.quick && layout == Layout::columns && inputs != Inputs::products;
  // Two rows at least, where results need few registers of up to `held` elements each.
  const bool lean = !plan.fine && narrow && (floats || (inputs == Inputs::values && !running));
  // But of two f64 only their difference tells whether the root of their variance is a tie.
  const bool enough = passes > 1 || (!running && rows * plan.groups_a_unit >= 2 * plan.group * plan.most_groups) ||
                      (count == 2 && dtype == Dtype::f64 && inputs == Inputs::both);
  if (holds && enough && count > 0 && count <= (lean ? held : held / 2)) {
    plan.unroll = static_cast<unsigned>(count);
    const bool halves = has_few_places(dtype) && inputs == Inputs::values;
    std::uint64_t most = held;
    if (!running && count > 1 && floats && lean && !halves && (count == 2 || inputs == Inputs::values)) {
      most = count < 4 ? tuned.held_of_two : tuned.held_of_four;
    }
    plan.lines = static_cast<unsigned>(std::max<std::uint64_t>(std::min(most / count, std::bit_floor(passes | 1)), 2));
    plan.shares_columns = false;
    if (!running && halves && lean && count <= held / 2) plan.take_groups(tuned.halves_groups);
  }
  const std::size_t room = std::max<std::size_t>(device.local_bytes, 16384);
  while (plan.local_bytes() > room && plan.columns > 1) plan.columns /= 2;
  // The table is for the few rows for which nothing is certain: it becomes smaller first.
  while (plan.finish_bytes() > room && plan.columns > 16) plan.columns /= 2;
  while (plan.finish_bytes() > room && plan.group > 64) plan.group /= 2;
  while (plan.finish_bytes() > room && plan.columns > 1) plan.columns /= 2;
  const unsigned per_vector = static_cast<unsigned>(16 / size_of(dtype));
  const unsigned a_step = std::max(plan.group / plan.columns, 1U) * per_vector;
  plan.steps = std::max(additions / a_step / plan.unroll * plan.unroll, 1U);
  // Exact totals take longer than what is loaded.
  plan.share = std::uint64_t{plan.group} * (plan.quick ? plan.rest() : std::min(plan.unroll, 2U)) * per_vector;
  return plan;
}

}  // namespace masu::sum_plan
