"""`python -m tacit` is `tacit`."""

from tacit.surfaces.cli import main

if __name__ == "__main__":
    main()
