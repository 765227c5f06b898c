// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include "elements/dtypes.h"

#include <masu/device.h>
#include <masu/version.h>

#include <dlfcn.h>
#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace masu_python {
namespace {

PyObject* exception_for(masu::ErrorCode code) {
  switch (code) {
    case masu::ErrorCode::invalid_argument: return PyExc_ValueError;
    case masu::ErrorCode::unsupported: return PyExc_TypeError;
    case masu::ErrorCode::out_of_memory: return PyExc_MemoryError;
    case masu::ErrorCode::io: return PyExc_OSError;
    case masu::ErrorCode::interrupted: return PyExc_KeyboardInterrupt;
    case masu::ErrorCode::device_lost:
    case masu::ErrorCode::build_failed: break;
  }
  return PyExc_RuntimeError;
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const masu::Error& error) {
    set_exception(error);
  }
}

// A function of Python's that learns how far this thread's call is.
struct Teller {
  nb::handle tell;
  std::uint64_t all = 0;
  const masu::runtime::Progress* progress = nullptr;
};
thread_local Teller* teller = nullptr;

// Runs the handlers of the signals that have come, and tells. True when one raised an exception, which stays set.
bool signal_raised() {
  const nb::gil_scoped_acquire acquired;
  if (PyErr_CheckSignals() != 0) return true;
  if (teller == nullptr || teller->progress == nullptr || teller->all == 0) return false;
  Teller* const own = std::exchange(teller, nullptr);
  const auto done = static_cast<double>(std::min(own->progress->finished(), own->all - 1));
  const nb::object answer =
      nb::steal(PyObject_CallFunction(own->tell.ptr(), "d", done / static_cast<double>(own->all)));
  teller = own;
  return !answer.is_valid();
}

// work(), of which `tell` learns what part of `all` elements is done.
nb::object telling(nb::handle tell, std::uint64_t all, nb::handle work) {
  Teller own{tell, all};
  struct Kept {
    Teller* outer;
    ~Kept() { teller = outer; }
  } const kept{std::exchange(teller, &own)};
  return nb::borrow(work)();
}

// A process may have loaded another libmasu, of a path of its own or of another package: inner functions would not fit.
void check_version() {
  const std::array parts{masu::version_major, masu::version_minor, masu::version_patch};
  std::string built;
  for (const int part : parts) built += (built.empty() ? "" : ".") + std::to_string(part);
  if (masu::version() == built) return;
  Dl_info found{};
  dladdr(reinterpret_cast<void*>(masu::version), &found);
  throw nb::import_error(("masu: the package needs libmasu " + built + ", got " + std::string(masu::version()) +
                          " of " + (found.dli_fname != nullptr ? found.dli_fname : "this process"))
                             .c_str());
}

}  // namespace

void set_exception(const masu::Error& error) {
  // What a handler of a signal raised is there already.
  if (error.code() == masu::ErrorCode::interrupted && PyErr_Occurred() != nullptr) return;
  PyErr_SetString(exception_for(error.code()), error.what());
}

Stoppable::Stoppable() : scope_(signal_raised) {
  if (teller != nullptr) teller->progress = &progress_.emplace();
}
Stoppable::~Stoppable() {
  if (progress_ && teller != nullptr) teller->progress = nullptr;
}

void read_environment() {
  [[maybe_unused]] static const unsigned threads = masu::cpu_threads();
}

}  // namespace masu_python

NB_MODULE(_masu, m) {
  using namespace masu_python;
  m.doc() = "masu's C++ functions on contiguous arrays. The public functions are those of the package `masu`.";
  check_version();
#if defined(__x86_64__)
  m.attr("old_processor") = __builtin_cpu_supports("sse4.2") == 0;
#else
  m.attr("old_processor") = false;
#endif
  m.attr("__version__") = nb::str(masu::version().data(), masu::version().size());
  nb::list dtypes;    // masu's name, NumPy's name and number of each
  nb::list lackings;  // masu's name, that of other libraries and bytes of those that NumPy lacks
  for (const masu::DtypeNames& each : masu::dtype_names) {
    const auto text = [](std::string_view name) { return nb::str(name.data(), name.size()); };
    if (each.numpy_number >= 0)
      dtypes.append(nb::make_tuple(text(each.name), text(each.numpy_name), each.numpy_number));
    else lackings.append(nb::make_tuple(text(each.name), text(each.numpy_words), masu::size_of(each.dtype)));
  }
  m.attr("DTYPES") = nb::tuple(dtypes);
  m.attr("LACKINGS") = nb::tuple(lackings);
  nb::register_exception_translator(translate);
  m.def("telling", telling, nb::arg("tell"), nb::arg("all"), nb::arg("work"));
  for (Register* const each : {register_device, register_device_array, register_quantiles, register_digits,
                               register_bincount, register_bins, register_histogram, register_order, register_states,
                               register_sums, register_program, register_functions, register_io})
    each(m);
}
