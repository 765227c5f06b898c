// SPDX-License-Identifier: Apache-2.0
#include "function.h"

#include "module.h"

#include <masu/floating_point.h>
#include <structmember.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace masu_python {
namespace {

struct CompiledFunction {
  PyObject head;
  vectorcallfunc call;
  PlainCall plain;            // null where there is none
  const TensorCall* tensors;  // likewise
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
  try {
    const Given given{values, positional, names};
    PyObject* result = function.plain != nullptr ? function.plain(given) : nullptr;
    if (result != nullptr) return result;
    if (function.tensors != nullptr && PyErr_Occurred() == nullptr) result = (*function.tensors)(given);
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

// Of a class it is no method, as a function of NumPy's is none.
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

constexpr std::pair<std::string_view, PlainCall> calls[] = {
#define MASU_ENTRY(name) {#name, plain::name},
    MASU_PLAIN_CALLS(MASU_ENTRY)
#undef MASU_ENTRY
};

std::vector<const char*> names_of(std::span<const TensorCall::Parameter> parameters) {
  std::vector<const char*> names;
  for (const TensorCall::Parameter& parameter : parameters) names.push_back(parameter.name);
  return names;
}

nb::object make(nb::object function, PlainCall plain, const TensorCall* tensors) {
  static PyObject* const type = function_type();
  if (type == nullptr) throw nb::python_error();
  auto* const self = PyObject_GC_New(CompiledFunction, reinterpret_cast<PyTypeObject*>(type));
  if (self == nullptr) throw nb::python_error();
  self->call = called;
  self->plain = plain;
  self->tensors = tensors;
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
  PlainCall plain = nullptr;
  for (const auto& [known, call] : calls) {
    if (known == name) plain = call;
  }
  const TensorCall* const tensors = tensor_call(name);
  if (plain == nullptr && tensors == nullptr)
    throw nb::value_error(("with_plain_calls: no plain calls of " + name + " are compiled").c_str());
  return make(std::move(function), plain, tensors);
}

// A decorator: the function in masu's floating-point environment.
nb::object in_usual_arithmetic(nb::object function) {
  return make(std::move(function), nullptr, nullptr);
}

}  // namespace

TensorCall::TensorCall(const char* name, Work work, std::size_t positional, std::initializer_list<Parameter> parameters)
    : name_(name), work_(work), parameters_(positional, names_of({parameters.begin(), parameters.size()})) {
  for (const Parameter& parameter : parameters) kinds_[count_++] = parameter.kind;
}

PyObject* TensorCall::operator()(const Given& given) const {
  static PyObject* const zero = PyLong_FromLong(0);
  static PyObject* const last = PyLong_FromLong(-1);
  Parameters::Values values;
  if (!parameters_.take(given, values)) return nullptr;
  std::size_t arguments = 0;
  bool named = false;
  for (std::size_t i = 0; i < count_; ++i) {
    PyObject* const value = values[i];
    PyObject* argument = value;
    switch (kinds_[i]) {
      case Kind::given:
        if (value == nullptr) return nullptr;
        break;
      case Kind::none:
        if (value == nullptr) argument = Py_None;
        break;
      case Kind::last:
        if (value == nullptr) argument = last;
        break;
      case Kind::zero:
        if (value == nullptr) argument = zero;
        break;
      case Kind::flag:
        if (value == nullptr) argument = Py_False;
        else if (named || (value != Py_True && value != Py_False)) return nullptr;
        break;
      case Kind::refused:
        if (!is_none(value)) return nullptr;
        continue;
      case Kind::name:
        named = !is_none(value);
        if (named && PyUnicode_CheckExact(value) == 0) return nullptr;
        continue;
      case Kind::ignored: continue;
    }
    values[arguments++] = argument;
  }
  return work_({values.data(), arguments});
}

namespace {

std::vector<TensorCall>& tensor_calls() {
  static auto& all = *new std::vector<TensorCall>;
  return all;
}

}  // namespace

const TensorCall* tensor_call(std::string_view name) {
  const auto found = std::ranges::find(tensor_calls(), name, &TensorCall::name);
  return found == tensor_calls().end() ? nullptr : &*found;
}

void add_tensor_calls(std::initializer_list<TensorCall> calls) {
  std::vector<TensorCall>& all = tensor_calls();
  all.reserve(64);  // functions keep their addresses
  all.insert(all.end(), calls);
}

Parameters::Parameters(std::size_t positional, std::span<const char* const> names) : positional_(positional) {
  for (const char* const name : names) names_[count_++] = PyUnicode_InternFromString(name);
}

bool Parameters::take(const Given& given, Values& values) const noexcept {
  if (given.count > positional_) return false;
  std::size_t i = 0;
  for (; i < given.count; ++i) values[i] = given.values[i];
  for (; i < count_; ++i) values[i] = nullptr;
  const std::size_t named = given.named();
  for (std::size_t n = 0; n < named; ++n) {
    // Names that stand in a program are interned.
    PyObject* const name = PyTuple_GetItem(given.names, static_cast<Py_ssize_t>(n));
    std::size_t at = 0;
    while (at < count_ && names_[at] != name) ++at;
    if (at == count_ || values[at] != nullptr) return false;
    values[at] = given.values[given.count + n];
  }
  return values[0] != nullptr;
}

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
