"""The papers and what each claims, measured again: one package a paper, one function a figure, one runner."""
