// SPDX-License-Identifier: Apache-2.0
// A stand-in for a library of tensors, as a module of Python: fake_tensors.Tensor(shape, code, bits, address) in
// "device" memory, with DLPack's functions for C (__dlpack_c_exchange_api__). What it makes is host memory of its own.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  int32_t type, id;
} Device;
typedef struct {
  uint8_t code, bits;
  uint16_t lanes;
} Type;
typedef struct {
  void* data;
  Device device;
  int32_t ndim;
  Type dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} Array;
typedef struct Managed {
  uint32_t major, minor;
  void* context;
  void (*deleter)(struct Managed*);
  uint64_t flags;
  Array array;
} Managed;
typedef void (*SetError)(void*, const char*, const char*);

enum { most_dimensions = 8 };
typedef struct {
  PyObject_HEAD Array array;
  int64_t shape[most_dimensions], strides[most_dimensions];
  void* owned;
  struct Managed* managed;  // whose memory it is
  int requires_grad, negative, device_type;
} Tensor;

static PyTypeObject tensor_type;
static long made, released, fails_at = -1;
static int yields;  // whether other threads run while memory is made
static uintptr_t stream = 0x5000;

static void contiguous(Tensor* tensor) {
  int64_t stride = 1;
  tensor->array.shape = tensor->shape;
  tensor->array.strides = tensor->strides;
  for (int axis = tensor->array.ndim - 1; axis >= 0; --axis) {
    tensor->strides[axis] = stride;
    stride *= tensor->shape[axis];
  }
}

static int init(PyObject* self, PyObject* arguments, PyObject* names) {
  Tensor* tensor = (Tensor*)self;
  PyObject *shape, *strides = Py_None;
  int code, bits, device = 2, id = 0;
  unsigned long long address;
  static char* keys[] = {"shape",  "code", "bits",          "address",  "strides",
                         "device", "id",   "requires_grad", "negative", NULL};
  if (!PyArg_ParseTupleAndKeywords(arguments, names, "OiiK|Oiipp", keys, &shape, &code, &bits, &address, &strides,
                                   &device, &id, &tensor->requires_grad, &tensor->negative))
    return -1;
  tensor->array.ndim = (int32_t)PyTuple_Size(shape);
  for (int axis = 0; axis < tensor->array.ndim; ++axis)
    tensor->shape[axis] = PyLong_AsLongLong(PyTuple_GetItem(shape, axis));
  contiguous(tensor);
  for (int axis = 0; strides != Py_None && axis < tensor->array.ndim; ++axis)
    tensor->strides[axis] = PyLong_AsLongLong(PyTuple_GetItem(strides, axis));
  tensor->array.dtype = (Type){(uint8_t)code, (uint8_t)bits, 1};
  tensor->array.device = (Device){device, id};
  tensor->array.data = (void*)(uintptr_t)address;
  return 0;
}

static void dealloc(PyObject* self) {
  Tensor* tensor = (Tensor*)self;
  if (tensor->owned != NULL) {
    free(tensor->owned);
    ++released;
  }
  if (tensor->managed != NULL) tensor->managed->deleter(tensor->managed);
  Py_TYPE(self)->tp_free(self);
}

static PyObject* get_shape(PyObject* self, void* closure) {
  (void)closure;
  const Array* array = &((Tensor*)self)->array;
  PyObject* shape = PyTuple_New(array->ndim);
  for (int axis = 0; axis < array->ndim; ++axis) PyTuple_SetItem(shape, axis, PyLong_FromLongLong(array->shape[axis]));
  return shape;
}
static PyObject* get_dtype(PyObject* self, void* closure) {
  (void)closure;
  const Array* array = &((Tensor*)self)->array;
  return Py_BuildValue("(ii)", array->dtype.code, array->dtype.bits);
}
static PyObject* get_address(PyObject* self, void* closure) {
  (void)closure;
  return PyLong_FromUnsignedLongLong((uintptr_t)((Tensor*)self)->array.data);
}
static PyObject* get_requires_grad(PyObject* self, void* closure) {
  (void)closure;
  return PyBool_FromLong(((Tensor*)self)->requires_grad);
}
static PyGetSetDef getters[] = {{"shape", get_shape, NULL, NULL, NULL},
                                {"dtype", get_dtype, NULL, NULL, NULL},
                                {"address", get_address, NULL, NULL, NULL},
                                {"requires_grad", get_requires_grad, NULL, NULL, NULL},
                                {NULL, NULL, NULL, NULL, NULL}};
