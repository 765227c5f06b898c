# SPDX-License-Identifier: Apache-2.0
"""masu-mpi against masu, byte for byte, for several numbers of ranks; what goes wrong on one rank; nothing partial left.

MASU is masu, MASU_MPI masu-mpi, MPIRUN the launcher, MASU_MPI_RANKS the numbers of ranks, parted by spaces."""

import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

MASU = os.environ["MASU"]
MASU_MPI = os.environ["MASU_MPI"]
MPIRUN = os.environ.get("MPIRUN", "mpirun")
RANKS = [int(n) for n in os.environ.get("MASU_MPI_RANKS", "1 2 3").split()]
MOST = max(RANKS)
ENVIRONMENT = dict(os.environ, MASU_DEVICE="cpu")

# A shell's background job ignores SIGINT, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def without_seconds(text):
    return re.sub(rb'"seconds":\{[^}]*\}', b"", text)


def own_lines(errors):
    """Without what the launcher says of a rank that failed."""
    return [line for line in errors.decode(errors="replace").splitlines() if line.startswith("masu")]


class MpiTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return self.path(name)

    def save(self, name, values):
        np.save(self.path(name), values)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def alone(self, *arguments, stdin=b""):
        return subprocess.run([MASU, *map(str, arguments)], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=ENVIRONMENT, cwd=self.folder, timeout=120, check=False)

    def mpi(self, ranks, *arguments, stdin=b"", program=(MASU_MPI,), env=None, last=None):
        """`last`: what the last rank runs, where that is another command line."""
        command = ["-n", str(ranks), *program, *map(str, arguments)]
        if last is not None:
            command = ["-n", str(ranks - 1), *command[2:], ":", "-n", "1", *last]
        return subprocess.run([MPIRUN, *command], input=stdin,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(ENVIRONMENT, **(env or {})),
                              cwd=self.folder, timeout=120, check=False)

    def same(self, *arguments, stdin=b"", ranks=None, files=()):
        """What comes out, and the files, are those of masu."""
        expected = self.alone(*arguments, stdin=stdin)
        wanted = [self.read(name) for name in files]
        for count in ranks or RANKS:
            for name in files:
                os.remove(self.path(name))
            got = self.mpi(count, *arguments, stdin=stdin)
            what = f"{count} ranks: {arguments}"
            self.assertEqual(got.returncode, expected.returncode, what + got.stderr.decode(errors="replace"))
            self.assertEqual(without_seconds(got.stdout), without_seconds(expected.stdout), what)
            if expected.returncode == 0:
                # Several ranks may tell of several files, and read no texts.
                said = [line.removesuffix(" (--text takes all as texts)") for line in own_lines(expected.stderr)]
                self.assertEqual(sorted(own_lines(got.stderr)), sorted(said), what)
            for name, content in zip(files, wanted):
                self.assertEqual(self.read(name), content, what)

    def fails(self, status, *arguments, says="", ranks=MOST, stdin=b"", **more):
        """One clear line of ours, that status, and nothing left."""
        before = sorted(os.listdir(self.folder))
        got = self.mpi(ranks, *arguments, stdin=stdin, **more)
        lines = own_lines(got.stderr)
        self.assertEqual(got.returncode, status, got.stderr.decode(errors="replace"))
        self.assertEqual(len(lines), 1, got.stderr.decode(errors="replace"))
        self.assertIn(says, lines[0])
        self.assertEqual(got.stdout, b"")
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        return lines[0]


