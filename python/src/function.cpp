// SPDX-License-Identifier: Apache-2.0
#include "function.h"

#include "enqueue.h"
#include "module.h"
#include "tensors.h"

#include <masu/floating_point.h>
#include <structmember.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace masu_python {

// A row of the table. What stands nowhere else: names, order and defaults of parameters are those of the function in
// Python, and what is not plain is handed to NumPy there.
struct Function {
  const char* name;
  PlainCall* plain;        // null: no call is plain
  std::size_t parameters;  // how many of the first parameters a plain call may have
  TensorCall* tensors;
  Along along;  // of a tensor
  Variant variant = {};
};

namespace {

constexpr Function functions[] = {
    {"sort", plain::sort, 5, enqueued::sort, Along::axis},
    {"argsort", plain::argsort, 5, enqueued::sort, Along::axis, {.places = true}},
    {"partition", plain::partition, 5, enqueued::partition, Along::axis},
    {"argpartition", plain::partition, 5, enqueued::partition, Along::axis, {.places = true}},
    {"topk", plain::topk, 4, enqueued::topk, Along::axis},
    {"unique", plain::unique, 4, enqueued::unique, Along::nothing},
    {"searchsorted", plain::searchsorted, 4, enqueued::searchsorted, Along::nothing},
    {"group", nullptr, 0, enqueued::group, Along::nothing},
    {"segment_sum", nullptr, 0, enqueued::segment_sum, Along::nothing},
    {"bincount", plain::bincount, 3, enqueued::bincount, Along::nothing},
    {"digitize", plain::digitize, 3, nullptr, Along::nothing},
    {"histogram", plain::histogram, 7, enqueued::histogram, Along::nothing},
    {"histogram_bin_edges", nullptr, 0, enqueued::bin_edges, Along::nothing},
    {"sum", plain::sum, 7, enqueued::reduce, Along::axes},
    {"dot", plain::dot, 2, enqueued::dot, Along::nothing},
    {"cumsum", plain::cumsum, 2, enqueued::cumsum, Along::axis},
    {"mean", plain::moment, 5, enqueued::reduce, Along::axes, {.total = Total::mean}},
    {"var", plain::moment, 6, enqueued::reduce, Along::axes, {.total = Total::variance}},
    {"std", plain::moment, 6, enqueued::reduce, Along::axes, {.total = Total::deviation}},
    {"median", plain::median, 5, enqueued::median, Along::axes},
    {"nanmedian", plain::median, 5, enqueued::median, Along::axes, {.skips_nan = true}},
    {"quantile", plain::quantile, 7, enqueued::quantile, Along::axes},
    {"nanquantile", plain::quantile, 7, enqueued::quantile, Along::axes, {.skips_nan = true}},
    {"percentile", plain::quantile, 7, enqueued::quantile, Along::axes, {.percent = true}},
    {"nanpercentile", plain::quantile, 7, enqueued::quantile, Along::axes, {.percent = true, .skips_nan = true}},
};

// By Name.
constexpr const char* asked_names[] = {
#define MASU_TEXT(name) #name,
    MASU_ASKED_NAMES(MASU_TEXT)
#undef MASU_TEXT
};
// Parameters that are True, False or not given where a call on tensors is plain.
constexpr std::string_view flags[] = {"density",      "descending",     "keepdims",      "largest",
                                      "return_index", "return_inverse", "return_counts", "sorted"};
// Parameters that are not given there.
constexpr std::string_view absent[] = {"correction", "device",   "equal_nan", "mean",
                                       "order",      "progress", "sorter",    "where"};

}  // namespace

// The parameters of a function, as Python has declared them.
class Signature {
 public:
  Signature(const Function& function, nb::handle python) : function_(function) {
    const nb::object code = python.attr("__code__");
    const nb::object varnames = code.attr("co_varnames");
    const auto number = [&](const char* name) { return nb::cast<std::size_t>(code.attr(name)); };
    positional_ = number("co_argcount");
    count_ = positional_ + number("co_kwonlyargcount");
    if (count_ > Arguments::most) throw nb::value_error("with_plain_calls: too many parameters");
    const nb::object positional = python.attr("__defaults__");
    const nb::object named = python.attr("__kwdefaults__");
    required_ = positional_ - (positional.is_none() ? 0 : nb::len(positional));
    places_.fill(-1);
    for (std::size_t i = 0; i < count_; ++i) {
      const nb::object name = varnames[i];
      const std::string_view text = nb::borrow<nb::str>(name).c_str();
      if (i >= number("co_posonlyargcount")) names_[i] = nb::object(name).release().ptr();
      if (i >= required_) {
        const nb::object standing = i < positional_ ? nb::object(positional[i - required_]) : nb::object(named[name]);
        defaults_[i] = nb::object(standing).release().ptr();
      }
      const auto is_among = [&](const auto& list) { return std::ranges::find(list, text) != std::end(list); };
      const auto bit = std::uint32_t{1} << i;
      if (is_among(flags)) flags_ |= bit;
      if (is_among(absent) || (text == "axis" && function.along == Along::nothing)) absent_ |= bit;
      const auto asked = std::ranges::find(asked_names, text);
      if (asked != std::end(asked_names))
        places_[static_cast<std::size_t>(asked - std::begin(asked_names))] = static_cast<std::int8_t>(i);
    }
  }

