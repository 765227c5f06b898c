// SPDX-License-Identifier: Apache-2.0
// peer_input CASE DISTRIBUTION BYTES: the bytes that masu and the peers count, on standard output, for peers that are
// no C++ programs.
#include "harness.h"
#include "inputs.h"

#include <masu/io.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  using namespace masu;
  try {
    if (argc != 4) throw Error(ErrorCode::invalid_argument, "CASE DISTRIBUTION BYTES must be given");
    bench::Selection selection;
    selection.cases = {argv[1]};
    const bench::HistogramCase what = bench::chosen_cases(selection).front();
    const auto distribution = bench::Selection::chosen("DISTRIBUTION", {argv[2]}, bench::distributions).front();
    const bench::Input input(what, io::parse_size(argv[3]), distribution);
    io::OutputFile file("-");
    file.write(input.bytes().data(), input.bytes().size());
    file.commit();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peer_input: %s\n", error.what());
    return 1;
  }
}
