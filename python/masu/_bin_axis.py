# SPDX-License-Identifier: Apache-2.0
"""masu.Bins, the bins of one axis of a histogram, and the tags that say where a histogram is cut."""
from __future__ import annotations

import bisect
import numbers
import operator
from typing import NamedTuple

import numpy as np

from . import _kinds, _masu, _order


class _Traits(NamedTuple):
    """What scikit-hep's PlottableAxis asks, and mplhep."""

    circular: bool
    discrete: bool
    underflow: bool
    overflow: bool


class Bins:
    """The bins of one axis: a sequence of (lower edge, upper edge), of integers or of categories.

    `Histogram.of` and `JointHistogram.of` take one where they take edges; ``h.axes`` has them. Bins are closed on the left, the
    last one of `Bins` and `Bins.logarithmic` on the right too, as in NumPy.

    Parameters
    ----------
    edges : sequence of float
        Numbers that do not fall, at least two.
    label : str
        What the axis is called in charts.
    underflow, overflow : bool
        Whether a histogram counts what lies below and above. Nothing does beyond an infinite edge.

    >>> import masu
    >>> masu.Histogram.of([0.5, 20, 30, 5e3], masu.Bins.logarithmic(3, 1, 1000)).values(flow=True).tolist()
    [1.0, 0.0, 2.0, 0.0, 1.0]
    >>> masu.Histogram.of(["a", "c", "a", "z"], masu.Bins.categories(["a", "b", "c"])).values(flow=True).tolist()
    [2.0, 0.0, 1.0, 1.0]
    """

    __slots__ = ("_labels", "circular", "edges", "kind", "label", "overflow", "underflow")

    def __init__(self, edges, *, label="", underflow=True, overflow=True):
        edges = np.array(edges)
        if edges.ndim != 1 or edges.size < 2:
            raise ValueError(f"Bins: there must be at least two edges in one dimension, got shape {edges.shape}")
        if edges.dtype.kind not in "biuf" or not (edges[1:] >= edges[:-1]).all():
            raise ValueError("Bins: edges must be numbers that do not fall")
        edges.setflags(write=False)
        self.edges, self.kind, self.label, self.circular, self._labels = edges, "edges", str(label), False, None
        self.underflow, self.overflow = bool(underflow and edges[0] != -np.inf), bool(overflow and edges[-1] != np.inf)

    @classmethod
    def logarithmic(cls, n, lower, upper, *, label=""):
        """n bins of equal ratio between two positive numbers; edges are correctly rounded, as those of C++ and of the command."""
        edges = np.empty(_size("logarithmic", n) + 1)
        _masu.logarithmic_edges(float(lower), float(upper), edges)
        return cls(edges, label=label)._as("log")

    @classmethod
    def integers(cls, start, stop, *, label=""):
        """A bin for each integer from ``start`` to ``stop - 1``; other numbers fall to the integer below them."""
        start, stop = operator.index(start), operator.index(stop)
        _size("integers", stop - start)
        if max(-start, stop) > 2**53:
            raise ValueError(f"Bins.integers: integers must be at most 2^53, got {start} and {stop}")
        return cls(np.arange(start, stop + 1), label=label)._as("integer")

    @classmethod
    def categories(cls, categories, *, label="", overflow=True):
        """A bin for each of some different texts or integers; other values are counted in the overflow bin."""
        labels = tuple(one.item() if isinstance(one, np.generic) else one for one in categories)
        kinds = {type(one) for one in labels}
        if kinds not in ({str}, {int}) and not (kinds == {bool} and labels == (False, True)) or len(set(labels)) != len(labels):
            raise ValueError(f"Bins.categories: categories must be different texts, or different integers, got {_few(labels)}")
        if kinds == {int} and not all(-2**63 <= one < 2**63 for one in labels):
            raise ValueError(f"Bins.categories: integers must fit 64 bits, got {_few(labels)}")
        found = cls(np.arange(len(labels) + 1), label=label, underflow=False, overflow=overflow)._as("category")
        found._labels = labels
        return found

    def _as(self, kind):
        self.kind = kind
        return self

    def _kept(self, first, count, factor):
        """The bins from `first` on: `count`, each of `factor` of these."""
        if (first, count, factor) == (0, len(self), 1):
            return self
        if self._labels is not None and factor > 1:
            raise ValueError("Bins: categories cannot be put together")
        edges = self.edges[first:first + count * factor + 1:factor]  # what an infinite bin has is counted beside it, where it is cut
        found = Bins(edges, label=self.label, underflow=self.underflow or self.edges[0] == -np.inf,
                     overflow=self.overflow or self.edges[-1] == np.inf)
        if self._labels is not None:
            found = Bins.categories(self._labels[first:first + count], label=self.label, overflow=self.overflow)
        elif self.kind == "log" or self.kind == "integer" and factor == 1:
            found.kind = self.kind
        return found

    @property
    def traits(self):
        """Whether the axis wraps around, whether its bins are labels and not intervals, and which flow bins it has."""
        return _Traits(self.circular, self.kind in ("integer", "category"), self.underflow, self.overflow)

    @property
    def centers(self):
        """The middle of each bin."""
        return self.edges[:-1] + np.diff(self.edges) / 2

    def index(self, value):
        """The number of the bin that a value falls into: -1 below the first one, ``len`` of the axis above the last one."""
        if self._labels is not None:
            return self._labels.index(value) if value in self._labels else len(self)
        exact = self.edges.dtype.kind in "iu" and isinstance(value, numbers.Integral)
        value = int(value) if exact else float(value)
        if value != value:  # noqa: PLR0124
            raise ValueError("Bins: NaN falls into no bin")
        if value == self.edges[-1]:
            return len(self) - (self.kind != "integer")
        return (bisect.bisect_right(self.edges, value) if exact else int(np.searchsorted(self.edges, value, "right"))) - 1

    def _counting(self, x):
        """(the data, the edges between which it is counted), for bins other than plain edges."""
        if self._labels is None:
            edges = np.array(self.edges, np.float64)
            if self.kind == "integer":
                edges[-1] = np.nextafter(edges[-1], -np.inf)  # the last bin is open too
            return x, edges
        x, labels = _kinds.whole(x), np.array(self._labels)
        if x.dtype.kind == "O" and all(type(one) is str for one in x.flat):
            x = x.astype(str)
        if x.dtype.kind not in ("UT" if labels.dtype.kind == "U" else "biu"):
            raise TypeError(f"Bins.categories: the data must be {'texts' if labels.dtype.kind == 'U' else 'integers'}, got {x.dtype}")
        order = np.argsort(labels)
        ranked = labels[order]
        search = _order.searchsorted if labels.dtype.kind == "i" else np.searchsorted
        places = np.minimum(search(ranked, x.astype(ranked.dtype) if x.dtype.kind == "b" else x), len(labels) - 1)
        return np.where(ranked[places] == x, order[places], len(labels)), np.arange(len(labels) + 1) - 0.5

    def _described(self):
        """The axis as scikit-hep's exchange format has it."""
        own = {"metadata": {"label": self.label}} if self.label else {}
        if self._labels == (False, True) and type(self._labels[0]) is bool:
            return {"type": "boolean", **own}
        if self._labels is not None:
            kind = "category_str" if type(self._labels[0]) is str else "category_int"
            return {"type": kind, "categories": list(self._labels), "flow": self.overflow, **own}
        ends = {"lower": self.edges[0].item(), "upper": self.edges[-1].item(), "bins": len(self)}
        own |= {"underflow": self.underflow, "overflow": self.overflow, "circular": self.circular}
        if self.kind == "integer":
            return {"type": "regular", **ends, **own, "writer_info": {"boost-histogram": {"orig_type": "Integer"}}}
        if self.kind == "log" and self.underflow and self.overflow:
            own["writer_info"] = {"boost-histogram": {"transform": "log", **ends}}
        elif np.isfinite(self.edges).all() and np.array_equal(self.edges, np.linspace(ends["lower"], ends["upper"], len(self) + 1)):
            return {"type": "regular", **own, **ends, "lower": float(ends["lower"]), "upper": float(ends["upper"])}
        return {"type": "variable", "edges": np.array(self.edges, np.float64), **own}

    def _exact(self):
        """`_described` with all edges, and their dtype."""
        if self.kind not in ("edges", "log"):
            return self._described()
        return {**self._described(), "type": "variable", "edges": self.edges.tolist(), "dtype": self.edges.dtype.str[1:]}

    @classmethod
    def _from_described(cls, data, most):
        """The axis of which `_described`, or another program, wrote this. ValueError for anything else, and for more than `most`
        bins."""
        if not isinstance(data, dict):
            raise ValueError(f"Bins: an axis must be a dict, got {type(data).__name__}")
        kind = data.get("type")
        label = data.get("metadata", {}).get("label", "") if isinstance(data.get("metadata", {}), dict) else ""
        info = data.get("writer_info", {})
        info = info.get("boost-histogram", {}) if isinstance(info, dict) else {}
        if not isinstance(info, dict):
            info = {}
        if kind == "boolean":
            return cls.categories((False, True), label=label, overflow=False)
        if kind in ("category_int", "category_str"):
            labels, wanted = _field(data, "categories", (list, tuple)), int if kind == "category_int" else str
            if not labels or len(labels) > most or any(type(one) is not wanted for one in labels):
                raise ValueError(f"Bins: an axis of {kind} must have categories of {wanted.__name__}, at most {most}, got {_few(labels)}")
            return cls.categories(labels, label=label, overflow=_field(data, "flow", bool))
        if kind == "regular":
            bins, lower, upper = _field(data, "bins", int), _field(data, "lower", (int, float)), _field(data, "upper", (int, float))
            if not 1 <= bins <= most or not abs(lower) <= 1e300 or not abs(upper) <= 1e300:
                raise ValueError(f"Bins: a regular axis must have 1 to {most} bins and finite ends, got {bins} from {lower} to {upper}")
            whole = info.get("orig_type") == "Integer" and float(lower).is_integer() and upper - lower == bins
            found = cls.integers(int(lower), int(upper)) if whole else cls(np.linspace(lower, upper, bins + 1))
        elif kind == "variable":
            edges = data.get("edges")
            if not isinstance(edges, (list, tuple, np.ndarray)) or len(edges) > most + 1:
                raise ValueError(f"Bins: a variable axis must have at most {most + 1} edges, got {type(edges).__name__}")
            found = cls(np.asarray(edges, data.get("dtype")))._as("log" if info.get("transform") == "log" else "edges")
        else:
            raise ValueError(f"Bins: an axis must be regular, variable, boolean, category_int or category_str, got {kind!r:.80}")
        found.label = str(label)
        found.underflow, found.overflow, found.circular = (_field(data, key, bool) for key in ("underflow", "overflow", "circular"))
        return found

    def __len__(self):
        return len(self.edges) - 1

    def __getitem__(self, index):
        size = len(self)
        if not -size <= index < size:
            raise IndexError(f"axis: bins are numbered -{size} to {size - 1}, got {index}")
        index %= size
        if self._labels is not None:
            return self._labels[index]
        return int(self.edges[index]) if self.kind == "integer" else (float(self.edges[index]), float(self.edges[index + 1]))

    def __iter__(self):
        return (self[index] for index in range(len(self)))

    def __array__(self, dtype=None, copy=None):
        if self._labels is not None:
            raise TypeError("Bins: categories have no edges")
        return np.array(self.edges, dtype)

    def __eq__(self, other):
        return (isinstance(other, Bins) and np.array_equal(self.edges, other.edges) and self._labels == other._labels
                and self._flags() == other._flags())

    def _flags(self):
        return self.underflow, self.overflow, self.circular, self.kind == "integer"

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self):
        return Bins._from_described, (self._exact(), len(self))

    def __repr__(self):
        if self._labels is not None:
            return f"<axis of {len(self)} categories>"
        return f"<axis of {len(self)} bins over [{self.edges[0]}, {self.edges[-1]}]>"


