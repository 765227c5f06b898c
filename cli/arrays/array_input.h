// SPDX-License-Identifier: Apache-2.0
// The input of a command that takes its numbers as one array.
#pragma once

#include "options.h"
#include "progress.h"
#include "shared_input.h"

#include <masu/io.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace masu::cli {

// The input of a command that takes one, which the ranks share: texts by lines where `lines` (shared_input.h).
// `in_place`: pieces of files may be had without a copy.
SharedSource open_array(const InputOptions& input, const CommonOptions& common, bool in_place, bool lines);
// The same for another file than the input's, read by its content or as `dtype`.
SharedSource open_array(const std::string& path, const std::string& dtype, const CommonOptions& common);

// Bytes of the elements, where their number is known.
std::optional<std::uint64_t> known_bytes(const io::Source& source);

// Fewer than `count` elements only at the end.
std::uint64_t read_elements(io::Source& source, void* target, std::uint64_t count);

// The number of elements, read through to the end and back again where it is not known.
std::uint64_t measure(io::Source& source);

// All of the elements; then the source stands at its beginning again.
std::vector<std::byte> read_and_rewind(io::Source& source);

// Whether the bar is drawn, as the options say it.
std::string progress_mode(const CommonOptions& common);

// Says on standard error that a file has more images than the one that is read.
void note_images(const io::SourceInfo& info);
// What all these commands say on standard error behind a result, but for --quiet.
void note_bad_lines(const std::string& name, std::uint64_t bad_lines);
void note_result(const CommonOptions& common, const std::string& name, std::uint64_t bad_lines, std::uint64_t count);
// `,"bad_lines":N` of JSON where there are any.
std::string json_bad_lines(std::uint64_t bad_lines);

}  // namespace masu::cli
