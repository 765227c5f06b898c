// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_stream.h"
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

constexpr std::uint64_t least_for_device = 4096;  // elements: less is looked at one by one

// Whether the elements of this rank, and after share() those of all ranks, are in order.
class OrderCheck {
 public:
  OrderCheck(const SortCommandOptions& asked, ArrayStream& stream)
      : names_(stream.info().names),
        order_(asked.order()),
        plain_(asked.common.verify),
        device_(stream.device()),
        dtype_(stream.info().dtype),
        row_length_(std::max<std::uint64_t>(1, stream.row_length().value_or(none))) {}

  // The next piece of the data; false where it is out of order.
  bool add(const ArrayView& piece) {
    for (std::uint64_t at = 0; at < piece.count;) {
      const std::uint64_t within = seen_.count % row_length_;
      const ArrayView part = part_of(piece, at, std::min(piece.count - at, row_length_ - within));
      if (seen_.count == 0) seen_.first = element(part, 0);
      if (within != 0 && precedes(element(part, 0), seen_.last)) return fall(seen_, seen_.last, element(part, 0), 0);
      if (!in_order(part)) {
        const std::uint64_t place = first_fall(part);
        return fall(seen_, element(part, place - 1), element(part, place), place);
      }
      at += part.count;
      seen_.count += part.count;
      seen_.last = element(part, part.count - 1);
    }
    return true;
  }

  // What all ranks have found, one after the other.
  void share() {
    Seen all;
    bool any = false;
    for (const Seen& part : join_ranks("order", std::vector{seen_})) {
      if (part.count != 0 || part.fall != none) {
        const bool joined = any && row_length_ == none;
        if (joined && all.fall == none && precedes(part.first, all.last)) fall(all, all.last, part.first, 0);
        if (part.fall != none && all.fall == none) fall(all, part.before, part.after, part.fall);
        all.last = part.last;
        any = true;
      }
      all.count += part.count;
    }
    seen_ = all;
  }

  [[nodiscard]] std::uint64_t count() const { return seen_.count; }
  // The first element that comes before the one in front of it, and both as text.
  [[nodiscard]] std::optional<std::uint64_t> out_of_order() const {
    return seen_.fall == none ? std::nullopt : std::optional(seen_.fall);
  }
  [[nodiscard]] std::string text() const { return text_of(seen_.after); }
  [[nodiscard]] std::string text_before() const { return text_of(seen_.before); }

 private:
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  struct alignas(8) Element {
    std::byte bytes[8] = {};
  };
  // What one rank has found; `fall`: where its elements are out of order, `none`: nowhere.
  struct Seen {
    std::uint64_t count = 0;
    std::uint64_t fall = none;
    Element first;
    Element last;
    Element before;  // the fall
    Element after;
  };
  static Element element(const ArrayView& data, std::uint64_t i) {
    Element one;
    std::memcpy(one.bytes, element_at(data, i), size_of(data.dtype));
    return one;
  }
  [[nodiscard]] ArrayView view(const Element& one) const { return {dtype_, one.bytes, 1}; }
  [[nodiscard]] std::string text_of(const Element& one) const { return value_text(view(one), 0, names_.get()); }
  [[nodiscard]] bool precedes(const Element& a, const Element& b) const {
    const bool ascending = order_ == Order::ascending;
    return cli::precedes(view(ascending ? a : b), 0, view(ascending ? b : a), 0);
  }
  // The first place from 1 on that comes before its predecessor, or the count.
  [[nodiscard]] std::uint64_t first_fall(const ArrayView& data) const {
    return dispatch(data.dtype, [&]<class T>(TypeTag<T>) {
      const auto* values = static_cast<const T*>(data.data);
      std::uint64_t i = 1;
      while (i < data.count && !comes_before(values[i], values[i - 1], order_)) ++i;
      return std::min(i, data.count);
    });
  }
  [[nodiscard]] bool in_order(const ArrayView& part) const {
    if (plain_ || part.count < least_for_device) return first_fall(part) == part.count;
    SortOptions options;
    options.order = order_;
    return masu::is_sorted(device_, part, options);
  }
  static bool fall(Seen& seen, const Element& before, const Element& after, std::uint64_t place) {
    seen.fall = seen.count + place;
    seen.before = before;
    seen.after = after;
    return false;
  }

  std::shared_ptr<const io::ValueNames> names_;
  Order order_;
  bool plain_;
  Device device_;
  Dtype dtype_;
  std::uint64_t row_length_;  // `none`: all is one row
  Seen seen_;
};

// Stops at the first element that is out of order. Throws Differs where the reference finds another one.
Exit check(const SortCommandOptions& asked) {
  ArrayStream stream(asked, Work::sorting, "is-sorted");
  OrderCheck check(asked, stream);
  double computing = 0;
  stream.pass([&](const ArrayView& piece) {
    const auto began = Clock::now();
    const bool kept = check.add(piece);
    computing += since(began);
    return kept;
  });
  const std::uint64_t seen = check.count() + (check.out_of_order() ? 1 : 0);
  (void)stream.settle(seen);
  const Places places = stream.places(seen);
  check.share();
  std::optional<std::uint64_t> fall = check.out_of_order();
  if (fall && asked.row_count() == 1) places.apply({&*fall, 1});
  const Seconds seconds = stream.seconds({0, computing});
  if (!ranks().first()) return Exit::done;
  if (asked.common.json) {
    const std::string place = fall ? fmt::format(R"(,"first":{})", *fall) : "";
    print_text(fmt::format("{{\"sorted\":{},\"dtype\":\"{}\",{}}}\n", !fall, type_name(stream.info()),
                           stream.json_end(seconds, place)));
  }
  const std::string& name = stream.info().name;
  if (!asked.common.quiet) note_report(name, stream.report());
  if (asked.common.time) note_times(seconds, check.count() * size_of(stream.info().dtype));
  if (!fall) return Exit::done;
  if (!asked.common.json && !asked.common.quiet) {
    note(fmt::format("masu: {}: not sorted: element {} is {}, after {}", name, *fall, check.text(),
                     check.text_before()));
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