def _size(name, n):
    n = operator.index(n)
    if not 1 <= n < 2**31:
        raise ValueError(f"Bins.{name}: there must be 1 to 2^31 - 1 bins, got {n}")
    return n


def _few(values):
    return str(list(values[:3]))[:-1] + (", …]" if len(values) > 3 else "]")


def _field(data, key, kind):
    value = data.get(key)
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, kind) or isinstance(value, bool) and kind is not bool:
        raise ValueError(f"Bins: {key} of an axis must be there and of its type, got {value!r:.80}")
    return value


class loc:
    """The bin that a value falls into, as an index of a histogram: ``h[loc(2.5)]``, ``h[loc(1):loc(3)]``, ``h[loc(2) + 1]``.

    Those of `uhi`, `hist` and boost-histogram do the same.
    """

    __slots__ = ("offset", "value")

    def __init__(self, value, offset=0):
        self.value, self.offset = value, operator.index(offset)

    def __call__(self, bins):
        return bins.index(self.value) + self.offset

    def __add__(self, offset):
        return loc(self.value, self.offset + operator.index(offset))

    def __sub__(self, offset):
        return self + -operator.index(offset)

    def __repr__(self):
        return f"masu.loc({self.value!r})" + (f" + {self.offset}" if self.offset else "")


class rebin:
    """The step of a slice that puts so many bins together: ``h[::rebin(2)]``. A rest goes to the overflow bin."""

    __slots__ = ("factor",)

    def __init__(self, factor):
        self.factor = operator.index(factor)
        if self.factor < 1:
            raise ValueError(f"rebin: the factor must be at least 1, got {self.factor}")

    def __repr__(self):
        return f"masu.rebin({self.factor})"
