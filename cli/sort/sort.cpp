// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_stream.h"
#include "cli/sort/lines.h"
#include "cli/sort/sort_job.h"
#include "cli/verify/references.h"
#include "options.h"
#include "program.h"
#include "ranks.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace masu::cli {
namespace {

constexpr const char* sort_examples = R"(Examples:
  masu sort samples.npy -o sorted.npy
  masu sort sizes.txt --descending -o sizes.txt
  masu sort sales.csv --key price:desc,city -o by-price.csv
  masu sort keys.npy -o keys.npy --values labels.npy --values-output labels.npy
  masu sort scores.npy --index -o order.npy
  masu sort huge.raw --dtype u64 --memory 8Gi --tmpdir /scratch -o huge.raw
  masu sort random:f32:1Mi --rows 1024 -o rows.npy
  masu sort sorted.npy --is-sorted
  masu sort names.txt --lines -u)";

}  // namespace

void SortCommandOptions::check() const {
  const bool to_stdout = is_standard_output(common.output);
  const std::pair<bool, const char*> rules[] = {
      {values.empty() != values_output.empty(), "--values and --values-output need each other"},
      {!values_dtype.empty() && values.empty(), "--values-dtype needs --values"},
      {index && !values.empty(), "--index and --values exclude each other"},
      {trace, "--trace has left masu; the example program bitonic_sort lists the passes of a sorting network"},
      {is_sorted && (index || !values.empty() || !common.output.empty()),
       "--is-sorted only checks: it takes no -o, --values or --index"},
      {common.json && to_stdout && !is_sorted, "--json needs standard output; give -o FILE"},
      {!values.empty() && is_standard_output(values_output) && to_stdout,
       "keys and values cannot both go to standard output; give -o FILE"},
      {is_same_output(common.output, values_output), "-o and --values-output must be two files"},
      {!of_lines() && ignore_case, "--ignore-case is for --lines or --key"},
      {unique && (index || !values.empty() || !rows.empty() || is_sorted),
       "--unique takes no --index, --values, --rows or --is-sorted"},
      {of_lines() && (!values.empty() || !rows.empty() || is_sorted || common.verify),
       "--lines takes no --values, --rows, --is-sorted or --verify"},
      {of_lines() && !input.dtype.empty(), "--lines takes no --dtype: lines are text"},
      {values == "-" && !input.inputs.empty() && input.inputs.front() == "-",
       "INPUT and --values cannot both be standard input"},
  };
  for (const auto& [broken, rule] : rules) {
    if (broken) usage_error(rule);
  }
  if (!of_lines() || index) check_array_format(common);
  else check_line_output(common);
  check_array_ending("--values-output", values_output);
  (void)sort_algorithm_from_name(algorithm);
}

namespace {

// masu sort --is-sorted.

struct OrderCheck {
  std::uint64_t count = 0;
  std::optional<std::uint64_t> out_of_order;  // the first element that comes before the one in front of it
  std::string element;                        // that one, and the one in front of it
  std::string before;
};

constexpr std::uint64_t least_for_device = 4096;  // elements: less is looked at one by one

// The first place from 1 on that comes before its predecessor, or the count.
std::uint64_t first_fall(const ArrayView& data, Order order) {
  return dispatch(data.dtype, [&]<class T>(TypeTag<T>) {
    const auto* values = static_cast<const T*>(data.data);
    std::uint64_t i = 1;
    while (i < data.count && !comes_before(values[i], values[i - 1], order)) ++i;
    return std::min(i, data.count);
  });
}

class Check {
 public:
  Check(const SortCommandOptions& asked, ArrayStream& stream)
      : names_(stream.info().names),
        order_(asked.order()),
        plain_(asked.common.verify),
        device_(stream.device()),
        dtype_(stream.info().dtype),
        row_length_(std::max<std::uint64_t>(1, stream.row_length().value_or(none))) {}

  // The next piece of the data; false where it is out of order.
  bool add(const ArrayView& piece, OrderCheck& found) {
    const std::size_t size = size_of(piece.dtype);
    const auto* data = static_cast<const std::byte*>(piece.data);
    for (std::uint64_t at = 0; at < piece.count;) {
      const std::uint64_t within = found.count % row_length_;
      const ArrayView part(piece.dtype, data + at * size, std::min(piece.count - at, row_length_ - within));
      if (found.count == 0) std::memcpy(first_, part.data, size);
      if (within != 0 && !follows(part)) {
        return tell(found, value_text({piece.dtype, last_, 1}, 0, names_.get()), part, 0);
      }
      if (!in_order(part)) {
        const std::uint64_t place = first_fall(part, order_);
        return tell(found, value_text(part, place - 1, names_.get()), part, place);
      }
      at += part.count;
      found.count += part.count;
      std::memcpy(last_, data + (at - 1) * size, size);
    }
    return true;
  }

