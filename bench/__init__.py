"""What the site costs, each figure beside a floor measured in the same run: `make bench`."""
