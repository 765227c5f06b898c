// SPDX-License-Identifier: Apache-2.0
#include "call/launcher.h"
#include "call/operands.h"
#include "elements/clusters.h"
#include "elements/elements.h"
#include "elements/stored_float.h"
#include "quantile/quantile_plan.h"
#include "quantile/quantile_rule.h"

#include <masu/sort.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

namespace masu {

using selection_plan::Bounds;
using selection_plan::Part;
using selection_plan::Plan;

namespace {

// As in selection.cl.
constexpr std::uint32_t as_elements = 0;
constexpr std::uint32_t as_median = 1;
constexpr std::uint64_t no_mark = ~std::uint64_t{0};
// As in selection_found.cl.
constexpr std::uint64_t no_place = ~std::uint64_t{0};
constexpr std::size_t points_a_launch = 4;

std::uint32_t u32(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}

enum class Way : std::uint8_t { alone, passes, sorted };  // sorted: in memory, or those of few in registers

Way way_of(const Plan& plan, std::uint64_t rows, std::uint64_t length, std::size_t places) {
  if (plan.few != 0 || places > selection_plan::tuned.few_places) return Way::sorted;
  const bool is_short = length <= selection_plan::tuned.most_short;
  if (is_short && rows <= plan.compute_units * selection_plan::tuned.short_rows_a_unit) return Way::alone;
  if (plan.gpu && plan.row.holds && length >= selection_plan::tuned.least_held) return Way::alone;
  const bool few = rows <= selection_plan::tuned.few_rows && length <= selection_plan::most_elements;
  return is_short || !few ? Way::sorted : Way::passes;
}

// Where the parts of the temporary memory begin.
struct Layout {
  std::uint64_t zeros = 0;  // after the words that are cleared
  std::uint64_t list = 0;
  std::uint64_t filtered = 0;
  std::uint64_t end = 0;

  Layout(const Plan& plan, const Bounds& bounds, std::uint64_t count)
      : zeros(plan.counting_words() * sizeof(std::uint32_t)),
        list(call::aligned(zeros + plan.group * sizeof(std::uint32_t))),
        filtered(list + call::aligned(std::max<std::uint64_t>(bounds.capacity, bounds.samples) * size_of(plan.dtype))),
        end(filtered) {
    if (bounds.samples == 0) return;
    end += call::aligned(plan.tiles(count) * selection_plan::filtered_words * sizeof(std::uint32_t));
  }
};

// What goes where: the elements at two places, or a median, of each row.
struct Wanted {
  std::uint64_t place0;
  std::uint64_t place1;
  std::uint32_t what = as_elements;
  std::uint64_t first = 0;  // of a row's results
  std::uint64_t second = 0;
  std::uint64_t mark = no_mark;
  std::uint64_t stride = 1;  // results of a row
  Zeros zeros = Zeros::stable;
};

class Selection {
 public:
  Selection(Stream& stream, const SelectedRows& from, const BufferBase& result, const BufferBase& workspace)
      : stream_(stream),
        from_(from),
        result_(result),
        workspace_(workspace),
        length_(from.length()),
        plan_(selection_plan::make(stream.device().info(), from.dtype, from.rows, length_)) {}

  void run(Way way, const Wanted& wanted) {
    if (way == Way::alone) return alone(wanted);
    for (std::uint64_t row = 0; row < from_.rows; ++row) passes(wanted, row);
  }

 private:
  [[nodiscard]] call::Kernels program(Part part) const {
    return {stream_.device(), Plan::files(part), plan_.defines(part), plan_.work_items(part)};
  }
  [[nodiscard]] static LocalMemory words(std::size_t count) { return call::local<std::uint32_t>(count); }
  [[nodiscard]] static LocalMemory tables() { return words(2 * selection_plan::table_words); }
  [[nodiscard]] static LocalMemory state() { return words(selection_plan::state_words + selection_plan::more_words); }

  void alone(const Wanted& wanted) {
    call::Kernels kernels = program(Part::alone);
    kernels.launch(stream_, "selection_rows", from_.rows * plan_.row.cluster, from_.data, u32(length_), u32(from_.rows),
                   u32(wanted.place0), u32(wanted.place1), wanted.what, result_, wanted.first, wanted.second,
                   wanted.mark, wanted.stride, u32(wanted.zeros == Zeros::stable), plan_.row.words(),
                   u32(plan_.row.share), plan_.row.held());
  }