  // What all ranks have found, one after the other.
  void share(OrderCheck& found) {
    if (!ranks().several()) return;
    const bool parted = row_length_ != none;
    Part mine{found.count, found.out_of_order.value_or(none), {}, {}};
    std::memcpy(mine.first, first_, sizeof first_);
    std::memcpy(mine.last, last_, sizeof last_);
    const auto texts = ranks().from_each("elements", bytes_of(found.before + "\n" + found.element));
    OrderCheck all;
    bool any = false;
    auto text = texts.begin();
    for (const Part& part : join_ranks("order", std::vector{mine})) {
      const std::vector<std::string> said = split(text_in(*text++), '\n');
      if (part.count != 0 || part.fall != none) {
        std::memcpy(first_, part.first, sizeof first_);
        const ArrayView begin(dtype_, first_, 1);
        if (any && !parted && !all.out_of_order && !follows(begin))
          tell(all, value_text({dtype_, last_, 1}, 0, names_.get()), begin, 0);
        if (part.fall != none && !all.out_of_order) {
          all.out_of_order = all.count + part.fall;
          all.before = said.front();
          all.element = said.back();
        }
        std::memcpy(last_, part.last, sizeof last_);
        any = true;
      }
      all.count += part.count;
    }
    found = std::move(all);
  }

 private:
  // What one rank has found; `fall`: where its elements are out of order, `none`: nowhere.
  struct Part {
    std::uint64_t count;
    std::uint64_t fall;
    std::byte first[8];
    std::byte last[8];
  };
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  [[nodiscard]] bool in_order(const ArrayView& part) const {
    if (plain_ || part.count < least_for_device) return first_fall(part, order_) == part.count;
    SortOptions options;
    options.order = order_;
    return masu::is_sorted(device_, part, options);
  }
  // Whether the part may come after the last element of the piece before it.
  [[nodiscard]] bool follows(const ArrayView& part) const {
    alignas(8) std::byte pair[2 * sizeof last_];
    const std::size_t size = size_of(part.dtype);
    std::memcpy(pair, last_, size);
    std::memcpy(pair + size, part.data, size);
    return first_fall({part.dtype, pair, 2}, order_) == 2;
  }
  bool tell(OrderCheck& found, std::string before, const ArrayView& part, std::uint64_t place) const {
    found.out_of_order = found.count + place;
    found.before = std::move(before);
    found.element = value_text(part, place, names_.get());
    return false;
  }

