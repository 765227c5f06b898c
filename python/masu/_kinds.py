# SPDX-License-Identifier: Apache-2.0
"""Which arrays and dtypes there are: NumPy's, those of other libraries, what masu computes with."""
import sys

import numpy as np

from . import _masu

#: The dtypes that masu computes with, by NumPy's number, in native byte order and the other. Not by NumPy's character:
#: float8_e4m3b11fnuz of ml_dtypes has that of uint64.
NATIVE = frozenset((0, 7, 8, *(number for _, _, number in _masu.DTYPES)))  # of bool and long, too
BOOL = 0
#: masu's names of dtypes, by NumPy's letter of the class and the bytes.
NAMES = {code: name for name, code, _ in _masu.DTYPES} | {"b1": "bool"}


class _Lacking:
    """A dtype that NumPy lacks (bfloat16), as that of a DeviceArray: what masu asks of a dtype of NumPy's. NumPy itself takes it as
    that of ml_dtypes, where that package is installed."""

    kind, isnative = "f", True

    def __init__(self, num, masus, name, itemsize):
        self.num, self.masus, self.name, self.itemsize, self.str = num, masus, name, itemsize, f"<{name}"

    @property
    def dtype(self):
        try:
            import ml_dtypes
        except ImportError:
            raise TypeError(f"masu: {self.name} must have the package ml_dtypes to be an array of NumPy's; it is not installed") from None
        return np.dtype(getattr(ml_dtypes, self.name))

    @property
    def type(self):
        return self.dtype.type

    def newbyteorder(self, order):
        return self

    def __eq__(self, other):
        return other is self or type(other) is not _Lacking and lacking(other) is self

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return self.name


#: The dtypes that NumPy lacks, by their names in other libraries.
LACKINGS = {row[1]: _Lacking(-1 - i, *row) for i, row in enumerate(_masu.LACKINGS)}
#: NumPy's dtypes, or these, by masu's names.
DTYPES = {name: np.dtype(code) for code, name in NAMES.items()} | {one.masus: one for one in LACKINGS.values()}
_IN_WORDS = f"bool, an integer, {', '.join(LACKINGS)} or float16 to float64"


def lacking(dtype):
    """The dtype that NumPy lacks which one of any library is; None for others."""
    if isinstance(dtype, np.dtype):
        return LACKINGS.get(dtype.name) if dtype.num > 255 else None
    if type(dtype) is _Lacking:
        return dtype
    return LACKINGS.get(getattr(dtype, "__name__", None)) or LACKINGS.get(str(dtype).removeprefix("torch."))


#: Formats of floats of 8 bits, by the names that ml_dtypes, PyTorch and JAX give their dtypes.
FLOAT8 = frozenset(("float8_e4m3fn", "float8_e5m2"))


def float8_of(array):
    """Which of these an array of any library has; None for others."""
    dtype = getattr(array, "dtype", None)
    if dtype is None or isinstance(dtype, np.dtype) and dtype.num < 256:
        return None
    name = str(dtype).removeprefix("torch.")
    return name if name in FLOAT8 else None


def dtype_of(dtype):
    """`np.dtype(dtype)`, or a dtype that NumPy lacks."""
    return lacking(dtype) or np.dtype(dtype)


def name_of(dtype, name="masu"):
    """masu's name of a dtype: "f32"; TypeError, of the function of that name, where masu lacks it."""
    if type(dtype := dtype_of(dtype)) is _Lacking:
        return dtype.masus
    found = NAMES.get(dtype.kind + str(dtype.itemsize)) if dtype.num in NATIVE else None
    if found is None:
        raise TypeError(f"{name}: the dtype must be {_IN_WORDS}, got {in_words(dtype)}")
    return found


def promoted(a, b):
    """`np.promote_types(a, b)`, or a dtype that NumPy lacks."""
    return a if a is b else np.promote_types(a, b)