  void passes(const Wanted& wanted, std::uint64_t row) {
    const Bounds bounds = selection_plan::bounds(plan_, length_, wanted.place0, wanted.place1);
    const Layout layout(plan_, bounds, length_);
    const std::uint64_t control = workspace_.byte_offset();
    const call::Arguments data(call::At{from_.data, from_.data.byte_offset() + row * length_ * size_of(plan_.dtype)},
                               u32(length_));
    const call::Arguments work(u32(wanted.place0), u32(wanted.place1), u32(bounds.samples != 0), workspace_,
                               control + layout.list, u32(bounds.capacity));
    const std::uint64_t groups = plan_.groups(length_);
    const LocalMemory partial = words(plan_.group);
    const bool signs = is_float(plan_.dtype) && wanted.zeros == Zeros::stable;
    call::Kernels kernels = program(Part::passes);
    const bool bounded = bounds.samples != 0;
    kernels.start({bounded ? "selection_sample" : "", bounded ? "selection_filter" : "", "selection_digits",
                   signs ? "selection_zeros" : "", "selection_finish"});
    if (bounds.samples == 0) {
      call::clear(stream_, workspace_, 0, layout.zeros);
    } else {
      kernels.launch(stream_, "selection_sample", bounds.samples / plan_.group, data, work, bounds.samples,
                     u32(layout.zeros / sizeof(std::uint32_t)));
      // By one work-group.
      plan_.row = selection_plan::row_shape(stream_.device().info(), plan_.dtype, length_, bounds.samples, 0);
      program(Part::bounds)
          .launch(stream_, "selection_bounds", 1, workspace_, control + layout.list, bounds.samples, bounds.lower,
                  bounds.upper, bounds.has, plan_.row.words(), u32(plan_.row.share), plan_.row.held());
      kernels.launch(
          stream_, "selection_filter", groups, data, work, control + layout.filtered,
          LocalMemory{plan_.tile_vectors() * selection_plan::vector_bytes + filter_words * sizeof(std::uint32_t)});
    }
    for (unsigned pass = 0; pass < plan_.passes(); ++pass) {
      kernels.launch(stream_, "selection_digits", groups, data, work, std::uint32_t{pass}, tables(), partial, state());
    }
    const std::uint64_t zero_groups = std::min<std::uint64_t>(groups, plan_.group);
    if (signs) kernels.launch(stream_, "selection_zeros", zero_groups, data, work, partial, state());
    const auto result = [&](std::uint64_t place) { return place == no_mark ? place : row * wanted.stride + place; };
    kernels.launch(stream_, "selection_finish", 1, data, work, wanted.what, result_, result(wanted.first),
                   result(wanted.second), result(wanted.mark), u32(signs ? zero_groups : 0), partial, state());
  }

  static constexpr std::size_t filter_words = 12;
  Stream& stream_;
  const SelectedRows& from_;
  const BufferBase& result_;
  const BufferBase& workspace_;
  std::uint64_t length_;
  Plan plan_;
};

std::uint64_t sorted_bytes(Dtype dtype, std::uint64_t count) {
  return call::aligned(count * size_of(dtype));
}

// Where the sorted rows lie: in the workspace, but rows of few elements are taken as they are.
const BufferBase& sort_rows(Stream& stream, const Plan& plan, const SelectedRows& from, const BufferBase& workspace) {
  if (plan.few != 0) return from.data;
  const std::uint64_t count = from.rows * from.length();
  const std::uint64_t begin = workspace.byte_offset();
  const std::uint64_t sorted = sorted_bytes(from.dtype, count);
  Buffer<std::byte> target(stream.device(), workspace.memory(), begin, count * size_of(from.dtype));
  const Buffer<std::byte> rest(stream.device(), workspace.memory(), begin + sorted, workspace.size_bytes() - sorted);
  SortOptions options{.rows = from.rows};
  if (rest.size() != 0) options.workspace = &rest;
  static_cast<void>(sort(stream, from.data, from.dtype, target, options));
  return workspace;
}

std::uint64_t groups_of_results(const Plan& plan, std::uint64_t results) {
  constexpr std::uint64_t most = 1024;
  return std::clamp<std::uint64_t>(results / plan.group, 1, most);
}

// Compiled, if it is not, while other work is prepared.
call::Kernels points_program(Stream& stream, const Plan& plan, Part part) {
  call::Kernels kernels(stream.device(), Plan::files(part), plan.defines(part), plan.group);
  kernels.start({"selection_points"});
  return kernels;
}

// Launches of selection_points, whose parameters these are: from `number` points of each of some rows to results of a
// dtype.
struct PointLaunch {
  call::Kernels kernels;
  const BufferBase& data;
  std::uint64_t stride;  // elements of a row
  std::uint64_t rows;
  std::size_t number;
  Dtype result_dtype;
  const BufferBase& result;
  bool by_rows = false;  // a row of results for each row, not for each point
  std::uint64_t columns = 1;

