// SPDX-License-Identifier: Apache-2.0
// A column of a table: read through masu::io, then counted, summed and ordered.
//
//   csv_column FILE COLUMN
#include "options.h"

#include <masu/io.h>

#include <cstdio>
#include <span>

namespace {

int describe(const std::string& file, const std::string& column) {
  masu::io::SourceOptions options;
  options.column = column;
  options.header = true;
  options.dtype = masu::Dtype::f64;
  const auto source = masu::io::open(file, options);
  const std::vector<std::byte> bytes = masu::io::read_all(*source);
  const std::span values(reinterpret_cast<const double*>(bytes.data()), bytes.size() / sizeof(double));

  std::printf("%zu values, %llu entries could not be read\n", values.size(),
              static_cast<unsigned long long>(source->bad_lines()));
  std::printf("sum %.10g\n", masu::sum(values));
  const double places[] = {0.25, 0.5, 0.75};
  const std::vector<double> quartiles = masu::quantiles(values, places);
  std::printf("quartiles %.10g %.10g %.10g\n", quartiles[0], quartiles[1], quartiles[2]);
  const masu::Histogram counts = masu::histogram(values, masu::Bins::even(4));
  for (std::uint64_t i = 0; i < counts.size(); ++i) {
    std::printf("%.10g ... %.10g: %llu\n", counts.edge(i), counts.edge(i + 1),
                static_cast<unsigned long long>(counts.counts()[i]));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return example::main_of("csv_column", [&] {
    if (argc != 3) {
      std::cerr << "csv_column: takes a file and the name of a column, got " << argc - 1 << " arguments\n";
      return 2;
    }
    return describe(argv[1], argv[2]);
  });
}
