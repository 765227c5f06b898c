// SPDX-License-Identifier: Apache-2.0
// Inputs of masu::io, opened and read in pieces; python/masu/io.py makes arrays of them.
#include "arrays.h"
#include "elements/dtypes.h"
#include "module.h"

#include <masu/interrupt.h>
#include <masu/io.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace masu_python {
namespace {

using masu::io::SourceOptions;
using masu::io::ValueNames;

masu::io::Entries entries_of(std::string_view name) {
  return name == "texts" ? masu::io::Entries::texts : masu::io::Entries::any;
}

// How an input is read: masu.io's words for SourceOptions.
SourceOptions options_of(const nb::dict& given) {
  SourceOptions options;
  const auto take = [&](const char* name, auto& target) {
    if (!given.contains(name) || given[name].is_none()) return;
    if (!nb::try_cast<std::decay_t<decltype(target)>>(given[name], target))
      throw masu::Error(masu::ErrorCode::invalid_argument,
                        std::string("masu.io: ") + name + " cannot be " + nb::cast<std::string>(nb::repr(given[name])));
  };
  std::optional<std::string> format;
  std::optional<std::string> dtype;
  std::optional<std::string> entries;
  bool big_endian = false;
  take("format", format);
  take("dtype", dtype);
  take("entries", entries);
  take("big_endian", big_endian);
  take("offset", options.offset);
  take("count", options.count);
  take("boolean", options.boolean);
  take("alpha", options.alpha);
  take("delimiter", options.delimiter);
  take("header", options.header);
  take("comment", options.comment);
  take("decimal", options.decimal);
  take("strict", options.strict);
  take("places", options.places);
  if (format) options.format = masu::io::input_format_from_name(*format);
  if (dtype) options.dtype = masu::dtype_from_name(*dtype);
  if (big_endian) options.endian = masu::io::Endian::big;
  if (entries) options.entries = entries_of(*entries);
  return options;
}

// Threads of Python may call at once; they go one after the other.
class OpenedInput {
  template <class F>
  auto with(F&& f) const {
    return call([&] {
      const std::lock_guard lock(mutex_);
      return f();
    });
  }

 public:
  explicit OpenedInput(std::unique_ptr<masu::io::Source> source) : source_(std::move(source)) {}

  // Reads into an array of the source's dtype; how many elements there were.
  std::uint64_t read(nb::handle target) {
    const Output out(target);
    if (masu::size_of(out.dtype()) != masu::size_of(source_->info().dtype))
      throw masu::Error(masu::ErrorCode::invalid_argument,
                        "read: the array must have elements of the size of the input's");
    return with([&] { return source_->read(out.view().data, out.count()); });
  }
  bool retype(const std::string& dtype) {
    return with([&] { return source_->retype(masu::dtype_from_name(dtype)); });
  }

