// SPDX-License-Identifier: Apache-2.0
// Reading and writing do not depend on the floating-point environment of the caller's thread.
#include "floating_point_modes.h"
#include "io/test_files.h"

#include <masu/io.h>

#include <fstream>
#include <string>

#include "temporary_directory.h"

namespace masu::io::test {
namespace {

using masu::test::Bits;
using masu::test::expect_same_in_all_modes;

TEST(FloatingPointModes, TextGeneratorsAndNumbers) {
  const masu::test::TemporaryDirectory folder;
  const std::string path = (folder.path() / "numbers.txt").string();
  {
    std::ofstream file(path);
    file << "0.651592972722763\n5e-324\n0.1\n-1e-310\n123456789.123456789\n1e-45\n2.2250738585072011e-308\n";
    for (int i = 1; i < 2000; ++i) file << "0." << i * 104729 << "\n" << i * 7919 << "e-" << i % 40 << "\n";
  }
  for (const std::optional<Dtype> dtype :
       {std::optional<Dtype>(), std::optional(Dtype::f64), std::optional(Dtype::f32)}) {
    expect_same_in_all_modes({"text", [&](Bits& bits) {
                                SourceOptions options;
                                options.format = InputFormat::text;
                                options.dtype = dtype;
                                const auto source = open(path, options);
                                bits.add(read_all(*source));
                              }});
  }
  for (const char* name : {"random:f64:5000", "random:f32:5000:lo=-1:hi=1e-310", "random:f16:5000", "iota:f32:5000"}) {
    expect_same_in_all_modes({name, [&](Bits& bits) {
                                const auto source = open(name);
                                bits.add(read_all(*source));
                              }});
  }
  expect_same_in_all_modes({"format_number", [](Bits& bits) {
                              for (const double x : {5e-324, 0.1, 1e22, 1.0 / 3, 1e-310}) {
                                for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16}) {
                                  bits.add(format_number(x, dtype));
                                }
                              }
                            }});
}

}  // namespace
}  // namespace masu::io::test
