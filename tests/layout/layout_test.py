# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of the house that a compiler cannot: where things lie, and what they may know of each other."""
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = {".cpp", ".h", ".def", ".cl", ".cu", ".cuh", ".cmake", ".py", ".pyi", ".sh", ".awk"}
CODE_NAMES = {"CMakeLists.txt", "run", "test", "gpu", "release", "count-words", "count-dtypes", "packages.txt", ".clang-format", ".clang-tidy", "pyproject.toml"}
TEXT = CODE | {".md", ".json", ".txt", ".in", ".toml", ".supp"}
MOST_LINES = 500
FREE_OF_LIMIT = {"LICENSE", "performance.md"}  # performance.md is generated


def files():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        paths = [ROOT / line for line in listed.stdout.splitlines()]
    else:  # a release without its history
        paths = [p for p in ROOT.rglob("*") if not re.match(r"build|\.git/", str(p.relative_to(ROOT)))]
    return sorted(p for p in paths if p.is_file())


FILES = files()


def name(path):
    return str(path.relative_to(ROOT))


def is_code(path):
    return path.suffix in CODE or path.name in CODE_NAMES


def text_files():
    skipped = ("bench/results/", "tests/fuzz/corpus/", "LICENSE")
    return [p for p in FILES if (p.suffix in TEXT or is_code(p)) and not name(p).startswith(skipped)]


def below(*folders):
    return [p for p in FILES if name(p).startswith(folders)]


def read(path):
    return path.read_text(encoding="utf-8")


def without_code(path):
    return re.sub(r"^```.*?^```$", "", read(path), flags=re.M | re.S)


def anchors(path):
    """The anchors that GitHub makes of a page's headings; equal ones are numbered."""
    seen, found = {}, set()
    for heading in re.findall(r"^#+ +(.*)$", without_code(path), re.M):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        found.add(f"{anchor}-{seen[anchor]}" if anchor in seen else anchor)
        seen[anchor] = seen.get(anchor, 0) + 1
    return found


def is_test(path):
    return path.stem.endswith(("_test", "_bench")) or path.stem.startswith("test_")


def room(path):
    """The folder of src/ in which a file lies, itself or in one of its folders."""
    return path.relative_to(ROOT / "src").parts[0]


def primitives():
    """The rooms of primitives are those with a kernel of the room's name; the others only help."""
    return sorted(room(p) for p in below("src/") if p.suffix == ".cl" and p.stem == room(p) != "elements")


KERNELS = [p for p in below("src/") if p.suffix in {".cl", ".cuh"}]


