# SPDX-License-Identifier: Apache-2.0
"""What a release contains of others, by the table of THIRD_PARTY.md and the versions that are installed here.

    third_party.py notices        the licences of what is linked or compiled in
    third_party.py sbom VERSION   the list of components, in CycloneDX's JSON
"""
import datetime
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Where each comes from: Debian's package of its licence, or a distribution of Python.
PACKAGES = {"oneTBB": "libtbb12", "Highway": "libhwy1", "fmt": "libfmt-dev", "CLI11": "libcli11-dev",
            "nlohmann-json": "nlohmann-json3-dev", "nanobind": "python:nanobind"}


def contained():
    """(name, address, licence, use) of each row that says that the component is linked or compiled in."""
    rows = re.findall(r"^\| \[(.+?)\]\((.+?)\) \| (.+?) \| ((?:linked|compiled in).*?) \|$",
                      (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8"), re.M)
    if {row[0] for row in rows} != set(PACKAGES):
        sys.exit(f"third_party: THIRD_PARTY.md has {[row[0] for row in rows]}, expected {[*PACKAGES]}")
    return rows


def texts(package):
    if not package.startswith("python:"):
        return [pathlib.Path("/usr/share/doc", package, "copyright")]
    files = importlib.metadata.files(package.removeprefix("python:")) or []
    return [pathlib.Path(file.locate()) for file in files if "licenses" in file.parts]


def version(package):
    """(version, package URL)"""
    if package.startswith("python:"):
        name = package.removeprefix("python:")
        return importlib.metadata.version(name), f"pkg:pypi/{name}@{importlib.metadata.version(name)}"
    asked = "${source:Package} ${source:Upstream-Version} ${source:Version}"
    source, upstream, whole = subprocess.check_output(["dpkg-query", "-W", "-f", asked, package], text=True).split()
    return upstream, f"pkg:deb/debian/{source}@{whole.replace('+', '%2B')}?arch=source"


def notices():
    print("masu is under the Apache License 2.0:\n\n" + (ROOT / "LICENSE").read_text(encoding="utf-8"))
    for name, address, licence, use in contained():
        found = texts(PACKAGES[name])
        if not found:
            sys.exit(f"third_party: no licence of {name} is installed")
        print("\n".join(["", "=" * 80, f"{name} ({address}), {licence}, {use}", "=" * 80, "",
                         *(file.read_text(encoding="utf-8") for file in found)]))


def sbom(release):
    when = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    main = {"type": "library", "bom-ref": "masu", "name": "masu", "version": release, "licenses": [{"expression": "Apache-2.0"}]}
    components = []
    for name, address, licence, use in contained():
        number, url = version(PACKAGES[name])
        components.append({"type": "library", "bom-ref": url, "name": name, "version": number, "description": use, "purl": url,
                           "licenses": [{"expression": licence.replace(" or ", " OR ").replace(" and ", " AND ")}],
                           "externalReferences": [{"type": "website", "url": address}]})
    document = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
                "metadata": {"timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": main}, "components": components,
                "dependencies": [{"ref": "masu", "dependsOn": [one["bom-ref"] for one in components]}]}
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document))}"
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    if sys.argv[1:] == ["notices"]:
        notices()
    elif len(sys.argv) == 3 and sys.argv[1] == "sbom":
        sbom(sys.argv[2])
    else:
        sys.exit(__doc__)