  // False for arguments that Python must refuse, and for names that are not interned: those in a program are.
  bool read(Arguments& arguments) const noexcept {
    if (arguments.positional_ > positional_) return false;
    arguments.variant_ = &function_.variant;
    arguments.places_ = &places_;
    arguments.defaults_ = &defaults_;
    const auto put = [&](std::size_t place, PyObject* value) {
      arguments.values_[place] = value == defaults_[place] ? nullptr : value;
      arguments.given_places_ = std::max(arguments.given_places_, place + 1);
    };
    for (std::size_t i = 0; i < arguments.positional_; ++i) put(i, arguments.given_[i]);
    const auto named = arguments.names_ == nullptr ? 0 : static_cast<std::size_t>(PyTuple_Size(arguments.names_));
    for (std::size_t n = 0; n < named; ++n) {
      PyObject* const name = PyTuple_GetItem(arguments.names_, static_cast<Py_ssize_t>(n));
      std::size_t place = arguments.positional_;
      while (place < count_ && names_[place] != name) ++place;
      if (place == count_) return false;
      put(place, arguments.given_[arguments.positional_ + n]);
    }
    for (std::size_t i = 0; i < required_; ++i) {
      if (arguments[i] == nullptr) return false;
    }
    return true;
  }

  // Null without an exception for a call that is not plain.
  [[nodiscard]] PyObject* call(const Arguments& arguments) const {
    static const PyTypeObject* const numpys = numpy_array_type();
    if (Py_TYPE(arguments[0]) == numpys) {
      const bool is_plain = function_.plain != nullptr && arguments.given_places_ <= function_.parameters;
      return is_plain ? function_.plain(arguments) : nullptr;
    }
    return function_.tensors != nullptr && suits_tensors(arguments) ? call_on_tensors(arguments) : nullptr;
  }

 private:
  [[nodiscard]] bool suits_tensors(const Arguments& arguments) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      PyObject* const value = arguments[i];
      if (value == nullptr) continue;
      if ((absent_ >> i & 1) != 0) return false;
      if ((flags_ >> i & 1) != 0 && value != Py_True && value != Py_False) return false;
    }
    return true;
  }

  [[nodiscard]] PyObject* call_on_tensors(const Arguments& arguments) const {
    const Library* const library = library_of(Py_TYPE(arguments[0]));
    if (library == nullptr) return nullptr;
    for (;;) {
      Tensor x;
      Lines lines;
      if (!library->take(arguments[0], x)) return nullptr;
      if (function_.along != Along::nothing &&
          !lines_of(x.lengths(), arguments.value(Name::axis), lines, function_.along == Along::axes)) {
        return nullptr;
      }
      EnqueuedCall call(&function_, *library, arguments, x, lines);
      const Outcome outcome = function_.tensors(call);
      if (outcome != Outcome::again) return outcome == Outcome::done ? call.give() : nullptr;
    }
  }

  const Function& function_;
  std::size_t positional_ = 0;  // how many may be given without a name
  std::size_t required_ = 0;
  std::size_t count_ = 0;
  std::uint32_t flags_ = 0;    // a bit for each parameter
  std::uint32_t absent_ = 0;   // likewise
  Arguments::Values names_{};  // null: not to be given by name
  Arguments::Values defaults_{};
  Arguments::Places places_{};
};