class Layout(unittest.TestCase):
    def none(self, found):
        self.assertEqual([], list(found))

    def lines_with(self, pattern, paths):
        expression = re.compile(pattern)
        return [f"{name(p)}:{i}: {line.strip()}" for p in paths for i, line in enumerate(read(p).splitlines(), 1)
                if expression.search(line)]

    def test_every_source_names_its_licence(self):
        self.none(name(p) for p in FILES
                  if is_code(p) and "SPDX-License-Identifier: Apache-2.0" not in "".join(read(p).splitlines()[:2]))

    def test_no_file_is_too_long(self):
        self.none(f"{name(p)}: {len(read(p).splitlines())} lines" for p in text_files()
                  if p.name not in FREE_OF_LIMIT and len(read(p).splitlines()) > MOST_LINES)
        self.assertLessEqual(len(read(ROOT / "ARCHITECTURE.md").splitlines()), 150)

    def test_root_has_what_a_reader_looks_for(self):
        wanted = ("README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md SECURITY.md CODE_OF_CONDUCT.md AUTHORS CITATION.cff LICENSE THIRD_PARTY.md run test "
                  "CMakeLists.txt CMakePresets.json pyproject.toml .clang-format .clang-tidy .ci/run tools/gpu docs/README.md").split()
        self.none(w for w in wanted if not (ROOT / w).is_file())

    def test_primitive_rooms_have_the_same_shape(self):
        self.assertIn("histogram", primitives())
        # A large room has its processors' files in folders.
        shape = "README.md {}.cpp {}_plan.h|device/{}_plan.h {}_cpu.cpp|cpu/{}_cpu.cpp {}.cl|device/{}.cl {}_test.cpp {}_bench.cpp"
        self.none(f"src/{room}/{file}" for room in primitives() for file in shape.replace("{}", room).split()
                  if not any((ROOT / "src" / room / place).is_file() for place in file.split("|")))
        self.none(f"include/masu/{room}.h" for room in primitives()
                  if not (ROOT / "include/masu" / f"{room}.h").is_file())

    def test_what_is_shared_knows_no_primitive(self):
        # Names of primitives are also words ("unique", "search"): what is forbidden is their headers, functions, kernels,
        # files and types.
        opencl = r"u?(?:char|short|int|long)|float|double"  # OpenCL C's own convert_char and so on

        def known_by(room):
            kind = "".join(word.capitalize() for word in room.split("_"))
            return (rf'#\s*include\s*[<"](?:masu/{room}\.h|{room}/)|\bmasu::{room}\s*[(<]|(?<!std::)\b{room}_(?!ptr\b|{opencl})\w|'
                    rf'"{room}|/{room}[./_"]|\b{kind}[A-Z(<{{]')

        rooms = [p for p in below("src/runtime/", "src/backends/", "src/elements/", "src/call/") if not is_test(p)]
        self.none(self.lines_with("|".join(known_by(room) for room in primitives()), rooms))

    def test_primitives_include_headers_of_each_other_by_this_list(self):
        rooms = primitives()
        allowed = {
            "histogram": "sum/compensated.h sum/fixed_point.h sum/sum_simd.h",
            "quantile": "sort/cpu/sort_cpu.h sort/cpu/sort_simd.h sort/numpy_order.h",
            "scan": "reduce/reduce_rank.h sum/compensated.h sum/fixed_point.h sum/sum_device.h sum/sum_quick-inl.h "
                    "sum/sum_simd.h unique/unique_reference.h",
            "sort": "gather/gather_plan.h histogram/device/slot_kernels.h",
            "sum": "histogram/bins/natural.h",
            "unique": "histogram/device/slot_kernels.h",
        }
        found = []
        for path in (p for p in below(*(f"src/{room}/" for room in rooms)) if p.suffix in {".cpp", ".h"} and not is_test(p)):
            to = re.findall(rf'^#include "((?:{"|".join(rooms)})/[^"]*)"', read(path), re.M)
            found += [f"{name(path)}: {header}" for header in to if header.split("/")[0] != room(path)
                      and header not in allowed.get(room(path), "").split()]
        self.none(found)

    def test_macros_of_kernels_are_defined_and_used(self):
        # The tests *Nvrtc* check this program by program, for what an #if tests; this one for every word.
        def code_of(paths):
            return {p: re.sub(r"//.*|/\*.*?\*/", "", read(p)) for p in paths}

        kernels = code_of(KERNELS)
        macro = rf"\b(?:{'|'.join(['MASU', *(room.upper() for room in {room(p) for p in KERNELS})])})_[A-Z0-9_]+\b"
        defined = {m: p for p, text in kernels.items() for m in re.findall(rf"#\s*define\s+({macro})", text)}
        host = code_of(p for p in below("src/") if p.suffix in {".cpp", ".h"} and not is_test(p))
        given = {m for text in host.values() for m in re.findall(r'"(MASU_\w+)"', text)}
        words = [word for text in kernels.values()
                 for word in re.findall(macro, re.sub(rf"#\s*(?:define|undef)\s+{macro}", "", text))]
        pasted = {word for text in kernels.values() for word in re.findall(r"_PASTE\(([A-Z0-9_]+_),", text)}
        parameters = {word for text in kernels.values()
                      for names in re.findall(rf"#\s*define\s+{macro}\(([^)]*)\)", text) for word in re.split(r"[,\s]+", names)}
        self.none(sorted(set(words) - set(defined) - given - pasted - parameters))
        self.none(f"{name(p)}: {m}" for m, p in defined.items()
                  if m not in words and m not in given and not m.startswith(tuple(pasted)))

    def test_parameters_of_kernels_stand_in_tables(self):
        # MASU_ words come from outside of a room: the host gives them, or what all kernels share. What a room's kernels define
        # for themselves has the room's name. Words that end in _ are pasted together.
        def words_of(paths):
            return {word for p in paths for word in re.findall(r"\bMASU_[A-Z0-9_]*[A-Z0-9]\b", read(p))}

        def rows_of(table):
            return words_of([table]) if table.is_file() else set()

        shared = rows_of(ROOT / "src/elements/kernels.md")
        folders = {p.parent for p in KERNELS if room(p) not in {"elements", "backends"}}
        everywhere = words_of(p for p in KERNELS if room(p) in {"elements", "backends"})
        self.none(sorted(everywhere ^ shared))
        for folder in sorted(folders):
            used, own = words_of(p for p in KERNELS if p.parent == folder), rows_of(folder / "kernels.md")
            self.none(f"{name(folder)}: {word} is in no table" for word in sorted(used - own - shared))
            self.none(f"{name(folder)}/kernels.md: {word} is not used" for word in sorted(own - used))

    def test_kernels_use_no_word_that_a_compiler_may_reserve(self):
        # Keywords of OpenCL C 1.0 to 3.1 that no kernel of ours needs, of C99, and of vendors' extensions (channel is one of
        # cl_intel_channels). Qualifiers are written with underscores.
        reserved = ("channel pipe generic uniform quad complex imaginary read_only write_only read_write "
                    "global local constant private kernel queue_t ndrange_t clk_event_t reserve_id_t intel_channel_t "
                    "auto register _Bool _Complex _Imaginary _Atomic _Thread_local _Generic").split()
        # A variable may not have a type's name either, though PoCL 3.1 compiles one called half.
        pattern = re.compile(r"\b(?:" + "|".join(reserved) + r"|half(?=\s*[=;\])]))\b")
        for path in below("src/", "bench/", "examples/", "tests/"):
            if path.suffix == ".cl":
                code = re.sub(r"//.*|/\*(?s:.*?)\*/|#\s*pragma.*|#\s*error.*|\"(?:[^\"\\]|\\.)*\"", "", read(path))
                self.none(f"{name(path)}: {word}" for word in sorted(set(pattern.findall(code))))

    def test_runtime_and_primitives_include_no_backend(self):
        rooms = [p for p in below("src/") if not name(p).startswith("src/backends/") and not is_test(p)]
        self.none(self.lines_with(r"#\s*include.*backends/", rooms))

    def test_public_headers_name_no_vendor_and_no_dependency(self):
        self.none(self.lines_with(r"#\s*include\s*[<\"](?!masu/|stdint\.h>)[^>\"]*[/.]", below("include/")))

    def test_public_headers_leave_one_macro(self):
        # MASU_DTYPE is defined for one reading of the table of dtypes, which undefines it.
        defined = [line for line in self.lines_with(r"#\s*define", below("include/")) if "#define MASU_DTYPE(" not in line]
        self.none(line for line in defined if "#define MASU_EXPORT " not in line)
        self.assertTrue(read(ROOT / "include/masu/dtypes.def").endswith("\n#undef MASU_DTYPE\n"))

    def test_public_headers_compile_alone(self):
        def compile_alone(job):
            compiler, header, *options = job
            done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                                   "-I", str(ROOT / "include"), *options, "-x", "c++", "-"],
                                  input=f"#include <masu/{header.name}>\n", capture_output=True, text=True)
            return "" if done.returncode == 0 else f"{compiler} {name(header)}: {done.stderr}"

        jobs = [(c, h) for c in ("g++", "clang++") for h in below("include/masu/") if h.suffix == ".h"]
        for mpi in ("ompi-c", "mpich"):  # where it is installed
            found = subprocess.run(["pkg-config", "--cflags", mpi], capture_output=True, text=True)
            if found.returncode == 0:
                options = ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", f"-I{ROOT}/distributed/mpi/include",
                           *found.stdout.replace("-I", "-isystem").split()]
                jobs += [(c, ROOT / "distributed/mpi/include/masu/mpi.h", *options) for c in ("g++", "clang++")]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            self.none(problem for problem in pool.map(compile_alone, jobs) if problem)

    def test_library_never_prints_or_ends_the_process(self):
        library = [p for p in below("src/", "include/") if p.suffix in {".cpp", ".h"} and not is_test(p)]
        self.none(self.lines_with(r"(?<![\w.>])(?:std::)?_?(?:exit|abort|quick_exit|terminate|printf|puts)\s*\(|"
                                  r"std::c(?:out|err)\b|fprintf\s*\(\s*std(?:out|err)\b", library))

    def test_nothing_is_left_for_later(self):
        self.none(self.lines_with(r"\b(?:TO(?:DO)|FIX(?:ME)|XX(?:X))\b", text_files()))

    def test_no_path_of_one_machine_and_no_registry(self):
        self.none(self.lines_with(r"(?<![\w.$}])/(?:work|root)/|bash_(?:jobs)", text_files()))
        self.none(self.lines_with(r"pypi\.org|pythonhosted\.|deb\.debian|registry\.npmjs|proxy\.golang", text_files()))

    def test_python_includes_masus_headers_alone(self):
        # Inner headers too, but none of a backend or a dependency.
        self.none(self.lines_with(r'#\s*include\s*[<"](?!masu/|nanobind/|structmember\.h|dlfcn\.h|\w+>|\w+\.h"|(?!backends)\w+/[\w/]+\.h")',
                                  below("python/src/")))

    def test_python_has_no_numerics(self):
        # What computes with elements is C++ of the room that owns the idea, tested there; the extension reads arguments, calls
        # and makes results. These words stand for loops over elements: by type, by vectors, with functions of mathematics.
        numerics = (r"masu::dispatch\(|vector_size|target_clones|MASU_FOR_EVERY_PROCESSOR|intrin\.h|\bhwy/|"
                    r"#\s*include\s*<(?:cmath|numeric|experimental/simd)>")
        self.none(self.lines_with(numerics, below("python/src/")))

    def test_python_registers_what_it_has(self):
        module = read(ROOT / "python/src/module.cpp")
        found = [re.findall(r"^void (register_\w+)\(nb::module_& m\) \{", read(p), re.M) for p in below("python/src/")]
        called, = re.findall(r"for \(Register\* const each : \{([^}]*)\}\)\s+each\(m\);", module)
        self.none(f for names in found for f in names if f not in re.findall(r"\w+", called))
        self.none(w for w in "README.md CMakeLists.txt stubs.py masu/__init__.py masu/py.typed tests".split()
                  if not (ROOT / "python" / w).exists())

    def test_links_between_documents_lead_somewhere(self):
        broken = []
        for path in (p for p in FILES if p.suffix == ".md"):
            for target, _, place in re.findall(r"\]\(([^)#\s]*)(#([^)\s]*))?\)", without_code(path)):
                to = path.parent / target if target else path
                if "://" in target:
                    continue
                if not to.exists() or (place and to.suffix == ".md" and place not in anchors(to)):
                    broken.append(f"{name(path)}: {target}#{place}")
        self.none(broken)

    def test_performance_page_is_generated(self):
        done = subprocess.run([sys.executable, ROOT / "bench/performance.py"], capture_output=True, text=True, encoding="utf-8")
        self.assertEqual("", done.stderr)
        self.assertTrue(done.stdout == read(ROOT / "docs/performance.md"),
                        "docs/performance.md differs from bench/results: bench/performance.py > docs/performance.md")
        chart = subprocess.run([sys.executable, ROOT / "bench/chart.py", "--calls", "-o", "/dev/stdout"], capture_output=True,
                               text=True, encoding="utf-8")
        self.assertTrue(chart.stdout == read(ROOT / "docs/images/whole-calls.svg"),
                        "docs/images/whole-calls.svg differs from bench/results: bench/chart.py --calls -o docs/images/whole-calls.svg")

    def test_versions_agree(self):
        project = re.search(r"project\(masu VERSION (\d+)\.(\d+)\.(\d+)", read(ROOT / "CMakeLists.txt")).groups()
        header = read(ROOT / "include/masu/version.h")
        self.assertIn(f'version = "{".".join(project)}"', read(ROOT / "pyproject.toml"))
        for text in ('version = "{}"', 'dependencies = ["masu=={}"]'):
            self.assertIn(text.format(".".join(project)), read(ROOT / "python/kernels/pyproject.toml"))
        self.assertIn(f'kernels = ["masu-kernels=={".".join(project)}"]', read(ROOT / "pyproject.toml"))
        self.assertIn(f'\nversion: {".".join(project)}\n', read(ROOT / "CITATION.cff"))
        for page in ("README.md", "docs/installing.md"):
            self.assertEqual({".".join(project)}, set(re.findall(r"masu[\w.-]*?[-_](\d+\.\d+\.\d+)", read(ROOT / page))), page)
        self.assertEqual(list(project), [re.search(rf"version_{part} = (\d+)", header).group(1)
                                         for part in ("major", "minor", "patch")])


if __name__ == "__main__":
    unittest.main()