  [[nodiscard]] nb::dict info() const {
    const masu::io::SourceInfo& info = source_->info();
    nb::dict found;
    found["name"] = info.name;
    found["format"] = info.format;
    found["dtype"] = masu::to_string(info.dtype);
    found["boolean"] = info.boolean;
    found["count"] = info.count;
    found["shape"] = info.shape;
    found["fortran_order"] = info.fortran_order;
    found["notes"] = info.notes;
    found["kind"] = info.names == nullptr                              ? "numbers"
                    : info.names->kind() == ValueNames::Kind::instants ? "instants"
                                                                       : "texts";
    return found;
  }
  // What was left out of a text, by the reasons' names: how many, the line of the first, and what stands there.
  [[nodiscard]] nb::dict report() const {
    constexpr std::array names = {"empty", "not a number", "with a wrong number of fields", "without the column",
                                  "too long"};
    const masu::io::TextReport report = with([&] { return source_->report(); });
    nb::dict left_out;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const masu::io::TextReport::Kind& kind = report.left_out[i];
      if (kind.count != 0) left_out[names[i]] = nb::make_tuple(kind.count, kind.line, kind.first);
    }
    nb::dict found;
    found["left_out"] = left_out;
    found["places"] = report.places;
    found["columns"] = report.columns;
    found["rows"] = report.rows;
    found["comment_lines"] = report.comment_lines;
    found["row_names"] = report.row_names;
    found["how_cut"] = report.how_cut;
    return found;
  }
  // Source::Gap of all gaps between numbers, as the bytes of pairs of u64.
  [[nodiscard]] nb::bytes gaps() {
    std::vector<masu::io::Source::Gap> found;
    with([&] {
      std::array<masu::io::Source::Gap, 4096> some;
      for (std::uint64_t got = some.size(); got == some.size();) {
        got = source_->gaps(found.size(), some);
        found.insert(found.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(got));
      }
    });
    return nb::bytes(found.data(), found.size() * sizeof(masu::io::Source::Gap));
  }
  // All different texts, in the order of their places.
  [[nodiscard]] nb::list texts() const {
    const masu::io::SourceInfo& info = source_->info();
    nb::list found;
    for (std::size_t i = 0; info.names != nullptr && i < info.names->counts().size(); ++i) {
      const std::string text = (*info.names)(static_cast<std::int64_t>(i));
      found.append(nb::bytes(text.data(), text.size()));
    }
    return found;
  }

 private:
  std::unique_ptr<masu::io::Source> source_;
  mutable std::mutex mutex_;
};

// The columns of a table, each (column, entries), read at once; without any, the input as a whole. `reading`: called
// with the bytes of a text that are read and those that there are; None is not.
nb::list open_input(const std::string& input, const nb::dict& given,
                    const std::vector<std::pair<std::string, std::string>>& columns, nb::handle reading) {
  SourceOptions options = options_of(given);
  const auto listener = std::make_shared<nb::handle>(reading);  // None once the input is open
  options.reading = [listener](std::uint64_t read, std::uint64_t all) {
    masu::check_interrupted();
    if (listener->is_none()) return;
    const nb::gil_scoped_acquire acquired;
    (*listener)(read, all);
  };
  std::vector<masu::io::ColumnChoice> choices;
  for (const auto& [column, entries] : columns) choices.push_back({column, entries_of(entries)});
  auto sources = call([&] {
    if (!choices.empty()) return masu::io::open_columns(input, options, choices);
    std::vector<std::unique_ptr<masu::io::Source>> whole;
    whole.push_back(masu::io::open(input, options));
    return whole;
  });
  *listener = Py_None;
  nb::list opened;
  for (auto& source : sources) opened.append(nb::cast(std::make_unique<OpenedInput>(std::move(source))));
  return opened;
}

std::vector<std::string> columns(const std::string& input, const nb::dict& given) {
  const SourceOptions options = options_of(given);
  return call([&] { return masu::io::columns(input, options); });
}

nb::list formats() {
  nb::list found;
  for (const masu::io::FormatSupport& each : call(masu::io::formats))
    found.append(nb::make_tuple(each.name, each.endings, each.missing));
  return found;
}

}  // namespace

void register_io(nb::module_& m) {
  nb::class_<OpenedInput>(m, "OpenedInput", "An input of masu::io that is read in pieces.")
      .def("read", &OpenedInput::read, nb::arg("target"))
      .def("retype", &OpenedInput::retype, nb::arg("dtype"))
      .def("info", &OpenedInput::info)
      .def("report", &OpenedInput::report)
      .def("gaps", &OpenedInput::gaps)
      .def("texts", &OpenedInput::texts);
  m.def("open_input", open_input, nb::arg("input"), nb::arg("options"), nb::arg("columns"), nb::arg("reading").none());
  m.def("columns_of_input", columns, nb::arg("input"), nb::arg("options"));
  m.def("formats", formats);
}

}  // namespace masu_python