  // `common`: of all points. `add`: adds some points, by their numbers, to the arguments.
  template <class Add>
  void run(Stream& stream, const Plan& plan, const call::Arguments& common, const Add& add) {
    const std::uint64_t by_row = by_rows ? number : 1;
    const std::uint64_t by_point = by_rows ? 1 : rows;
    const std::size_t size = size_of(result_dtype);
    const FloatFormat format = float_format(result_dtype);
    for (std::size_t first = 0; first < number; first += points_a_launch) {
      const std::size_t some = std::min(points_a_launch, number - first);
      call::Arguments points(common);
      add(points, [&](std::size_t i) { return first + std::min(i, some - 1); });
      kernels.launch(stream, "selection_points", groups_of_results(plan, rows * some), data, stride, rows, columns,
                     call::At{result, result.byte_offset() + first * by_point * size}, by_row, by_point,
                     u32(format.precision), format.least, u32(8 * size), u32(plan.dtype == result_dtype), u32(some),
                     points);
    }
  }
};

// `points` name the elements of a row; `nan_at`: where it has a NaN if it has any.
void launch_points(Stream& stream, const Plan& plan, PointLaunch launch, std::uint64_t nan_at,
                   std::span<const QuantilePoint> points) {
  launch.run(stream, plan, call::Arguments(nan_at), [&](call::Arguments& arguments, const auto& number_of) {
    for (std::size_t i = 0; i < points_a_launch; ++i) {
      const QuantilePoint& point = points[number_of(i)];
      arguments.add(call::Arguments(point.previous, point.next,
                                    bits_rounded_to(arithmetic_dtype(launch.result_dtype), point.weight),
                                    static_cast<std::uint32_t>(point.kind)));
    }
  });
}

}  // namespace

bool is_selected_by_sorting(const Device& device, Dtype dtype, std::uint64_t rows, std::uint64_t length,
                            std::size_t places) {
  return way_of(selection_plan::make(device.info(), dtype, rows, length), rows, length, places) == Way::sorted;
}

std::uint64_t selection_bytes(const Device& device, Dtype dtype, std::uint64_t rows, std::uint64_t length,
                              std::size_t places) {
  const Plan plan = selection_plan::make(device.info(), dtype, rows, length);
  switch (way_of(plan, rows, length, places)) {
    case Way::alone: return call::workspace_alignment;
    case Way::passes: return Layout(plan, selection_plan::bounds(plan, length, 0, 0), length).end;
    case Way::sorted: break;
  }
  return number_bytes(device, dtype, rows, length);
}

bool few_quantiles(Stream& stream, const BufferBase& data, Dtype dtype, const call::Lines& lines,
                   const FewQuantiles& wanted, const BufferBase& result, Dtype result_dtype) {
  const std::uint64_t rows = lines.number();
  if (rows == 0 || lines.length == 0 || lines.length > selection_plan::tuned.most_few || lines.second != 1)
    return false;
  const SelectedRows from{data, dtype, rows, lines.inner};
  if (wanted.q.empty()) {
    points_on_device(stream, from, wanted.points, {}, result_dtype, result, data);
  } else {
    numbers_on_device(stream, from, wanted.method, wanted.q, result_dtype, result, data);
  }
  return true;
}

std::uint64_t number_bytes(const Device& device, Dtype dtype, std::uint64_t rows, std::uint64_t length) {
  if (selection_plan::make(device.info(), dtype, rows, length).few != 0) return 0;
  return sorted_bytes(dtype, rows * length) + sort_workspace(device, dtype, rows * length, 0, {.rows = rows});
}

Filtered filtered_of(const Device& device, Dtype dtype, std::uint64_t length, std::uint64_t place) {
  const Plan plan = selection_plan::make(device.info(), dtype, 1, length);
  const Bounds bounds = selection_plan::bounds(plan, length, place, place);
  if (way_of(plan, 1, length, 1) != Way::passes || bounds.samples == 0) return {};
  const Layout layout(plan, bounds, length);
  return {.bounded = true, .list = layout.list, .found = layout.filtered};
}

void select_on_device(Stream& stream, const SelectedRows& from, std::span<const std::uint64_t> places, Zeros zeros,
                      bool nan_mark, const BufferBase& result, const BufferBase& workspace) {
  const Plan plan = selection_plan::make(stream.device().info(), from.dtype, from.rows, from.length());
  const Way way = way_of(plan, from.rows, from.length(), places.size());
  Selection selection(stream, from, result, workspace);
  if (way == Way::sorted) {
    const BufferBase& sorted = sort_rows(stream, plan, from, workspace);
    std::vector<QuantilePoint> points;
    for (const std::uint64_t place : places) points.push_back({place, place, 0, QuantilePoint::Kind::element});
    return launch_points(stream, plan,
                         {points_program(stream, plan, Part::points), sorted, from.length(), from.rows, points.size(),
                          from.dtype, result, true},
                         no_place, points);
  }
  const std::uint64_t stride = places.size() + (nan_mark ? 1 : 0);
  for (std::size_t i = 0; i < places.size();) {
    const bool two = i + 1 < places.size() && places[i + 1] == places[i] + 1;
    const std::size_t second = two ? i + 1 : i;
    selection.run(way, {.place0 = places[i],
                        .place1 = places[second],
                        .first = i,
                        .second = second,
                        .mark = nan_mark && i == 0 ? places.size() : no_mark,
                        .stride = stride,
                        .zeros = zeros});
    i = second + 1;
  }
}

void medians_on_device(Stream& stream, const SelectedRows& from, const BufferBase& result,
                       const BufferBase& workspace) {
  const QuantilePoint median = median_point(from.length());
  const std::array places{median.previous, median.next};
  const Plan plan = selection_plan::make(stream.device().info(), from.dtype, from.rows, from.length());
  const Way way = way_of(plan, from.rows, from.length(), places.size());
  if (way == Way::sorted) {
    return points_on_device(stream, from, {&median, 1}, places, dtype_of_median(from.dtype), result, workspace);
  }
  Selection(stream, from, result, workspace).run(way, {.place0 = places[0], .place1 = places[1], .what = as_median});
}

std::uint64_t points_bytes(const Device& device, Dtype dtype, std::uint64_t rows, std::uint64_t length,
                           std::size_t places) {
  const std::uint64_t selecting = call::aligned(selection_bytes(device, dtype, rows, length, places));
  if (is_selected_by_sorting(device, dtype, rows, length, places)) return selecting;
  return selecting + call::aligned(rows * (places + 1) * size_of(dtype));
}

void points_on_device(Stream& stream, const SelectedRows& from, std::span<const QuantilePoint> points,
                      std::span<const std::uint64_t> places, Dtype result_dtype, const BufferBase& result,
                      const BufferBase& workspace) {
  const Device device = stream.device();
  const std::uint64_t length = from.length();
  const Plan plan = selection_plan::make(device.info(), from.dtype, from.rows, length);
  if (way_of(plan, from.rows, length, places.size()) == Way::sorted) {
    const BufferBase& sorted = sort_rows(stream, plan, from, workspace);
    return launch_points(stream, plan,
                         {points_program(stream, plan, Part::points), sorted, length, from.rows, points.size(),
                          result_dtype, result, false, from.columns},
                         is_float(from.dtype) ? length - 1 : no_place, points);
  }
  const bool mark = is_float(from.dtype);
  const std::uint64_t stride = places.size() + (mark ? 1 : 0);
  const std::uint64_t begin = call::aligned(selection_bytes(device, from.dtype, from.rows, length, places.size()));
  const Buffer<std::byte> found(device, workspace.memory(), workspace.byte_offset() + begin,
                                from.rows * stride * size_of(from.dtype));
  call::Kernels kernels = points_program(stream, plan, Part::points);
  select_on_device(stream, from, places, Zeros::stable, mark, found, workspace);
  std::vector<QuantilePoint> named(points.begin(), points.end());
  for (QuantilePoint& point : named) {
    for (std::uint64_t* place : {&point.previous, &point.next}) {
      *place = static_cast<std::uint64_t>(std::ranges::lower_bound(places, *place) - places.begin());
    }
  }
  launch_points(stream, plan, {std::move(kernels), found, stride, from.rows, named.size(), result_dtype, result},
                mark ? places.size() : no_place, named);
}

void numbers_on_device(Stream& stream, const SelectedRows& from, QuantileMethod method, std::span<const double> q,
                       Dtype result_dtype, const BufferBase& result, const BufferBase& workspace) {
  const Plan plan = selection_plan::make(stream.device().info(), from.dtype, from.rows, from.length());
  const BufferBase& sorted = sort_rows(stream, plan, from, workspace);
  PointLaunch launch{points_program(stream, plan, Part::numbers),
                     sorted,
                     from.length(),
                     from.rows,
                     q.size(),
                     result_dtype,
                     result,
                     false,
                     from.columns};
  launch.run(stream, plan, call::Arguments(static_cast<std::uint32_t>(method)),
             [&](call::Arguments& arguments, const auto& number_of) {
               for (std::size_t i = 0; i < points_a_launch; ++i) {
                 const double one = q[number_of(i)];
                 arguments.add(call::Arguments(std::bit_cast<std::uint64_t>(one),
                                               std::bit_cast<std::uint64_t>(quantile_constant(method, one))));
               }
             });
}

}  // namespace masu
