"""Beyond the papers: our policies beside theirs and beside what no schedule can pass."""
