# SPDX-License-Identifier: Apache-2.0
"""Public calls run in masu's floating-point environment, also the part that NumPy computes for them."""
import functools
import inspect
import sys
from types import FunctionType

from . import _masu

# Methods of classes that compute here. The others read attributes, or call the library, which sets the environment.
_COMPUTING = frozenset("""__add__ __call__ __eq__ __getitem__ __init__ __mul__ __sub__ __truediv__ _from_uhi_ _repr_html_ _result _to_uhi_ add
    centers counts cumulative density fill from_uhi frombytes index logarithmic merge n of outside plot project result show sum to_uhi
    tobytes values variances""".split())
_entered: set[type] = set()


def enter(module, names):
    """Wraps each function of the module, and each method of its classes that computes: it runs in masu's environment and
    restores the thread's own."""
    for name in names:
        entry = module[name]
        if isinstance(entry, FunctionType):
            module[name] = _masu.in_usual_arithmetic(entry)
            setattr(sys.modules[entry.__module__], name, module[name])  # where pickle looks for it
        elif isinstance(entry, type) and not issubclass(entry, (tuple, Warning, _masu.DeviceArray)):
            for cls in entry.__mro__:
                if cls.__module__.startswith("masu.") and cls not in _entered:
                    _entered.add(cls)
                    for method in vars(cls).keys() & _COMPUTING:
                        setattr(cls, method, _entered_method(vars(cls)[method]))


def _entered_method(member):
    if isinstance(member, classmethod):
        return classmethod(_entered_method(member.__func__))
    if isinstance(member, property):
        return property(_masu.in_usual_arithmetic(member.fget), doc=member.__doc__)
    call = _masu.in_usual_arithmetic(member)

    @functools.wraps(member)  # a Python function, since programs that draw histograms inspect it
    def method(*args, **keywords):
        return call(*args, **keywords)

    if isinstance(member, FunctionType) and "flow" in member.__code__.co_varnames:
        method.__signature__ = inspect.signature(member)  # where these do not follow __wrapped__
    return method