class Same(MpiTest):
    def awkward(self, name, n=997):
        random = np.random.default_rng(5)
        values = random.normal(size=n)
        values[::17] = 0.0
        values[1::31] = -0.0
        values[5::97] = np.nan
        values[7::101] = np.inf
        return self.save(name, values)

    def test_reduce(self):
        self.awkward("x.npy")
        ops = "sum,mean,min,max,argmin,argmax,variance,std,norm2,count-nonzero"
        self.same("reduce", "x.npy", "--op", ops, "--json")
        self.same("reduce", "random:u16:1000", "--op", ops, "--ddof", "1")
        for rows in ("1", "2", "100"):
            self.same("reduce", "random:f32:1000", "--rows", rows, "--op", ops, "--json", ranks=[MOST])
        self.same("reduce", "zeros:f32:0", "--op", "sum,count-nonzero", ranks=[MOST])

    def test_dot(self):
        self.same("dot", "random:f32:1001", "random:f32:1001:seed=1", "--json")
        self.write("t.csv", "a,b\n" + "".join(f"{i},{i * i - 7}.5\n" for i in range(100)))
        self.same("dot", "t.csv", "--header", "--column", "a", "--column", "b", ranks=[MOST])

    def test_quantile(self):
        self.awkward("x.npy")
        self.same("quantile", "x.npy")
        self.same("quantile", "random:f64:10001", "-q", "0.1,0.5,0.999", "--method", "lower", "--json")
        self.same("quantile", "random:u8:1000", "--rows", "10", "-o", "q.npy", files=["q.npy"], ranks=[MOST])

    def test_topk(self):
        self.awkward("x.npy")
        self.same("topk", "x.npy", "-k", "20")
        self.same("topk", "x.npy", "-k", "9999", "--smallest", "--nan", "last", "--json", ranks=[MOST])
        self.same("topk", "random:u8:1000", "-k", "3", "--rows", "10", "--index", ranks=[MOST])

    def test_unique(self):
        self.awkward("x.npy")
        self.same("unique", "x.npy")
        self.same("unique", "random:u32:20000:dist=zipf", "--by", "count", "--limit", "10", "--json", ranks=[MOST])
        # More than the memory: runs of all ranks come together on the first one.
        self.save("many.npy", np.arange(40000, dtype="u8") // 3 * 7919 % 100003)
        self.same("unique", "many.npy", "--memory", "100k", "-o", "u.csv", files=["u.csv"], ranks=[MOST])

    def test_histogram(self):
        self.awkward("x.npy")
        finite = np.random.default_rng(1).normal(size=1000)
        self.save("y.npy", finite)
        self.same("histogram", "y.npy", "--bins", "100", "--json")
        self.same("histogram", "x.npy", "--range", "-1:1")
        for more in (["--bins", "auto"], ["--bins", "stone"], ["--bins", "doane", "--range", "-1:1"],
                     ["--log", "--range", "0.1:3", "--density", "--cumulative"], ["--edges", "-1,0,0.5,1"],
                     ["--rows", "10"], ["--channels", "3", "--format", "csv"], []):
            arguments = more if "--channels" not in more else [*more, "--range", "0:1"]
            file = "random:f32:999" if "--channels" in more else "y.npy"
            self.same("histogram", file, *arguments, ranks=[MOST])
        self.same("histogram", "random:u8:1001", ranks=[MOST])
        self.same("histogram", "random:u8:1200", "--rows", "4", "--channels", "3", "--bins", "8", "--json", ranks=[MOST])
        self.same("histogram", "y.npy", "y.npy", "--joint", "--bins", "5;7", "-o", "j.npy", files=["j.npy"], ranks=[MOST])
        self.same("histogram", "y.npy", "--weights", "y.npy", "--variances", "--bins", "9", "--json", ranks=[MOST])
        self.same("histogram", "y.npy", "x.npy", "random:u8:100", "--bins", "4", "--range", "0:2", "--format", "csv")
        image = b"P5\n31 17\n255\n" + bytes(range(31)) * 17
        self.write("p.pgm", image)
        self.same("histogram", "p.pgm", "--region", "1,2,20,10", "--json", ranks=[MOST])
        self.same("histogram", "p.pgm", ranks=[MOST])

    def test_sort(self):
        self.awkward("x.npy")
        self.save("values.npy", np.arange(997, dtype="u4"))
        self.same("sort", "x.npy", "-o", "s.npy", files=["s.npy"])
        self.same("sort", "x.npy", "--descending", "-o", "s.txt", files=["s.txt"], ranks=[MOST])
        self.same("sort", "x.npy", "--index", "-o", "s.raw", files=["s.raw"], ranks=[MOST])
        self.same("sort", "x.npy", "--values", "values.npy", "--values-output", "v.npy", "-o", "s.npy",
                  files=["s.npy", "v.npy"], ranks=[MOST])
        self.same("sort", "random:u16:1000", "--rows", "10", "-o", "s.npy", "--json", files=["s.npy"], ranks=[MOST])
        self.same("sort", "random:u32:1000", ranks=[MOST])
        self.same("sort", "zeros:u32:1000", "--is-sorted", ranks=[MOST])
        self.save("fall.npy", np.array([1, 2, 3, 4, 5, 4, 6, 7, 8], dtype="u2"))
        self.assertEqual(self.mpi(MOST, "sort", "fall.npy", "--is-sorted").returncode, 3)
        self.same("sort", "fall.npy", "--is-sorted", "--json")

    def test_few_elements(self):
        for count in (0, 1, 2):
            self.same("sort", f"random:f32:{count}", "-o", "s.npy", files=["s.npy"], ranks=[MOST])
            self.same("histogram", f"random:f32:{count}", "--bins", "3", "--json", ranks=[MOST])
        self.same("unique", "zeros:f64:2", ranks=[MOST])
        self.same("topk", "zeros:f64:2", "-k", "1", ranks=[MOST])
        self.write("empty.raw", b"")
        self.same("reduce", "empty.raw", "--dtype", "f32", "--op", "sum", ranks=[MOST])

    def test_what_one_rank_reads(self):
        """Pipes, an archive in one too, and files of the system that say that they are empty."""
        np.savez(self.path("a.npz"), x=np.arange(100), y=np.arange(3))
        contents = {"t": b"1\n2\n3\n", "p.npz": self.read("a.npz")}
        for name, inputs in {"t": "t", "p.npz": "p.npz:x"}.items():
            os.mkfifo(self.path(name))
            writer = threading.Thread(target=self.write, args=(name, contents[name]))
            writer.start()
            got = self.mpi(MOST, "reduce", inputs, "--op", "sum")
            writer.join()
            self.assertEqual((got.stdout, got.stderr), (b"6\n" if name == "t" else b"4950\n", b""))
        self.same("reduce", "/proc/sys/kernel/pid_max", "--op", "sum", ranks=[MOST])

    def test_text(self):
        text = "".join(f"{i * i % 101 - 50}{'.25' if i % 50 == 49 else ''}\n" for i in range(200))
        self.write("unix.txt", text)
        self.write("dos.txt", text.replace("\n", "\r\n"))
        self.write("cut.txt", text.rstrip("\n"))
        self.write("one-line.txt", " ".join(str(i) for i in range(100)))
        self.write("marks.txt", "# numbers\n\n1\n\n  # none\nx\n2 # two\n\n\n-0\n0.5\n")
        for name in ("unix.txt", "dos.txt", "cut.txt", "one-line.txt", "marks.txt"):
            self.same("sort", name, ranks=RANKS if name == "cut.txt" else [MOST])
        self.same("unique", "dos.txt", "--dtype", "f32", ranks=[MOST])
        self.same("topk", "cut.txt", "-k", "5", "--dtype", "f64", "--json", ranks=[MOST])
        self.same("reduce", "unix.txt", "--rows", "10", ranks=[MOST])
        self.same("quantile", "-", stdin=text.encode(), ranks=[MOST])
        # The dtype is that of the numbers of all ranks.
        self.write("u64.txt", "1\n" * 20 + "18446744073709551615\n")
        self.same("sort", "u64.txt", "-o", "s.npy", files=["s.npy"], ranks=[MOST])
        self.write("t.csv", "\ufeffwhen,what\n" + "".join(f"{i},{i % 7}\n" for i in range(50)))
        self.same("histogram", "t.csv", "--header", "--joint", "--column", "when", "--column", "what", "--bins", "4",
                  "--json", ranks=[MOST])
        self.same("histogram", "t.csv", "--header", "--column", "what", ranks=[MOST])

    def test_tables(self):
        rows = [f'{"x" if i % 7 else chr(34) + "a" + chr(10) + "1,2" + chr(34)},{"" if i % 5 == 2 else "NA" if i == 77 else i * 37 % 101}'
                for i in range(300)]
        rows[140] = "1,2,3"
        self.write("t.csv", "a,b\n" + "\n".join(rows) + "\n")
        for command in (["topk", "-k", "9", "--index"], ["reduce", "--op", "sum,argmin,argmax"], ["sort", "--index"],
                        ["sort", "--is-sorted"], ["unique", "--json"], ["histogram", "--json"]):
            self.same(command[0], "t.csv", "--column", "b", *command[1:], ranks=[MOST])
            self.same(command[0], "t.csv", "--column", "b", "--dtype", "f32", *command[1:], ranks=[MOST])
        self.same("topk", "-", "--column", "b", "-k", "9", "--index", stdin=self.read("t.csv"), ranks=[MOST])
        self.write("names.txt", "x y\n" + "".join(f"r{i} {i} {i * i}\n" for i in range(100)))
        self.same("reduce", "names.txt", "--column", "y", "--op", "sum,argmax", ranks=[MOST])
        # f64 holds what no integer type does.
        self.write("mixed.txt", "-1\n" * 50 + "9223372036854775808\n" * 50)
        self.same("reduce", "mixed.txt", "--op", "max", ranks=[MOST])
        self.write("comments.txt", "# a\n1\n" * 60)
        self.same("reduce", "comments.txt", "--op", "sum", ranks=[MOST])
        self.write("pairs.txt", "1,5\n" * 60)
        self.fails(1, "reduce", "pairs.txt", says="--decimal ,")

    def test_progress_and_times(self):
        got = self.mpi(MOST, "reduce", "random:f32:1000000", "--progress", "always", "--time")
        self.assertEqual(got.returncode, 0)
        self.assertIn(b"reduce [", got.stderr)
        self.assertEqual(got.stderr.count(b"\ntotal "), 1)


class Errors(MpiTest):
    def test_all_ranks_alike(self):
        self.fails(2, "reduce", "zeros:u8:3", "--opp", "sum", says="unknown option --opp")
        self.fails(2, "reduce", "zeros:u8:3", "--op", "summ", says="--op takes")
        self.fails(2, "transpose", "zeros:u8:3", says="unknown command transpose")
        self.fails(2, "sort", "words.txt", "--text", says="several ranks read numbers alone")
        self.fails(2, "histogram", "zeros:u8:3", "--rows", "2", says="--rows 2 must divide the 3 values")
        self.fails(1, "reduce", "absent.npy", says="absent.npy")
        self.fails(1, "sort", "zeros:u8:3", "-o", "nowhere/s.npy", says="nowhere/s.npy: cannot be written")
        self.fails(1, "reduce", "zeros:f32:0", "--op", "mean", says="no values, so no mean")
        self.write("letters.txt", "a\nb\nc\n" * 10)
        self.fails(1, "sort", "letters.txt", says="has no number")
        self.write("empty.txt", "")
        self.fails(1, "reduce", "empty.txt", says="empty.txt: has no number")

    @unittest.skipIf(MOST < 2, "one rank")
    def test_one_rank(self):
        # The last line is of the last rank, and counts from the beginning of the file.
        self.write("strict.txt", "1\n" * 99 + "x\n")
        self.fails(1, "sort", "strict.txt", "--strict", says="strict.txt: line 100: the entry 'x' is not a number")
        self.write("wide.txt", "0.5\n" * 50 + "9007199254740993\n")
        self.fails(1, "sort", "wide.txt", says="and line 51 has 9007199254740993: f64 holds")
        # The last rank has no such file, or another one.
        np.save(self.path("here.npy"), np.zeros(100))
        os.mkdir(self.path("empty"))
        script = self.write("elsewhere.sh", '#!/bin/sh\nrank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\n'
                            f'[ "$rank" = {MOST - 1} ] && cd "$1"\nshift\nexec "$@"\n')
        os.chmod(script, stat.S_IRWXU)
        arguments = ("reduce", "here.npy")
        said = self.fails(1, "empty", MASU_MPI, *arguments, program=(script,), says="here.npy")
        self.assertIn(f"rank {MOST - 1}: ", said)
        os.mkdir(self.path("other"))
        np.save(self.path("other/here.npy"), np.zeros(99))
        self.fails(1, "other", MASU_MPI, *arguments, program=(script,), says="must be the same file as rank 0 has")

    @unittest.skipIf(MOST < 2, "one rank")
    def test_options_that_differ(self):
        """Of the last rank; whatever the command does with them."""
        def differ(*first, last):
            return self.fails(2, *first, program=(MASU_MPI,), says="every rank must make the same call",
                              last=(MASU_MPI, *last))
        said = differ("reduce", "zeros:u8:3", "--op", "sum", last=("reduce", "zeros:u8:3", "--op", "max"))
        self.assertIn("reduce zeros:u8:3 --op sum", said.replace("--op sum zeros:u8:3", "zeros:u8:3 --op sum"))
        self.assertIn(f"on rank {MOST - 1}", said)
        differ("sort", "zeros:u8:3", "-o", "a.npy", last=("sort", "zeros:u8:3", "-o", "b.npy"))
        differ("sort", "zeros:u8:3", "-o", "a.npy", last=("sort", "zeros:u8:3"))
        differ("topk", "zeros:u8:3", "-k", "1", last=("topk", "zeros:u8:3", "-k", "1", "--json"))
        differ("quantile", "zeros:u8:3", last=("quantile", "zeros:u8:4"))
        differ("reduce", "zeros:u8:3", last=("unique", "zeros:u8:3"))
        # What a rank works with is its own; names and order of options do not matter.
        got = self.mpi(MOST, "reduce", "zeros:u8:3", "--json", "--op", "sum",
                       last=(MASU_MPI, "reduce", "--threads", "1", "--memory", "1G", "--op=sum", "--json", "zeros:u8:3"))
        self.assertEqual(got.returncode, 0, got.stderr)

    def test_refused(self):
        if MOST > 1:
            self.fails(2, "sort", "zeros:u8:3", "--verify", says="--verify is not for several ranks")
            self.fails(1, "sort", "random:f64:100000", "--memory", "64Ki", "-o", "s.npy", says="take more ranks")

    def test_no_gpu(self):
        """Of a number that no machine has, on every rank."""
        self.fails(1, "reduce", "zeros:u8:3", "--device", "cuda:999", says="cuda:999")

    def test_disk_full(self):
        """A file that may not grow is like a disk that is full."""
        before = sorted(os.listdir(self.folder))
        with tempfile.TemporaryDirectory() as elsewhere:
            script = os.path.join(elsewhere, "limited.sh")
            with open(script, "w", encoding="utf-8") as file:
                file.write('#!/bin/bash\nulimit -f 20000\nexec "$@"\n')
            os.chmod(script, stat.S_IRWXU)
            got = self.mpi(MOST, MASU_MPI, "sort", "random:f32:8M", "-o", "s.npy", program=(script,))
        self.assertEqual(got.returncode, 1)
        self.assertEqual(len(own_lines(got.stderr)), 1, got.stderr)
        self.assertIn("writing failed", own_lines(got.stderr)[0])
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def endless(self, *more):
        """Some minutes of work whose output has begun."""
        return subprocess.Popen([MPIRUN, "-n", str(MOST), MASU_MPI, "sort", "random:u64:300M", "-o", "s.npy", *more],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, cwd=self.folder)

    def at_work(self):
        """Our processes."""
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    command = file.read().split(b"\0")
                here = os.readlink(f"/proc/{entry}/cwd") == os.path.realpath(self.folder)
            except OSError:
                continue
            if here and command and command[0].decode() == MASU_MPI:
                found.append(int(entry))
        return sorted(found)

    def ended_by(self, strike):
        launcher = self.endless()
        try:
            deadline = time.monotonic() + 30
            while len(self.at_work()) < MOST and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(1)  # they are at work
            strike(launcher)
            _, errors = launcher.communicate(timeout=60)
        finally:
            launcher.kill()
        deadline = time.monotonic() + 10
        while self.at_work() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.at_work(), [])
        self.assertEqual(os.listdir(self.folder), [])
        return launcher.returncode, own_lines(errors)

    def test_sigint(self):
        # MPICH's launcher returns 0 then.
        _, said = self.ended_by(lambda launcher: launcher.send_signal(signal.SIGINT))
        self.assertLessEqual(said, ["masu-mpi: interrupted"])

    def test_killed_rank(self):
        status, _ = self.ended_by(lambda _: os.kill(self.at_work()[-1], signal.SIGKILL))
        self.assertNotEqual(status, 0)

    def test_all_killed(self):
        def kill(_):
            for rank in self.at_work():
                os.kill(rank, signal.SIGKILL)
        self.ended_by(kill)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
