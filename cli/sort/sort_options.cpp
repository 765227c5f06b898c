// SPDX-License-Identifier: Apache-2.0
#include "cli/sort/sort_options.h"

#include "cli/arrays/array_output.h"
#include "errors.h"
#include "value_names.h"

#include <utility>

namespace masu::cli {
namespace {

constexpr const char* sort_examples = R"(Examples:
  masu sort samples.npy -o sorted.npy
  masu sort sizes.txt --descending -o sizes.txt
  masu sort keys.npy -o keys.npy --values labels.npy --values-output labels.npy
  masu sort scores.npy --index -o order.npy
  masu sort huge.raw --dtype u64 --memory 8Gi --tmpdir /scratch -o huge.raw
  masu sort random:f32:1Mi --rows 1024 -o rows.npy
  masu sort sorted.npy --is-sorted
  masu sort random:u32:64 --algorithm bitonic --trace)";

}  // namespace

void SortCommandOptions::add_to(const Subcommand& app) {
  add_input_options(app, input);
  const auto in = [](const char* group, const Option& option) { return option.group(group); };
  const char* const how = "Order";
  in(how, app.add_flag("--descending", descending, "The greatest first; what is equal keeps its order"));
  in(how, app.add_option("--rows", rows, "Sort each of N equal blocks of the input by itself")).type_name("N");
  in(how, app.add_option("--algorithm", algorithm, "How to sort, with the same result: " + words_of("ALGORITHM")))
      .type_name("ALGORITHM");
  const char* const result = "Result";
  in(result, app.add_option("--values", values, "Move the values of FILE along with the keys")).type_name("FILE");
  in(result, app.add_option("--values-dtype", values_dtype, "Element type of raw or text --values")).type_name("DTYPE");
  in(result, app.add_option("--values-output", values_output, "Where the moved values go")).type_name("FILE");
  in(result, app.add_flag("--index", index, "Write the order instead: where each element was (u64)"));
  in(result, app.add_flag("--is-sorted", is_sorted, "Only check the order; exit status 3 where it is not kept"));
  in(result, app.add_flag("--trace", trace, "With bitonic: list the passes of the network on standard output"));
  add_common_options(app, common);
  app.footer(sort_examples);
}

void SortCommandOptions::check() const {
  const bool to_stdout = is_standard_output(common.output);
  const std::pair<bool, const char*> rules[] = {
      {values.empty() != values_output.empty(), "--values and --values-output need each other"},
      {!values_dtype.empty() && values.empty(), "--values-dtype needs --values"},
      {index && !values.empty(), "--index and --values exclude each other"},
      {is_sorted && (index || trace || !values.empty() || !common.output.empty()),
       "--is-sorted only checks: it takes no -o, --values, --index or --trace"},
      {trace && algorithm != "bitonic", "--trace needs --algorithm bitonic"},
      {trace && common.output == "-", "--trace needs standard output; give -o FILE"},
      {common.json && to_stdout && !is_sorted, "--json needs standard output; give -o FILE"},
      {common.json && trace, "--json and --trace exclude each other"},
      {!values.empty() && is_standard_output(values_output) && to_stdout,
       "keys and values cannot both go to standard output; give -o FILE"},
      {is_same_output(common.output, values_output), "-o and --values-output must be two files"},
      {values == "-" && !input.inputs.empty() && input.inputs.front() == "-",
       "INPUT and --values cannot both be standard input"},
  };
  for (const auto& [broken, rule] : rules) {
    if (broken) usage_error(rule);
  }
  check_array_ending("-o", common.output);
  check_array_ending("--values-output", values_output);
  (void)sort_algorithm_from_name(algorithm);
}

}  // namespace masu::cli
