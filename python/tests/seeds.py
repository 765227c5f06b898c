#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs many seeds of the generators (python/tests/generators) on any devices, in several processes.

    python python/tests/seeds.py cpu opencl:0 --seeds 1000 --jobs 2
    python python/tests/seeds.py opencl:0 --only quantiles --seed 17      # one call again, in this process
    python python/tests/seeds.py --environment all --seeds 40             # where numbers are flushed, rounded up, after a fork …

Prints a line for each generator and device: seeds, differences, seconds; then the differences. Exit status: 1 where there
are any. Needs NumPy and masu alone.
"""
import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
import traceback

import generators
import numpy as np
from generators import environments

import masu

SILENCE = 600  # seconds after which a call is counted as one that does not end


def tasks(names, devices, seeds, where):
    """(generator, device, environment, seeds): those of one form together, so that few processes compile the same programs."""
    for device in devices:
        for name in names:
            if device == "cpu" or not generators.ALL[name].host:
                for i in range(min(generators.FORMS, len(seeds))):
                    yield name, device, where, list(seeds[i::generators.FORMS])


def run(name, device, where, seed):
    """One call, in an environment where one is given; there every other seed leaves small arrays to masu's own choice."""
    if where is None:
        return generators.run(name, device, seed)
    environments.run(where, lambda: generators.run(name, device, seed, itself=seed % 2 == 0))


def work():
    """A worker: a task is a line of standard input, its answer is a line for each seed."""
    np.set_printoptions(threshold=60)
    for line in sys.stdin:
        name, device, where, seeds = json.loads(line)
        for seed in seeds:
            start, fault = time.perf_counter(), None
            try:
                run(name, device, where, seed)
            except BaseException:
                fault = traceback.format_exc()[-2000:]
            print(json.dumps([time.perf_counter() - start, fault]), flush=True)


class Worker:
    """A process that runs tasks, and another one after it has crashed."""

    def __init__(self):
        self.process = None

    def run(self, name, device, where, seeds):
        """(seed, seconds, fault or None) of each."""
        while seeds:
            if self.process is None:
                # The environment that there was at first: an OpenCL loader may have changed it.
                self.process = subprocess.Popen([sys.executable, __file__, "--work"], stdin=subprocess.PIPE,
                                                stdout=subprocess.PIPE, text=True, env=os.environ)
            self.process.stdin.write(json.dumps([name, device, where, seeds]) + "\n")
            self.process.stdin.flush()
            while seeds:
                watch = threading.Timer(SILENCE, self.process.kill)
                watch.start()
                answer = self.process.stdout.readline()
                watch.cancel()
                seed, *seeds = seeds
                if not answer:
                    yield seed, 0.0, f"the process ended with status {self.process.wait()}"
                    self.process = None
                    break
                yield seed, *json.loads(answer)

    def end(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def run_all(names, devices, seeds, jobs, where):
    """The differences; prints what has been done."""
    waiting, done, faults, lock = queue.SimpleQueue(), {}, [], threading.Lock()
    for task in tasks(names, devices, seeds, where):
        waiting.put(task)
        row = done.setdefault(task[:2], {"left": 0, "seeds": 0, "differences": 0, "seconds": 0.0})
        row["left"] += len(task[3])

    def take():
        worker = Worker()
        while True:
            try:
                name, device, _, some = waiting.get_nowait()
            except queue.Empty:
                return worker.end()
            for seed, seconds, fault in worker.run(name, device, where, some):
                with lock:
                    row = done[name, device]
                    row["left"] -= 1
                    row["seeds"] += 1
                    row["seconds"] += seconds
                    if fault:
                        row["differences"] += 1
                        faults.append((name, device, seed, fault))
                    if row["left"] == 0:
                        print(f"{name:28} {device:10} {row['seeds']:6} {row['differences']:11} {row['seconds']:9.1f}", flush=True)

    print(f"{'generator':28} {'device':10} {'seeds':>6} {'differences':>11} {'seconds':>9}", flush=True)
    threads = [threading.Thread(target=take) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(faults)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("devices", nargs="*", help="cpu (the default), opencl:0, cuda:0, …")
    parser.add_argument("--seeds", type=int, default=1000, help="how many of each generator")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--only", action="append", choices=generators.ALL, help="a generator; may be repeated")
    parser.add_argument("--seed", type=int, help="this seed alone, in this process")
    parser.add_argument("--environment", action="append", choices=["all", *environments.ENVIRONMENTS], help="in which masu is called")
    parser.add_argument("--silence", type=int, default=SILENCE, help="seconds after which a call is counted as one that does not end")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        return work()
    names, devices = given.only or list(generators.ALL), given.devices or ["cpu"]
    places = given.environment or [None]
    if "all" in places:
        places = environments.ENVIRONMENTS
    if places != [None] and environments.library() is None:
        print("skipped: other environments: no C compiler")
        return 0
    if given.seed is not None:
        for device in devices:
            for name in names:
                for where in places:
                    run(name, device, where, given.seed)
        return 0
    print(f"masu {masu.__version__}, NumPy {np.__version__}, Python {sys.version.split()[0]}, MASU_THREADS={os.environ.get('MASU_THREADS', '')}")
    for device in devices:
        print(f"{device}: {masu.Device(device).name}")
    globals()["SILENCE"] = given.silence
    failed = False
    for where in places:
        if where is not None:
            print(f"environment: {where}")
        faults = run_all(names, devices, range(given.first, given.first + given.seeds), given.jobs, where)
        failed = failed or bool(faults)
        for name, device, seed, fault in faults:
            again = f"python {sys.argv[0]} {device} --only {name} --seed {seed}" + (f" --environment '{where}'" if where else "")
            print(f"\n{name}, {device}, seed {seed}; again: {again}\n{fault}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