  std::shared_ptr<const io::ValueNames> names_;
  Order order_;
  bool plain_;
  Device device_;
  Dtype dtype_;
  std::uint64_t row_length_;  // `none`: all is one row
  alignas(8) std::byte first_[8] = {};
  alignas(8) std::byte last_[8] = {};
};

// Stops at the first element that is out of order. Throws Differs where the reference finds another one.
Exit check(const SortCommandOptions& asked) {
  ArrayStream stream(asked, Work::sorting, "is-sorted");
  OrderCheck found;
  Check check(asked, stream);
  double computing = 0;
  stream.pass([&](const ArrayView& piece) {
    const auto began = Clock::now();
    const bool kept = check.add(piece, found);
    computing += since(began);
    return kept;
  });
  const std::uint64_t seen = found.count + (found.out_of_order ? 1 : 0);
  (void)stream.settle(seen);
  const Places places = stream.places(seen);
  check.share(found);
  if (found.out_of_order && asked.row_count() == 1) places.apply({&*found.out_of_order, 1});
  const Seconds seconds = stream.seconds({0, computing});
  if (!ranks().first()) return Exit::done;
  if (asked.common.json) {
    const std::string place = found.out_of_order ? fmt::format(R"(,"first":{})", *found.out_of_order) : "";
    print_text(fmt::format("{{\"sorted\":{},\"dtype\":\"{}\",{}}}\n", !found.out_of_order, type_name(stream.info()),
                           stream.json_end(seconds, place)));
  }
  const std::string& name = stream.info().name;
  if (!asked.common.quiet) note_report(name, stream.report());
  if (asked.common.time) note_times(seconds, found.count * size_of(stream.info().dtype));
  if (!found.out_of_order) return Exit::done;
  if (!asked.common.json && !asked.common.quiet) {
    note(fmt::format("masu: {}: not sorted: element {} is {}, after {}", name, *found.out_of_order, found.element,
                     found.before));
  }
  return Exit::differs;
}

// masu sort --lines.
Exit run_lines(SortCommandOptions& asked) {
  const LineKey usual{"", asked.numbers ? LineKey::Kind::number : LineKey::Kind::any, asked.descending};
  if (asked.keys.empty()) asked.keys = std::exchange(asked.input.columns, {});
  if (!asked.input.columns.empty()) usage_error("--key and --column exclude each other with --lines");
  LinesRequest request{asked.common, asked.input, parse_line_keys(asked.keys, usual), {}};
  request.unique = asked.unique;
  request.ignore_case = asked.ignore_case;
  request.index = asked.index;
  const SortSummary done = sort_lines(request, "sort");
  if (asked.common.json) {
    print_text(fmt::format("{{\"n\":{},\"device\":{},\"runs\":{}{},{}}}\n", done.count, json_string(done.device),
                           done.runs, json_report(done.text, done.notes), json_seconds(done.seconds)));
  }
  if (asked.common.time) note_times(done.seconds, done.bytes);
  return Exit::done;
}

Exit run_command(SortCommandOptions& asked) {
  asked.check();
  apply(asked.common);
  if (asked.of_lines()) return run_lines(asked);
  if (!asked.values.empty()) asked.input.needed_by = "--values";
  if (asked.row_count() > 1) asked.input.needed_by = "--rows";
  else asked.rows.clear();
  asked.input.places = asked.index || asked.is_sorted;
  if (asked.is_sorted) return check(asked);
  Progress progress(progress_mode(asked.common));
  const SortSummary done = run_sort(asked, progress);
  if (!ranks().first()) return Exit::done;
  if (asked.common.json) {
    print_text(fmt::format(
        "{{\"n\":{},\"dtype\":\"{}\",\"device\":{},\"algorithm\":\"{}\",\"order\":\"{}\",\"rows\":{},"
        "\"runs\":{}{},{}}}\n",
        done.count, done.type, json_string(done.device), asked.algorithm, asked.descending ? "descending" : "ascending",
        done.rows, done.runs, json_report(done.text, done.notes), json_seconds(done.seconds)));
  }
  if (asked.common.verify && !asked.common.quiet) note(fmt::format("verified: {} values", done.count));
  if (asked.common.time) note_times(done.seconds, done.bytes);
  return Exit::done;
}

}  // namespace

void add_sort(CommandLine& line) {
  array_command<SortCommandOptions>(
      line, "sort", "Sort values", sort_examples, Printed::nothing, run_command,
      [](const Subcommand& app, SortCommandOptions& options) {
        const Subcommand how = app.group("Order");
        how.add_flag("-r,--descending", options.descending, "The greatest first; equal values keep their order");
        how.add_flag("--lines", options.lines, "Text input: whole lines, by --key or --column, else by themselves");
        how.add_option("-k,--key", options.keys, "COLUMN[:desc][:number|:text]",
                       "Whole lines by that column, several with commas: numbers, then other entries by their bytes, "
                       "then empty ones; -k3nr as sort(1)")
            .one_value();
        how.add_flag("-n,--numbers", options.numbers, "Keys are numbers, as with :number: all other entries come last");
        how.add_flag("-u,--unique", options.unique, "Of equal values, or lines with equal keys, only the first");
        how.more().add_flag("-f,--ignore-case", options.ignore_case, "A to Z are as a to z in keys that are text");
        how.more().add_option("--rows", options.rows, "N", "Sort each of N equal blocks of the input by itself");
        how.more().add_option("--algorithm", options.algorithm, "ALGORITHM",
                              "How to sort, with the same result: " + words_of("ALGORITHM"));
        const Subcommand result = app.group("Result");
        result.add_option("--values", options.values, "FILE", "Move the values of FILE with the keys");
        result.more().add_option("--values-dtype", options.values_dtype, "DTYPE",
                                 "Element type of raw or text --values");
        result.add_option("--values-output", options.values_output, "FILE", "Where the moved values go");
        result.add_flag("--index", options.index, "Write the order instead: where each element was (u64)");
        result.add_flag("--is-sorted", options.is_sorted,
                        "Only check whether the input is sorted; exit status 3 if it is not");
        app.group("").add_flag("--trace", options.trace, "");  // removed; check() says where it went
        add_words_options(app, options.input, false);
        add_alpha_option(app, options.input);
      });
}

}  // namespace masu::cli
