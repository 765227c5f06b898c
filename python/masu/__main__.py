# SPDX-License-Identifier: Apache-2.0
"""`python -m masu` is the command masu."""
import os
import sys


def main():
    """Becomes the command that lies in the package, with this process's arguments."""
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "masu")
    os.execv(command, ["masu", *sys.argv[1:]])


if __name__ == "__main__":
    main()