static PyObject* is_neg(PyObject* self, PyObject* nothing) {
  (void)nothing;
  return PyBool_FromLong(((Tensor*)self)->negative);
}
static PyObject* dlpack_device(PyObject* self, PyObject* nothing) {
  (void)nothing;
  const Array* array = &((Tensor*)self)->array;
  return Py_BuildValue("(ii)", array->device.type, array->device.id);
}
static PyObject* dlpack(PyObject* self, PyObject* arguments, PyObject* names) {
  (void)self, (void)arguments, (void)names;
  PyErr_SetString(PyExc_BufferError, "the usual way");
  return NULL;
}
static PyMethodDef methods[] = {{"is_neg", is_neg, METH_NOARGS, NULL},
                                {"__dlpack_device__", dlpack_device, METH_NOARGS, NULL},
                                {"__dlpack__", (PyCFunction)(void (*)(void))dlpack, METH_VARARGS | METH_KEYWORDS, NULL},
                                {NULL, NULL, 0, NULL}};

static PyTypeObject tensor_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "fake_tensors.Tensor",
                                   .tp_basicsize = sizeof(Tensor),
                                   .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                   .tp_new = PyType_GenericNew,
                                   .tp_init = init,
                                   .tp_dealloc = dealloc,
                                   .tp_getset = getters,
                                   .tp_methods = methods};

static void delete_managed(Managed* managed) {
  Py_DECREF((PyObject*)managed->context);
  free(managed);
}

static int allocate(Array* prototype, Managed** out, void* context, SetError set_error) {
  if (fails_at == 0) {
    set_error(context, "RuntimeError", "fake: out of memory");
    return -1;
  }
  --fails_at;
  if (yields) {
    Py_BEGIN_ALLOW_THREADS;
    usleep(100);
    Py_END_ALLOW_THREADS;
  }
  Tensor* tensor = (Tensor*)tensor_type.tp_alloc(&tensor_type, 0);
  tensor->array = *prototype;
  size_t bytes = prototype->dtype.bits / 8;
  for (int axis = 0; axis < prototype->ndim; ++axis) {
    tensor->shape[axis] = prototype->shape[axis];
    bytes *= (size_t)prototype->shape[axis];
  }
  contiguous(tensor);
  tensor->array.data = tensor->owned = aligned_alloc(512, (bytes + 511) / 512 * 512);
  memset(tensor->owned, 0, bytes);
  ++made;
  *out = calloc(1, sizeof **out);
  **out = (Managed){1, 3, tensor, delete_managed, 0, tensor->array};
  return 0;
}
static int managed_of(void* object, Managed** out) {
  (void)object, (void)out;
  return -1;
}
static int object_of(Managed* managed, void** object) {
  Tensor* tensor = (Tensor*)tensor_type.tp_alloc(&tensor_type, 0);
  tensor->array = managed->array;
  for (int axis = 0; axis < managed->array.ndim; ++axis) tensor->shape[axis] = managed->array.shape[axis];
  contiguous(tensor);
  tensor->managed = managed;
  *object = tensor;
  return 0;
}
static int array_of(void* object, Array* array) {
  *array = ((Tensor*)object)->array;
  return 0;
}
static int current_stream(int32_t type, int32_t id, void** out) {
  (void)type, (void)id;
  *out = (void*)stream;
  return 0;
}

static struct {
  uint32_t major, minor;
  void* previous;
  int (*allocate)(Array*, Managed**, void*, SetError);
  int (*managed_of)(void*, Managed**);
  int (*object_of)(Managed*, void**);
  int (*array_of)(void*, Array*);
  int (*current_stream)(int32_t, int32_t, void**);
} api = {1, 3, NULL, allocate, managed_of, object_of, array_of, current_stream};

static PyObject* set_stream(PyObject* self, PyObject* value) {
  (void)self;
  stream = (uintptr_t)PyLong_AsUnsignedLongLong(value);
  Py_RETURN_NONE;
}
static PyObject* fail_after(PyObject* self, PyObject* value) {
  (void)self;
  fails_at = PyLong_AsLong(value);
  Py_RETURN_NONE;
}
static PyObject* set_yields(PyObject* self, PyObject* value) {
  (void)self;
  yields = PyObject_IsTrue(value);
  Py_RETURN_NONE;
}
static PyObject* counts(PyObject* self, PyObject* nothing) {
  (void)self, (void)nothing;
  return Py_BuildValue("(ll)", made, released);
}
static PyMethodDef functions[] = {{"set_stream", set_stream, METH_O, NULL},
                                  {"fail_after", fail_after, METH_O, NULL},
                                  {"set_yields", set_yields, METH_O, NULL},
                                  {"counts", counts, METH_NOARGS, NULL},
                                  {NULL, NULL, 0, NULL}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "fake_tensors", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_fake_tensors(void) {
  if (PyType_Ready(&tensor_type) != 0) return NULL;
  PyDict_SetItemString(tensor_type.tp_dict, "__dlpack_c_exchange_api__",
                       PyCapsule_New(&api, "dlpack_exchange_api", NULL));
  PyType_Modified(&tensor_type);
  PyObject* made_module = PyModule_Create(&module);
  PyModule_AddObjectRef(made_module, "Tensor", (PyObject*)&tensor_type);
  PyModule_AddObjectRef(made_module, "OutOfMemoryError", PyExc_MemoryError);
  return made_module;
}
