// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_job.h"

#include "cli/arrays/array_output.h"
#include "errors.h"
#include "json.h"

#include <fmt/format.h>

namespace masu::cli {

void check_array_output(const CommonOptions& common) {
  check_array_ending("-o", common.output);
  if (common.json && is_standard_output(common.output)) usage_error("--json needs standard output; give -o FILE");
}

std::vector<std::uint64_t> flat_shape(ArrayStream& stream, const CommonOptions& common, std::uint64_t rows) {
  const bool told = stream.info().count || common.output.ends_with(".npy");
  const std::uint64_t count = told ? stream.count() : 0;
  return rows == 1 ? std::vector{count} : std::vector{rows, count / rows};
}

void tell_array(const ArrayStream& stream, const CommonOptions& common, const ArrayDone& done) {
  Seconds seconds = stream.seconds(done.transfer, done.compute);
  seconds.total -= done.verifying;
  if (common.json) {
    io::OutputFile output("-");
    output.write(fmt::format("{{\"n\":{},\"dtype\":\"{}\",{}\"device\":{}{},{}}}\n", done.count,
                             to_string(stream.info().dtype), done.json_more, json_string(stream.device().id()),
                             json_bad_lines(stream.bad_lines()), json_seconds(seconds)));
    output.commit();
  }
  note_result(common, stream.info().name, stream.bad_lines(), done.count);
  if (common.time) note_times(seconds, stream.bytes());
}

}  // namespace masu::cli
