// SPDX-License-Identifier: Apache-2.0
// peer_input SUITE CASE DISTRIBUTION SIZE: the bytes that masu and the peers work on, on standard output, for peers
// that are no C++ programs. SIZE is in bytes for histogram, else in elements; of search the sorted data comes first.
#include "harness.h"
#include "histogram_cases.h"
#include "ordering.h"

#include <masu/io.h>

#include <cstdio>
#include <exception>
#include <string_view>

namespace {

using namespace masu;

// Exactly one name of those that are known.
template <class Known>
auto only(const char* name, Known known) {
  bench::Selection selection;
  selection.cases = {name};
  return selection.chosen_cases(known).front();
}

bench::Input keys(Dtype dtype, const char* distribution, std::uint64_t count) {
  const bench::Names names = bench::ordering_distributions_of(dtype, {distribution});
  if (names.empty()) throw Error(ErrorCode::invalid_argument, "keys of this dtype have no such distribution");
  return bench::ordering_input(dtype, count, names.front());
}

bench::Input input(const std::string& suite, const char* name, const char* distribution, std::uint64_t size) {
  if (suite == "sort") {
    const bench::SortCase what = only(name, bench::sort_cases());
    return keys(what.dtype, distribution, what.whole(size));
  }
  if (suite == "topk") return keys(only(name, bench::topk_cases()).dtype, distribution, size);
  if (suite == "unique") return keys(only(name, bench::unique_cases()).dtype, distribution, size);
  if (suite == "search") return keys(only(name, bench::search_cases()).dtype, distribution, size);
  const std::string_view text = name;
  if (suite == "transpose") {  // CASE begins with the bytes of an element
    return keys(Dtype::u8, distribution, size * io::parse_size(text.substr(0, text.find('-'))));
  }
  if (suite == "sum" || suite == "reduce" || suite == "scan" || suite == "convert") {  // with the dtype
    return keys(dtype_from_name(text.substr(0, text.find('-'))), distribution,
                text.ends_with("-dot") ? 2 * size : size);
  }
  if (suite != "histogram") {
    throw Error(ErrorCode::invalid_argument,
                "SUITE must be histogram, sort, topk, unique, search, sum, reduce, scan, convert or transpose");
  }
  const auto shape = bench::Selection::chosen("DISTRIBUTION", {distribution}, bench::histogram_distributions).front();
  return bench::histogram_input(only(name, bench::histogram_cases()), size, shape);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 5) throw Error(ErrorCode::invalid_argument, "SUITE CASE DISTRIBUTION SIZE must be given");
    const bench::Input made = input(argv[1], argv[2], argv[3], io::parse_size(argv[4]));
    io::OutputFile file("-");
    if (argv[1] == std::string_view("search")) {
      const bench::Input sorted = bench::search_sorted(only(argv[2], bench::search_cases()), argv[3]);
      file.write(sorted.bytes().data(), sorted.bytes().size());
    }
    file.write(made.bytes().data(), made.bytes().size());
    file.commit();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peer_input: %s\n", error.what());
    return 1;
  }
}
