"""`python -m tacit` is `tacit`."""

from tacit.surfaces.entry import main

if __name__ == "__main__":
    main()