#: masu's names of the float dtypes, by NumPy's number.
FLOATS = {number: name for name, code, number in _masu.DTYPES if code[0] == "f"} | {one.num: one.masus for one in LACKINGS.values()}
WIDE_FLOATS = frozenset((11, 12))


def has_dtype(array):
    """Whether masu has the dtype of a NumPy array; what it lacks is handed to NumPy's function."""
    return array.dtype.num in NATIVE


def truths(a):
    """A plain array of bool whose bytes are 0 or 1: itself where they are. Memory that others wrote may hold other bytes,
    which stand for True; masu's functions count with the bytes."""
    flags = a.flags
    if flags.c_contiguous or flags.f_contiguous:
        if _masu.are_truth_values(a.reshape(-1, order="A").view(np.uint8)):
            return a
    return np.not_equal(a.view(np.uint8), 0)


def native(array):
    """The array C-contiguous, aligned and in native byte order: itself where it is so already."""
    flags = array.flags
    if flags.c_contiguous and flags.aligned and array.dtype.isnative:
        return array
    return np.require(array, array.dtype.newbyteorder("="), ["C", "A"])


def foreign(*arrays):
    """Whether one of them is neither NumPy's nor a plain sequence, or of what NumPy lacks, so that the call is for `in_kind`."""
    for array in arrays:
        kind = type(array)
        if kind in _foreign_kinds or holds_lacking(array):
            return True
        if (kind not in PLAIN and not isinstance(array, (np.ndarray, np.generic))
                and (in_memory(array) or hasattr(kind, "__array_function__"))):
            if hasattr(kind, "__dlpack__"):
                _foreign_kinds.add(kind)
            return True
    return False


_foreign_kinds: set[type] = set()  # of which it is known
PLAIN = frozenset((np.ndarray, list, tuple, int, float, bool, str, type(None), type(np._NoValue), memoryview, bytes, bytearray))


def holds_lacking(array):
    """Whether an array or number of NumPy's has a dtype of ml_dtypes that masu has."""
    return isinstance(array, (np.ndarray, np.generic)) and array.dtype.num > 255 and lacking(array.dtype) is not None


def in_memory(array):
    """Whether masu can use the memory of an array of another library."""
    return hasattr(type(array), "__dlpack__") or hasattr(array, "__cuda_array_interface__")


def _of_pandas(a):
    kind = type(a)
    return kind not in PLAIN and "pandas" in sys.modules and any(
        base.__module__.partition(".")[0] == "pandas" for base in kind.__mro__)


def _nulls(a):
    """How many values of an array of Arrow's, of PyArrow or Polars, are null: NumPy gets NaN for them, and floats for integers."""
    kind = type(a)
    if not hasattr(kind, "null_count"):
        return sum(map(_nulls, a.itercolumns())) if hasattr(kind, "itercolumns") else 0
    found = a.null_count() if callable(kind.null_count) else a.null_count
    return found if isinstance(found, int) else int(np.sum(np.asarray(found)))


def as_numpy(a):
    """`np.asanyarray(a)`; ValueError where `a` is of pandas, PyArrow or Polars and has missing values (NA, null), which no
    number stands for.
    """
    if type(a) in PLAIN:
        a = np.asanyarray(a)
        return truths(a) if a.dtype.num == BOOL else a
    if nulls := _nulls(a):
        raise ValueError(f"masu: the {type(a).__name__} must have no missing values (null), got {nulls}; use fill_null() first, "
                         "or drop_null() of PyArrow, drop_nulls() of Polars")
    if _of_pandas(a):
        for column in [one for _, one in a.items()] if getattr(a, "ndim", 1) == 2 else [a]:
            if getattr(getattr(column, "dtype", None), "na_value", None) is sys.modules["pandas"].NA and column.isna().any():
                raise ValueError(f"masu: the {type(a).__name__} must have no missing values (NA), got some in dtype {column.dtype}; "
                                 "use dropna() or fillna() first")
    a = np.asanyarray(a)
    return truths(a) if a.dtype.num == BOOL and type(a) is np.ndarray else a


