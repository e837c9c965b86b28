"""Beyond the papers: our policies beside theirs and beside upper bounds for any schedule."""