namespace {

struct CompiledFunction {
  PyObject head;
  vectorcallfunc call;
  const Signature* signature;  // null: Python makes every call
  PyObject* python;
  PyObject* attributes;
};

CompiledFunction& compiled(PyObject* self) {
  return *reinterpret_cast<CompiledFunction*>(self);
}

PyObject* called(PyObject* self, PyObject* const* values, std::size_t count, PyObject* names) {
  const masu::FloatingPointScope usual;  // NumPy's part of the work, too
  const CompiledFunction& function = compiled(self);
  const auto positional = static_cast<std::size_t>(PyVectorcall_NARGS(count));
  if (function.signature != nullptr) {
    try {
      Arguments arguments(values, positional, names);
      PyObject* const result = function.signature->read(arguments) ? function.signature->call(arguments) : nullptr;
      if (result != nullptr) return result;
    } catch (nb::python_error& error) {
      error.restore();
    } catch (const masu::Error& error) {
      set_exception(error);
    } catch (const std::bad_alloc&) {
      PyErr_NoMemory();
    } catch (const std::exception& error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    if (PyErr_Occurred() != nullptr) return nullptr;
  }
  return PyObject_Vectorcall(function.python, values, positional, names);
}

int visit_all(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(compiled(self).python);
  Py_VISIT(compiled(self).attributes);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(compiled(self).python);
  Py_CLEAR(compiled(self).attributes);
  return 0;
}

void destroy(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  PyObject_GC_Del(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* represent(PyObject* self) {
  return PyObject_Repr(compiled(self).python);
}

// A class's attribute does not become a method, just as with NumPy's functions.
PyObject* bind(PyObject* self, PyObject* /*instance*/, PyObject* /*type*/) {
  return Py_NewRef(self);
}

// Pickled by its name.
PyObject* reduce(PyObject* self, PyObject* /*nothing*/) {
  return PyObject_GetAttrString(compiled(self).python, "__qualname__");
}

PyObject* function_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(CompiledFunction, call), READONLY, nullptr},
      {"__dictoffset__", T_PYSSIZET, offsetof(CompiledFunction, attributes), READONLY, nullptr},
      {},
  };
  static PyGetSetDef attributes[] = {
      {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
      {},
  };
  static PyMethodDef methods[] = {
      {"__reduce__", reduce, METH_NOARGS, nullptr},
      {},
  };
  const auto address = [](auto* function) { return reinterpret_cast<void*>(function); };
  PyType_Slot slots[] = {
      {Py_tp_call, address(&PyVectorcall_Call)},
      {Py_tp_traverse, address(&visit_all)},
      {Py_tp_clear, address(&clear)},
      {Py_tp_dealloc, address(&destroy)},
      {Py_tp_repr, address(&represent)},
      {Py_tp_descr_get, address(&bind)},
      {Py_tp_members, members},
      {Py_tp_getset, attributes},
      {Py_tp_methods, methods},
      {},
  };
  PyType_Spec spec = {
      "masu._masu.CompiledFunction", sizeof(CompiledFunction), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return PyType_FromSpec(&spec);
}

nb::object make(nb::object function, const Signature* signature) {
  static PyObject* const type = function_type();
  if (type == nullptr) throw nb::python_error();
  auto* const self = PyObject_GC_New(CompiledFunction, reinterpret_cast<PyTypeObject*>(type));
  if (self == nullptr) throw nb::python_error();
  self->call = called;
  self->signature = signature;
  self->python = function.inc_ref().ptr();
  self->attributes = nullptr;
  nb::object made = nb::steal(reinterpret_cast<PyObject*>(self));
  PyObject_GC_Track(made.ptr());
  nb::module_::import_("functools").attr("update_wrapper")(made, function);
  return made;
}

// A decorator: the function, whose plain calls are compiled.
nb::object with_plain_calls(nb::object function) {
  const std::string name = nb::borrow<nb::str>(function.attr("__name__")).c_str();
  const auto* const row = std::ranges::find(functions, name, &Function::name);
  if (row == std::end(functions)) {
    throw nb::value_error(("with_plain_calls: no plain calls of " + name + " are compiled").c_str());
  }
  return make(function, new Signature(*row, function));  // which stays, as the module does
}

// A decorator: the function in masu's floating-point environment.
nb::object in_usual_arithmetic(nb::object function) {
  return make(std::move(function), nullptr);
}

}  // namespace

std::uint64_t small_limit(std::uint64_t times) noexcept {
  static PyObject* const name = PyUnicode_InternFromString("limit");
  static PyObject* const module = PyImport_ImportModule("masu._small");
  PyObject* const limit = module == nullptr ? nullptr : PyDict_GetItem(PyModule_GetDict(module), name);
  const unsigned long long few = limit == nullptr ? 0 : PyLong_AsUnsignedLongLong(limit);
  if (PyErr_Occurred() == nullptr) return few * times;
  PyErr_Clear();
  return 0;
}

bool stays_here(std::uint64_t count) {
  if (count < small_limit()) return true;
  const char* const named = std::getenv("MASU_DEVICE");  // which os.environ writes, with the GIL
  if (named == nullptr || *named == '\0') return true;
  static const nb::handle module = nb::object(nb::module_::import_("masu._device")).release();
  return module.attr("resolve")().is(module.attr("cpu"));
}

PyObject* numpy_function(const char* name) {
  return nb::object(nb::module_::import_("numpy").attr(name)).release().ptr();
}

void register_functions(nb::module_& m) {
  m.def("with_plain_calls", with_plain_calls, nb::arg("function"));
  m.def("in_usual_arithmetic", in_usual_arithmetic, nb::arg("function"));
  m.def("stays_here", stays_here, nb::arg("count"));
}

}  // namespace masu_python