def for_numpy(a):
    """An array as NumPy's functions take it: of Arrow's as NumPy's array, since its own methods have not NumPy's parameters."""
    return as_numpy(a) if type(a) not in PLAIN and hasattr(type(a), "null_count") else a


def plain(a):
    """The same as a plain array."""
    return _plain(as_numpy(a))


def _plain(found):
    a = np.asarray(found)
    return truths(a) if a.dtype.num == BOOL and a is not found else a


def whole(a):
    """The same for what NumPy has no function for, whose rules would stand; ValueError where elements are masked."""
    a = as_numpy(a)
    if isinstance(a, np.ma.MaskedArray) and np.ma.is_masked(a):
        raise ValueError("masu: the MaskedArray must have no masked elements, got some; use compressed() or filled() first")
    return _plain(a)


def unmasked(*arrays):
    """Arrays of one shape, or None, without the elements that are masked in one of them; themselves where none is masked."""
    masks = [a.mask for a in arrays if isinstance(a, np.ma.MaskedArray) and np.ma.is_masked(a)]
    if not masks or len({np.shape(a) for a in arrays if a is not None}) > 1:
        return arrays
    kept = ~np.logical_or.reduce(masks)
    return tuple(None if a is None else np.asarray(a)[kept] for a in arrays)


def is_series(a):
    """Whether `a` is a Series of pandas, for which NumPy's functions that keep the shape give a Series."""
    return _of_pandas(a) and isinstance(a, sys.modules["pandas"].Series)


def like_series(a, result):
    """The result for each element of a Series, with its index and name."""
    return a._constructor(result, index=a.index, name=a.name)


def _is(a, module, name):
    return type(a) not in PLAIN and module in sys.modules and isinstance(a, getattr(sys.modules[module], name, ()))


def has_labels(a):
    """Whether `a` is a DataFrame of pandas or a DataArray of xarray, for which NumPy's reductions give others of these."""
    return _is(a, "xarray", "DataArray") or _is(a, "pandas", "DataFrame")


def with_labels(a, result, axis, reduces):
    """The result along axes of `a` with the labels that are left. `reduces`: without `keepdims`."""
    same = np.shape(result) == a.shape and axis is not None
    if _is(a, "pandas", "DataFrame"):
        if same and a.ndim == np.ndim(result):
            return a._constructor(result, index=a.index, columns=a.columns)
        if axis is None or np.ndim(result) != 1 or isinstance(axis, tuple):
            return result
        return a._constructor_sliced(result, index=a.index if axis % 2 else a.columns)
    if same and np.ndim(result) == a.ndim:
        return a.copy(data=result)
    axes = range(a.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not reduces or not a.size or np.ndim(result) != a.ndim - len(axes):
        return result
    return a.isel({a.dims[i]: 0 for i in axes}, drop=True).copy(data=np.asarray(result))


def numpy_dtype(name, dtype):
    """A dtype of NumPy's or PyTorch's as NumPy's, for the function of that name."""
    if dtype is None:
        return None
    if found := lacking(dtype):
        return found
    torchs = type(dtype).__module__ == "torch"
    try:
        found = np.dtype(str(dtype).removeprefix("torch.") if torchs else dtype)
        if (torchs or type(dtype) is str) and found.isbuiltin > 1:  # ml_dtypes adds names
            raise TypeError
        return found
    except TypeError:
        raise TypeError(f"{name}: dtype must be one of NumPy's, got {dtype}") from None


def in_words(dtype):
    """A dtype that masu lacks, in an error; of dates and floats of 8 bits with what to do."""
    if dtype.num > 255 and dtype.name in FLOAT8:
        return f"{dtype}; use masu.convert(x, 'float32') first"
    return f"{dtype}; take the numbers of dates, view('int64'), and edges in the same unit" if dtype.kind in "mM" else str(dtype)


def code_of(dtype):
    """NumPy's code of one of its dtypes, "f4", in which a call that only enqueues takes it."""
    return None if dtype is None else dtype.str[1:]
