"""`python -m tacit` is `tacit`."""

import sys

from tacit.config.location import working_folder

if __name__ == "__main__" and sys.path[0] == working_folder():
    del sys.path[0]  # the folder that Tacit runs in is not a place to import from

from tacit.surfaces.entry import main

if __name__ == "__main__":
    main()
