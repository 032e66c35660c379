"""`python -m regard`, and `torchrun --nproc_per_node=2 -m -- regard train RECIPE`."""

from regard.cli import main

if __name__ == "__main__":
    main()
