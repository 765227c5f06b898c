# SPDX-License-Identifier: Apache-2.0
"""Public calls run in masu's floating-point environment: what NumPy computes for them too."""
from types import FunctionType

from . import _masu

_entered = set()


def enter(module, names):
    """Each of the module's functions, and each method of its classes, puts the thread's own environment back at its end."""
    for name in names:
        entry = module[name]
        if isinstance(entry, FunctionType):
            module[name] = _masu.in_usual_arithmetic(entry)
        elif isinstance(entry, type) and not issubclass(entry, (tuple, Warning, _masu.DeviceArray)):
            for cls in entry.__mro__:
                if cls.__module__.startswith("masu.") and cls not in _entered:
                    _entered.add(cls)
                    _enter_methods(cls)


def _enter_methods(cls):
    for name, member in list(vars(cls).items()):
        if isinstance(member, FunctionType):
            setattr(cls, name, _masu.in_usual_arithmetic(member, True))
        elif isinstance(member, classmethod):
            setattr(cls, name, classmethod(_masu.in_usual_arithmetic(member.__func__, True)))
        elif isinstance(member, property):
            setattr(cls, name, property(_masu.in_usual_arithmetic(member.fget), member.fset, member.fdel, member.__doc__))
